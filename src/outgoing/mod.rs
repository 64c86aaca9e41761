//! The only client for requests to addresses that users gave. It reaches the public internet and the networks that
//! `--allow-private-webhooks` opens, and nothing else. Time and memory for an answer are bounded.

mod addresses;
mod failure;
mod resolver;

use std::{
    error::Error as StdError,
    iter,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use ipnet::IpNet;
use jiff::fmt::rfc2822;
use reqwest::{Client, RequestBuilder, Response, header, redirect};
use tokio::time::{timeout, timeout_at};
use url::{Host, Url};

use crate::{
    error::{Error, Result},
    net::trusted_authorities::Authorities,
};

pub use self::{failure::Failure, resolver::Lookup};

/// Deadline of a request, from the look-up of the name to the last byte read.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long a connection waits for the next request. Its address was checked when it was made. Requests in a row share it; after a
/// pause the name is looked up and its address checked anew. Few servers close a connection that early.
const IDLE: Duration = Duration::from_secs(1);
/// Most bytes of an answer's body that are read.
const BODY: usize = 20_000;
/// Most bytes of an answer's body that are kept and shown.
const EXCERPT: usize = 1024;
/// Most characters of a failure's description. It may contain text that the target chose, such as the names in a
/// certificate.
const WORDS: usize = 200;
const USER_AGENT: &str = concat!("Tidings/", env!("CARGO_PKG_VERSION"));

/// The client, cheap to clone.
#[derive(Clone)]
pub struct Outgoing {
    http: Client,
    opened: Arc<[IpNet]>,
    within: Duration,
}

/// A target's answer, of any status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// The time in the answer's header `Retry-After`.
    pub retry_after: Option<Duration>,
    /// The beginning of the body, at most 1 KiB.
    pub excerpt: String,
}

/// A target's answer that is read as far as its bound goes.
pub struct Reply {
    pub status: u16,
    pub content_type: Option<String>,
    pub body: Vec<u8>,
}

/// An answer whose body comes part by part.
pub struct Download {
    response: Response,
    within: Duration,
}

impl Download {
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub fn retry_after(&self) -> Option<Duration> {
        retry_after(&self.response)
    }

    pub fn content_type(&self) -> &str {
        self.header(header::CONTENT_TYPE).unwrap_or_default()
    }

    /// Bytes that are still to come, if the answer says so.
    pub fn length(&self) -> Option<u64> {
        self.response.content_length()
    }

    /// The byte of the file that the body begins with (RFC 9110, section 14.4); none if it does not say so.
    pub fn starts_at(&self) -> Option<u64> {
        self.header(header::CONTENT_RANGE)?.strip_prefix("bytes ")?.split('-').next()?.parse().ok()
    }

    fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// The next part of the body; none at its end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        let next = timeout(self.within, self.response.chunk()).await;
        next.map_err(|_| Failure::TimedOut(self.within))?.map_err(failure)
    }
}

impl Outgoing {
    /// Makes the client. `opened` are the networks that it may reach besides the public internet.
    pub fn new(opened: &[IpNet], authorities: &Authorities) -> Result<Outgoing> {
        Outgoing::with(opened, authorities, resolver::system(), ANSWER_WITHIN)
    }

    /// [`Outgoing::new`] with another resolver and another deadline.
    pub fn with(opened: &[IpNet], authorities: &Authorities, lookup: Lookup, within: Duration) -> Result<Outgoing> {
        let opened: Arc<[IpNet]> = opened.into();
        let http = Client::builder()
            .tls_backend_preconfigured(authorities.tls_config()?)
            .dns_resolver(resolver::Guard { opened: opened.clone(), lookup })
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .user_agent(USER_AGENT)
            .http1_only()
            .connect_timeout(CONNECT_WITHIN)
            .pool_idle_timeout(IDLE)
            .build()
            .map_err(Error::internal)?;
        Ok(Outgoing { http, opened, within })
    }

    /// Posts the body once. A redirect is returned as the answer, and not followed.
    pub async fn post(&self, url: &Url, headers: &[(&'static str, String)], body: Bytes) -> Result<Answer, Failure> {
        let (response, deadline) = self.send(url, headers, body, self.within).await?;
        let (status, retry_after) = (response.status().as_u16(), retry_after(&response));
        let mut excerpt = String::from_utf8_lossy(&read(response, deadline).await).into_owned();
        excerpt.truncate(excerpt.floor_char_boundary(EXCERPT));
        Ok(Answer { status, retry_after, excerpt })
    }

    /// Posts the body once, for an answer that somebody waits for. A body that is too long is cut.
    pub async fn ask(
        &self,
        url: &Url,
        headers: &[(&'static str, String)],
        body: Bytes,
        within: Duration,
    ) -> Result<Reply, Failure> {
        let (response, deadline) = self.send(url, headers, body, within.min(self.within)).await?;
        let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let (status, content_type) = (response.status().as_u16(), content_type.map(str::to_owned));
        Ok(Reply { status, content_type, body: read(response, deadline).await })
    }

    /// Begins to fetch a file from its byte `from` on. A redirect is returned as the answer, and not followed. Each part of the file has
    /// as long as a whole answer has elsewhere.
    pub async fn fetch(&self, url: &Url, from: u64) -> Result<Download, Failure> {
        let request = self.http.get(url.clone());
        let request = if from > 0 { request.header(header::RANGE, format!("bytes={from}-")) } else { request };
        let (response, _) = self.answer(url, request, self.within).await?;
        Ok(Download { response, within: self.within })
    }

    /// Posts a request, and returns the answer's head with the deadline for its body.
    async fn send(
        &self,
        url: &Url,
        headers: &[(&'static str, String)],
        body: Bytes,
        within: Duration,
    ) -> Result<(Response, Instant), Failure> {
        let request = self.http.post(url.clone()).body(body);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        self.answer(url, request, within).await
    }

    async fn answer(&self, url: &Url, request: RequestBuilder, within: Duration) -> Result<(Response, Instant), Failure> {
        check(url, &self.opened)?; // a literal address doesn't go through the resolver
        let began = Instant::now();
        let sent = timeout(within, request.send()).await;
        let response = sent.map_err(|_| Failure::TimedOut(within))?.map_err(failure)?;
        Ok((response, began + within))
    }
}

/// Checks a URL before anything is sent to it. It refuses a scheme other than http and https, a user name or password, a
/// missing host, and a literal address that may not be reached.
pub fn check(url: &Url, opened: &[IpNet]) -> Result<(), Failure> {
    let refused = |why: String| Err(Failure::Refused(why));
    if !matches!(url.scheme(), "http" | "https") {
        return refused("only addresses of http and https are called".into());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refused("the address must not hold a user name or a password".into());
    }
    let address: IpAddr = match url.host() {
        Some(Host::Ipv4(address)) => address.into(),
        Some(Host::Ipv6(address)) => address.into(),
        Some(Host::Domain(name)) if !name.trim_matches('.').is_empty() => return Ok(()),
        _ => return refused("the address names no host".into()),
    };
    match addresses::objection(address, opened) {
        Some(why) => refused(format!(
            "{address} is not on the public internet ({why}); the server's administrator opens networks with --allow-private-webhooks"
        )),
        None => Ok(()),
    }
}

/// The beginning of the body. The outcome of a delivery depends on the status alone, so a body that breaks off or is too slow
/// or too long is cut, and is no failure.
async fn read(mut response: Response, deadline: Instant) -> Vec<u8> {
    let mut body = Vec::new();
    let reading = async {
        while body.len() < BODY
            && let Ok(Some(chunk)) = response.chunk().await
        {
            body.extend_from_slice(&chunk[..chunk.len().min(BODY - body.len())]);
        }
    };
    _ = timeout_at(deadline.into(), reading).await;
    body
}

/// The header `Retry-After`, in seconds or as a date (RFC 9110, section 10.2.3).
fn retry_after(response: &Response) -> Option<Duration> {
    let text = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    let seconds = match text.parse::<u64>() {
        Ok(seconds) => seconds,
        Err(_) => {
            let at = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
            at.duration_since(jiff::Timestamp::now()).as_secs().try_into().unwrap_or(0)
        }
    };
    Some(Duration::from_secs(seconds.min(u32::MAX.into()))) // bounded, so that adding it to a time can't overflow
}

fn failure(err: reqwest::Error) -> Failure {
    let causes = || iter::successors(Some(&err as &(dyn StdError + 'static)), |&cause| cause.source());
    if let Some(own) = causes().find_map(|cause| cause.downcast_ref::<Failure>()) {
        return own.clone();
    }
    // Only the innermost cause is shown: the outer ones repeat the address, which may contain secrets.
    let words = causes().last().map(ToString::to_string).unwrap_or_default();
    let words = words.chars().filter(|c| !c.is_control()).take(WORDS).collect();
    match err.is_connect() {
        true if err.is_timeout() => Failure::Unreachable(format!("none within {} s", CONNECT_WITHIN.as_secs())),
        true => Failure::Unreachable(words),
        false => Failure::Broken(words),
    }
}
