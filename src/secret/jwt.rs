//! Signed tokens: JSON Web Tokens (RFC 7519).

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, errors::ErrorKind};
use serde::{Serialize, de::DeserializeOwned};

use crate::error::{Error, Result};

/// Signs with the first of its keys, and verifies with all.
pub struct JwtKeys(Vec<JwtKey>);

impl JwtKeys {
    /// One key. `audience` is the `aud` of its tokens; without one, they have none.
    pub(super) fn with_one_key(key: &[u8], audience: Option<&str>) -> JwtKeys {
        JwtKeys(vec![JwtKey::new(key, audience)])
    }

    /// Verifies with former keys, too.
    pub(super) fn also(&mut self, former: JwtKeys) {
        self.0.extend(former.0);
    }

    pub fn sign(&self, claims: &impl Serialize) -> Result<String> {
        self.0[0].sign(claims)
    }

    /// [`JwtKey::verify`] with the key that signed the token.
    pub fn verify<T: DeserializeOwned>(&self, token: &str) -> Result<T, BadToken> {
        let mut refused = BadToken::Invalid;
        for key in &self.0 {
            match key.verify(token) {
                Err(BadToken::Invalid) => {}
                Err(BadToken::Expired) => refused = BadToken::Expired,
                Ok(claims) => return Ok(claims),
            }
        }
        Err(refused)
    }
}

/// Signs and verifies JSON Web Tokens with HS256 and nothing else (RFC 8725, section 3.1).
struct JwtKey {
    sign: EncodingKey,
    verify: DecodingKey,
    /// The checks of a token. Made once, because making them costs as much as the check of a signature.
    rules: Validation,
}

/// Why a token was refused.
#[derive(Debug, PartialEq, Eq)]
pub enum BadToken {
    Expired,
    Invalid,
}

impl JwtKey {
    fn new(key: &[u8], audience: Option<&str>) -> JwtKey {
        let mut rules = Validation::new(Algorithm::HS256);
        rules.leeway = 0;
        rules.validate_nbf = true;
        if let Some(audience) = audience {
            rules.set_audience(&[audience]);
            rules.set_required_spec_claims(&["exp", "aud"]);
        }
        JwtKey { sign: EncodingKey::from_secret(key), verify: DecodingKey::from_secret(key), rules }
    }

    fn sign(&self, claims: &impl Serialize) -> Result<String> {
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), claims, &self.sign).map_err(Error::internal)
    }

    /// Checks the signature, `exp`, `nbf`, and that `aud` is the key's audience, or is absent if the key has none.
    fn verify<T: DeserializeOwned>(&self, token: &str) -> Result<T, BadToken> {
        match jsonwebtoken::decode::<T>(token, &self.verify, &self.rules) {
            Ok(data) => Ok(data.claims),
            // As in Centrifugo, a token that isn't valid yet counts as expired.
            Err(err) if matches!(err.kind(), ErrorKind::ExpiredSignature | ErrorKind::ImmatureSignature) => {
                Err(BadToken::Expired)
            }
            Err(_) => Err(BadToken::Invalid),
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};

    use super::*;

    #[test]
    fn a_token_is_good_for_its_key_its_audience_and_its_time() {
        #[derive(Serialize, serde::Deserialize)]
        struct Claims {
            exp: i64,
            #[serde(skip_serializing_if = "Option::is_none")]
            aud: Option<String>,
        }
        let of = |audience: Option<&str>| JwtKey::new(&[1; 32], audience);
        let (keys, key) = (crate::secret::Keys::derive(&[1; 32]), of(Some("api")));
        let later = crate::time::Time::now().unix_seconds() + 60;
        let check = |token: &str, audience: Option<&str>| of(audience).verify::<Claims>(token).map(|_| ());

        let api = key.sign(&Claims { exp: later, aud: Some("api".into()) }).unwrap();
        assert_eq!(check(&api, Some("api")), Ok(()));
        assert_eq!(check(&api, Some("other")), Err(BadToken::Invalid));
        assert_eq!(check(&api, None), Err(BadToken::Invalid));
        assert!(keys.access.verify::<Claims>(&api).is_err() && keys.push.verify::<Claims>(&api).is_err());

        let bare = key.sign(&Claims { exp: later, aud: None }).unwrap();
        assert_eq!(check(&bare, None), Ok(()));
        assert_eq!(check(&bare, Some("api")), Err(BadToken::Invalid));

        let old = key.sign(&Claims { exp: later - 120, aud: Some("api".into()) }).unwrap();
        assert_eq!(check(&old, Some("api")), Err(BadToken::Expired));
        let early = key.sign(&serde_json::json!({ "exp": later, "nbf": later - 10, "aud": "api" })).unwrap();
        assert_eq!(check(&early, Some("api")), Err(BadToken::Expired));
        let begun = key.sign(&serde_json::json!({ "exp": later, "nbf": later - 120, "aud": "api" })).unwrap();
        assert_eq!(check(&begun, Some("api")), Ok(()));
        let unsigned =
            format!("{}.{}.", BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#), api.split('.').nth(1).unwrap());
        assert_eq!(check(&unsigned, Some("api")), Err(BadToken::Invalid));
    }
}
