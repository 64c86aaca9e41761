//! The claims of id tokens (OpenID Connect Core 1.0, sections 2 and 5.1).

use serde::Deserialize;

use crate::{secret::Hash, time::Time};

/// Google's identifier; in tokens it may stand without the scheme.
pub const GOOGLE: [&str; 2] = ["https://accounts.google.com", "accounts.google.com"];

/// The claims of a valid id token.
#[derive(Clone, Debug, Deserialize)]
pub struct Claims {
    pub iss: String,
    pub sub: String,
    pub(super) iat: i64,
    pub(super) exp: i64,
    pub(super) aud: Audience,
    pub(super) azp: Option<String>,
    pub(super) nonce: Option<String>,
    /// The domain of a Google Workspace, whose administrators assign its addresses.
    hd: Option<String>,
    #[serde(flatten)]
    pub person: Person,
}

/// The claims about a person besides the subject.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Person {
    pub email: String,
    #[serde(deserialize_with = "truth")]
    pub email_verified: bool,
    pub given_name: String,
    pub family_name: String,
    pub picture: String,
}

impl Claims {
    /// Whether the issuer can say today whose an address is, given as [`crate::domain::text::normalised_address`] has it.
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
    pub hash: Hash,
    /// From when on it would be refused anyway.
    pub expires_at: Time,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Audience {
    One(String),
    Many(Vec<String>),
}

/// Some issuers send `"true"`.
fn truth<'de, D: serde::Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    let value = serde_json::Value::deserialize(value)?;
    Ok(value == true || value == "true")
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
