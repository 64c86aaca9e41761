//! The documents that an issuer publishes (OpenID Connect Discovery 1.0), and the client for requests to it.

use std::{collections::HashMap, time::Duration};

use jsonwebtoken::{
    DecodingKey,
    jwk::{AlgorithmParameters, Jwk, PublicKeyUse},
};
use reqwest::{Client, RequestBuilder, StatusCode, redirect::Policy};
use serde::{Deserialize, de::DeserializeOwned};
use url::Url;

use crate::{
    error::{Error, Result, chain},
    net::trusted_authorities::Authorities,
};

const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Bytes of an answer of the issuer's.
const ANSWER: usize = 256 << 10;

/// The signing keys by their ids, and the addresses for log-ins of browsers, if there are any.
#[derive(Default)]
pub struct Documents {
    pub keys: HashMap<String, DecodingKey>,
    pub endpoints: Option<Endpoints>,
}

/// Where browsers log in, and where what they bring back is exchanged.
#[derive(Clone)]
pub struct Endpoints {
    pub authorization: Url,
    pub token: String,
    pub user_info: Option<String>,
    /// Whether the token endpoint takes the client's secret as HTTP Basic authentication.
    pub takes_basic: bool,
}

/// The used part of an issuer's configuration (section 3).
#[derive(Deserialize)]
struct Configuration {
    issuer: String,
    jwks_uri: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    userinfo_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

impl Configuration {
    fn endpoints(self) -> Option<Endpoints> {
        // Without a list, it is Basic alone.
        let methods = self.token_endpoint_auth_methods_supported;
        Some(Endpoints {
            authorization: Url::parse(&self.authorization_endpoint?).ok().filter(|url| url.scheme() == "https")?,
            token: self.token_endpoint?,
            user_info: self.userinfo_endpoint,
            takes_basic: methods.is_none_or(|methods| methods.iter().any(|method| method == "client_secret_basic")),
        })
    }
}

/// The client for requests to an issuer. It speaks HTTPS alone and follows no redirect; time and memory for an answer are bounded.
pub struct Http(Client);

impl Http {
    pub fn new(authorities: &Authorities) -> Result<Http> {
        let client = Client::builder()
            .tls_backend_preconfigured(authorities.tls_config()?)
            .https_only(true)
            .redirect(Policy::none())
            .timeout(ANSWER_WITHIN)
            .build();
        client.map(Http).map_err(Error::internal)
    }

    pub fn get(&self, address: &str) -> RequestBuilder {
        self.0.get(address)
    }

    pub fn post(&self, address: &str) -> RequestBuilder {
        self.0.post(address)
    }

    /// The documents of the issuer with this address.
    pub async fn documents(&self, issuer: &str) -> Result<Documents> {
        #[derive(Deserialize)]
        struct KeySet {
            keys: Vec<serde_json::Value>,
        }
        let address = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let configuration: Configuration = fetch_json(self.get(&address)).await?;
        if configuration.issuer != issuer {
            return Err(Error::failed(format!("it calls itself {}", configuration.issuer)));
        }
        let set: KeySet = fetch_json(self.get(&configuration.jwks_uri)).await?;
        // One by one: a key of a kind that we do not know spoils nothing.
        let keys = set.keys.into_iter().filter_map(|key| serde_json::from_value::<Jwk>(key).ok());
        let keys = keys
            .filter(|key| key.common.public_key_use.as_ref().is_none_or(|used| *used == PublicKeyUse::Signature))
            .filter(|key| !matches!(key.algorithm, AlgorithmParameters::OctetKey(_)))
            .filter_map(|key| Some((key.common.key_id.clone().unwrap_or_default(), DecodingKey::from_jwk(&key).ok()?)));
        Ok(Documents { keys: keys.collect(), endpoints: configuration.endpoints() })
    }
}

/// The JSON of a successful answer.
pub async fn fetch_json<T: DeserializeOwned>(request: RequestBuilder) -> Result<T> {
    let (address, status, body) = fetch_any_status(request).await?;
    if !status.is_success() {
        return Err(Error::failed(format!("{address}: {status}")));
    }
    serde_json::from_slice(&body).map_err(|err| Error::failed(format!("{address}: {err}")))
}

/// An answer, of any status: the address, the status, the body.
pub async fn fetch_any_status(request: RequestBuilder) -> Result<(Url, StatusCode, Vec<u8>)> {
    let unreachable = |err: reqwest::Error| Error::failed(chain(&err));
    let mut response = request.send().await.map_err(unreachable)?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        body.extend_from_slice(&chunk);
        if body.len() > ANSWER {
            return Err(Error::failed(format!("{}: longer than {ANSWER} bytes", response.url())));
        }
    }
    Ok((response.url().clone(), response.status(), body))
}
