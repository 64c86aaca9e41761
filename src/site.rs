//! What the rules need to know of this server: its keys, its addresses, its policies.

use std::time::Duration;

use crate::secret::Keys;

pub struct Site {
    pub keys: Keys,
    /// The origin under which the server is reached, without a trailing slash.
    pub base_url: String,
    /// Where links in mails lead, without a trailing slash.
    pub web_url: String,
    pub registration: Registration,
    /// Whether log-in waits for the e-mail address to be verified.
    pub require_verified_email: bool,
    pub session_lifetime: Duration,
    pub invitation_lifetime: Duration,
    pub verification_lifetime: Duration,
    pub event_retention: Duration,
    /// How long deleted channels are kept.
    pub purge_after: Duration,
    /// False lifts the limits on mails and invitations, too.
    pub rate_limit: bool,
}

/// Who may make an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Registration {
    Open,
    /// Only those with an open invitation.
    Invited,
    Closed,
}
