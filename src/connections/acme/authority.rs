//! The authority that gives certificates, and what it says when it gives none.

use std::{fmt, pin::Pin, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
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

pub struct Authority {
    directory: Url,
    email: Option<String>,
    http: reqwest::Client,
}

/// Why there is no certificate, in words for the operator.
pub struct Failure(String);

impl From<String> for Failure {
    fn from(why: String) -> Failure {
        Failure(why)
    }
}

impl From<Error> for Failure {
    fn from(err: Error) -> Failure {
        Failure(err.admin_detail())
    }
}

impl From<instant_acme::Error> for Failure {
    fn from(err: instant_acme::Error) -> Failure {
        Failure(match &err {
            instant_acme::Error::Api(problem) => words(problem),
            instant_acme::Error::Timeout(_) => "it took too long to look".to_owned(),
            instant_acme::Error::Other(cause) => format!("it can't be reached: {}", root_cause(cause.as_ref())),
            err => root_cause(err),
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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
        if let Some(credentials) = store.account()? {
            let account = self.builder().from_credentials(credentials).await?;
            // Asks for the account under its key, which tells whether it is still known.
            match account.update_contacts(&self.contacts().iter().map(String::as_str).collect::<Vec<_>>()).await {
                Err(instant_acme::Error::Api(problem)) if problem.r#type.as_deref() == Some(NO_ACCOUNT) => {}
                known => return Ok(known.map(|()| account)?),
            }
        }
        let contacts = self.contacts();
        let contact: Vec<_> = contacts.iter().map(String::as_str).collect();
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
        why.extend(failed.filter_map(|challenge| challenge.error.as_ref()).map(|problem| format!("{name}: {}", words(problem))));
    }
    Failure(if why.is_empty() { "it could not validate the names".to_owned() } else { why.join("; ") })
}

/// What the authority says, in one line.
fn words(problem: &Problem) -> String {
    let all = [problem.detail.as_deref()].into_iter().chain(problem.subproblems.iter().map(|sub| sub.detail.as_deref()));
    let all: Vec<_> = all.flatten().collect();
    let all = if all.is_empty() { problem.r#type.clone().unwrap_or_default() } else { all.join(": ") };
    all.split_whitespace().collect::<Vec<_>>().join(" ")
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
            let answer: http::Response<reqwest::Body> = client.execute(request).await.map_err(other)?.into();
            Ok(answer.map(|body| Limited::new(body, ANSWER)).into())
        })
    }
}
