//! The caller's own account: profile, sessions, and what clients remember for it.

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};
use serde::Serialize;

use super::{User, custom_status::CustomStatus};
use crate::{
    api::{
        http::{
            auth::{AccessToken, Bearer, IN_CHANNEL, POST, READ},
            body::{Body, Text, into_string},
            envelope::{Done, Success, done, ok},
            form::JsonOrForm,
            framework_traits::Nullable,
            listing::{Address, Listed, Offset, Size, answer_list, fill, page_or_whole_list},
            rows::Rows,
            secret_text::Secret,
        },
        tags::Tag,
    },
    db::Tx,
    domain::{
        access::Caller,
        accounts::{self, custom_status, profiles, sessions},
        organisations::slugs,
        text::{Emoji, WebAddress},
    },
    error::Result,
    id::{OrganisationId, SessionId, UserId},
    state::App,
    time::Time,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Read the caller's profile
    #[oai(path = "/profile", method = "get", operation_id = "getProfile", tag = "Tag::Profile")]
    async fn get(&self, caller: Bearer<READ, IN_CHANNEL>, app: Data<&App>) -> Result<Success<User>> {
        own(&app, caller.0, "Profile retrieved successfully")
    }

    /// Read the caller's profile, by another path
    #[oai(path = "/users/me", method = "get", operation_id = "getMe", tag = "Tag::Profile")]
    async fn me(&self, caller: Bearer<READ, IN_CHANNEL>, app: Data<&App>) -> Result<Success<User>> {
        own(&app, caller.0, "Profile retrieved successfully")
    }

    /// Change the caller's profile
    ///
    /// Omitted fields stay as they are; empty ones are cleared, except the username. The user's names in channels do
    /// not change.
    ///
    /// The fields may also come as a form, where the texts `undefined` and `null` stand for an omitted field. What else existing
    /// clients send (an address, a title, a time zone, a picture's file) is not kept, and `message` says so.
    #[oai(path = "/profile", method = "patch", operation_id = "updateProfile", tag = "Tag::Profile")]
    async fn update(&self, caller: Bearer, app: Data<&App>, body: JsonOrForm<EditProfile>) -> Result<Success<User>> {
        let JsonOrForm { body, bytes, mut form_fields } = body;
        form_fields.retain(|field| UNKEPT.contains(&field.as_str()));
        let EditProfile { username, full_name, first_name, last_name, phone, avatar_url } = body;
        let edit = profiles::Edit {
            username: into_string(username),
            full_name: into_string(full_name),
            first_name: into_string(first_name),
            last_name: into_string(last_name),
            phone: into_string(phone),
            avatar_url: into_string(avatar_url),
        };
        app.write_throttled(caller.0.share(), bytes, move |tx| profiles::update(tx, caller.0, edit)).await?;
        match &form_fields[..] {
            [] => own(&app, caller.0, "Profile updated successfully"),
            unkept => own(&app, caller.0, &format!("Profile updated successfully, without {}", unkept.join(", "))),
        }
    }

    /// Say what the caller does now
    ///
    /// The status replaces the one before. All who share an organisation with the caller see it: in the lists of members, in direct
    /// messages and in `member_update`. Without an emoji and a text, the caller has none any more.
    #[oai(path = "/profile/status", method = "put", operation_id = "setCustomStatus", tag = "Tag::Profile")]
    async fn set_status(&self, caller: Bearer<POST>, app: Data<&App>, body: Body<NewCustomStatus>) -> Result<Success<User>> {
        let Body(NewCustomStatus { emoji, text, until }, bytes) = body;
        let (emoji, text) = (into_string(emoji), into_string(text));
        let change = move |tx: &mut Tx| profiles::set_status(tx, caller.0, emoji.as_deref(), text.as_deref(), until);
        app.write_throttled(caller.0.share(), bytes, change).await?;
        own(&app, caller.0, "Status updated successfully")
    }

    /// Read what a user does now
    ///
    /// For the user, and for all who share an organisation with them.
    #[oai(path = "/users/:user_id/status", method = "get", operation_id = "getCustomStatus", tag = "Tag::Profile")]
    async fn status(&self, caller: Bearer<READ>, app: Data<&App>, user_id: Path<UserId>) -> Result<Success<StatusOfUser>> {
        let found = app.db.read(|conn| custom_status::find(conn, caller.0, *user_id))?;
        let status = StatusOfUser { user_id: *user_id, custom_status: Nullable(found.map(CustomStatus::from)) };
        Ok(ok("Status retrieved successfully", status))
    }

    /// List a user's sessions
    ///
    /// Lists live sessions, newest first. Users list their own; superadmins of the server list everybody's.
    #[oai(path = "/users/:user_id/sessions", method = "get", operation_id = "listSessions", tag = "Tag::Profile")]
    async fn sessions(
        &self,
        caller: Bearer,
        app: Data<&App>,
        user_id: Path<UserId>,
        address: Address,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 1,000, the default. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
    ) -> Result<Listed<Rows<Session>>> {
        let page = page_or_whole_list(*offset, *limit);
        let one = |session: sessions::Session| Session {
            id: session.id,
            is_current: session.id == caller.0.session,
            user_agent: session.user_agent,
            address: session.address,
            created_at: session.created_at,
            expires_at: session.expires_at,
            last_seen_at: session.last_seen_at,
        };
        let found = app.db.read(|conn| fill(page, |part| sessions::list(conn, caller.0, *user_id, part), one))?;
        Ok(answer_list("Sessions retrieved successfully", found, &address))
    }

    /// End a session
    ///
    /// Ends the session and closes its sockets at once. Users end their own; superadmins of the server end everybody's.
    #[oai(path = "/users/revoke-session", method = "put", operation_id = "revokeSession", tag = "Tag::Profile")]
    async fn revoke_session(&self, caller: Bearer, app: Data<&App>, body: Body<SessionChoice>) -> Result<Done> {
        let session = body.session_id;
        app.db.write(move |tx| sessions::revoke(tx, caller.0, session)).await?;
        Ok(done("Session revoked successfully"))
    }

    /// Choose the current organisation
    ///
    /// Clients open with the current organisation. The answer is the caller's profile, with the caller's own access token and
    /// the organisation.
    #[oai(path = "/users/switch-org", method = "put", operation_id = "switchOrganisation", tag = "Tag::Profile")]
    async fn switch_organisation(
        &self,
        caller: Bearer,
        app: Data<&App>,
        token: AccessToken,
        body: Body<OrganisationChoice>,
    ) -> Result<Success<Switched>> {
        let organisation = body.current_org;
        let switch = app.db.write(move |tx| {
            let user = profiles::switch_organisation(tx, caller.0, organisation)?;
            let chosen = slugs::find(tx, caller.0, &user.current_organisation_slug)?;
            Ok((user, chosen, sessions::expiry(tx, caller.0)?))
        });
        let (user, chosen, ends) = switch.await?;
        Ok(ok("Organisation switched successfully", Switched::new(User::new(user, ends), token, chosen)))
    }

    /// Read the answer of choosing an organisation, by its slug
    ///
    /// Answers what choosing the organisation would, for members of it, and changes nothing: `current_org` and
    /// `current_organisation_slug` name the organisation of the path.
    #[oai(path = "/users/switch-org/:slug", method = "get", operation_id = "getOrganisationSwitch", tag = "Tag::Profile")]
    async fn organisation_switch(
        &self,
        caller: Bearer,
        app: Data<&App>,
        token: AccessToken,
        slug: Path<Text<slugs::Slug>>,
    ) -> Result<Success<Switched>> {
        let (user, chosen, ends) = app.db.read(|conn| {
            let chosen = slugs::find(conn, caller.0, &slug)?;
            Ok((accounts::own(conn, caller.0)?, chosen, sessions::expiry(conn, caller.0)?))
        })?;
        let (current_org, current_organisation_slug) = (Some(chosen.id), chosen.slug.clone());
        let user = accounts::User { current_org, current_organisation_slug, ..user };
        Ok(ok("Organisation retrieved successfully", Switched::new(User::new(user, ends), token, chosen)))
    }

    /// Read the onboarding status
    #[oai(path = "/auth/onboard-status", method = "get", operation_id = "getOnboardStatus", tag = "Tag::Profile")]
    async fn onboarded(&self, caller: Bearer, app: Data<&App>) -> Result<Success<Onboarded>> {
        let user = app.db.read(|conn| accounts::own(conn, caller.0))?;
        Ok(ok("Onboard status retrieved successfully", Onboarded::new(user.is_onboarded)))
    }

    /// Set the onboarding status
    #[oai(path = "/auth/onboard-status", method = "put", operation_id = "updateOnboardStatus", tag = "Tag::Profile")]
    async fn set_onboarded(&self, caller: Bearer, app: Data<&App>, body: Body<OnboardedChange>) -> Result<Success<Onboarded>> {
        let is_onboarded = body.is_onboarded.unwrap_or(true);
        app.db.write(move |tx| profiles::set_onboarded(tx, caller.0, is_onboarded)).await?;
        Ok(ok("Onboard status updated successfully", Onboarded::new(is_onboarded)))
    }
}

pub fn own(app: &App, caller: Caller, message: &str) -> Result<Success<User>> {
    let (user, ends) = app.db.read(|conn| Ok((accounts::own(conn, caller)?, sessions::expiry(conn, caller)?)))?;
    Ok(ok(message, User::new(user, ends)))
}

/// Fields of existing clients' forms that the server doesn't keep.
const UNKEPT: [&str; 5] = ["avatar_file", "display_name", "email", "timezone", "title"];

#[derive(Object)]
struct EditProfile {
    /// Unique without regard to case; not `channel`, `here`, `all` or `everyone`.
    username: Option<Text<accounts::Username>>,
    /// Both names: the first word is `first_name`, the others `last_name`. Those two fields take precedence.
    full_name: Option<Text<profiles::FullName>>,
    first_name: Option<Text<accounts::PersonName>>,
    last_name: Option<Text<accounts::PersonName>>,
    phone: Option<Text<profiles::Phone>>,
    /// An http or https address.
    avatar_url: Option<Text<WebAddress>>,
}

#[derive(Object, Serialize)]
struct StatusOfUser {
    user_id: UserId,
    /// Null if the user says nothing.
    custom_status: Nullable<CustomStatus>,
}

#[derive(Object)]
struct NewCustomStatus {
    /// An emoji, or its name. None if omitted.
    emoji: Option<Text<Emoji>>,
    /// A line. Empty if omitted.
    text: Option<Text<custom_status::Text>>,
    /// When the server takes the status away; never if omitted.
    until: Option<Time>,
}

#[derive(Object, Serialize)]
struct Session {
    id: SessionId,
    /// Whether this request uses the session.
    is_current: bool,
    /// The client's `User-Agent` header at log-in.
    user_agent: String,
    /// The client's IP address at log-in.
    address: String,
    created_at: Time,
    expires_at: Time,
    /// When the session was last used, by a request or an open socket. It is written once a minute at the most.
    last_seen_at: Time,
}

#[derive(Object)]
struct SessionChoice {
    session_id: SessionId,
}

#[derive(Object)]
struct OrganisationChoice {
    current_org: OrganisationId,
}

#[derive(Object)]
struct OnboardedChange {
    /// Whether the user has been shown around; `true` if omitted.
    is_onboarded: Option<bool>,
}

#[derive(Object, Serialize)]
struct Onboarded {
    is_onboarded: bool,
    /// The same as `is_onboarded`.
    status: bool,
}

impl Onboarded {
    fn new(is_onboarded: bool) -> Self {
        Onboarded { is_onboarded, status: is_onboarded }
    }
}

/// The caller's profile, with the organisation to open.
#[derive(Object, Serialize)]
struct Switched {
    #[oai(flatten)]
    #[serde(flatten)]
    user: User,
    /// The token that this request carried; it stays as it is.
    access_token: Secret,
    organisation: ChosenOrganisation,
}

#[derive(Object, Serialize)]
struct ChosenOrganisation {
    id: OrganisationId,
    name: String,
}

impl Switched {
    fn new(user: User, token: AccessToken, chosen: slugs::Named) -> Self {
        let organisation = ChosenOrganisation { id: chosen.id, name: chosen.name };
        Switched { user, access_token: token.0.into(), organisation }
    }
}
