//! Callers without a session: their address and device, and the rate that their requests count towards.

use std::{net::IpAddr, sync::Arc, time::Duration};

use poem::{FromRequest, Request, RequestBody, http::header};
use tokio::time::sleep;

use super::{app, body::Bound};
use crate::{
    domain::accounts::sessions::Device,
    error::Result,
    limits::{admission::Slot, buffering::Client},
    net::client_address,
    state::App,
};

/// Pause before a refusal past the rate of an address: a refusal at once let a client that doesn't wait for answers take all turns
/// of the runtime (bench "abuse answers").
const REFUSED_AFTER: Duration = Duration::from_millis(50);

/// Counts a request without a session towards the rate of the client's address. 429 past it, after a pause.
pub(super) async fn count_without_session(req: &Request) -> Result<()> {
    let counted = app(req).limits.anonymous_request(address(req));
    if counted.is_err() {
        sleep(REFUSED_AFTER).await;
    }
    counted
}

/// The client's address, for operations that need no session. Without one, the request counts towards the address's rate. In
/// a handler's arguments it comes after [`Bearer`](super::auth::Bearer) or [`MaybeBearer`](super::auth::MaybeBearer), which find
/// the session.
pub struct Visitor {
    pub address: IpAddr,
    pub device: Device,
}

impl<'a> FromRequest<'a> for Visitor {
    async fn from_request(req: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        if !Bound::has_session(req) {
            count_without_session(req).await?;
        }
        Ok(Visitor { address: address(req), device: device(req) })
    }
}

/// The client of a log-in. One that succeeds counts towards no rate, so that everybody in an office may come at the same time;
/// but 100 are in progress at the most.
pub struct LogInAttempt {
    pub address: IpAddr,
    pub device: Device,
}

impl<'a> FromRequest<'a> for LogInAttempt {
    async fn from_request(req: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        Ok(LogInAttempt { address: address(req), device: device(req) })
    }
}

impl LogInAttempt {
    /// Does a log-in whose body has arrived: a slow body takes nothing from others of its network. A log-in that fails counts
    /// towards the rate of the address. 429 past that rate, or if a hundred log-ins of the network are in progress.
    pub async fn run_log_in<T>(&self, app: &App, log_in: impl Future<Output = Result<T>>) -> Result<T> {
        let _permit = app.limits.log_in_permit(self.address)?;
        let started = log_in.await;
        if started.is_err() {
            app.limits.anonymous_request(self.address)?;
        }
        started
    }
}

fn device(req: &Request) -> Device {
    let user_agent = req.header(header::USER_AGENT).unwrap_or_default().to_owned();
    Device { user_agent, address: address(req).to_string() }
}

/// The client, for counting what the server buffers for it.
pub fn buffering_client(req: &Request) -> Option<Client> {
    let slot = req.data::<Arc<Slot>>()?;
    Some(slot.buffering_client(client_address::peer(req), req.headers()))
}

/// The client's address: that of the peer, or the one that trusted proxies forward.
pub fn address(req: &Request) -> IpAddr {
    client_address::of(&app(req).trusted_proxies, client_address::peer(req), req.headers())
}
