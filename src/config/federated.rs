//! Log-in by an OpenID Connect issuer.

use clap::Args;

/// The issuer and its clients. Without a client id, federated log-in is off.
#[derive(Args, Clone, Debug)]
pub struct Federated {
    /// Client ids of your apps at the OpenID Connect issuer, whose id tokens log in; several
    #[arg(long, env = "TIDINGS_GOOGLE_CLIENT_ID", value_delimiter = ',', value_name = "ID")]
    pub google_client_id: Vec<String>,

    /// OpenID Connect issuer of federated log-in
    #[arg(long, env = "TIDINGS_OIDC_ISSUER", default_value = "https://accounts.google.com", value_name = "URL")]
    pub oidc_issuer: String,

    /// Client id of this server at the issuer, with which browsers log in; its redirect URI is /auth/oidc/callback at the base URL
    #[arg(long, env = "TIDINGS_OIDC_CLIENT_ID", value_name = "ID")]
    pub oidc_client_id: Option<String>,

    /// Secret of that client; none for a public client
    #[arg(long, env = "TIDINGS_OIDC_CLIENT_SECRET", value_name = "SECRET", hide_env_values = true)]
    pub oidc_client_secret: Option<String>,

    /// Name of the issuer, for the button with which browsers log in [default: the issuer's host]
    #[arg(long, env = "TIDINGS_OIDC_NAME", value_name = "NAME")]
    pub oidc_name: Option<String>,
}

impl Federated {
    /// The client ids for which the issuer makes the id tokens that log in.
    pub fn audience(&self) -> Vec<String> {
        self.google_client_id.iter().chain(&self.oidc_client_id).cloned().collect()
    }
}
