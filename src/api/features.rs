//! The features of the server, for clients that have yet to log in.

use poem::web::Data;
use poem_openapi::{ApiResponse, Object, OpenApi};
use serde::Serialize;

use super::{
    http::{
        body::WITH_SESSION,
        envelope::{Envelope, envelope},
        framework_traits::Nullable,
        json::Json,
        listing,
    },
    messages, oidc_log_in, organisations,
    tags::Tag,
};
use crate::{
    config::{OrganisationsBy, Registration},
    domain::{
        accounts::{Password, PersonName, Username},
        channels::{Description, Topic, direct_messages, members, record},
        messages::{posting, reactions},
        text::{Emoji, Ruled},
    },
    error::Result,
    state::App,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Read what the server offers
    ///
    /// Names the ways to log in, and the bounds that clients keep to. Anybody may ask, and may keep the answer for a minute.
    #[oai(path = "/features", method = "get", operation_id = "getFeatures", tag = "Tag::Server")]
    async fn features(&self, app: Data<&App>) -> Result<Answer> {
        let has_mail = !app.mailer.writes_to_log();
        let features = Features {
            version: env!("CARGO_PKG_VERSION").into(),
            registration: match app.site.registration {
                Registration::Open => "open",
                Registration::Invited => "invited",
                Registration::Closed => "closed",
            }
            .into(),
            organisations_by: match app.site.organisations_by {
                OrganisationsBy::Superadmins => "superadmins",
                OrganisationsBy::Members => "members",
                OrganisationsBy::Anyone => "anyone",
            }
            .into(),
            requires_verified_email: app.site.require_verified_email,
            has_mail,
            login: Login {
                password: true,
                magic_link: has_mail,
                openid_connect: app.issuer.is_some(),
                openid_connect_start: Nullable(app.issuer.as_ref().and_then(|issuer| {
                    let (name, url) = (issuer.log_in_label()?.into(), format!("{}{}", app.site.base_url, oidc_log_in::START));
                    Some(OpenIdConnectStart { name, url })
                })),
            },
            bounds: Bounds::of_this_server(),
            emoji_url: format!("{}/api/v1/emoji.json", app.site.base_url),
        };
        Ok(Answer::Ok(envelope(200, "Features retrieved successfully", features), "max-age=60".into()))
    }
}

#[derive(ApiResponse)]
enum Answer {
    /// Success.
    #[oai(status = 200)]
    Ok(
        Json<Envelope<Features>>,
        /// `max-age=60`
        #[oai(header = "Cache-Control")]
        String,
    ),
}

#[derive(Object, Serialize)]
struct Features {
    /// The server's version. A client that came from another version of the server should be loaded again.
    version: String,
    /// Who may register: `open` is everybody, `invited` those with an open invitation, `closed` nobody.
    registration: String,
    /// Who may create organisations: `superadmins`, `members` is them and the active members of an organisation, `anyone` everybody
    /// with an account.
    organisations_by: String,
    /// Whether log-in is refused until the e-mail address is verified.
    requires_verified_email: bool,
    /// Whether mails leave the server; otherwise its log has them, and links come from the administrator.
    has_mail: bool,
    login: Login,
    bounds: Bounds,
    /// Where the names of emoji are: a JSON file of `{emoji: [{emoji, names, description, group}]}`, with an `ETag`.
    emoji_url: String,
}

/// The ways to log in.
#[derive(Object, Serialize)]
#[oai(rename = "LoginWays")]
struct Login {
    /// By `POST /auth/login`.
    password: bool,
    /// By a mailed link, with `POST /auth/magic-link`.
    magic_link: bool,
    /// By an ID token of the OpenID Connect issuer, with `POST /auth/google`.
    openid_connect: bool,
    /// Where a browser logs in at the OpenID Connect issuer; null if browsers can't.
    openid_connect_start: Nullable<OpenIdConnectStart>,
}

/// The log-in of browsers at the OpenID Connect issuer, which ends with a session by cookie.
#[derive(Object, Serialize)]
struct OpenIdConnectStart {
    /// What people call the issuer, for the button.
    name: String,
    /// The address to open in the browser's window, with the parameter `next`: the path on this server to go to after the log-in.
    url: String,
}

/// What requests may contain at most, in characters unless said otherwise.
#[derive(Object, Serialize)]
#[oai(rename = "FeatureBounds")]
struct Bounds {
    /// The text of a message.
    message: usize,
    username: usize,
    /// A first or last name.
    person_name: usize,
    /// A password, at least.
    password_min: usize,
    /// A password.
    password: usize,
    channel_name: usize,
    channel_topic: usize,
    channel_description: usize,
    /// A reaction's emoji.
    emoji: usize,
    /// Different emojis on one message.
    reactions: i64,
    /// Members besides the caller in a direct message.
    direct_message_members: usize,
    /// Users named in one request.
    users_named: usize,
    /// Messages on a page, found or listed.
    messages_page: u32,
    /// Members of an organisation on a page.
    members_page: u32,
    /// Rows in any other list.
    list_rows: u32,
    /// Bytes of a request's body.
    body_bytes: usize,
    /// Bytes of a file: 0, as the server takes no files.
    file_bytes: u64,
}

impl Bounds {
    fn of_this_server() -> Bounds {
        Bounds {
            message: posting::Content::RULE.max,
            username: Username::RULE.max,
            person_name: PersonName::RULE.max,
            password_min: Password::RULE.min,
            password: Password::RULE.max,
            channel_name: record::Name::RULE.max,
            channel_topic: Topic::RULE.max,
            channel_description: Description::RULE.max,
            emoji: Emoji::RULE.max,
            reactions: reactions::EMOJIS_MAX,
            direct_message_members: direct_messages::OTHERS_MAX,
            users_named: members::LISTED_MAX,
            messages_page: messages::LARGEST_PAGE,
            members_page: organisations::members::LARGEST_PAGE,
            list_rows: listing::MOST,
            body_bytes: WITH_SESSION,
            file_bytes: 0,
        }
    }
}
