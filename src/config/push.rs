//! How live push is served.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::values::origin;
use crate::{
    error::{Error, Faults, Result},
    secret,
};

/// The longest lifetime of a token for an external Centrifugo.
const EXTERNAL_TOKEN_MAX: Duration = Duration::from_secs(300);

/// The settings of live push.
#[derive(Args, Clone, Debug)]
pub struct Push {
    /// Which server serves live push: this one, or an external Centrifugo that it publishes to
    #[arg(id = "push", long = "push", env = "TIDINGS_PUSH", default_value = "embedded", value_name = "embedded|centrifugo")]
    pub server: PushServer,

    /// Address of the external Centrifugo, without /api
    #[arg(long, env = "TIDINGS_CENTRIFUGO_URL", value_name = "URL")]
    pub centrifugo_url: Option<String>,

    /// Key of the external Centrifugo's server API, at least 16 characters
    #[arg(long, env = "TIDINGS_CENTRIFUGO_API_KEY", value_name = "KEY", hide_env_values = true)]
    pub centrifugo_api_key: Option<String>,

    /// HMAC key with which the external Centrifugo verifies tokens, at least 32 characters
    #[arg(long, env = "TIDINGS_CENTRIFUGO_TOKEN_KEY", value_name = "KEY", hide_env_values = true)]
    pub centrifugo_token_key: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PushServer {
    Embedded,
    Centrifugo,
}

impl PushServer {
    /// Caps the lifetime of a push token. An external Centrifugo doesn't ask the server whether a token's rights still
    /// hold.
    pub(crate) fn cut(self, lifetime: Duration) -> Duration {
        if self == PushServer::Centrifugo { lifetime.min(EXTERNAL_TOKEN_MAX) } else { lifetime }
    }
}

/// How to reach an external Centrifugo.
pub struct External {
    /// The server's address, without a trailing slash.
    pub url: String,
    /// The key of its server API.
    pub api_key: String,
}

impl Push {
    /// The key of the external Centrifugo's tokens, if there is one.
    pub(crate) fn token_key(&self) -> Option<&str> {
        self.centrifugo_token_key.as_deref().filter(|_| self.server == PushServer::Centrifugo)
    }

    /// The external Centrifugo to publish to, if there is one.
    pub fn external(&self) -> Result<Option<External>> {
        if self.server == PushServer::Embedded {
            return Ok(None);
        }
        let given = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        match (given(&self.centrifugo_url), given(&self.centrifugo_api_key), given(&self.centrifugo_token_key)) {
            (Some(url), Some(api_key), Some(token_key)) => {
                let url = origin("--centrifugo-url", &url);
                let mut faults = Faults::default();
                faults.note(&url);
                faults.note(&secret::check_key_form("--centrifugo-api-key", &api_key, secret::ACCESS_KEY_MIN));
                faults.note(&secret::check_key_form("--centrifugo-token-key", &token_key, secret::SIGNING_KEY_MIN));
                faults.into_result()?;
                Ok(Some(External { url: url?, api_key }))
            }
            _ => Err(Error::failed("--push centrifugo needs --centrifugo-url, --centrifugo-api-key and --centrifugo-token-key")),
        }
    }
}
