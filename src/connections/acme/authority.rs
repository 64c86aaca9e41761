//! The authority that gives certificates, and what it says when it gives none.

use std::{fmt, pin::Pin, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use instant_acme::{Account, BodyWrapper, BytesResponse, ChallengeStatus, ChallengeType, HttpClient, NewAccount, Order, Problem};
use poem::http;
use reqwest::redirect;
use url::Url;

use super::store::Store;
use crate::{
    config,
    error::{Error, Result, root_cause},
    net::trusted_authorities::Authorities,
};

/// How long one request may take.
const REQUEST_WITHIN: Duration = Duration::from_secs(30);
/// Most bytes of an answer.
const ANSWER: usize = 1 << 20;
/// The authority has forgotten the account, or never knew it (RFC 8555, section 6.7).
const NO_ACCOUNT: &str = "urn:ietf:params:acme:error:accountDoesNotExist";
/// It was asked too often.
const RATE: &str = "urn:ietf:params:acme:error:rateLimited";
/// Most characters of what it says of one name.
const WORDS: usize = 300;
/// The longest time in seconds after which it may ask to be asked again.
const RETRY_AFTER: u64 = 24 * 3600;

pub struct Authority {
    directory: Url,
    email: Option<String>,
    http: reqwest::Client,
}

/// Why there is no certificate.
pub struct Failure {
    /// In words for the operator.
    why: String,
    /// Whether the authority was asked too often.
    pub is_rate: bool,
}

impl Failure {
    pub fn new(why: impl Into<String>) -> Failure {
        Failure { why: why.into(), is_rate: false }
    }

    /// The failure of a request about one name. An authority that validates at once answers it with the reason, which doesn't say
    /// the name.
    pub fn of_name(name: &str, err: instant_acme::Error) -> Failure {
        let is_said = matches!(err, instant_acme::Error::Api(_));
        let Failure { why, is_rate } = Failure::from(err);
        Failure { why: if is_said { format!("{name}: {why}") } else { why }, is_rate }
    }
}

impl From<Error> for Failure {
    fn from(err: Error) -> Failure {
        Failure::new(err.admin_detail())
    }
}

impl From<instant_acme::Error> for Failure {
    fn from(err: instant_acme::Error) -> Failure {
        match &err {
            instant_acme::Error::Api(problem) => {
                Failure { why: in_one_line(problem), is_rate: problem.r#type.as_deref() == Some(RATE) }
            }
            instant_acme::Error::Json(_) => Failure::new("its answer is none of an authority: is --acme-directory right?"),
            instant_acme::Error::Timeout(_) => Failure::new("it took too long"),
            instant_acme::Error::Other(cause) if cause.is::<LengthLimitError>() => Failure::new("its answer is too long"),
            instant_acme::Error::Other(cause) => Failure::new(format!("it can't be reached: {}", root_cause(cause.as_ref()))),
            err => Failure::new(root_cause(err)),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl Authority {
    pub fn new(config::Acme { directory, email, .. }: &config::Acme, authorities: &Authorities) -> Result<Authority> {
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(authorities.tls_config()?)
            .https_only(true)
            .redirect(redirect::Policy::none())
            .timeout(REQUEST_WITHIN)
            .build()
            .map_err(Error::internal)?;
        Ok(Authority { directory: directory.clone(), email: email.clone(), http })
    }

    pub fn host(&self) -> &str {
        self.directory.host_str().unwrap_or_default()
    }

    /// The account of this server, made at the first use.
    pub async fn account(&self, store: &Store) -> Result<Account, Failure> {
        let contacts = self.contacts();
        let contact: Vec<_> = contacts.iter().map(String::as_str).collect();
        if let Some(credentials) = store.account() {
            let account = self.builder().from_credentials(credentials).await?;
            // Tells whether the account is still known.
            match account.update_contacts(&contact).await {
                Err(instant_acme::Error::Api(problem)) if problem.r#type.as_deref() == Some(NO_ACCOUNT) => {}
                known => return Ok(known.map(|()| account)?),
            }
        }
        let new = NewAccount { contact: &contact, terms_of_service_agreed: true, only_return_existing: false };
        let (account, credentials) = self.builder().create(&new, self.directory.to_string(), None).await?;
        store.write_account(&credentials)?;
        Ok(account)
    }

    fn contacts(&self) -> Vec<String> {
        self.email.iter().map(|email| format!("mailto:{email}")).collect()
    }

    fn builder(&self) -> instant_acme::AccountBuilder {
        Account::builder_with_http(Box::new(Http(self.http.clone())))
    }
}

/// The other way to prove a name by a connection to it.
pub fn other_way(way: &ChallengeType) -> ChallengeType {
    if *way == ChallengeType::Http01 { ChallengeType::TlsAlpn01 } else { ChallengeType::Http01 }
}

/// What the authority says of the names that it couldn't validate.
pub async fn why_invalid(order: &mut Order) -> Failure {
    let mut why = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        let name = authorization.identifier().to_string();
        let Ok(state) = authorization.refresh().await else { continue };
        let failed = state.challenges.iter().filter(|challenge| challenge.status == ChallengeStatus::Invalid);
        why.extend(
            failed.filter_map(|challenge| challenge.error.as_ref()).map(|problem| format!("{name}: {}", in_one_line(problem))),
        );
    }
    Failure::new(if why.is_empty() { "it could not validate the names".to_owned() } else { why.join("; ") })
}

/// What the authority says, in one line.
fn in_one_line(problem: &Problem) -> String {
    let all = [problem.detail.as_deref()].into_iter().chain(problem.subproblems.iter().map(|sub| sub.detail.as_deref()));
    let all: Vec<_> = all.flatten().collect();
    let all = if all.is_empty() { problem.r#type.clone().unwrap_or_default() } else { all.join(": ") };
    all.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(WORDS).collect()
}

struct Http(reqwest::Client);

impl HttpClient for Http {
    fn request(
        &self,
        request: http::Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, instant_acme::Error>> + Send>> {
        let client = self.0.clone();
        Box::pin(async move {
            let other = |err: reqwest::Error| instant_acme::Error::Other(Box::new(err));
            let (parts, body) = request.into_parts();
            let Ok(body) = body.collect().await;
            let request = reqwest::Request::try_from(http::Request::from_parts(parts, body.to_bytes())).map_err(other)?;
            let mut answer: http::Response<reqwest::Body> = client.execute(request).await.map_err(other)?.into();
            let seconds =
                answer.headers().get(http::header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse::<u64>().ok());
            if seconds.is_some_and(|seconds| seconds > RETRY_AFTER) {
                answer.headers_mut().remove(http::header::RETRY_AFTER); // added to a time, it would overflow
            }
            Ok(answer.map(|body| Limited::new(body, ANSWER)).into())
        })
    }
}
