//! Answers the commands that follow a client's connect.

use std::sync::Arc;

use super::{
    codes::{CommandError, Disconnect, Failure},
    connecting,
    connection::Connection,
    protocol::{
        replies::{Answer, Empty, PresenceResult, PresenceStatsResult, Reply},
        requests::{ChannelRequest, Request},
    },
    subscribing::{self, require_subscribed},
};
use crate::push::context::Push;

/// Answers any command but the first: queues the reply, which the caller sends, and returns the error in it, if there is one.
/// Pongs don't get here: the socket takes them.
pub fn handle(push: &Push, connection: &Arc<Connection>, id: u32, request: Request) -> Result<Option<Failure>, Disconnect> {
    push.metrics.push_command(request.name());
    let is_refused =
        push.limits.push_command(connection.share).is_err() || request.has_large_answer() && connection.outbox.is_user_slow();
    let answered = if is_refused { Err(Failure::TOO_MANY_REQUESTS.into()) } else { answer(push, connection, id, request) };
    let queue = |answer| connection.outbox.push_all(connection.encoding.frames(Reply::new(id, answer)));
    match answered {
        Ok(None) => Ok(None),
        Ok(Some(answer)) => {
            queue(answer);
            Ok(None)
        }
        Err(CommandError::Reply(failure)) => {
            push.metrics.command_error(failure.code);
            queue(Answer::Error(failure.into()));
            Ok(Some(failure))
        }
        Err(CommandError::Close(why)) => Err(why),
    }
}

/// Answers a command; `None` if the reply is queued already.
fn answer(push: &Push, connection: &Arc<Connection>, id: u32, request: Request) -> Result<Option<Answer>, CommandError> {
    Ok(Some(match request {
        Request::Subscribe(request) => return subscribing::subscribe(push, connection, id, &request).map(|()| None),
        Request::Unsubscribe(ChannelRequest { channel }) => {
            if channel.is_empty() {
                return Err(Disconnect::BAD_REQUEST.into());
            }
            push.hub.unsubscribe(connection, &channel);
            Answer::Unsubscribe(Empty {})
        }
        Request::Presence(ChannelRequest { channel }) => {
            require_subscribed(connection, &channel)?;
            Answer::Presence(PresenceResult { presence: push.hub.presence(&channel) })
        }
        Request::PresenceStats(ChannelRequest { channel }) => {
            require_subscribed(connection, &channel)?;
            let (clients, users) = push.hub.presence_stats(&channel);
            Answer::PresenceStats(PresenceStatsResult { num_clients: clients as u32, num_users: users as u32 })
        }
        Request::History(request) => Answer::History(subscribing::history(push, connection, &request)?),
        Request::Refresh(request) => Answer::Refresh(connecting::refresh(push, connection, &request.token)?),
        Request::SubRefresh(request) => Answer::SubRefresh(subscribing::refresh(push, connection, &request)?),
        // Clients post through the API, which answers once the message is on disk.
        Request::Publish(ChannelRequest { channel }) => {
            return Err(if channel.is_empty() { Disconnect::BAD_REQUEST.into() } else { Failure::PERMISSION_DENIED.into() });
        }
        Request::Rpc => return Err(Failure::NOT_AVAILABLE.into()),
        Request::Send => return Err(Disconnect::NOT_AVAILABLE.into()),
        // A connection has one connect command.
        Request::Connect(_) | Request::Pong => return Err(Disconnect::BAD_REQUEST.into()),
    }))
}
