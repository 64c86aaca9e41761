//! Secrets: the server's keys, random tokens, password hashes, signed tokens, sealed texts.
//!
//! Nothing here is ever logged. Secrets are compared by looking up their SHA-256, or with the libraries' constant-time
//! functions.

pub mod api_token;
mod jwt;
pub mod sender_proof;
mod verified;

use std::{collections::HashSet, sync::LazyLock};

use argon2::{
    Argon2,
    password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use ring::{aead, digest, hmac, rand::SecureRandom};

use self::verified::VerifiedTokens;
pub use self::{
    jwt::{BadToken, JwtKeys},
    verified::Verified,
};
use crate::{
    error::{Error, Result},
    id::{InvitationId, WebhookId},
};

/// A SHA-256.
pub type Hash = [u8; 32];

/// The audience (`aud`) of access tokens of the API.
pub const ACCESS: &str = "api";

/// The audience (`aud`) of the marks of known devices.
pub const DEVICE: &str = "device";

/// The audience (`aud`) of what a browser keeps of a log-in that it has begun at the issuer.
pub const FEDERATED: &str = "federated";

/// The audience (`aud`) of the links that open one file.
pub const FILE_LINK: &str = "file";

/// The keys of one server, each derived from a secret key of 32 bytes for one purpose. The first of each kind is derived from
/// the key in force, which alone signs, seals and makes tokens; the others from former keys, the newest first.
pub struct Keys {
    /// Sign access tokens of the API.
    pub access: JwtKeys,
    /// Sign connection and subscription tokens of the push endpoint.
    pub push: JwtKeys,
    /// Sign the marks of known devices.
    pub device: JwtKeys,
    /// Sign what browsers keep of log-ins that they have begun at the issuer.
    pub federated: JwtKeys,
    /// Sign links that open one file.
    pub file_link: JwtKeys,
    invitation: Vec<hmac::Key>,
    webhook: Vec<hmac::Key>,
    outbox: Vec<aead::LessSafeKey>,
    verified: VerifiedTokens,
}

impl Keys {
    pub fn derive(master: &[u8; 32]) -> Keys {
        let master = hmac::Key::new(hmac::HMAC_SHA256, master);
        let derive = |purpose: &str| hmac::sign(&master, purpose.as_bytes());
        let sealing = aead::UnboundKey::new(&aead::AES_256_GCM, derive("outbox").as_ref()).expect("32 bytes are an AES-256 key");
        Keys {
            access: JwtKeys::with_one_key(derive("access").as_ref(), Some(ACCESS)),
            push: JwtKeys::with_one_key(derive("push").as_ref(), None),
            device: JwtKeys::with_one_key(derive("device").as_ref(), Some(DEVICE)),
            federated: JwtKeys::with_one_key(derive("federated").as_ref(), Some(FEDERATED)),
            file_link: JwtKeys::with_one_key(derive("file link").as_ref(), Some(FILE_LINK)),
            invitation: vec![hmac::Key::new(hmac::HMAC_SHA256, derive("invitation").as_ref())],
            webhook: vec![hmac::Key::new(hmac::HMAC_SHA256, derive("webhook").as_ref())],
            outbox: vec![aead::LessSafeKey::new(sealing)],
            verified: VerifiedTokens::default(),
        }
    }

    /// Adds a former key. What it sealed opens, and the tokens that were derived from it are found. The tokens that it signed
    /// are accepted only if `verifies`.
    pub fn with_former(mut self, master: &[u8; 32], verifies: bool) -> Keys {
        let former = Keys::derive(master);
        if verifies {
            self.access.also(former.access);
            self.push.also(former.push);
            self.device.also(former.device);
            self.federated.also(former.federated);
            self.file_link.also(former.file_link);
        }
        self.invitation.extend(former.invitation);
        self.webhook.extend(former.webhook);
        self.outbox.extend(former.outbox);
        self
    }

    /// The claims of an access token that one of the keys has signed.
    pub fn verify_access(&self, token: &str) -> Result<Verified, BadToken> {
        self.verified.verify(token, sha256(token), &self.access)
    }

    /// Replaces the push key by the one with which an external Centrifugo verifies tokens.
    pub fn with_push_key(self, key: &str) -> Keys {
        Keys { push: JwtKeys::with_one_key(key.as_bytes(), None), ..self }
    }

    /// The token of an invitation that its inviter sees. It can be derived again, and each resend voids the previous one.
    /// `stored` is the hash of the one in force; none to make a new one.
    pub fn invitation_token(&self, id: InvitationId, generation: i64, stored: Option<&Hash>) -> String {
        derived(&self.invitation, format!("invitation:{id}:{generation}").as_bytes(), stored)
    }

    /// The token of an invitation that only its mail contains. A caller who knows it has access to the mailbox.
    pub fn mailed_invitation_token(&self, id: InvitationId, generation: i64, stored: Option<&Hash>) -> String {
        derived(&self.invitation, format!("mailed invitation:{id}:{generation}").as_bytes(), stored)
    }

    /// The secret in the address of a webhook's feed. It can be derived again to be shown, so only its hash is stored. Each
    /// generation of the webhook has another one; 0 is the one of webhooks from before generations were counted.
    pub fn webhook_slug(&self, id: WebhookId, generation: i64, stored: Option<&Hash>) -> String {
        let text = format!("webhook:{id}:{generation}");
        derived(&self.webhook, if generation == 0 { id.0.as_bytes() } else { text.as_bytes() }, stored)
    }

    /// Encrypts a text for the database: a random nonce, the ciphertext, the tag.
    pub fn seal(&self, text: &str) -> Vec<u8> {
        let nonce: [u8; aead::NONCE_LEN] = random();
        let mut sealed = text.as_bytes().to_vec();
        self.outbox[0]
            .seal_in_place_append_tag(aead::Nonce::assume_unique_for_key(nonce), aead::Aad::empty(), &mut sealed)
            .expect("a text is shorter than AES-GCM's limit");
        [nonce.as_slice(), &sealed].concat()
    }

    /// Decrypts what [`Keys::seal`] returned under one of these keys; fails if another key sealed it.
    pub fn unseal(&self, sealed: &[u8]) -> Result<String> {
        let broken = || Error::internal("a sealed text does not open: was the key file replaced?");
        let (nonce, text) = sealed.split_first_chunk::<{ aead::NONCE_LEN }>().ok_or_else(broken)?;
        let open = |key: &aead::LessSafeKey| {
            let (nonce, mut text) = (aead::Nonce::assume_unique_for_key(*nonce), text.to_vec());
            key.open_in_place(nonce, aead::Aad::empty(), &mut text).map(|opened| opened.to_vec()).ok()
        };
        String::from_utf8(self.outbox.iter().find_map(open).ok_or_else(broken)?).map_err(Error::internal)
    }
}

/// The token that is derived from a text: under the first key, or under the one whose token has the stored hash.
fn derived(keys: &[hmac::Key], text: &[u8], stored: Option<&Hash>) -> String {
    let token = |key| BASE64_URL_SAFE_NO_PAD.encode(hmac::sign(key, text));
    let found = keys.iter().map(token).find(|token| stored.is_none_or(|hash| sha256(token) == *hash));
    found.unwrap_or_else(|| token(&keys[0]))
}

/// A key in the settings that other programs send with their requests.
#[derive(Clone)]
pub struct AccessKey {
    blind: hmac::Key,
    tag: hmac::Tag,
}

/// Fewest characters of a key that programs send to a server. Each guess at it costs a request to that server.
pub const ACCESS_KEY_MIN: usize = 16;
/// Fewest characters of a key that signs tokens of clients. Clients can guess at it offline, as fast as they compute. RFC 7518,
/// section 3.2, requires as many bits as the hash has.
pub const SIGNING_KEY_MIN: usize = 32;

/// Fails if a key in the settings is too short, or has a character that headers can't contain. The message doesn't show the
/// key.
pub fn check_key_form(flag: &str, key: &str, shortest: usize) -> Result<()> {
    if key.len() < shortest || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        let what = "characters, letters, digits and signs of ASCII";
        return Err(Error::failed(format!("{flag}: it must have at least {shortest} {what}")));
    }
    Ok(())
}

impl AccessKey {
    /// Makes a key of a setting; fails as [`check_key_form`] does.
    pub fn new(flag: &str, key: &str) -> Result<AccessKey> {
        check_key_form(flag, key, ACCESS_KEY_MIN)?;
        Ok(AccessKey::of(key))
    }

    fn of(key: &str) -> AccessKey {
        let blind = hmac::Key::new(hmac::HMAC_SHA256, &random::<32>());
        AccessKey { tag: hmac::sign(&blind, key.as_bytes()), blind }
    }

    /// Whether this is the key, compared in constant time.
    pub fn is(&self, shown: &str) -> bool {
        hmac::verify(&self.blind, shown.as_bytes(), self.tag.as_ref()).is_ok()
    }
}

/// `N` random bytes from the operating system.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    ring::rand::SystemRandom::new().fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// Bytes as hexadecimal digits, in small letters.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hash that is written in 64 hexadecimal digits.
pub fn unhex(digits: &str) -> Option<Hash> {
    let mut hash = Hash::default();
    let (pairs, []) = digits.as_bytes().as_chunks() else { return None };
    if pairs.len() != hash.len() {
        return None;
    }
    for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
        *byte = (char::from(*high).to_digit(16)? << 4 | char::from(*low).to_digit(16)?) as u8;
    }
    Some(hash)
}

/// A token of 256 random bits: 43 characters of base64url.
pub fn random_token() -> String {
    BASE64_URL_SAFE_NO_PAD.encode(random::<32>())
}

/// A new secret of a webhook, in the form of the Standard Webhooks specification.
pub fn signing_secret() -> String {
    format!("whsec_{}", BASE64_STANDARD.encode(random::<32>()))
}

/// The header `webhook-signature` of the Standard Webhooks specification: a signature by each secret over the event's id, the
/// time in Unix seconds, and the body.
pub fn webhook_signature(secrets: &[String], id: &str, time: i64, body: &[u8]) -> Result<String> {
    let sign = |secret: &String| {
        let key = BASE64_STANDARD.decode(secret.trim_start_matches("whsec_")).map_err(Error::internal)?;
        let mut signing = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &key));
        signing.update(format!("{id}.{time}.").as_bytes());
        signing.update(body);
        Ok(format!("v1,{}", BASE64_STANDARD.encode(signing.sign())))
    };
    Ok(secrets.iter().map(sign).collect::<Result<Vec<_>>>()?.join(" "))
}

/// The SHA-256 of a text. The database stores tokens only in this form.
pub fn sha256(text: impl AsRef<[u8]>) -> Hash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, text.as_ref()).as_ref());
    hash
}

/// The SHA-256 of a text as a text.
pub fn fingerprint(text: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(sha256(text))
}

/// Hashes a password with argon2id, 19 MiB, two passes and one lane (OWASP's second choice), which takes some 15 ms of a core.
/// Call it through [`crate::state::Inner::hash_password`], which bounds how many run at a time.
pub fn hash_password(password: &str) -> Result<String> {
    Ok(Argon2::default().hash_password(password.as_bytes()).map_err(Error::internal)?.to_string())
}

/// Whether the password matches the hash. An empty hash (an account without a password, or no account) matches none, and
/// takes as long as a wrong password.
pub fn verify_password(password: &str, hash: &str) -> bool {
    static NOBODY: LazyLock<String> = LazyLock::new(|| hash_password(&random_token()).expect("hashing works"));
    let parsed = PasswordHash::new(if hash.is_empty() { &NOBODY } else { hash });
    parsed.is_ok_and(|parsed| Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok())
}

/// Whether the hash has other parameters than [`hash_password`] uses now.
pub fn is_hash_outdated(hash: &str) -> bool {
    let params = Argon2::default();
    let current = [("m", params.params().m_cost()), ("t", params.params().t_cost()), ("p", params.params().p_cost())];
    match PasswordHash::new(hash) {
        Ok(hash) => {
            hash.algorithm.as_str() != "argon2id"
                || current.iter().any(|(name, value)| hash.params.get_decimal(*name) != Some(*value))
        }
        Err(_) => true,
    }
}

/// Whether a password is among the 3,000 most common ones of at least eight characters.
pub fn is_common(password: &str) -> bool {
    static COMMON: LazyLock<HashSet<&str>> = LazyLock::new(|| include_str!("common_passwords.txt").lines().collect());
    COMMON.contains(password.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_text_opens_with_the_same_key_only() {
        let keys = Keys::derive(&[1; 32]);
        let sealed = keys.seal("hello");
        assert_eq!(keys.unseal(&sealed).unwrap(), "hello");
        assert!(Keys::derive(&[2; 32]).unseal(&sealed).is_err());
        assert!(keys.unseal(&sealed[..8]).is_err());
        let mut bent = sealed.clone();
        bent[20] ^= 1;
        assert!(keys.unseal(&bent).is_err());
    }

    #[test]
    fn a_webhook_from_before_generations_keeps_its_address() {
        let keys = Keys::derive(b"a key of 32 bytes of the release");
        let id = WebhookId("01900000-0000-7000-8000-000000003002".parse().unwrap());
        // The HMAC of the identifier's bytes, computed by another program.
        let slug = "Owzz3bXmFRA8U8OV3F6JkytKrjVPiuJk2sdlslL4LNM";
        assert_eq!(keys.webhook_slug(id, 0, Some(&sha256(slug))), slug);
        assert_ne!(keys.webhook_slug(id, 1, None), slug);
    }

    #[test]
    fn a_former_key_opens_and_derives_and_verifies_only_while_it_is_accepted() {
        let former = Keys::derive(&[1; 32]);
        let claims = serde_json::json!({ "exp": crate::time::Time::now().unix_seconds() + 60, "aud": "api" });
        let (token, sealed) = (former.access.sign(&claims).unwrap(), former.seal("hello"));
        let id = WebhookId::new();
        let slug = former.webhook_slug(id, 1, None);
        for accepted in [true, false] {
            let keys = Keys::derive(&[2; 32]).with_former(&[1; 32], accepted);
            assert_eq!(keys.access.verify::<serde_json::Value>(&token).is_ok(), accepted);
            assert_eq!(keys.unseal(&sealed).unwrap(), "hello");
            assert_eq!(keys.webhook_slug(id, 1, Some(&sha256(&slug))), slug);
            assert_ne!(keys.webhook_slug(id, 1, None), slug, "a new one is of the key in force");
            assert!(former.unseal(&keys.seal("hello")).is_err());
            assert!(former.access.verify::<serde_json::Value>(&keys.access.sign(&claims).unwrap()).is_err());
        }
    }

    #[test]
    fn a_key_is_recognised_and_a_weak_one_is_refused() {
        let key = AccessKey::new("--key", "0123456789abcdef").unwrap();
        assert!(key.is("0123456789abcdef"));
        assert!(!key.is("0123456789abcdeF") && !key.is("0123456789abcdef0") && !key.is(""));
        for weak in ["", "0123456789abcde", "0123456789 abcdef", "0123456789abcdéf"] {
            let refused = AccessKey::new("--key", weak).err().unwrap().to_string();
            assert!(refused.starts_with("--key: ") && (weak.is_empty() || !refused.contains(weak)), "{refused}");
        }
    }

    #[test]
    fn passwords_are_verified_and_outdated_hashes_found() {
        let hash = hash_password("correct horse").unwrap();
        assert!(verify_password("correct horse", &hash));
        assert!(!verify_password("wrong horse", &hash));
        assert!(!verify_password("", ""));
        assert!(!is_hash_outdated(&hash));
        assert!(is_hash_outdated(&hash.replace("m=19456", "m=4096")));
        assert!(is_common("Password1") && !is_common("correct horse battery"));
    }
}
