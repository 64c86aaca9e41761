//! Join links: making, listing, deleting and using them.

use poem::web::Data;
use poem_openapi::{Object, OpenApi, param::Path};
use serde::Serialize;

use crate::{
    api::{
        accounts::{LoggedIn, link_purpose::Status},
        http::{
            auth::{Bearer, MEMBERS, MaybeBearer},
            body::{Body, RoleName, Text, into_string},
            envelope::{Created, Success, created, ok},
            framework_traits::Null,
            login_browser::Browser,
            number::Number,
            secret_text::Secret,
            visitor::Visitor,
        },
        tags::Tag,
    },
    db::Tx,
    domain::{
        accounts::{New, Password, PersonName, UsernameIfAny, one_time_tokens::Token},
        organisations::join_links::{self, Domain, MOST_DAYS, MOST_USES},
        rights,
        text::{Email, normalised_address},
    },
    error::{Code, Error, Result},
    id::{JoinLinkId, OrganisationId, UserId},
    state::App,
    time::Time,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Make a join link
    ///
    /// Whoever opens the link joins the organisation, with an account that they have or make. The answer alone shows the
    /// token and the link. Needs `invite:members` and every right of the role, which holds no right that a member lacks. Each
    /// person who joins counts as an invitation of the link's maker and of the organisation on that day. The link works as
    /// long as its maker may invite to the role.
    #[oai(path = "/organisations/:org_id/join-links", method = "post", operation_id = "createJoinLink", tag = "Tag::Invitations")]
    async fn create(
        &self,
        caller: Bearer<MEMBERS>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        body: Body<NewJoinLink>,
    ) -> Result<Created<MadeJoinLink>> {
        let NewJoinLink { role, expires_in_days, uses, domain } = body.0;
        let new = join_links::NewLink {
            role: role.map(|role| role.0),
            days: expires_in_days.map_or(join_links::DAYS, |days| days.0),
            uses: uses.map_or(join_links::USES, |uses| uses.0),
            domain: into_string(domain).unwrap_or_default(),
        };
        let (made, token) = app.db.write_sized(body.1, move |tx| join_links::create(tx, caller.0, *org_id, &new)).await?;
        let link = join_links::address(&app.site, made.organisation, &token);
        Ok(created(
            "Join link created successfully",
            MadeJoinLink { link: link.into(), token: token.into(), join_link: made.into() },
        ))
    }

    /// List an organisation's join links
    ///
    /// Newest first, the ended ones of the last 30 days included. Needs `invite:members` for the caller's own links, and also
    /// `remove:members` for those of others.
    #[oai(path = "/organisations/:org_id/join-links", method = "get", operation_id = "listJoinLinks", tag = "Tag::Invitations")]
    async fn list(
        &self,
        caller: Bearer<MEMBERS>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
    ) -> Result<Success<Vec<JoinLink>>> {
        let listed = app.db.read(|conn| join_links::list(conn, caller.0, *org_id))?;
        Ok(ok("Join links retrieved successfully", listed.into_iter().map(JoinLink::from).collect()))
    }

    /// Delete a join link
    ///
    /// It works no longer; who joined by it stays. For its maker and for holders of `remove:members`.
    #[oai(
        path = "/organisations/:org_id/join-links/:link_id",
        method = "delete",
        operation_id = "deleteJoinLink",
        tag = "Tag::Invitations"
    )]
    async fn delete(
        &self,
        caller: Bearer<MEMBERS>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        link_id: Path<JoinLinkId>,
    ) -> Result<Success<Null>> {
        app.db.write(move |tx| join_links::delete(tx, caller.0, *org_id, *link_id)).await?;
        Ok(ok("Join link deleted successfully", Null))
    }

    /// Join by a link
    ///
    /// With a bearer token, the caller's account joins. Without one, an account is made of the other fields by the rules of
    /// registration, with a mail that verifies its address: the link itself verifies none. Where the address must be verified
    /// first, because the server wants it or the link is for the addresses of a domain, that is 403: register with the link's
    /// token as `join_token`, which takes a place of the link, verify the address, log in, and join with the bearer. Every refusal leaves the link as it is.
    #[oai(path = "/join", method = "post", operation_id = "joinByLink", tag = "Tag::Invitations")]
    async fn join(
        &self,
        caller: MaybeBearer,
        app: Data<&App>,
        visitor: Visitor,
        browser: Browser,
        body: Body<Joining>,
    ) -> Result<Success<LoggedIn>> {
        const MESSAGE: &str = "Organisation joined successfully";
        let Body(Joining { token, email, password, username, first_name, last_name, cookie }, bytes) = body;
        let by_cookie = browser.wants_cookie(cookie.or_else(|| browser.may_use_cookie().then_some(true)))?;
        let token = token.0;
        if let Some(caller) = caller.0 {
            let started = app.db.write_sized(bytes, move |tx| join_links::join(tx, caller, &token, &visitor.device)).await?;
            let started = browser.keep_session(&app, started, by_cookie).await;
            return Ok(ok(MESSAGE, started.into()));
        }
        // Hashing a password is costly, so check first that there is a link.
        let address = email.as_deref().and_then(normalised_address);
        app.db.read_without_position(|conn| {
            let link = match &address {
                Some(address) => join_links::find_open_to(conn, &token, address)?,
                None => join_links::find_usable(conn, &token)?,
            };
            join_links::require_open_to_unverified(conn, &link)
        })?;
        let [email, password] = [into_string(email).unwrap_or_default(), into_string(password).unwrap_or_default()];
        if let Some((missing, _)) = [("email", &email), ("password", &password)].into_iter().find(|(_, given)| given.is_empty()) {
            let words = "email and password are required to make an account: otherwise log in first";
            return Err(Error::BadRequest(Code::Required.says(words).at(missing)));
        }
        let [username, first_name, last_name] =
            [into_string(username), into_string(first_name), into_string(last_name)].map(Option::unwrap_or_default);
        let new = New::check(&email, Some(&username), &first_name, &last_name).map_err(Error::Invalid)?;
        new.check_password(&password).map_err(Error::Invalid)?;
        app.limits.mailed_link(visitor.address)?;
        let hash_password = app.hash_password(visitor.address, password).await?;
        let join = move |tx: &mut Tx| join_links::join_as_new(tx, &token, &new, &hash_password, &visitor.device);
        let started = browser.keep_session(&app, app.db.write_sized(bytes, join).await?, by_cookie).await;
        Ok(ok(MESSAGE, started.into()))
    }
}

#[derive(Object)]
struct NewJoinLink {
    /// The role of those who join: its integer, its UUID, its name or its key; `member` if omitted.
    role: Option<RoleName>,
    /// Default 7.
    expires_in_days: Option<Number<1, MOST_DAYS>>,
    /// How many people may join; default 25.
    uses: Option<Number<1, MOST_USES>>,
    /// The only domain whose addresses may join, as in `example.org`. Their accounts must have proved their mailbox.
    domain: Option<Text<Domain>>,
}

#[derive(Object)]
struct Joining {
    token: Text<Token>,
    /// Of the account to be made, like the following fields; not looked at with a bearer.
    email: Option<Text<Email>>,
    /// None of the most common passwords.
    password: Option<Text<Password>>,
    /// Unique without regard to case; made from the address if omitted.
    username: Option<Text<UsernameIfAny>>,
    first_name: Option<Text<PersonName>>,
    last_name: Option<Text<PersonName>>,
    /// Whether the browser keeps the session in a cookie, which only a page of this server may ask for (403). The answer then has
    /// no tokens. If omitted, it does if it keeps the caller's session.
    cookie: Option<bool>,
}

#[derive(Object, Serialize)]
struct MadeJoinLink {
    /// The address to pass on. Only this answer shows it, and the token.
    link: Secret,
    token: Secret,
    #[oai(flatten)]
    #[serde(flatten)]
    join_link: JoinLink,
}

#[derive(Object, Serialize)]
struct JoinLink {
    id: JoinLinkId,
    org_id: OrganisationId,
    /// The `key` of the role.
    role: String,
    /// The name of the role in the list of roles.
    role_name: String,
    /// The only domain whose addresses may join; empty for all.
    domain: String,
    /// How many people may join.
    uses: u32,
    /// How many have, or have registered by the link and join later.
    used: u32,
    status: Status,
    created_by: UserId,
    created_at: Time,
    expires_at: Time,
}

impl From<join_links::JoinLink> for JoinLink {
    fn from(link: join_links::JoinLink) -> Self {
        JoinLink {
            id: link.id,
            org_id: link.organisation,
            role_name: rights::role_title(&link.role).into(),
            role: link.role,
            domain: link.domain,
            uses: link.uses,
            used: link.used,
            status: link.status.into(),
            created_by: link.created_by,
            created_at: link.created_at,
            expires_at: link.expires_at,
        }
    }
}
