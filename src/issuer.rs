//! An OpenID Connect issuer: fetches its signing keys and verifies its id tokens (OpenID Connect Core 1.0,
//! section 3.1.3.7). Whose account a token opens is decided in `domain/accounts/identities.rs`.

use std::{
    collections::HashMap,
    sync::RwLock,
    time::{Duration, Instant},
};

use jsonwebtoken::{
    Algorithm, DecodingKey, Validation,
    jwk::{AlgorithmParameters, Jwk, PublicKeyUse},
};
use reqwest::Client;
use serde::{Deserialize, de::DeserializeOwned};
use tokio::sync::Mutex;

use crate::{
    error::{Code, Error, Result, chain},
    secret,
    time::Time,
    tls::Authorities,
};

/// At the most one fetch in this time, whatever tokens are sent.
const REFETCH_AFTER: Duration = Duration::from_secs(60);
/// Keys that the issuer withdrew are trusted no longer than this.
const FRESH: Duration = Duration::from_secs(3600);
const FETCH_WITHIN: Duration = Duration::from_secs(10);
/// Bytes of a document of the issuer's.
const DOCUMENT: usize = 256 << 10;
/// Seconds that clocks may differ.
const LEEWAY: u64 = 30;
/// Google's identifier; in tokens it may stand without the scheme.
const GOOGLE: [&str; 2] = ["https://accounts.google.com", "accounts.google.com"];
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

/// What a good id token says of its holder.
#[derive(Clone, Debug, Deserialize)]
pub struct Claims {
    pub iss: String,
    pub sub: String,
    iat: i64,
    exp: i64,
    aud: Audience,
    azp: Option<String>,
    nonce: Option<String>,
    /// The domain of a Google Workspace, whose administrators assign its addresses.
    hd: Option<String>,
    #[serde(default)]
    pub email: String,
    #[serde(default, deserialize_with = "truth")]
    pub email_verified: bool,
    #[serde(default)]
    pub given_name: String,
    #[serde(default)]
    pub family_name: String,
    #[serde(default)]
    pub picture: String,
}

impl Claims {
    /// Whether the issuer can say today whose an address is, given as [`crate::domain::text::email_address`] has it.
    ///
    /// Google verifies any address once, when an account is made with it; it says on only for its own domain and for
    /// those of its Workspaces. Another issuer is the operator's choice, who trusts what it verifies.
    pub fn is_authoritative_for(&self, email: &str) -> bool {
        let domain = email.rsplit_once('@').map_or("", |(_, domain)| domain);
        let is_google = GOOGLE.contains(&self.iss.as_str());
        let is_hosted = self.hd.as_ref().is_some_and(|hosted| hosted.eq_ignore_ascii_case(domain));
        !is_google || domain == "gmail.com" || is_hosted
    }
}

/// A good id token.
#[derive(Clone, Debug)]
pub struct Verified {
    pub claims: Claims,
    /// SHA-256 of what its signature covers: the signature itself may be written in several ways.
    pub hash: [u8; 32],
    /// From when on it would be refused anyway.
    pub expires_at: Time,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

/// Some issuers send `"true"`.
fn truth<'de, D: serde::Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    let value = serde_json::Value::deserialize(value)?;
    Ok(value == true || value == "true")
}

const NO_PANIC: &str = "nothing panics while it holds this";

pub struct Issuer {
    url: String,
    client_ids: Vec<String>,
    http: Client,
    keys: RwLock<Keys>,
    /// When the keys were last asked for; held while they are, so that who comes meanwhile waits for the same answer.
    tried: Mutex<Option<Instant>>,
}

#[derive(Default)]
struct Keys {
    by_id: HashMap<String, DecodingKey>,
    fetched: Option<Instant>,
}

impl Keys {
    fn are_fresh(&self) -> bool {
        self.fetched.is_some_and(|at| at.elapsed() < FRESH)
    }
}

impl Issuer {
    /// `url`: as in the tokens' `iss`; `client_ids`: as in their `aud`.
    pub fn new(url: &str, client_ids: &[String], authorities: &Authorities) -> Result<Issuer> {
        if !url.starts_with("https://") {
            return Err(Error::failed(format!("--oidc-issuer {url}: expected an https address")));
        }
        let http = Client::builder()
            .tls_backend_preconfigured(authorities.client()?)
            .https_only(true)
            .redirect(reqwest::redirect::Policy::none())
            .timeout(FETCH_WITHIN)
            .build()
            .map_err(Error::internal)?;
        Ok(Issuer { url: url.into(), client_ids: client_ids.to_vec(), http, keys: RwLock::default(), tried: Mutex::default() })
    }

    /// 401 for a token that is not a good one of this issuer's for this server, or that has not the nonce which the client
    /// asked for; 503 when its keys cannot be fetched.
    pub async fn verify(&self, token: &str, nonce: Option<&str>) -> Result<Verified> {
        const REFUSED: Error = Error::Unauthorized(Code::IdTokenInvalid, "The id token could not be verified");
        let header = jsonwebtoken::decode_header(token).map_err(|_| REFUSED)?;
        if !ALGORITHMS.contains(&header.alg) {
            return Err(REFUSED);
        }
        let key = self.key(header.kid.as_deref().unwrap_or_default()).await?.ok_or(REFUSED)?;
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

    /// The key of that id; asks the issuer when it is unknown or what is known is old.
    async fn key(&self, id: &str) -> Result<Option<DecodingKey>> {
        if let Some(key) = self.known(id) {
            return Ok(Some(key));
        }
        let mut tried = self.tried.lock().await;
        if tried.is_none_or(|at| at.elapsed() >= REFETCH_AFTER) {
            *tried = Some(Instant::now());
            match self.fetch().await {
                Ok(by_id) => *self.keys.write().expect(NO_PANIC) = Keys { by_id, fetched: Some(Instant::now()) },
                Err(err) => tracing::warn!(issuer = self.url, err = err.detail(), "the issuer's keys could not be fetched"),
            }
        }
        if !self.keys.read().expect(NO_PANIC).are_fresh() {
            return Err(Error::Unavailable(
                Code::ProviderUnreachable,
                "the identity provider can't be reached, try again in a minute",
            ));
        }
        Ok(self.known(id))
    }

    /// Without waiting for anybody.
    fn known(&self, id: &str) -> Option<DecodingKey> {
        let keys = self.keys.read().expect(NO_PANIC);
        keys.by_id.get(id).filter(|_| keys.are_fresh()).cloned()
    }

    async fn fetch(&self) -> Result<HashMap<String, DecodingKey>> {
        #[derive(Deserialize)]
        struct Configuration {
            issuer: String,
            jwks_uri: String,
        }
        #[derive(Deserialize)]
        struct KeySet {
            keys: Vec<serde_json::Value>,
        }
        let address = format!("{}/.well-known/openid-configuration", self.url.trim_end_matches('/'));
        let configuration: Configuration = self.document(&address).await?;
        if configuration.issuer != self.url {
            return Err(Error::failed(format!("it calls itself {}", configuration.issuer)));
        }
        let set: KeySet = self.document(&configuration.jwks_uri).await?;
        // One by one: a key of a kind that we do not know spoils nothing.
        let keys = set.keys.into_iter().filter_map(|key| serde_json::from_value::<Jwk>(key).ok());
        Ok(keys
            .filter(|key| key.common.public_key_use.as_ref().is_none_or(|used| *used == PublicKeyUse::Signature))
            .filter(|key| !matches!(key.algorithm, AlgorithmParameters::OctetKey(_)))
            .filter_map(|key| Some((key.common.key_id.clone().unwrap_or_default(), DecodingKey::from_jwk(&key).ok()?)))
            .collect())
    }

    async fn document<T: DeserializeOwned>(&self, address: &str) -> Result<T> {
        let unreachable = |err: reqwest::Error| Error::failed(chain(&err));
        let mut response = self.http.get(address).send().await.map_err(unreachable)?;
        if !response.status().is_success() {
            return Err(Error::failed(format!("{address}: {}", response.status())));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > DOCUMENT {
                return Err(Error::failed(format!("{address}: longer than {DOCUMENT} bytes")));
            }
        }
        serde_json::from_slice(&bytes).map_err(|err| Error::failed(format!("{address}: {err}")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Claims;

    #[test]
    fn google_is_authoritative_for_its_own_addresses_only() {
        let says = |issuer: &str, hosted: Option<&str>, email: &str| {
            let claims = json!({ "iss": issuer, "sub": "1", "iat": 0, "exp": 0, "aud": "x", "hd": hosted });
            serde_json::from_value::<Claims>(claims).unwrap().is_authoritative_for(email)
        };
        for google in ["https://accounts.google.com", "accounts.google.com"] {
            assert!(says(google, None, "ada@gmail.com"));
            assert!(says(google, Some("Example.org"), "ada@example.org"));
            assert!(!says(google, None, "ada@example.org"));
            assert!(!says(google, Some("example.org"), "ada@sub.example.org"));
            assert!(!says(google, Some("example.org"), "ada@evil.example"));
            assert!(!says(google, None, "ada@notgmail.com"));
        }
        assert!(says("https://sso.example.org", None, "ada@example.org"));
    }
}
