//! An OpenID Connect issuer on this machine: it signs id tokens, and gives them for codes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_json::{Value, json};
use tidings::config::Settings;
use url::{Url, form_urlencoded};

use crate::{certificate::Certificate, harness::Server};

pub const CLIENT: &str = "tidings-test";
/// With characters that stand for others in a form.
pub const SECRET: &str = "s3cret: 100% & more";

pub struct Issuer {
    pub url: String,
    key: EncodingKey,
    certificate: Certificate,
    desk: Arc<Mutex<Desk>>,
}

/// What the issuer knows of log-ins.
#[derive(Default)]
struct Desk {
    grants: HashMap<String, Grant>,
    /// The heads and bodies of the requests with codes.
    exchanged: Vec<String>,
    /// What the token endpoint answers instead, if anything: the status line and the body.
    instead: Option<(&'static str, String)>,
    /// What the endpoint about users says, by its bearer token.
    people: HashMap<String, Value>,
}

/// What a code is for.
struct Grant {
    challenge: String,
    redirect_uri: String,
    id_token: String,
}

impl Desk {
    /// Gives the id token of a code, once, if the verifier and the address are those of its log-in.
    fn exchange(&mut self, request: &str) -> (&'static str, String) {
        self.exchanged.push(request.to_owned());
        if let Some(instead) = &self.instead {
            return instead.clone();
        }
        let body = request.split_once("\r\n\r\n").unwrap().1;
        let form: HashMap<_, _> = form_urlencoded::parse(body.as_bytes()).into_owned().collect();
        assert_eq!(form["grant_type"], "authorization_code");
        let verifies = |grant: &Grant| {
            let hash = ring::digest::digest(&ring::digest::SHA256, form["code_verifier"].as_bytes());
            BASE64_URL_SAFE_NO_PAD.encode(hash) == grant.challenge && form["redirect_uri"] == grant.redirect_uri
        };
        match self.grants.remove(&form["code"]).filter(verifies) {
            Some(grant) => {
                let tokens = json!({ "id_token": grant.id_token, "access_token": form["code"], "token_type": "Bearer" });
                ("200 OK", tokens.to_string())
            }
            None => ("400 Bad Request", json!({ "error": "invalid_grant" }).to_string()),
        }
    }

    fn person(&self, request: &str) -> (&'static str, String) {
        let bearer = request.lines().find_map(|line| line.strip_prefix("authorization: Bearer ")).unwrap();
        self.people.get(bearer).map_or(("403 Forbidden", "{}".into()), |person| ("200 OK", person.to_string()))
    }
}

impl Issuer {
    pub fn start() -> Issuer {
        Issuer::saying(json!({}))
    }

    /// Publishes one key, and more of itself.
    pub fn saying(more: Value) -> Issuer {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random).unwrap();
        let (x, y) = pair.public_key().as_ref()[1..].split_at(32); // after the sign of an uncompressed point
        let [x, y] = [x, y].map(|half| BASE64_URL_SAFE_NO_PAD.encode(half));
        let keys = json!({ "keys": [{ "kty": "EC", "crv": "P-256", "kid": "one", "use": "sig", "x": x, "y": y }] });
        let certificate = Certificate::of("localhost");
        let desk = Arc::<Mutex<Desk>>::default();
        let at = desk.clone();
        let port = certificate.serve_with(move |port, request| {
            let url = format!("https://localhost:{port}");
            let mut about = json!({
                "issuer": url, "jwks_uri": format!("{url}/keys"), "authorization_endpoint": format!("{url}/authorize?theme=sea"),
                "token_endpoint": format!("{url}/token"), "userinfo_endpoint": format!("{url}/me"),
            });
            about.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let (status, body) = match request.split_whitespace().nth(1).unwrap_or_default() {
                "/keys" => ("200 OK", keys.to_string()),
                "/token" => at.lock().unwrap().exchange(request),
                "/me" => at.lock().unwrap().person(request),
                _ => ("200 OK", about.to_string()),
            };
            format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
        });
        let url = format!("https://localhost:{port}");
        Issuer { url, key: EncodingKey::from_ec_der(key.as_ref()), certificate, desk }
    }

    /// A server that trusts the issuer.
    pub async fn server(&self) -> Server {
        self.server_with(|_| {}).await
    }

    pub async fn server_with(&self, change: impl FnOnce(&mut Settings)) -> Server {
        Server::with(|settings| {
            let file = settings.data_dir.join("authority.pem");
            std::fs::write(&file, self.certificate.pem()).unwrap();
            settings.mail.ca_file = Some(file);
            settings.federated.oidc_issuer = self.url.clone();
            settings.federated.google_client_id = vec![CLIENT.into()];
            change(settings);
        })
        .await
    }

    /// A server at which browsers log in by the issuer, with further settings.
    pub async fn server_for_browsers(&self, change: impl FnOnce(&mut Settings)) -> Server {
        self.server_with(|settings| {
            settings.federated.oidc_client_id = Some(CLIENT.into());
            settings.federated.oidc_client_secret = Some(SECRET.into());
            change(settings);
        })
        .await
    }

    /// An id token for Ada, with further claims.
    pub fn token(&self, more: Value) -> String {
        let now = jiff::Timestamp::now().as_second();
        let mut claims = json!({
            "iss": self.url, "aud": CLIENT, "sub": "42", "iat": now, "exp": now + 600,
            "email": "Ada@example.org", "email_verified": true,
        });
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let header = Header { kid: Some("one".into()), ..Header::new(Algorithm::ES256) };
        jsonwebtoken::encode(&header, &claims, &self.key).unwrap()
    }

    /// Ada logs in at the address to which the server sent her browser. Gives the code, and where the browser brings it. Her id
    /// token has further claims.
    pub fn log_in(&self, address: &str, more: Value) -> (String, String) {
        let url = Url::parse(address).unwrap();
        assert!(address.starts_with(&format!("{}/authorize?theme=sea&", self.url)), "{address}");
        let asked: HashMap<_, _> = url.query_pairs().into_owned().collect();
        for (name, value) in [
            ("response_type", "code"),
            ("client_id", CLIENT),
            ("scope", "openid email profile"),
            ("code_challenge_method", "S256"),
        ] {
            assert_eq!(asked[name], value);
        }
        let mut claims = json!({ "nonce": asked["nonce"] });
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (code, redirect_uri) = (tidings::secret::random_token(), asked["redirect_uri"].clone());
        let grant = Grant { challenge: asked["code_challenge"].clone(), redirect_uri, id_token: self.token(claims) };
        let back = format!("{}?code={code}&state={}", grant.redirect_uri, asked["state"]);
        self.desk.lock().unwrap().grants.insert(code.clone(), grant);
        (code, back)
    }

    /// Lets the token endpoint answer this from now on.
    pub fn answer(&self, status: &'static str, body: impl Into<String>) {
        self.desk.lock().unwrap().instead = Some((status, body.into()));
    }

    /// Lets the endpoint about users say this of whoever logged in with the code.
    pub fn tell(&self, code: &str, person: Value) {
        self.desk.lock().unwrap().people.insert(code.to_owned(), person);
    }

    /// The requests to the token endpoint.
    pub fn exchanged(&self) -> Vec<String> {
        self.desk.lock().unwrap().exchanged.clone()
    }
}
