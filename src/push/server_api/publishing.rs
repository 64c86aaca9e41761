//! `publish` and `broadcast`. Each publication is a row of the event log; the answer follows its fsync.

use std::{collections::BTreeMap, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{
    answers::{Answer, MOST, Refused, Reply, result},
    repeats::Claim,
};
use crate::{
    db::{self, Tx, log_reader},
    domain,
    error::{Error, Result},
    push::{context::Push, embedded::codes::Failure},
};

/// Most bytes of a broadcast, over all its rows.
const BROADCAST_BYTES: usize = 16 << 20;
/// Most rows of one write, and their bytes, so that other writes run between two of them.
const SLICE: usize = 100;
const SLICE_BYTES: usize = 1 << 20;

/// The parameters. `skip_history`, `delta`, `version` and `tags` are ignored: this server logs and recovers all publications.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Request {
    /// The channel of `publish`.
    channel: String,
    /// The channels of `broadcast`.
    channels: Vec<String>,
    data: Option<Box<RawValue>>,
    b64data: String,
    idempotency_key: String,
}

#[derive(Serialize)]
struct Published<'a> {
    offset: i64,
    epoch: &'a str,
}

pub async fn publish(push: &Arc<Push>, request: Request) -> Answer {
    let (body, channel) = (body(&request)?, request.channel);
    if channel.is_empty() {
        return Err(Failure::BAD_REQUEST.into());
    }
    let epoch = push.db.read(|conn| Ok(log_reader::epoch(conn)?))?;
    let offset = post(push, vec![channel], request.idempotency_key, body).await?.remove(0)?;
    result(&Published { offset, epoch: &epoch })
}

/// Publishes on several channels. The answer has a reply for each, in their order.
pub async fn broadcast(push: &Arc<Push>, request: Request) -> Answer {
    let (body, channels) = (body(&request)?, request.channels);
    if channels.is_empty() || channels.iter().any(String::is_empty) {
        return Err(Failure::BAD_REQUEST.into());
    }
    if channels.len() > MOST || channels.len() * body.get().len() > BROADCAST_BYTES {
        return Err(Failure::LIMIT_EXCEEDED.into());
    }
    let epoch = push.db.read(|conn| Ok(log_reader::epoch(conn)?))?;
    let posted = post(push, channels, request.idempotency_key, body).await?;
    let responses = posted.into_iter().map(|seq| seq.and_then(|offset| result(&Published { offset, epoch: &epoch })));
    result(&BTreeMap::from([("responses", responses.map(Reply::from).collect::<Vec<_>>())]))
}

/// The body as JSON in one line, because line breaks separate messages in a frame. Line breaks in JSON are only white space.
fn body(request: &Request) -> Result<Box<RawValue>, Failure> {
    let text = match (request.b64data.as_str(), &request.data) {
        ("", None) => return Err(Failure::BAD_REQUEST),
        ("", Some(data)) => data.get().to_owned(),
        (encoded, _) => {
            let bytes = BASE64_STANDARD.decode(encoded).map_err(|_| Failure::BAD_REQUEST)?;
            String::from_utf8(bytes).map_err(|_| Failure::BAD_REQUEST)?
        }
    };
    let line = text.trim().replace(['\n', '\r'], "");
    // Parsed as clients will parse it: JSON that is nested too deeply or has half a surrogate pair is refused.
    serde_json::from_str::<Value>(&line).and_then(|_| RawValue::from_string(line)).map_err(|_| Failure::BAD_REQUEST)
}

/// Publishes on each channel, in few writes. Returns the seqs.
async fn post(
    push: &Arc<Push>,
    channels: Vec<String>,
    key: String,
    body: Box<RawValue>,
) -> Result<Vec<Result<i64, Refused>>, Refused> {
    let push = push.clone();
    let posting = async move {
        let claims: Vec<Claim> = channels.iter().map(|channel| push.server_api.repeats.claim(channel, &key)).collect();
        let firsts = channels.into_iter().zip(&claims).filter(|(_, claim)| matches!(claim, Claim::First(_)));
        let firsts: Vec<String> = firsts.map(|(channel, _)| channel).collect();
        let mut seqs = Vec::new();
        for slice in firsts.chunks((SLICE_BYTES / body.get().len().max(1)).clamp(1, SLICE)) {
            let (slice, body) = (slice.to_vec(), body.clone());
            let bytes = body.get().len() + slice.iter().map(String::len).sum::<usize>();
            let write = move |tx: &mut Tx| {
                slice
                    .iter()
                    .map(|channel| domain::streams::program_publications::publish(tx, channel, &body))
                    .collect::<Result<Vec<_>>>()
            };
            seqs.extend(push.db.write_sized(bytes, write).await?);
        }
        let mut seqs = seqs.into_iter();
        // The outcomes of this request are set before it awaits those of other requests. Otherwise two requests that repeat
        // each other's keys would deadlock.
        let mut outcomes = Vec::new();
        for claim in claims {
            outcomes.push(match claim {
                Claim::First(sender) => {
                    let seq = seqs.next().flatten();
                    sender.send_replace(Some(seq));
                    Ok(seq)
                }
                Claim::Repeat(outcome) => Err(outcome),
            });
        }
        let mut posted = Vec::new();
        for outcome in outcomes {
            posted.push(match outcome {
                Ok(seq) => seq,
                Err(mut first) => match first.wait_for(Option::is_some).await {
                    Ok(seq) => seq.flatten(),
                    Err(_) => return Err(Failure::INTERNAL.into()), // the first request failed, with an unknown outcome
                },
            });
        }
        Ok(posted.into_iter().map(|seq| seq.ok_or(Failure::UNKNOWN_CHANNEL.into())).collect())
    };
    // A task of its own, so that a caller who disconnects and repeats the request gets its outcome.
    tokio::spawn(db::for_request(posting)).await.map_err(Error::internal)?
}
