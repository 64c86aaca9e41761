//! This server as a client of an issuer, for browsers: the authorization code flow (OpenID Connect Core 1.0, section 3.1) with
//! proof of possession by PKCE (RFC 7636).

use reqwest::{RequestBuilder, header};
use serde::Deserialize;
use url::{Url, form_urlencoded};

use super::{
    claims::{Claims, Person},
    documents::{Endpoints, Http, fetch_any_status, fetch_json},
};
use crate::{
    error::{Code, Error, Result},
    secret,
};

pub const UNREACHABLE: Error =
    Error::Unavailable(Code::ProviderUnreachable, "the identity provider can't be reached, try again in a minute");
const REFUSED: Error = Error::Unauthorized(Code::IdTokenInvalid, "The identity provider refused the log-in");
/// The scopes that a log-in asks for.
const SCOPES: &str = "openid email profile";

/// How this server is known at the issuer.
pub struct Client {
    pub id: String,
    pub secret: Option<String>,
    /// The issuer's name for people.
    pub issuer_name: String,
}

/// The secrets of one log-in.
pub struct LogIn {
    /// Comes back with the code, and shows that the browser is the one that began.
    pub state: String,
    /// Comes back in the id token, and shows that it was made for this log-in.
    pub nonce: String,
    /// Shows the issuer that whoever exchanges the code began the log-in. It gets only the hash before.
    pub verifier: String,
    /// Where the issuer sends the browser back to.
    pub redirect_uri: String,
}

/// The issuer's answer to a code.
#[derive(Deserialize)]
pub struct Tokens {
    pub id_token: String,
    access_token: Option<String>,
}

impl Client {
    /// The address at the issuer where a browser logs in.
    pub fn authorization_url(&self, endpoints: &Endpoints, log_in: &LogIn) -> Url {
        let mut address = endpoints.authorization.clone();
        address.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &self.id),
            ("redirect_uri", &log_in.redirect_uri),
            ("scope", SCOPES),
            ("state", &log_in.state),
            ("nonce", &log_in.nonce),
            ("code_challenge", &secret::fingerprint(&log_in.verifier)),
            ("code_challenge_method", "S256"),
        ]);
        address
    }

    /// Exchanges a code. 401 if the issuer refuses it, 503 if it can't be reached.
    pub async fn exchange(&self, http: &Http, endpoints: &Endpoints, code: &str, log_in: &LogIn) -> Result<Tokens> {
        #[derive(Deserialize)]
        struct Refused {
            error: String,
        }
        let request = self.token_request(http, endpoints, code, log_in);
        let (_, status, body) = fetch_any_status(request).await.map_err(|err| {
            tracing::warn!(err = err.log_text(), "the issuer's token endpoint can't be reached");
            UNREACHABLE
        })?;
        let tokens = if status.is_success() { serde_json::from_slice(&body).ok() } else { None };
        tokens.ok_or_else(|| {
            let says = serde_json::from_slice::<Refused>(&body).map_or_else(|_| String::new(), |refused| refused.error);
            let says: String = says.chars().take(100).collect();
            tracing::warn!(status = status.as_u16(), error = says, "the issuer gives no id token for a code");
            if status.is_server_error() { UNREACHABLE } else { REFUSED }
        })
    }

    fn token_request(&self, http: &Http, endpoints: &Endpoints, code: &str, log_in: &LogIn) -> RequestBuilder {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs([("grant_type", "authorization_code"), ("code", code), ("redirect_uri", &log_in.redirect_uri)]);
        form.append_pair("code_verifier", &log_in.verifier);
        let mut request = http.post(&endpoints.token);
        match &self.secret {
            // Both are encoded before (RFC 6749, section 2.3.1).
            Some(secret) if endpoints.takes_basic => request = request.basic_auth(encoded(&self.id), Some(encoded(secret))),
            Some(secret) => _ = form.append_pair("client_id", &self.id).append_pair("client_secret", secret),
            None => _ = form.append_pair("client_id", &self.id),
        }
        let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        request.header(header::ACCEPT, "application/json").body(form.finish())
    }
}

/// The claims at the issuer's userinfo endpoint (OpenID Connect Core 1.0, section 5.3): some issuers
/// leave it out of id tokens. `None` if it says nothing; who is known by the token alone may still log in.
pub async fn fetch_userinfo(http: &Http, endpoints: &Endpoints, tokens: &Tokens, claims: &Claims) -> Option<Person> {
    #[derive(Deserialize)]
    struct UserInfo {
        sub: String,
        #[serde(flatten)]
        person: Person,
    }
    let request = http.get(endpoints.user_info.as_ref()?).bearer_auth(tokens.access_token.as_ref()?);
    match fetch_json::<UserInfo>(request).await {
        Ok(info) => Some(info.person).filter(|_| info.sub == claims.sub),
        Err(err) => {
            tracing::warn!(err = err.log_text(), "the issuer says nothing of the person who logs in");
            None
        }
    }
}

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
