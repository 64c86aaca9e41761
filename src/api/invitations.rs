//! Invitations: making and accepting them.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};

use super::{
    Tag,
    accounts::LoggedIn,
    auth::{Bearer, MaybeBearer, Visitor},
    body::{Body, RoleName, Text, example},
    envelope::{Created, Success, created, ok},
};
use crate::{
    app::App,
    domain::invitations,
    error::Result,
    id::{InvitationId, OrganisationId},
    secret,
    time::Time,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Invite people to an organisation
    ///
    /// Each address gets a mail with a link, or a line in `errors` that says why not. Nobody invites to a role with
    /// rights that they do not have.
    #[oai(path = "/invite", method = "post", tag = "Tag::Invitations")]
    async fn create(&self, caller: Bearer, app: Data<&App>, body: Body<NewInvitations>) -> Result<Created<Invitations>> {
        let site = app.site.clone();
        let NewInvitations { org_id, emails, role } = body.0;
        let emails: Vec<String> = emails.into_iter().map(|email| email.0).collect();
        let role = role.map_or_else(|| "member".to_owned(), |role| role.0);
        let (invitations, errors) =
            app.db.write_sized(body.1, move |tx| invitations::create(tx, &site, caller.0, org_id, &emails, &role)).await?;
        let invitations = invitations.into_iter().map(Invitation::from).collect();
        Ok(created("Invitations created successfully", Invitations { invitations, errors }))
    }

    /// Accept an invitation
    ///
    /// With the bearer token of the invited account, which joins. Without one an account is made, and its generated
    /// password is shown once; if the address has an account already, log in first (401).
    #[oai(path = "/invite/verify", method = "post", tag = "Tag::Invitations")]
    async fn verify(
        &self,
        caller: MaybeBearer,
        app: Data<&App>,
        visitor: Visitor,
        body: Body<InvitationToken>,
    ) -> Result<Success<LoggedIn>> {
        let (site, token) = (app.site.clone(), body.0.token.0);
        if let Some(caller) = caller.0 {
            let started =
                app.db.write_sized(body.1, move |tx| invitations::accept(tx, &site, caller, &token, &visitor.device)).await?;
            return Ok(ok("User invited successfully", LoggedIn::from(started).with_password(String::new())));
        }
        // Before the costly hash: is there anything to accept?
        app.db.read(|conn| invitations::require_no_account(conn, &invitations::open(conn, &token)?))?;
        let password = secret::random_token();
        let hash = app.hash(password.clone()).await?;
        let started =
            app.db.write_sized(body.1, move |tx| invitations::accept_as_new(tx, &site, &token, &hash, &visitor.device)).await?;
        Ok(ok("User invited successfully", LoggedIn::from(started).with_password(password)))
    }
}

#[derive(Object)]
#[oai(example)]
struct NewInvitations {
    org_id: OrganisationId,
    /// 1 to 50 addresses.
    emails: Vec<Text>,
    /// An integer, a UUID or a name; `member` when left out.
    role: Option<RoleName>,
}
example!(NewInvitations, { "org_id": "01900000-0000-7000-8000-0000000000bb", "emails": ["grace@example.org"], "role": "member" });

#[derive(Object)]
#[oai(example)]
struct InvitationToken {
    token: Text,
}
example!(InvitationToken, { "token": "mZ0n3Q4y1k6f8c2x5v7b9w1e3r5t7y9u2i4o6p8a0sd" });

#[derive(Object)]
struct Invitations {
    invitations: Vec<Invitation>,
    /// One line for each address that could not be invited.
    errors: Vec<String>,
}

#[derive(Object)]
struct Invitation {
    id: InvitationId,
    email: String,
    org_id: OrganisationId,
    /// `invited`
    status: String,
    invite_token: String,
    /// Whether the address has an account.
    is_platform_user: bool,
    invitation_link: String,
    sent_at: Time,
    expires_at: Time,
}

impl From<invitations::Invitation> for Invitation {
    fn from(invitation: invitations::Invitation) -> Self {
        Invitation {
            id: invitation.id,
            email: invitation.email,
            org_id: invitation.organisation,
            status: "invited".into(),
            invite_token: invitation.token,
            is_platform_user: invitation.is_platform_user,
            invitation_link: invitation.link,
            sent_at: invitation.sent_at,
            expires_at: invitation.expires_at,
        }
    }
}
