//! A client of the push endpoint that behaves as the official ones do: it keeps its place in each stream, comes
//! back after whatever happened, and asks for what it missed. It believes no answer that breaks its promise.

use std::sync::{Arc, Mutex};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{
    net::TcpStream,
    sync::{mpsc, oneshot, watch},
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream,
    tungstenite::{self, Message},
};

/// An order to a subscriber.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    /// The connection breaks, and the subscriber reconnects at once.
    Drop,
    /// The connection breaks, and the subscriber stays away until the next `Return`.
    Leave,
    Return,
    /// It unsubscribes from the stream of this number and subscribes again.
    Resubscribe(usize),
    /// The subscriber reconnects, and finishes when it has received the last publication of each of its streams.
    Finish,
}

/// An order, and whom to tell that it is carried out.
pub type Ordered = (Order, oneshot::Sender<()>);

pub struct Heard {
    pub offset: i64,
    pub data: Value,
}

/// One stream as its subscriber knows it.
pub struct Stream {
    pub name: String,
    token: String,
    epoch: String,
    /// The offset of the first subscription.
    pub first: i64,
    /// The current offset; none before the first answer.
    place: Option<i64>,
    pub heard: Vec<Heard>,
    /// Gaps that the server reported: after the first offset, up to and including the second.
    pub gaps: Vec<(i64, i64)>,
    /// The number of recovered publications.
    pub caught_up: usize,
}

pub struct Subscriber {
    pub name: String,
    token: String,
    pub streams: Vec<Stream>,
    /// Marks of texts whose deletion was answered.
    deleted: Arc<Mutex<Vec<String>>>,
    /// The deleted texts at the time of the last subscription; its answer must not contain them.
    gone: Vec<String>,
    is_end: fn(&[Heard]) -> bool,
    is_finishing: bool,
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The reason why a session ended.
enum Over {
    /// The subscriber must reconnect at once.
    Cut,
    /// The subscriber must stay away.
    Left,
    Done,
    /// The server went away.
    Broken,
}

/// Ids of commands: 1 connects, these and the stream's number do the rest.
const SUBSCRIBE: usize = 100;
const UNSUBSCRIBE: usize = 200;

impl Stream {
    pub fn new(name: &str, token: String) -> Stream {
        let (name, epoch) = (name.to_owned(), String::new());
        Stream { name, token, epoch, first: 0, place: None, heard: Vec::new(), gaps: Vec::new(), caught_up: 0 }
    }

    fn request(&self) -> Value {
        match self.place {
            None => json!({ "channel": self.name, "token": self.token }),
            Some(offset) => {
                json!({ "channel": self.name, "token": self.token, "recover": true, "epoch": self.epoch, "offset": offset })
            }
        }
    }

    fn subscribed(&mut self, result: &Value, gone: &[String]) {
        assert_eq!([&result["recoverable"], &result["positioned"]], [true, true], "{result}");
        let (epoch, offset) = (result["epoch"].as_str().expect("an epoch"), result["offset"].as_i64().unwrap_or_default());
        let Some(asked) = self.place.replace(offset) else {
            (self.epoch, self.first) = (epoch.to_owned(), offset);
            return;
        };
        assert_eq!((&result["was_recovering"], epoch), (&json!(true), &*self.epoch), "{result}");
        let text = result.to_string();
        assert!(gone.iter().all(|mark| !text.contains(mark)), "deleted text comes back: {text}");
        let publications = result["publications"].as_array().map_or(&[][..], Vec::as_slice);
        if result["recovered"] != true {
            assert!(publications.is_empty() && offset >= asked, "after {asked}: {result}");
            self.gaps.push((asked, offset));
        } else if publications.is_empty() {
            assert!(offset >= asked, "after {asked}: {result}");
        } else {
            assert_eq!(offset, asked, "the publications lead on: {result}");
            publications.iter().for_each(|publication| self.publication(publication));
            self.caught_up += publications.len();
        }
    }

    fn publication(&mut self, publication: &Value) {
        let offset = publication["offset"].as_i64().expect("a publication has an offset");
        let before = self.place.replace(offset).expect("the answer comes before the publications");
        assert!(offset > before, "{} after {before}: {publication}", self.name);
        self.heard.push(Heard { offset, data: publication["data"].clone() });
    }
}

impl Subscriber {
    pub fn new(
        name: &str,
        token: String,
        streams: Vec<Stream>,
        deleted: Arc<Mutex<Vec<String>>>,
        is_end: fn(&[Heard]) -> bool,
    ) -> Self {
        Subscriber { name: name.to_owned(), token, streams, deleted, gone: Vec::new(), is_end, is_finishing: false }
    }

    /// Listens wherever the server is, until it has finished; then comes back once more, and nothing is new.
    pub async fn run(
        mut self,
        mut server: watch::Receiver<String>,
        mut orders: mpsc::UnboundedReceiver<Ordered>,
        is_ready: oneshot::Sender<()>,
    ) -> Subscriber {
        let mut is_ready = Some(is_ready);
        loop {
            let url = server.borrow_and_update().clone();
            match self.session(&url, &mut orders, &mut is_ready).await {
                Over::Cut => {}
                Over::Left => {
                    while let Some((order, done)) = orders.recv().await {
                        self.is_finishing |= matches!(order, Order::Finish);
                        _ = done.send(());
                        if matches!(order, Order::Return | Order::Finish) {
                            break;
                        }
                    }
                }
                Over::Done => break,
                Over::Broken => server.changed().await.expect("the server comes back"),
            }
        }
        let heard = self.heard();
        let url = server.borrow().clone();
        assert!(matches!(self.session(&url, &mut orders, &mut None).await, Over::Done));
        assert_eq!(self.heard(), heard, "{}: something comes after the end", self.name);
        self
    }

    fn heard(&self) -> usize {
        self.streams.iter().map(|stream| stream.heard.len()).sum()
    }

    async fn session(
        &mut self,
        url: &str,
        orders: &mut mpsc::UnboundedReceiver<Ordered>,
        is_ready: &mut Option<oneshot::Sender<()>>,
    ) -> Over {
        let url = format!("{}/connection/websocket", url.replacen("http", "ws", 1));
        let Ok((mut socket, _)) = tokio_tungstenite::connect_async(url).await else { return Over::Broken };
        self.gone.clone_from(&self.deleted.lock().unwrap());
        let mut frame = json!({ "id": 1, "connect": { "token": self.token } }).to_string();
        for (n, stream) in self.streams.iter().enumerate() {
            frame += &format!("\n{}", json!({ "id": SUBSCRIBE + n, "subscribe": stream.request() }));
        }
        if socket.send(Message::text(frame)).await.is_err() {
            return Over::Broken;
        }
        let mut awaited = self.streams.len();
        loop {
            if awaited == 0 {
                if let Some(is_ready) = is_ready.take() {
                    _ = is_ready.send(());
                }
                if self.is_finishing && self.streams.iter().all(|stream| (self.is_end)(&stream.heard)) {
                    return Over::Done;
                }
            }
            tokio::select! {
                message = socket.next() => match message {
                    Some(Ok(Message::Text(text))) => {
                        for line in text.trim_end_matches('\n').split('\n') {
                            match self.line(&mut socket, serde_json::from_str(line).expect("JSON")).await {
                                Ok(answered) => awaited -= usize::from(answered),
                                Err(_) => return Over::Broken,
                            }
                        }
                    }
                    Some(Ok(Message::Close(close))) => {
                        let code = close.map(|close| u16::from(close.code));
                        assert_eq!(code, Some(3001), "{}: nothing but the server's end is a reason", self.name);
                        return Over::Broken;
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return Over::Broken,
                },
                Some((order, done)) = orders.recv(), if awaited == 0 => {
                    _ = done.send(());
                    match order {
                        Order::Drop => return Over::Cut,
                        Order::Leave => return Over::Left,
                        Order::Return => {}
                        Order::Finish => self.is_finishing = true,
                        Order::Resubscribe(n) => {
                            let n = n % self.streams.len();
                            let command = json!({ "id": UNSUBSCRIBE + n, "unsubscribe": { "channel": self.streams[n].name } });
                            if socket.send(Message::text(command.to_string())).await.is_err() {
                                return Over::Broken;
                            }
                            awaited += 1;
                        }
                    }
                }
            }
        }
    }

    /// Takes what the server said; whether it was the answer to a subscription.
    async fn line(&mut self, socket: &mut Socket, line: Value) -> Result<bool, tungstenite::Error> {
        let id = line["id"].as_u64().unwrap_or_default() as usize;
        if line == json!({}) {
            socket.send(Message::text("{}")).await?;
        } else if line["push"]["pub"].is_object() {
            let stream = self.streams.iter_mut().find(|stream| line["push"]["channel"] == *stream.name);
            stream.expect("its own stream").publication(&line["push"]["pub"]);
        } else if line["subscribe"].is_object() {
            self.streams[id - SUBSCRIBE].subscribed(&line["subscribe"], &self.gone);
            return Ok(true);
        } else if line["unsubscribe"].is_object() {
            let n = id - UNSUBSCRIBE;
            self.gone.clone_from(&self.deleted.lock().unwrap());
            let command = json!({ "id": SUBSCRIBE + n, "subscribe": self.streams[n].request() });
            socket.send(Message::text(command.to_string())).await?;
        } else {
            assert!(line["connect"]["client"].is_string(), "{}: {line}", self.name);
        }
        Ok(false)
    }
}
