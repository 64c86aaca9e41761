//! The server's identity for the rules: its keys, its addresses, its policies.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket},
    sync::Arc,
    time::Duration,
};

use ipnet::IpNet;
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::{
    config::{DAY, FeedAuth, Files, HOUR, Invitations, MINUTE, OrganisationsBy, Registration, SECOND, Settings, Switch},
    id::WebhookId,
    secret::{Hash, Keys},
};

pub struct Site {
    keys: RwLock<Arc<Keys>>,
    /// The key of an external Centrifugo's tokens, which takes the place of the server's own.
    push_key: Option<String>,
    /// The origin under which the server is reached, without a trailing slash.
    pub base_url: String,
    /// Names that lead to the server besides.
    names: Vec<String>,
    /// Where links in mails lead, without a trailing slash.
    pub web_url: String,
    /// Whether the server's own web client is served.
    pub client: bool,
    pub registration: Registration,
    pub organisations_by: OrganisationsBy,
    pub feed_auth: FeedAuth,
    /// Networks that webhooks may reach though they are not on the public internet.
    pub private_webhooks: Vec<IpNet>,
    /// Whether sessions, however they begin, need a verified e-mail address.
    pub require_verified_email: bool,
    pub session_lifetime: Duration,
    pub invitation_lifetime: Duration,
    pub invitations: Invitations,
    /// The bounds of files.
    pub files: Files,
    pub magic_link_lifetime: Duration,
    pub reset_lifetime: Duration,
    pub verification_lifetime: Duration,
    pub push_token_lifetime: Duration,
    pub event_retention: Duration,
    /// How long deleted channels are kept.
    pub purge_after: Duration,
    /// Live channels of one organisation, direct messages aside.
    pub channels_per_organisation: u32,
    /// Organisations that one account is a member of.
    pub organisations_per_user: u32,
    /// The addresses that get mails of the contact form.
    pub contact_to: Option<String>,
    /// False lifts the limits on mails and invitations, too.
    pub rate_limit: bool,
}

impl Site {
    /// The site of a server with these settings and addresses ([`Settings::server_and_link_origins`]).
    pub fn new(settings: &Settings, keys: Keys, (base_url, web_url): (String, String)) -> Site {
        let push_key = settings.push.token_key().map(str::to_owned);
        Site {
            keys: RwLock::new(in_force(keys, push_key.as_deref())),
            push_key,
            base_url,
            names: settings.listen.domains.clone(),
            web_url,
            client: settings.client == Switch::On,
            registration: settings.registration,
            organisations_by: settings.founders(),
            feed_auth: settings.feed_auth,
            private_webhooks: settings.allow_private_webhooks.clone(),
            require_verified_email: settings.require_verified_email,
            session_lifetime: DAY * settings.session_days,
            invitation_lifetime: DAY * 7,
            invitations: settings.invitations,
            files: settings.files,
            magic_link_lifetime: MINUTE * settings.magic_link_minutes,
            reset_lifetime: MINUTE * settings.password_reset_minutes,
            verification_lifetime: HOUR * settings.verification_hours,
            push_token_lifetime: settings.push.server.cut(SECOND * settings.push_token_seconds),
            event_retention: HOUR * settings.event_retention_hours,
            purge_after: DAY * settings.purge_days,
            channels_per_organisation: settings.channels_per_organisation,
            organisations_per_user: settings.organisations_per_user,
            contact_to: settings.contact_to.clone(),
            rate_limit: settings.rate_limit == Switch::On,
        }
    }

    /// The keys as of now.
    pub fn keys(&self) -> Arc<Keys> {
        self.keys.read().clone()
    }

    /// Puts other keys in force; the key of an external Centrifugo stays.
    pub fn replace_keys(&self, keys: Keys) {
        *self.keys.write() = in_force(keys, self.push_key.as_deref());
    }

    /// Where a webhook takes in posts. `slug` is the hash of its slug.
    pub fn webhook_feed_url(&self, webhook: WebhookId, generation: i64, slug: &Hash) -> String {
        let slug = self.keys().webhook_slug(webhook, generation, Some(slug));
        format!("{}/api/v1/webhooks/feed/{slug}", self.base_url)
    }

    /// Whether the address is on this server itself, whatever its scheme.
    pub fn is_own(&self, url: &Url) -> bool {
        let place = |url: &Url| {
            let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_owned();
            (host, url.port_or_known_default())
        };
        Url::parse(&self.base_url).is_ok_and(|own| {
            let ((own, own_port), (host, port)) = (place(&own), place(url));
            port == own_port && (host == own || self.names.contains(&host))
        })
    }

    /// Whether only this machine can follow the links that are mailed, and reach the server under its base URL.
    pub fn is_local(&self) -> bool {
        is_loopback(&self.base_url) && is_loopback(&self.web_url)
    }
}

/// The facts that a server publishes for commands beside it, whose settings need not be the server's.
#[derive(Serialize, Deserialize)]
pub struct Served {
    pub base_url: String,
    pub web_url: String,
    /// Whether mails leave the server; otherwise its log has them.
    pub has_mail_server: bool,
}

fn in_force(keys: Keys, push_key: Option<&str>) -> Arc<Keys> {
    Arc::new(match push_key {
        Some(push_key) => keys.with_push_key(push_key),
        None => keys,
    })
}

/// Whether an address is unspecified, such as `http://0.0.0.0:8080`: a server can listen on it, and nobody can follow it.
pub fn is_unspecified(address: &str) -> bool {
    match Url::parse(address).ok().as_ref().and_then(Url::host) {
        Some(Host::Ipv4(ip)) => ip.is_unspecified(),
        Some(Host::Ipv6(ip)) => ip.is_unspecified(),
        _ => false,
    }
}

/// An address to print for people. In place of an unspecified host it names the interface of the default route, which machines in
/// the same network reach; without such a route, this machine. IPv4 comes first, because a socket at `[::]` takes it as well.
pub fn reachable_address(address: &str) -> String {
    let parsed = Url::parse(address).ok().filter(|_| is_unspecified(address));
    let Some(mut url) = parsed else { return address.to_owned() };
    let own = source_address(Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(192, 0, 2, 1).into());
    let own = own.or_else(|| match url.host() {
        Some(Host::Ipv6(any)) => source_address(any.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into()),
        _ => None,
    });
    _ = url.set_ip_host(own.unwrap_or(Ipv4Addr::LOCALHOST.into()));
    url.as_str().trim_end_matches('/').to_owned()
}

/// The address from which this machine sends to another. Connecting a UDP socket looks up the route and sends nothing; the other
/// address is one for documentation (RFC 5737, RFC 3849), which the default route leads to.
fn source_address(any: IpAddr, to: IpAddr) -> Option<IpAddr> {
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((to, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|ip| !ip.is_unspecified())
}

/// Whether an address leads to the machine that asks for it: nobody elsewhere can follow it.
pub fn is_loopback(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.to_canonical().is_loopback(),
        None => false,
    }
}
