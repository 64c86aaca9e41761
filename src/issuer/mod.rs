//! An OpenID Connect issuer: fetches its signing keys, verifies its id tokens (OpenID Connect Core 1.0, section 3.1.3.7), and gets
//! them for browsers that log in there. Whose account a token opens is decided in `domain/accounts/identities.rs`.

mod claims;
mod client;
mod documents;

use std::time::{Duration, Instant};

use jsonwebtoken::{Algorithm, Validation};
use parking_lot::RwLock;
use tokio::sync::Mutex;
use url::Url;

use self::{
    claims::{Audience, GOOGLE},
    client::{Client, UNREACHABLE},
    documents::{Documents, Endpoints, Http},
};
pub use self::{
    claims::{Claims, Verified},
    client::LogIn,
};
use crate::{
    config::Federated,
    error::{Code, Error, Result},
    net::trusted_authorities::Authorities,
    secret,
    time::Time,
};

/// At the most one fetch in this time, whatever tokens are sent.
const REFETCH_AFTER: Duration = Duration::from_secs(60);
/// Keys that the issuer withdrew are trusted no longer than this.
const FRESH: Duration = Duration::from_secs(3600);
/// Seconds that clocks may differ.
const LEEWAY: u64 = 30;
/// Signatures that only the issuer can make. Never HMAC: its key would be the public one.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

pub struct Issuer {
    url: String,
    client_ids: Vec<String>,
    /// This server as a client, if browsers may log in.
    client: Option<Client>,
    http: Http,
    known: RwLock<Known>,
    /// When the documents were last asked for; held while they are, so that who comes meanwhile waits for the same answer.
    tried: Mutex<Option<Instant>>,
}

#[derive(Default)]
struct Known {
    documents: Documents,
    fetched: Option<Instant>,
}

impl Known {
    fn is_fresh(&self) -> bool {
        self.fetched.is_some_and(|at| at.elapsed() < FRESH)
    }
}

impl Issuer {
    /// The issuer of these settings; none if they name no client.
    pub fn new(settings: &Federated, authorities: &Authorities) -> Result<Option<Issuer>> {
        let url = &settings.oidc_issuer;
        let client = settings.oidc_client_id.clone().map(|id| {
            let secret = settings.oidc_client_secret.clone();
            Client { id, secret, issuer_name: settings.oidc_name.clone().unwrap_or_else(|| name(url)) }
        });
        if client.is_none() && settings.oidc_client_secret.is_some() {
            return Err(Error::failed("--oidc-client-secret needs --oidc-client-id"));
        }
        let client_ids = settings.audience();
        if client_ids.is_empty() {
            return Ok(None);
        }
        if !url.starts_with("https://") {
            return Err(Error::failed(format!("--oidc-issuer {url}: expected an https address")));
        }
        let http = Http::new(authorities)?;
        Ok(Some(Issuer { url: url.clone(), client_ids, client, http, known: RwLock::default(), tried: Mutex::default() }))
    }

    /// As in the `iss` of its tokens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The issuer's name for people; `None` if browsers can't log in there.
    pub fn log_in_label(&self) -> Option<&str> {
        self.client.as_ref().map(|client| client.issuer_name.as_str())
    }

    /// The address at the issuer where a browser logs in. 503 if the issuer can't be reached.
    pub async fn authorization(&self, log_in: &LogIn) -> Result<Url> {
        let (client, endpoints) = self.for_browsers().await?;
        Ok(client.authorization_url(&endpoints, log_in))
    }

    /// The good id token that the issuer gives for the code of a log-in. 401 if it gives none or the token is not good, 503 if it
    /// can't be reached.
    pub async fn redeem(&self, code: &str, log_in: &LogIn) -> Result<Verified> {
        let (client, endpoints) = self.for_browsers().await?;
        let tokens = client.exchange(&self.http, &endpoints, code, log_in).await?;
        let mut verified = self.verify(&tokens.id_token, Some(&log_in.nonce)).await?;
        if verified.claims.person.email.is_empty()
            && let Some(person) = client::fetch_userinfo(&self.http, &endpoints, &tokens, &verified.claims).await
        {
            verified.claims.person = person;
        }
        Ok(verified)
    }

    async fn for_browsers(&self) -> Result<(&Client, Endpoints)> {
        const WITHOUT: Error =
            Error::Unavailable(Code::ProviderUnreachable, "The identity provider does not say where browsers log in");
        let client = self.client.as_ref().ok_or(NO_CLIENT)?;
        Ok((client, self.look_up(|documents| documents.endpoints.clone()).await?.ok_or(WITHOUT)?))
    }

    /// 401 for a token that is not a good one of this issuer's for this server, or that has not the nonce which the client
    /// asked for; 503 when its keys cannot be fetched.
    pub async fn verify(&self, token: &str, nonce: Option<&str>) -> Result<Verified> {
        const REFUSED: Error = Error::Unauthorized(Code::IdTokenInvalid, "The id token could not be verified");
        let header = jsonwebtoken::decode_header(token).map_err(|_| REFUSED)?;
        if !ALGORITHMS.contains(&header.alg) {
            return Err(REFUSED);
        }
        let id = header.kid.unwrap_or_default();
        let key = self.look_up(|documents| documents.keys.get(&id).cloned()).await?.ok_or(REFUSED)?;
        let mut rules = Validation::new(header.alg);
        rules.leeway = LEEWAY;
        rules.set_issuer(&[&self.url]);
        rules.set_audience(&self.client_ids);
        rules.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        let claims = jsonwebtoken::decode::<Claims>(token, &key, &rules).map_err(|_| REFUSED)?.claims;
        let issued_later = claims.iat > Time::now().unix_seconds() + LEEWAY as i64;
        // A token for several parties says which of them may use it.
        let party = match &claims.aud {
            Audience::One(one) => claims.azp.as_ref().unwrap_or(one),
            Audience::Many(many) => claims.azp.as_ref().or(many.first().filter(|_| many.len() == 1)).ok_or(REFUSED)?,
        };
        let for_us = self.client_ids.contains(party);
        let is_asked_for = nonce.is_none_or(|nonce| claims.nonce.as_deref() == Some(nonce));
        if issued_later || !for_us || !is_asked_for || claims.sub.is_empty() {
            return Err(REFUSED);
        }
        let signed = token.rsplit_once('.').map_or(token, |(signed, _)| signed);
        let expires_at = Time::from_unix_seconds(claims.exp) + Duration::from_secs(LEEWAY + 1);
        Ok(Verified { hash: secret::sha256(signed), expires_at, claims })
    }

    /// Finds a value in the issuer's documents; fetches them if it isn't there or they are old.
    async fn look_up<T>(&self, find: impl Fn(&Documents) -> Option<T>) -> Result<Option<T>> {
        if let Some(found) = self.find(&find) {
            return Ok(Some(found));
        }
        let mut tried = self.tried.lock().await;
        if tried.is_none_or(|at| at.elapsed() >= REFETCH_AFTER) {
            *tried = Some(Instant::now());
            match self.http.documents(&self.url).await {
                Ok(documents) => *self.known.write() = Known { documents, fetched: Some(Instant::now()) },
                Err(err) => tracing::warn!(issuer = self.url, err = err.log_text(), "the issuer's keys could not be fetched"),
            }
        }
        if !self.known.read().is_fresh() {
            return Err(UNREACHABLE);
        }
        Ok(self.find(&find))
    }

    /// Without waiting for anybody.
    fn find<T>(&self, find: impl Fn(&Documents) -> Option<T>) -> Option<T> {
        let known = self.known.read();
        if known.is_fresh() { find(&known.documents) } else { None }
    }
}

/// The refusal where the settings name no client for browsers.
pub const NO_CLIENT: Error = Error::Unauthorized(Code::ProviderMissing, "This server has no log-in by an identity provider");

/// The name of an issuer that has none in the settings.
fn name(url: &str) -> String {
    if GOOGLE.contains(&url) {
        return "Google".into();
    }
    let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.unwrap_or_else(|| url.to_owned())
}
