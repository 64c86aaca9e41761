//! A client of the server API of an external Centrifugo: `/api/broadcast` and `/api/disconnect`, or several of them in one
//! `/api/batch`. `jobs::forwarding` decides what is sent, and when.

use std::time::Duration;

use reqwest::{Client, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    config::External,
    error::{Error, Result, chain},
    id::UserId,
    net::trusted_authorities::Authorities,
};

const WITHIN: Duration = Duration::from_secs(5);
/// Most bytes of an answer. An answer has a few bytes for each channel of its request.
const ANSWER_MOST: usize = 4 << 20;

pub struct Centrifugo {
    http: Client,
    url: String,
}

/// A command of the server API, as `/api/batch` takes it.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    Broadcast(Broadcast),
    Disconnect(Disconnect),
}

impl Command {
    /// The command's name for log lines, without content.
    pub fn log_name(&self) -> String {
        match self {
            Command::Broadcast(broadcast) => broadcast.idempotency_key.clone(),
            Command::Disconnect(disconnect) => format!("the disconnect of {}", disconnect.user),
        }
    }
}

#[derive(Serialize)]
pub struct Broadcast {
    pub channels: Vec<String>,
    pub data: Box<RawValue>,
    /// The same in every retry, so that Centrifugo doesn't repeat a publication whose answer was lost.
    pub idempotency_key: String,
    /// The seq. On a channel with a history, Centrifugo drops a publication with a lower version than the newest one.
    pub version: i64,
    pub version_epoch: String,
}

#[derive(Serialize)]
pub struct Disconnect {
    user: UserId,
    disconnect: Close,
}

#[derive(Serialize)]
struct Close {
    code: u16,
    reason: &'static str,
}

impl Disconnect {
    /// Disconnects the user's clients with a code after which they reconnect with new tokens, which they get from this server.
    pub fn to_prove_rights(user: UserId) -> Disconnect {
        Disconnect { user, disconnect: Close { code: 3014, reason: "state invalidated" } }
    }
}

/// The reply to a command.
pub struct Reply {
    pub error: Option<ApiError>,
    /// For a broadcast: the error of each channel, if there was one.
    pub channels: Vec<Option<ApiError>>,
}

#[derive(Deserialize)]
pub struct ApiError {
    code: u32,
    message: String,
}

impl ApiError {
    /// Whether a retry may succeed: after an internal error, too many requests, or concurrent pagination.
    pub fn is_temporary(&self) -> bool {
        matches!(self.code, 100 | 111 | 113)
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.code, self.message)
    }
}

/// Why a request failed.
pub enum Failure {
    /// A retry may succeed, perhaps after the operator has corrected something.
    Temporary(String),
    /// Centrifugo will never accept this request.
    Refused(String),
}

impl Centrifugo {
    pub fn new(external: &External, authorities: &Authorities) -> Result<Centrifugo> {
        let mut key = header::HeaderValue::from_str(&external.api_key)
            .map_err(|_| Error::failed("--centrifugo-api-key: expected only characters that an HTTP header may contain"))?;
        key.set_sensitive(true);
        let http = Client::builder()
            .tls_backend_preconfigured(authorities.tls_config()?)
            .redirect(reqwest::redirect::Policy::none())
            .default_headers([(header::HeaderName::from_static("x-api-key"), key)].into_iter().collect())
            .timeout(WITHIN)
            .build()
            .map_err(Error::internal)?;
        Ok(Centrifugo { http, url: external.url.clone() })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends commands, which Centrifugo runs in order. Returns a reply for each.
    pub async fn send(&self, commands: &[Command]) -> Result<Vec<Reply>, Failure> {
        let answers: Vec<Answer> = match commands {
            [Command::Broadcast(broadcast)] => vec![self.call("broadcast", broadcast).await?],
            [Command::Disconnect(disconnect)] => vec![self.call("disconnect", disconnect).await?],
            several => self.call::<BatchAnswer>("batch", &Batch { commands: several }).await?.replies,
        };
        let fits = answers.len() == commands.len() && answers.iter().zip(commands).all(|(answer, command)| answer.fits(command));
        if !fits {
            return Err(Failure::Temporary("the answer is not that of a Centrifugo".into()));
        }
        Ok(answers.into_iter().map(Answer::into_reply).collect())
    }

    /// Whether a Centrifugo answers at the address and accepts the key.
    pub async fn is_there(&self) -> bool {
        self.call("info", &serde_json::json!({})).await.is_ok_and(|answer: Answer| answer.result.is_some())
    }

    async fn call<T: for<'de> Deserialize<'de>>(&self, method: &str, body: &impl Serialize) -> Result<T, Failure> {
        let url = format!("{}/api/{method}", self.url);
        let temporary = |err: reqwest::Error| Failure::Temporary(chain(&err));
        let mut response = self.http.post(&url).json(body).send().await.map_err(temporary)?;
        let status = response.status();
        let mut text = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(temporary)? {
            text.extend_from_slice(&chunk);
            if text.len() > ANSWER_MOST {
                return Err(Failure::Temporary(format!("{url}: the answer is longer than {ANSWER_MOST} bytes")));
            }
        }
        match status {
            StatusCode::OK => serde_json::from_slice(&text).map_err(|err| Failure::Temporary(format!("{url}: {err}"))),
            // The request is at fault. Any other status means a fault of the server, a wrong address or a wrong key.
            StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => {
                Err(Failure::Refused(format!("{url}: {status}")))
            }
            _ => Err(Failure::Temporary(format!("{url}: {status}"))),
        }
    }
}

#[derive(Serialize)]
struct Batch<'a> {
    commands: &'a [Command],
}

#[derive(Deserialize)]
struct BatchAnswer {
    replies: Vec<Answer>,
}

/// A reply. In a batch, the field of the result has the method's name.
#[derive(Deserialize)]
struct Answer {
    error: Option<ApiError>,
    #[serde(alias = "broadcast", alias = "disconnect")]
    result: Option<Responses>,
}

#[derive(Deserialize)]
struct Responses {
    #[serde(default)]
    responses: Vec<Response>,
}

#[derive(Deserialize)]
struct Response {
    error: Option<ApiError>,
}

impl Answer {
    fn fits(&self, command: &Command) -> bool {
        match (command, &self.result) {
            _ if self.error.is_some() => true,
            (Command::Broadcast(broadcast), Some(result)) => result.responses.len() == broadcast.channels.len(),
            (Command::Disconnect(_), Some(_)) => true,
            (_, None) => false,
        }
    }

    fn into_reply(self) -> Reply {
        let responses = self.result.map_or_else(Vec::new, |result| result.responses);
        Reply { error: self.error, channels: responses.into_iter().map(|response| response.error).collect() }
    }
}
