//! Values of settings, as people write them.

use std::{net::IpAddr, time::Duration};

use ipnet::IpNet;

use crate::error::{Error, Result};

/// The shortest span of time.
const SPAN_MIN: Duration = Duration::from_secs(60);

/// Accepts mailboxes of this machine, too, as in root@localhost, which the operator may mean.
pub(super) fn operator_address(text: &str) -> Result<String, String> {
    text.parse().map(|address: lettre::Address| address.to_string()).map_err(|_| "not an e-mail address".into())
}

/// Parses a span of time such as `24h` or `90m`.
pub(super) fn span(text: &str) -> Result<Duration, String> {
    let span = text.parse::<jiff::SignedDuration>().ok().and_then(|span| Duration::try_from(span).ok());
    span.filter(|span| *span >= SPAN_MIN).ok_or_else(|| "expected a time such as 24h or 90m, at least 1m".into())
}

/// Parses a network, or one address as a network.
pub(super) fn network(text: &str) -> Result<IpNet, String> {
    let one = || text.parse::<IpAddr>().map(|address| address.to_canonical().into());
    text.parse().or_else(|_| one()).map_err(|_| "expected a network such as 10.0.0.0/8, or an address".into())
}

/// The origin of a web address, without a trailing slash or `/api/v1`.
pub(super) fn origin(flag: &str, text: &str) -> Result<String> {
    let url = url::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some());
    let url = url.ok_or_else(|| {
        Error::failed(format!("{flag} {text}: expected an http or https address such as https://chat.example.org"))
    })?;
    let text = url.as_str().trim_end_matches('/');
    Ok(text.strip_suffix("/api/v1").unwrap_or(text).to_owned())
}
