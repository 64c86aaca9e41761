//! Accepting invitations.

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};
use serde::Serialize;

use crate::{
    api::{
        accounts::LoggedIn,
        http::{
            auth::{MaybeBearer, MaybeUser},
            body::{Body, Text, into_string},
            envelope::{Success, ok},
            login_browser::Browser,
            visitor::Visitor,
        },
        tags::Tag,
    },
    db::Tx,
    domain::{
        accounts::{New, Password, PersonName, UsernameIfAny, one_time_tokens::Token},
        organisations::{invitations::acceptance, link_purpose},
        rights,
    },
    error::{Code, Error, Result},
    id::OrganisationId,
    secret,
    state::App,
    time::Time,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Accept an invitation
    ///
    /// With the bearer token of the invited account, the account joins. Without a bearer, an account is made, with the
    /// names and the password that the body chooses; a password that it leaves out is generated, and shown once. If the
    /// address already has an account, log in first (401). The mailed token also verifies the address. The token that the
    /// inviter sees does not, and is refused where sessions need a verified address (403). A refused name or password uses
    /// nothing up.
    #[oai(path = "/invite/verify", method = "post", operation_id = "acceptInvitation", tag = "Tag::Invitations")]
    async fn verify(
        &self,
        caller: MaybeBearer,
        app: Data<&App>,
        visitor: Visitor,
        browser: Browser,
        body: Body<Acceptance>,
    ) -> Result<Success<LoggedIn>> {
        let Body(Acceptance { token, first_name, last_name, username, password, cookie }, bytes) = body;
        let by_cookie = browser.wants_cookie(cookie.or_else(|| browser.may_use_cookie().then_some(true)))?;
        let [first_name, last_name] = [first_name, last_name].map(|name| into_string(name).unwrap_or_default());
        let (token, username, chosen) = (token.0, into_string(username).unwrap_or_default(), into_string(password));
        if let Some(caller) = caller.0 {
            // Otherwise somebody would go away with a password that was never set.
            if chosen.is_some() || [&first_name, &last_name, &username].iter().any(|name| !name.is_empty()) {
                return Err(Error::Invalid(
                    Code::AccountExists.says("You have an account: names and a password are for people without one"),
                ));
            }
            let started = app.db.write_sized(bytes, move |tx| acceptance::accept(tx, caller, &token, &visitor.device)).await?;
            let started = browser.keep_session(&app, started, by_cookie).await;
            return Ok(ok("User invited successfully", LoggedIn::from(started).with_generated_password(String::new())));
        }
        // Hashing a password is costly, so check first that there is an invitation to accept.
        let open = app.db.read(|conn| {
            let open = acceptance::find_acceptable(conn, &token)?;
            acceptance::require_new_account_allowed(conn, &open).map(|()| open)
        })?;
        let new = New::check(&open.email, Some(&username), &first_name, &last_name).map_err(Error::Invalid)?;
        if let Some(chosen) = &chosen {
            new.check_password(chosen).map_err(Error::Invalid)?;
        }
        if !open.is_mailed {
            app.limits.mailed_link(visitor.address)?; // the new account is mailed a link that verifies its address
        }
        let shown = if chosen.is_some() { String::new() } else { secret::random_token() };
        let hash_password = app.hash_password(visitor.address, chosen.unwrap_or_else(|| shown.clone())).await?;
        let accept = move |tx: &mut Tx| acceptance::accept_as_new(tx, &token, &new, &hash_password, &visitor.device);
        let started = browser.keep_session(&app, app.db.write_sized(bytes, accept).await?, by_cookie).await;
        Ok(ok("User invited successfully", LoggedIn::from(started).with_generated_password(shown)))
    }

    /// Show what an invitation is to
    ///
    /// For whoever has a token of a pending invitation of the organisation, the mailed one or the inviter's, or of a join link
    /// that works. Without such a token, the answer is that there is no such invitation. No session is needed; with one, a join
    /// link works as long as it keeps a place for the caller.
    #[oai(
        path = "/organisations/:org_id/load-org-info",
        method = "get",
        operation_id = "loadOrganisationInfo",
        tag = "Tag::Invitations"
    )]
    async fn preview(
        &self,
        user: MaybeUser,
        _visitor: Visitor,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        /// The token in the invitation's link.
        invitation_token: Query<Option<String>>,
    ) -> Result<Success<InvitationPreview>> {
        let token = invitation_token.0.unwrap_or_default();
        let preview = app.db.read(|conn| link_purpose::preview(conn, *org_id, &token, user.0))?;
        Ok(ok("Organisation info retrieved successfully", preview.into()))
    }
}

#[derive(Object)]
struct Acceptance {
    token: Text<Token>,
    /// For a person without an account, like the following fields: with a bearer they are refused.
    first_name: Option<Text<PersonName>>,
    last_name: Option<Text<PersonName>>,
    /// Unique without regard to case; made from the address if omitted.
    username: Option<Text<UsernameIfAny>>,
    /// None of the most common passwords; generated if omitted.
    password: Option<Text<Password>>,
    /// Whether the browser keeps the session in a cookie, which only a page of this server may ask for (403). The answer then has
    /// no tokens. If omitted, it does if it keeps the caller's session.
    cookie: Option<bool>,
}

#[derive(Object, Serialize)]
struct InvitationPreview {
    organisation_name: String,
    /// Always empty: who the members are is shown to members.
    users_photos: Vec<String>,
    /// Whether accepting the invitation makes an account; otherwise the invited person logs in to accept. True for a join
    /// link, by which people with and without an account join.
    is_new_user: bool,
    /// The invited address; empty for a join link.
    user_email: String,
    /// The name of the member who sent the invitation or made the link.
    inviter_name: String,
    /// The `key` of the role that the invited person gets.
    role: String,
    /// The name of that role.
    role_name: String,
    /// The only domain whose addresses may join by the link; empty for all, and for an invitation.
    domain: String,
    expires_at: Time,
}

impl From<acceptance::Preview> for InvitationPreview {
    fn from(preview: acceptance::Preview) -> Self {
        InvitationPreview {
            organisation_name: preview.organisation,
            users_photos: Vec::new(),
            is_new_user: preview.is_new_user,
            user_email: preview.email,
            inviter_name: preview.inviter,
            role_name: rights::role_title(&preview.role).into(),
            role: preview.role,
            domain: preview.domain,
            expires_at: preview.expires_at,
        }
    }
}
