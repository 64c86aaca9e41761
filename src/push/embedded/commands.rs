//! What a client asks for after its connect, and what it is answered.

use std::sync::Arc;

use super::{
    codes::{Disconnect, Failure, Fault},
    connecting,
    connection::Connection,
    protocol::{Answer, ChannelRequest, Empty, PresenceResult, PresenceStatsResult, Reply, Request},
    subscribing::{self, require_subscribed},
};
use crate::state::App;

/// Any command after the first but a pong, which is the socket's business. Its reply is queued.
pub fn handle(app: &App, connection: &Arc<Connection>, id: u32, request: Request) -> Result<(), Disconnect> {
    app.metrics.command(request.name());
    let answered = if app.limits.command(connection.user).is_ok() {
        answer(app, connection, id, request)
    } else {
        Err(Failure::TOO_MANY_REQUESTS.into())
    };
    match answered {
        Ok(None) => Ok(()),
        Ok(Some(answer)) => {
            connection.send(Reply::new(id, answer));
            Ok(())
        }
        Err(Fault::Reply(failure)) => {
            app.metrics.error(failure.code);
            connection.send(Reply::new(id, Answer::Error(failure.into())));
            Ok(())
        }
        Err(Fault::Close(why)) => Err(why),
    }
}

/// None when the reply is queued already.
fn answer(app: &App, connection: &Arc<Connection>, id: u32, request: Request) -> Result<Option<Answer>, Fault> {
    Ok(Some(match request {
        Request::Subscribe(request) => return subscribing::subscribe(app, connection, id, &request).map(|()| None),
        Request::Unsubscribe(ChannelRequest { channel }) => {
            if channel.is_empty() {
                return Err(Disconnect::BAD_REQUEST.into());
            }
            app.hub.unsubscribe(connection, &channel);
            Answer::Unsubscribe(Empty {})
        }
        Request::Presence(ChannelRequest { channel }) => {
            require_subscribed(connection, &channel)?;
            Answer::Presence(PresenceResult { presence: app.hub.presence(&channel) })
        }
        Request::PresenceStats(ChannelRequest { channel }) => {
            require_subscribed(connection, &channel)?;
            let (clients, users) = app.hub.presence_stats(&channel);
            Answer::PresenceStats(PresenceStatsResult { num_clients: clients as u32, num_users: users as u32 })
        }
        Request::History(request) => Answer::History(subscribing::history(app, connection, &request)?),
        Request::Refresh(request) => Answer::Refresh(connecting::refresh(app, connection, &request.token)?),
        Request::SubRefresh(request) => Answer::SubRefresh(subscribing::refresh(app, connection, &request)?),
        // Posts are made through the API, where they are answered once they are on disk.
        Request::Publish(ChannelRequest { channel }) => {
            return Err(if channel.is_empty() { Disconnect::BAD_REQUEST.into() } else { Failure::PERMISSION_DENIED.into() });
        }
        Request::Rpc => return Err(Failure::NOT_AVAILABLE.into()),
        Request::Send => return Err(Disconnect::NOT_AVAILABLE.into()),
        // A second connect.
        Request::Connect(_) | Request::Pong => return Err(Disconnect::BAD_REQUEST.into()),
    }))
}
