//! The addresses of programs, to which this server sends requests.

use crate::{
    domain::text,
    error::{Code, Error, Result},
    outgoing,
    site::Site,
};

/// Checks an address to which this server sends requests: http or https and not on this server, because what it sends would
/// come back to it. Returns the address, and its host with the port. 422 for any other.
pub(in crate::domain) fn check<'a>(site: &Site, text: &'a str, field: &str) -> Result<(&'a str, String)> {
    let url = text::web_address(text, field).map_err(Error::Invalid)?;
    if site.is_own(&url) {
        return Err(Error::Invalid(Code::InvalidUrl.says(format!("{field} must not lead to this server itself")).at(field)));
    }
    outgoing::check(&url, &site.private_webhooks)
        .map_err(|err| Error::Invalid(Code::UrlNotAllowed.says(format!("{field}: {err}")).at(field)))?;
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    Ok((text, format!("{host}:{}", url.port_or_known_default().unwrap_or_default())))
}
