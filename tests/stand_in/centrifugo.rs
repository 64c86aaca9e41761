//! Stands in for a Centrifugo: checks every request of its server API, and fails on command.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tidings::config::{Push, PushServer};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinHandle,
    time::timeout,
};

pub const API_KEY: &str = "a-key-of-the-server-API";
pub const TOKEN_KEY: &str = "a-key-for-tokens-of-32-characters";

/// What a request meets instead of an answer.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// Nothing is done.
    Status(u16),
    /// Nothing is done, and no Centrifugo says so.
    Page,
    /// All is done, but the answer is lost.
    Dropped,
    /// Nothing is done, and nothing answered.
    Silence,
    /// Every second publication is not done, with an error that passes.
    Partly,
}

#[derive(Debug, PartialEq)]
pub enum Arrival {
    Publication { channel: String, data: Value },
    Disconnect { user: String, code: i64 },
}

#[derive(Default)]
struct State {
    /// For the next requests, one each.
    faults: VecDeque<Fault>,
    /// For all requests after those.
    lasting: Option<Fault>,
    /// Refused for good: a request with this text in it, and this channel.
    poison: Option<String>,
    forbidden: Option<String>,
    keys: HashSet<(String, String)>,
    versions: HashMap<String, i64>,
    requests: Vec<(String, Value)>,
    /// What was wrong with a request.
    wrong: Vec<String>,
}

pub struct StandIn {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    arrived: mpsc::UnboundedSender<Arrival>,
    arrivals: mpsc::UnboundedReceiver<Arrival>,
    /// Arrived, and not yet asked for.
    kept: VecDeque<Arrival>,
    serving: JoinHandle<()>,
}

impl StandIn {
    pub async fn start() -> StandIn {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (arrived, arrivals) = mpsc::unbounded_channel();
        let state = Arc::default();
        let serving = tokio::spawn(serve(listener, Arc::clone(&state), arrived.clone()));
        StandIn { address, state, arrived, arrivals, kept: VecDeque::new(), serving }
    }

    /// What a server must be told to feed it.
    pub fn settings(&self) -> Push {
        Push {
            server: PushServer::Centrifugo,
            centrifugo_url: Some(format!("http://{}/", self.address)),
            centrifugo_api_key: Some(API_KEY.into()),
            centrifugo_token_key: Some(TOKEN_KEY.into()),
        }
    }

    /// Takes no connections.
    pub async fn go_away(&mut self) {
        self.serving.abort();
        _ = (&mut self.serving).await;
    }

    pub async fn come_back(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.serving = tokio::spawn(serve(listener, self.state.clone(), self.arrived.clone()));
    }

    /// The next requests meet these.
    pub fn fail(&self, faults: &[Fault]) {
        self.state.lock().unwrap().faults.extend(faults);
    }

    /// All requests meet this, from now on.
    pub fn fail_always(&self, fault: Option<Fault>) {
        self.state.lock().unwrap().lasting = fault;
    }

    pub fn refuse(&self, poison: &str, channel: &str) {
        let mut state = self.state.lock().unwrap();
        (state.poison, state.forbidden) = (Some(poison.into()), Some(channel.into()));
    }

    /// What arrived so far is asked for no more.
    pub fn forget(&mut self) {
        self.kept.clear();
    }

    /// The requests that were answered, as path and body.
    pub fn requests(&self) -> Vec<(String, Value)> {
        self.state.lock().unwrap().requests.clone()
    }

    /// Waits for what arrives next.
    pub async fn next(&mut self) -> Arrival {
        self.find(|_| true).await
    }

    /// Waits for the next publication on a channel; what comes meanwhile is kept.
    pub async fn on(&mut self, wanted: &str) -> Value {
        match self.find(|arrival| matches!(arrival, Arrival::Publication { channel, .. } if channel == wanted)).await {
            Arrival::Publication { data, .. } => data,
            Arrival::Disconnect { .. } => unreachable!(),
        }
    }

    /// Waits for the next disconnect: of whom, with which code; what comes meanwhile is kept.
    pub async fn disconnected(&mut self) -> (String, i64) {
        match self.find(|arrival| matches!(arrival, Arrival::Disconnect { .. })).await {
            Arrival::Disconnect { user, code } => (user, code),
            Arrival::Publication { .. } => unreachable!(),
        }
    }

    async fn find(&mut self, wanted: impl Fn(&Arrival) -> bool) -> Arrival {
        loop {
            if let Some(found) = self.kept.iter().position(&wanted) {
                return self.kept.remove(found).unwrap();
            }
            let arrival = timeout(Duration::from_secs(30), self.arrivals.recv()).await.expect("something arrives").unwrap();
            self.kept.push_back(arrival);
            let state = self.state.lock().unwrap();
            assert!(state.wrong.is_empty(), "{:#?}", state.wrong);
        }
    }
}

async fn serve(listener: TcpListener, state: Arc<Mutex<State>>, arrived: mpsc::UnboundedSender<Arrival>) {
    // Connections end with the listener.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        connections.spawn(converse(stream, state.clone(), arrived.clone()));
    }
}

/// Answers a connection's requests until one is not to be answered.
async fn converse(stream: TcpStream, state: Arc<Mutex<State>>, arrived: mpsc::UnboundedSender<Arrival>) {
    let mut stream = BufReader::new(stream);
    while let Some((head, body)) = request(&mut stream).await {
        let answered = answer(&head, &body, &mut state.lock().unwrap(), &arrived);
        let (status, answer) = match answered {
            Ok(answer) => answer,
            Err(Fault::Silence) => std::future::pending().await,
            Err(_) => return,
        };
        let head = format!("HTTP/1.1 {status} Whatever\r\ncontent-length: {}\r\n\r\n", answer.len());
        stream.write_all((head + &answer).as_bytes()).await.unwrap();
    }
}

/// The lines of the head, in lower case but for the first, and the body.
async fn request(stream: &mut BufReader<TcpStream>) -> Option<(Vec<String>, String)> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok().filter(|bytes| *bytes > 0)?;
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let length = head.iter().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok())?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, String::from_utf8(body).unwrap()))
}

/// The status and body of the answer; a fault is one for which there is none.
fn answer(
    head: &[String],
    body: &str,
    state: &mut State,
    arrived: &mpsc::UnboundedSender<Arrival>,
) -> Result<(u16, String), Fault> {
    let fault = state.faults.pop_front().or(state.lasting);
    match fault {
        Some(Fault::Status(status)) => return Ok((status, String::new())),
        Some(Fault::Page) => return Ok((200, "<html>Welcome</html>".into())),
        Some(fault @ Fault::Silence) => return Err(fault),
        _ => {}
    }
    if state.poison.as_ref().is_some_and(|poison| body.contains(poison)) {
        return Ok((400, "Bad Request".into()));
    }
    let mut wrong = Vec::new();
    let mut check = |fine: bool, what: &str| {
        if !fine {
            wrong.push(format!("{what}: {head:?} {body}"))
        }
    };
    check(head.iter().any(|line| *line == format!("x-api-key: {API_KEY}")), "the key");
    check(head.iter().any(|line| line == "content-type: application/json"), "the type");
    let method = head[0].strip_prefix("POST /api/").and_then(|rest| rest.strip_suffix(" HTTP/1.1")).unwrap_or("not known");
    let body: Value = serde_json::from_str(body).unwrap();
    if method == "info" {
        return Ok((200, json!({ "result": { "nodes": [] } }).to_string()));
    }
    let commands = match method {
        "batch" => body["commands"].as_array().unwrap().clone(),
        single => vec![json!({ single: body })],
    };
    check(method != "batch" || (commands.len() > 1 && body.as_object().unwrap().len() == 1), "one at a time, in order");
    let channels: Vec<_> =
        commands.iter().flat_map(|command| command["broadcast"]["channels"].as_array().cloned().unwrap_or_default()).collect();
    check(channels.len() == channels.iter().collect::<HashSet<_>>().len(), "two of one channel, which can't be in order");
    state.wrong.extend(wrong);
    state.requests.push((method.to_owned(), body.clone()));

    let partly = matches!(fault, Some(Fault::Partly));
    let replies: Vec<Value> = commands.iter().map(|command| execute(command, partly, state, arrived)).collect();
    if let Some(fault @ Fault::Dropped) = fault {
        return Err(fault);
    }
    let answer = match method {
        "batch" => json!({ "replies": replies }),
        single => json!({ "result": replies[0][single] }),
    };
    Ok((200, answer.to_string()))
}

fn execute(command: &Value, partly: bool, state: &mut State, arrived: &mpsc::UnboundedSender<Arrival>) -> Value {
    let (method, body) = command.as_object().unwrap().iter().next().unwrap();
    match method.as_str() {
        "broadcast" => {
            let channels = body["channels"].as_array().unwrap().iter().enumerate();
            let responses: Vec<Value> = channels
                .map(|(n, channel)| {
                    let channel = channel.as_str().unwrap();
                    if partly && n % 2 == 0 {
                        return json!({ "error": { "code": 100, "message": "internal server error" } });
                    }
                    if state.forbidden.as_deref() == Some(channel) {
                        return json!({ "error": { "code": 102, "message": "unknown channel" } });
                    }
                    publish(channel, body, state, arrived);
                    json!({ "result": { "offset": 1, "epoch": "abcd" } })
                })
                .collect();
            json!({ "broadcast": { "responses": responses } })
        }
        "disconnect" => {
            let (user, close) = (body["user"].as_str().unwrap(), &body["disconnect"]);
            assert!(close["reason"].is_string() && body.as_object().unwrap().len() == 2);
            _ = arrived.send(Arrival::Disconnect { user: user.into(), code: close["code"].as_i64().unwrap() });
            json!({ "disconnect": {} })
        }
        other => {
            state.wrong.push(format!("no such method: {other}"));
            json!({ "error": { "code": 104, "message": "method not found" } })
        }
    }
}

/// Once for each channel and key, as the real server.
fn publish(channel: &str, body: &Value, state: &mut State, arrived: &mpsc::UnboundedSender<Arrival>) {
    let (key, version, epoch) = (&body["idempotency_key"], &body["version"], &body["version_epoch"]);
    let (key, version, epoch) = (key.as_str().unwrap(), version.as_i64().unwrap(), epoch.as_str().unwrap());
    if !key.starts_with(epoch) || epoch.is_empty() || body.as_object().unwrap().len() != 5 {
        state.wrong.push(format!("a broadcast: {body}"));
    }
    if !state.keys.insert((channel.into(), key.into())) {
        return;
    }
    let former = state.versions.insert(channel.into(), version).unwrap_or_default();
    if former >= version {
        state.wrong.push(format!("{channel} was at {former} already: {body}"));
    }
    _ = arrived.send(Arrival::Publication { channel: channel.into(), data: body["data"].clone() });
}
