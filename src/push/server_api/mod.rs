//! The server API of Centrifugo. A team's other programs publish through it with Centrifugo's back-end libraries.
//!
//! `POST /api/METHOD` takes a JSON object and the key of `--push-api-key`; without that setting it answers 404. The answer is
//! `{"result": …}` or `{"error": {"code": …, "message": …}}`, both with status 200. Channels are the four kinds of streams.
//! No command subscribes a user to a channel without the right to it.

mod answers;
mod connection_commands;
pub mod memory;
mod publishing;
mod queries;
mod repeats;

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::join_all;
use poem::{Body, Request, Response, handler, web::Data};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use self::answers::{Answer, MOST, Refused, Reply, json, read};

use crate::{
    error::{Code, Error, Result},
    net::bounded_request_body,
    push::{context::Push, embedded::codes::Failure},
};

const BODY_MAX: usize = 1 << 20;

/// `POST /api/METHOD`, and the older form `POST /api`, in which each line is a command `{"method", "params"}`.
#[handler]
pub async fn call(req: &Request, push: Data<&Arc<Push>>, body: Body) -> poem::Result<Response> {
    let body = bounded_request_body::read(body, BODY_MAX).await?;
    let answered = match (str::from_utf8(&body), req.raw_path_param("method")) {
        (Ok(body), Some("batch")) => batch(push.0, body).await,
        (Ok(body), Some(method)) => answer(push.0, method, body).await.map(|result| json(&Reply::Result(result))),
        (Ok(body), None) => commands(push.0, body).await,
        (Err(_), _) => Err(Refused::Unreadable),
    };
    let text = match answered {
        Ok(text) => text,
        Err(Refused::Failure(failure)) => json(&Reply::from(Err(failure.into()))),
        Err(Refused::Unreadable) => return Err(Error::BadRequest(Code::NotJson.says("The request body can't be read")).into()),
    };
    Ok(Response::builder().content_type("application/json").body(text))
}

async fn answer(push: &Arc<Push>, method: &str, params: &str) -> Answer {
    match method {
        "publish" => publishing::publish(push, read(params)?).await,
        "broadcast" => publishing::broadcast(push, read(params)?).await,
        "subscribe" => connection_commands::subscribe(push, read(params)?),
        "unsubscribe" => connection_commands::unsubscribe(push, &read(params)?),
        "disconnect" => connection_commands::disconnect(push, read(params)?),
        "refresh" => connection_commands::refresh(push, &read(params)?),
        "presence" => queries::presence(push, &read(params)?),
        "presence_stats" => queries::presence_stats(push, &read(params)?),
        "history" => queries::history(push, &read(params)?),
        "channels" => queries::channels(push, &read(params)?),
        "info" => queries::info(push),
        "history_remove" | "rpc" => Err(Failure::NOT_AVAILABLE.into()),
        _ => Err(Failure::METHOD_NOT_FOUND.into()),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Batch {
    /// The commands, each as `{METHOD: params}`.
    commands: Vec<BTreeMap<String, Box<RawValue>>>,
    parallel: bool,
}

/// Answers several commands in one request. The body is a list of replies, each with its result under its method's name.
async fn batch(push: &Arc<Push>, body: &str) -> Result<String, Refused> {
    let Batch { commands, parallel } = read(body)?;
    if commands.len() > MOST {
        return Err(Failure::LIMIT_EXCEEDED.into());
    }
    let answers = commands.iter().map(async |command| {
        let (method, params) = command.first_key_value().ok_or(Refused::Unreadable)?;
        Ok((method.as_str(), answer(push, method, params.get()).await?))
    });
    let answers: Vec<Result<(&str, Box<RawValue>), Refused>> = if parallel {
        join_all(answers).await
    } else {
        let mut in_order = Vec::new();
        for answer in answers {
            in_order.push(answer.await);
        }
        in_order
    };
    let mut replies = Vec::new();
    for answered in answers {
        replies.push(match answered {
            Ok(done) => to_raw_value(&BTreeMap::from([done])),
            Err(refused) => to_raw_value(&Reply::from(Err(refused))),
        });
    }
    let replies = replies.into_iter().collect::<Result<Vec<_>, _>>().map_err(Error::internal)?;
    Ok(json(&BTreeMap::from([("replies", replies)])))
}

#[derive(Deserialize)]
struct Command {
    method: String,
    #[serde(default)]
    params: Option<Box<RawValue>>,
}

async fn commands(push: &Arc<Push>, body: &str) -> Result<String, Refused> {
    let commands = serde_json::Deserializer::from_str(body).into_iter::<Command>().take(MOST);
    let commands = commands.collect::<Result<Vec<_>, _>>().map_err(|_| Refused::Unreadable)?;
    let mut replies = Vec::new();
    for Command { method, params } in commands {
        let params = params.as_ref().map_or("{}", |params| params.get());
        replies.push(json(&Reply::from(answer(push, &method, params).await)));
    }
    if replies.is_empty() { Err(Refused::Unreadable) } else { Ok(replies.join("\n")) }
}
