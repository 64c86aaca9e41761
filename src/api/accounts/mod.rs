//! Accounts: registration, log-in, log-out, password.

pub mod custom_status;
pub mod link_purpose;
pub mod login_codes;
pub mod mailed_links;
pub mod own_account;
pub mod program_tokens;

use poem::{Endpoint, EndpointExt, web::Data};
use poem_openapi::{Object, OpenApi};
use serde::Serialize;

use self::custom_status::CustomStatus;
use super::{
    http::{
        auth::Bearer,
        body::{Body, Faulty, Text, into_string},
        envelope::{Done, PlainCreated, Success, created_without_data, done, ok},
        framework_traits::Nullable,
        login_browser::Browser,
        secret_text::Secret,
        visitor::{LogInAttempt, Visitor},
    },
    tags::Tag,
};
use crate::{
    db::{self, Tx},
    domain::{
        access::PlatformRole,
        accounts::{
            self, GivenPassword, New, Nonce, Password, PersonName, UsernameIfAny, identities, known_devices::DeviceToken,
            one_time_tokens::Token, passwords, registration, sessions,
        },
        organisations::join_links,
        text::{Email, existing_account_email},
    },
    error::{Code, Error, Result},
    id::{OrganisationId, UserId},
    secret,
    state::App,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Make an account
    ///
    /// Mails a link that verifies the address; log-in works before it is opened. Without a `username`, one is made from
    /// the address. An account that is in no organisation, whose mailbox was never proved, ends once its sessions were not used for
    /// a day: its address and username are free again.
    #[oai(path = "/auth/register", method = "post", operation_id = "register", tag = "Tag::Accounts")]
    async fn register(&self, app: Data<&App>, visitor: Visitor, body: Body<NewAccount>) -> Result<PlainCreated> {
        let name = |field: &Option<Text<PersonName>>| field.as_deref().unwrap_or_default().to_owned();
        let new = New::check(&body.email, body.username.as_deref(), &name(&body.first_name), &name(&body.last_name));
        let new = new.map_err(Error::BadRequest)?;
        new.check_password(&body.password).map_err(Error::BadRequest)?;
        let join_token = into_string(body.0.join_token);
        if let Some(token) = &join_token {
            Token::check(token, "join_token").map_err(Error::BadRequest)?;
            app.db.read_without_position(|conn| join_links::find_open_to(conn, token, &new.email))?;
        }
        app.limits.mailed_link(visitor.address)?;
        let hash_password = app.hash_password(visitor.address, body.0.password.0).await?;
        let register = move |tx: &mut Tx| match &join_token {
            Some(token) => join_links::register(tx, token, &new, &hash_password),
            None => registration::register(tx, &new, &hash_password).map(drop),
        };
        app.db.write(register).await?;
        Ok(created_without_data("User created successfully"))
    }

    /// Log in
    ///
    /// An unknown address and a wrong password get the same answer, after the same time. After many wrong passwords for an
    /// account, attempts at it are checked slowly or answered with 429, except from devices that show their `device_token`
    /// and networks that logged in before. A link by mail logs in at once.
    #[oai(
        path = "/auth/login",
        method = "post",
        operation_id = "logIn",
        tag = "Tag::Accounts",
        transform = "refuse_wrong_shape_with_422"
    )]
    async fn login(
        &self,
        app: Data<&App>,
        entrant: LogInAttempt,
        browser: Browser,
        body: Body<Credentials>,
    ) -> Result<Success<LoggedIn>> {
        let by_cookie = browser.wants_cookie(body.cookie)?;
        let started = entrant.run_log_in(&app, log_in(&app, &entrant, browser.device_mark(), body.0)).await?;
        Ok(ok("Login successful", browser.keep_session(&app, started, by_cookie).await.into()))
    }

    /// Log in with an ID token
    ///
    /// Takes an ID token of the OpenID Connect issuer that this server trusts, by default Google. The user is logged in
    /// to the account that the identity is linked to, else to the account with the verified address, else to a new
    /// account. Google's identities are linked only to accounts of `gmail.com` and of Google's Workspaces (`hd`). A
    /// token logs in once.
    #[oai(path = "/auth/google", method = "post", operation_id = "logInByIdToken", tag = "Tag::Accounts")]
    async fn google(
        &self,
        app: Data<&App>,
        entrant: LogInAttempt,
        browser: Browser,
        body: Body<IdToken>,
    ) -> Result<Success<LoggedIn>> {
        let by_cookie = browser.wants_cookie(body.cookie)?;
        let started = entrant.run_log_in(&app, log_in_by_id_token(&app, &entrant, body.0)).await?;
        Ok(ok("Login successful", browser.keep_session(&app, started, by_cookie).await.into()))
    }

    /// Log out
    ///
    /// Ends the caller's session and closes its sockets at once. Other sessions go on.
    #[oai(path = "/auth/logout", method = "post", operation_id = "logOut", tag = "Tag::Accounts")]
    async fn logout(&self, caller: Bearer, app: Data<&App>, browser: Browser) -> Result<Done> {
        app.db.write(move |tx| sessions::end(tx, caller.0)).await?;
        browser.forget_session();
        Ok(done("Logout successful"))
    }

    /// Change the password
    ///
    /// Ends all other sessions, and tells the user by mail.
    #[oai(path = "/auth/change-password", method = "put", operation_id = "changePassword", tag = "Tag::Accounts")]
    async fn change_password(
        &self,
        caller: Bearer,
        app: Data<&App>,
        visitor: Visitor,
        body: Body<PasswordChange>,
    ) -> Result<Done> {
        const WRONG: Error = Error::Unauthorized(Code::WrongPassword, "The old password is incorrect");
        let caller = caller.0;
        let user = app.db.read(|conn| accounts::find(conn, caller.user))?.ok_or(WRONG)?;
        let (old, new) = (body.0.old_password.0, body.0.new_password.0);
        GivenPassword::check(&old, "old_password").map_err(Error::Invalid)?;
        if !app.verify_log_in(visitor.address, &user.email, Some(&user), old.clone(), None).await? {
            return Err(WRONG);
        }
        accounts::check_new_password(&new, "new_password", &user.email, &user.username).map_err(Error::Invalid)?;
        if new == old {
            return Err(Error::Invalid(Code::PasswordUnchanged.says("new_password is the old password").at("new_password")));
        }
        let hash_password = app.hash_password(visitor.address, new).await?;
        app.db.write(move |tx| passwords::change(tx, caller, &user.password_hash, &hash_password)).await?;
        Ok(done("Password changed successfully"))
    }
}

/// Logs in with a password. `kept` is the mark of the device that its browser keeps.
async fn log_in(app: &App, entrant: &LogInAttempt, kept: Option<&str>, given: Credentials) -> Result<sessions::Started> {
    let email = existing_account_email(&given.email, "email").map_err(Error::Invalid)?;
    GivenPassword::check(&given.password, "password").map_err(Error::Invalid)?;
    let mark = given.device_token.as_deref();
    DeviceToken::check(mark.unwrap_or_default(), "device_token").map_err(Error::Invalid)?;
    let mark = mark.or(kept);
    let user = app.db.read(|conn| accounts::find_by_email(conn, &email))?;
    let password = &given.password.0;
    let right = app.verify_log_in(entrant.address, &email, user.as_ref(), password.clone(), mark).await?;
    let user = user.filter(|_| right).ok_or(Error::Unauthorized(Code::WrongCredentials, sessions::WRONG_CREDENTIALS))?;
    if user.role == PlatformRole::Superadmin {
        db::lift_floor(); // who is to free some space must get in
    }
    let (hash, device) = (user.password_hash, entrant.device.clone());
    let logged = hash.clone();
    let started = app.db.write(move |tx| sessions::start_after_password(tx, user.id, &logged, &device)).await?;
    if secret::is_hash_outdated(&hash) {
        // A failed hash update doesn't fail the log-in.
        if let Ok(newer) = app.hash_password(entrant.address, password.clone()).await {
            _ = app.db.write(move |tx| passwords::rehash(tx, user.id, &hash, &newer)).await;
        }
    }
    Ok(started)
}

async fn log_in_by_id_token(app: &App, entrant: &LogInAttempt, given: IdToken) -> Result<sessions::Started> {
    accounts::IdToken::check(&given.id_token, "id_token").map_err(Error::BadRequest)?;
    if let Some(nonce) = &given.nonce {
        Nonce::check(nonce, "nonce").map_err(Error::BadRequest)?;
    }
    let issuer = app
        .issuer
        .as_ref()
        .ok_or(Error::Unauthorized(Code::ProviderMissing, "Federated log-in is not configured on this server"))?;
    let token = issuer.verify(&given.id_token, given.nonce.as_deref()).await?;
    let device = entrant.device.clone();
    app.db.write(move |tx| identities::log_in(tx, &token, &device)).await
}

/// Turns 400 into 422 for a body of the wrong shape: the specification lists 422 for log-in where it lists 400
/// elsewhere. Broken JSON stays 400.
fn refuse_wrong_shape_with_422<E: Endpoint + 'static>(endpoint: E) -> impl Endpoint {
    endpoint.around(|endpoint, req| async move {
        endpoint.call(req).await.map_err(|err| match err.downcast::<Faulty>() {
            Ok(Faulty(refusal)) => Error::Invalid(refusal).into(),
            Err(other) => other,
        })
    })
}

#[derive(Object)]
struct NewAccount {
    /// The e-mail address; unique without regard to case.
    email: Text<Email>,
    /// None of the most common passwords.
    password: Text<Password>,
    /// Unique without regard to case; not `channel`, `here`, `all` or `everyone`.
    username: Option<Text<UsernameIfAny>>,
    first_name: Option<Text<PersonName>>,
    last_name: Option<Text<PersonName>>,
    /// The token of a join link, of which the account takes a place. It counts as an invitation where registration is by invitation.
    /// The account joins at once; if its address must be verified first, the link keeps the place, and the account joins by
    /// `POST /join` afterwards.
    join_token: Option<Text<Token>>,
}

#[derive(Object)]
struct Credentials {
    email: Text<Email>,
    password: Text<GivenPassword>,
    /// The `device_token` that the last log-in on this device answered. One that is not good any more is ignored.
    device_token: Option<Text<DeviceToken>>,
    /// Whether the browser keeps the session in a cookie, which only a page of this server may ask for (403). The answer then has
    /// no tokens.
    cookie: Option<bool>,
}

#[derive(Object)]
struct IdToken {
    /// A JSON Web Token (OpenID Connect Core 1.0, section 2).
    id_token: Text<accounts::IdToken>,
    /// The nonce that the client sent to the issuer. If given, the token must contain it.
    nonce: Option<Text<Nonce>>,
    /// Whether the browser keeps the session in a cookie, which only a page of this server may ask for (403). The answer then has
    /// no tokens.
    cookie: Option<bool>,
}

#[derive(Object)]
struct PasswordChange {
    old_password: Text<GivenPassword>,
    /// None of the most common passwords, and not the old one.
    new_password: Text<Password>,
}

/// A new session.
#[derive(Object, Serialize)]
pub struct LoggedIn {
    user: User,
    /// The token for `Authorization: Bearer`. This and the other tokens are empty for a session that a cookie keeps.
    access_token: Secret,
    /// When the access token ends, in Unix seconds.
    access_token_expires_in: String,
    /// The token for `X-Notification-Token`.
    notification_token: Secret,
    /// Marks this device as known, for a year: send it with the next log-in. While somebody guesses at the account's
    /// password, attempts with the mark are checked at once, until ten of them are wrong. It logs nobody in. A new password
    /// makes it void.
    device_token: Secret,
}

impl From<sessions::Started> for LoggedIn {
    fn from(started: sessions::Started) -> Self {
        LoggedIn {
            access_token_expires_in: started.expires_at.unix_seconds().to_string(),
            access_token: started.access_token.into(),
            notification_token: started.notification_token.into(),
            device_token: started.device_token.into(),
            user: User::new(started.user, started.expires_at),
        }
    }
}

/// An account, as its owner sees it.
#[derive(Object, Serialize)]
pub struct User {
    id: UserId,
    /// The same as `id`.
    user_id: UserId,
    email: String,
    username: String,
    first_name: String,
    last_name: String,
    fullname: String,
    phone: String,
    avatar_url: String,
    /// What the user does now; null if they have not said so.
    custom_status: Nullable<CustomStatus>,
    is_verified: bool,
    is_onboarded: bool,
    is_active: bool,
    /// The role on the whole server: `user`, `admin` or `superadmin`.
    role: String,
    /// The organisation that the user made, joined or chose last.
    current_org: Nullable<OrganisationId>,
    /// The slug of that organisation; `client` if there is none.
    current_organisation_slug: String,
    /// Unix seconds as a text, here and in `updated_at` and `expires_in`; other answers have RFC 3339 times.
    created_at: String,
    /// Unix seconds as a text.
    updated_at: String,
    /// When the session ends, in Unix seconds as a text.
    expires_in: String,
    /// The generated password of an account that accepting an invitation has made; otherwise empty.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<Secret>,
}

impl User {
    pub fn new(user: accounts::User, expires_at: crate::time::Time) -> User {
        User {
            id: user.id,
            user_id: user.id,
            fullname: user.full_name(),
            email: user.email,
            username: user.username,
            first_name: user.first_name,
            last_name: user.last_name,
            phone: user.phone,
            avatar_url: user.avatar_url,
            custom_status: Nullable(user.custom_status.map(CustomStatus::from)),
            is_verified: user.is_verified,
            is_onboarded: user.is_onboarded,
            is_active: user.is_active,
            role: user.role.as_str().into(),
            current_org: Nullable(user.current_org),
            current_organisation_slug: user.current_organisation_slug,
            created_at: user.created_at.unix_seconds().to_string(),
            updated_at: user.updated_at.unix_seconds().to_string(),
            expires_in: expires_at.unix_seconds().to_string(),
            password: None,
        }
    }
}

impl LoggedIn {
    /// Adds the `password` that the answer to an accepted invitation shows; it is empty unless one was generated.
    pub fn with_generated_password(mut self, password: String) -> Self {
        self.user.password = Some(password.into());
        self
    }
}
