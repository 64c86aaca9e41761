//! What listeners for plain HTTP answer beside HTTPS: the authority that validates a name (RFC 8555, section 8.3), and for everybody
//! else the same address in HTTPS.

use std::{net::SocketAddr, sync::Arc};

use poem::{
    Endpoint, EndpointExt, Request, Response,
    endpoint::make_sync,
    http::{HeaderValue, StatusCode, Uri, header, uri::Authority},
};
use url::Url;

use super::acme::identity::Identity;

/// The folder of the texts that prove a name.
const PROOFS: &str = "/.well-known/acme-challenge/";

/// Plain HTTP beside HTTPS, if the server gets its certificate by itself.
#[derive(Default)]
pub struct PlainHttp {
    pub addresses: Vec<SocketAddr>,
    /// The server's names, which stay what they are in HTTPS.
    pub names: Vec<String>,
    pub identity: Arc<Identity>,
}

/// Answers on behalf of the server, whose own address is `base`.
pub fn to_https(base: &str, PlainHttp { names, identity, .. }: PlainHttp) -> impl Endpoint<Output = Response> + 'static {
    let base = Url::parse(base).ok();
    let answer = move |req: Request| {
        if let Some(token) = req.uri().path().strip_prefix(PROOFS) {
            return identity
                .key_authorization(token)
                .map_or_else(|| StatusCode::NOT_FOUND.into(), |text| Response::builder().content_type("text/plain").body(text));
        }
        let address = base.as_ref().and_then(|base| in_https(base, &names, req.header(header::HOST), req.uri()));
        let Some(address) = address else { return StatusCode::NOT_FOUND.into() };
        Response::builder().status(StatusCode::PERMANENT_REDIRECT).header(header::LOCATION, address).finish()
    };
    make_sync(answer).map_to_response()
}

/// The address in HTTPS: under the name that was asked for, if it is one of this server's.
fn in_https(base: &Url, names: &[String], host: Option<&str>, asked: &Uri) -> Option<HeaderValue> {
    let mut there = base.clone();
    let host = host.and_then(|host| host.parse::<Authority>().ok());
    if let Some(name) = names.iter().find(|name| host.as_ref().is_some_and(|host| host.host().eq_ignore_ascii_case(name))) {
        there.set_host(Some(name)).ok()?;
    }
    there.set_path(asked.path());
    there.set_query(asked.query());
    HeaderValue::from_str(there.as_str()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_stays_the_same_but_for_its_scheme_and_a_foreign_name() {
        let names = ["chat.example.org", "talk.example.org"].map(str::to_owned);
        let at = |base: &str, host: Option<&str>, uri: &'static str| {
            in_https(&Url::parse(base).unwrap(), &names, host, &Uri::from_static(uri)).unwrap().to_str().unwrap().to_owned()
        };
        let base = "https://chat.example.org";
        assert_eq!(at(base, Some("chat.example.org"), "/o/x?y=1&z"), "https://chat.example.org/o/x?y=1&z");
        assert_eq!(at(base, Some("TALK.example.org:80"), "/"), "https://talk.example.org/");
        assert_eq!(at(base, Some("evil.example"), "/a"), "https://chat.example.org/a");
        assert_eq!(at("https://chat.example.org:5001", Some("talk.example.org"), "/a"), "https://talk.example.org:5001/a");
        assert_eq!(at(base, None, "//evil.example/a"), "https://chat.example.org//evil.example/a");
    }
}
