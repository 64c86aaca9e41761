//! A client of the push endpoint: Centrifugo's protocol, version 2, in JSON.

use std::{collections::VecDeque, time::Duration};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream,
    tungstenite::{self, Message, client::IntoClientRequest},
};

use crate::harness::Client;

/// The server's own clocks are all shorter: the longest is the ping's, 25 s.
const LIMIT: Duration = Duration::from_secs(30);

/// Waits for it, but not for ever: pings alone keep a socket busy all day.
async fn in_time<T>(awaited: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, awaited).await.expect("it did not come within the time limit")
}

pub struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    client: Client,
    protocol: Option<String>,
    /// Pushes that arrived while something else was awaited, in their order.
    pushes: VecDeque<Value>,
    /// Objects of the last frame that nobody has taken yet.
    unread: VecDeque<Value>,
    last_id: u64,
}

impl Socket {
    /// Opens the socket and says nothing.
    pub async fn open(client: &Client) -> Socket {
        Socket::open_at(client, "/connection/websocket", None).await.unwrap()
    }

    pub async fn open_at(client: &Client, path: &str, origin: Option<&str>) -> Result<Socket, tungstenite::Error> {
        Socket::open_as(client, path, origin, None).await
    }

    /// Opens a socket that offers these subprotocols; [`Socket::protocol`] is the accepted one.
    pub async fn open_as(
        client: &Client,
        path: &str,
        origin: Option<&str>,
        protocols: Option<&str>,
    ) -> Result<Socket, tungstenite::Error> {
        let headers = [("origin", origin), ("sec-websocket-protocol", protocols)];
        let headers = headers.into_iter().filter_map(|(name, value)| Some((name, value?.to_owned())));
        Socket::open_with(client, path, headers).await
    }

    /// Opens a socket whose handshake has these headers.
    pub async fn open_with(
        client: &Client,
        path: &str,
        headers: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Result<Socket, tungstenite::Error> {
        let mut request = format!("{}{path}", client.origin.replacen("http", "ws", 1)).into_client_request()?;
        for (name, value) in headers {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let (stream, response) = tokio_tungstenite::connect_async(request).await?;
        let protocol = response.headers().get("sec-websocket-protocol").map(|value| value.to_str().unwrap().to_owned());
        Ok(Socket { stream, client: client.clone(), protocol, pushes: VecDeque::new(), unread: VecDeque::new(), last_id: 0 })
    }

    pub fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }

    /// Opens the socket and connects as the client.
    pub async fn connect(client: &Client) -> Socket {
        let mut socket = Socket::open(client).await;
        let token = client.connection_token().await;
        let reply = socket.command("connect", json!({ "token": token })).await;
        assert!(reply["connect"]["client"].is_string(), "{reply}");
        socket
    }

    /// Connects and subscribes to these channels.
    pub async fn listening(client: &Client, channels: &[&str]) -> Socket {
        let mut socket = Socket::connect(client).await;
        for channel in channels {
            socket.subscribe(channel).await;
        }
        socket
    }

    /// Subscribes with a token from the API; gives the result.
    pub async fn subscribe(&mut self, channel: &str) -> Value {
        let mut reply = self.subscribe_with(channel, json!({})).await;
        assert!(reply["subscribe"].is_object(), "{channel}: {reply}");
        reply["subscribe"].take()
    }

    /// Subscribes with more in the request; gives the whole reply.
    pub async fn subscribe_with(&mut self, channel: &str, mut request: Value) -> Value {
        request["channel"] = channel.into();
        request["token"] = self.client.subscription_token(channel).await.into();
        self.command("subscribe", request).await
    }

    /// Subscribes from a place in the stream, which a former result or publication gave.
    pub async fn recover(&mut self, channel: &str, epoch: &Value, offset: &Value) -> Value {
        let request = json!({ "recover": true, "epoch": epoch, "offset": offset });
        self.subscribe_with(channel, request).await["subscribe"].take()
    }

    /// Sends a command and gives its reply, with `error` or the result under the command's name.
    pub async fn command(&mut self, name: &str, request: Value) -> Value {
        let id = self.order(name, request).await;
        self.reply(id).await
    }

    /// Sends a command; gives its id.
    pub async fn order(&mut self, name: &str, request: Value) -> u64 {
        self.last_id += 1;
        self.send(&json!({ "id": self.last_id, name: request }).to_string()).await;
        self.last_id
    }

    pub async fn send(&mut self, text: &str) {
        self.stream.send(Message::text(text)).await.unwrap();
    }

    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.send(Message::binary(bytes.to_vec())).await.unwrap();
    }

    /// The next binary frame.
    pub async fn bytes(&mut self) -> Vec<u8> {
        self.frame(|frame| if let Message::Binary(bytes) = frame { Some(bytes.to_vec()) } else { None }).await
    }

    /// Waits for a ping of WebSocket's own; the library answers it.
    pub async fn ws_ping(&mut self) {
        self.frame(|frame| matches!(frame, Message::Ping(_)).then_some(())).await;
    }

    async fn frame<T>(&mut self, fits: impl Fn(Message) -> Option<T>) -> T {
        in_time(async {
            loop {
                if let Some(found) = fits(self.stream.next().await.unwrap().unwrap()) {
                    return found;
                }
            }
        })
        .await
    }

    pub async fn reply(&mut self, id: u64) -> Value {
        in_time(async {
            loop {
                let line = self.line().await;
                if line["id"] == id {
                    return line;
                }
                self.keep(line);
            }
        })
        .await
    }

    /// The next publication on any channel: the channel's name and the data.
    pub async fn next(&mut self) -> (String, Value) {
        let mut push = self.push(|push| push["pub"].is_object()).await;
        (push["channel"].as_str().expect("a push names its channel").to_owned(), push["pub"]["data"].take())
    }

    /// The data of the next publication on this channel; those on others wait for their turn.
    pub async fn on(&mut self, channel: &str) -> Value {
        self.push(|push| push["channel"] == channel && push["pub"].is_object()).await["pub"]["data"].take()
    }

    /// The code with which the server ends the subscription.
    pub async fn unsubscribed(&mut self, channel: &str) -> u64 {
        let push = self.push(|push| push["channel"] == channel && push["unsubscribe"].is_object()).await;
        assert!(push["unsubscribe"]["reason"].is_string(), "{push}");
        push["unsubscribe"]["code"].as_u64().unwrap()
    }

    /// The first push that fits, among those kept and those to come.
    pub async fn push(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.pushes.iter().position(&fits) {
            return self.pushes.remove(at).unwrap();
        }
        in_time(async {
            loop {
                let line = self.line().await;
                if fits(&line["push"]) {
                    return line["push"].clone();
                }
                self.keep(line);
            }
        })
        .await
    }

    /// Fails if anything else was pushed so far.
    #[track_caller]
    pub fn no_push_but_publications(&self) {
        assert!(self.pushes.iter().all(|push| push["pub"].is_object()), "{:?}", self.pushes);
    }

    #[track_caller]
    fn keep(&mut self, line: Value) {
        assert!(line["push"].is_object(), "neither awaited nor a push: {line}");
        self.pushes.push_back(line["push"].clone());
    }

    /// The next object that is not a ping; pings are answered.
    pub async fn line(&mut self) -> Value {
        in_time(async {
            loop {
                let line = self.raw_line().await.unwrap_or_else(|close| panic!("closed: {close:?}"));
                if line != json!({}) {
                    return line;
                }
                self.send("{}").await;
            }
        })
        .await
    }

    /// Waits for the server's ping, and leaves it unanswered.
    pub async fn ping(&mut self) {
        assert_eq!(in_time(self.raw_line()).await, Ok(json!({})));
    }

    /// The next object, or how the server closed.
    async fn raw_line(&mut self) -> Result<Value, Option<(u16, String)>> {
        loop {
            if let Some(line) = self.unread.pop_front() {
                return Ok(line);
            }
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => {
                    let lines = text.trim_end_matches('\n').split('\n');
                    self.unread.extend(
                        lines.map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("not JSON: {line:?}"))),
                    );
                }
                Some(Ok(Message::Close(frame))) => return Err(frame.map(|frame| (frame.code.into(), frame.reason.to_string()))),
                Some(Ok(_)) => {}
                Some(Err(err)) => panic!("the socket broke: {err}"),
                None => return Err(None),
            }
        }
    }

    /// Waits for the server to close the socket; gives its code. What came before is dropped.
    pub async fn closed(self) -> u16 {
        self.heard_until_closed().await.1
    }

    /// All pushes until the server closes the socket, and its code. A client reconnects for ever unless the
    /// reason is a text that is no JSON.
    pub async fn heard_until_closed(mut self) -> (Vec<Value>, u16) {
        let close = in_time(async {
            loop {
                match self.raw_line().await {
                    Ok(mut line) if line["push"].is_object() => self.pushes.push_back(line["push"].take()),
                    Ok(_) => {}
                    Err(close) => break close,
                }
            }
        });
        let (code, reason) = close.await.expect("a close frame with code and reason");
        assert!(!reason.is_empty() && serde_json::from_str::<Value>(&reason).is_err(), "{code}: {reason:?}");
        (self.pushes.into(), code)
    }

    /// [`Socket::closed`] for a client that answers pings until then.
    pub async fn closed_while_answering(mut self) -> u16 {
        let close = in_time(async {
            loop {
                match self.raw_line().await {
                    Ok(line) if line == json!({}) => self.send("{}").await,
                    Ok(_) => {}
                    Err(close) => return close,
                }
            }
        });
        close.await.expect("a close frame").0
    }

    /// Reads to the end, however it comes: the number of objects, and the close code if one arrived.
    pub async fn drained(mut self) -> (usize, Option<u16>) {
        let mut objects = 0;
        in_time(async {
            loop {
                match self.stream.next().await {
                    Some(Ok(Message::Text(text))) => objects += text.lines().count(),
                    Some(Ok(Message::Close(frame))) => return (objects, frame.map(|frame| frame.code.into())),
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return (objects, None),
                }
            }
        })
        .await
    }
}
