//! Magic links, password resets, and verification of the e-mail address.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};

use super::LoggedIn;
use crate::{
    api::{
        http::{
            auth::MaybeBearer,
            body::{Body, Text, into_string},
            envelope::{Done, Success, done, ok},
            login_browser::Browser,
            visitor::{LogInAttempt, Visitor},
        },
        tags::Tag,
    },
    domain::{
        accounts::{
            self, GivenPassword, Password,
            mailed_links::{self, Companion},
            one_time_tokens::{self, Purpose, Token},
        },
        text::{Email, existing_account_email},
    },
    error::{Code, Error, Result},
    state::App,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Ask for a magic link
    ///
    /// Mails a link that logs in once; the last three links work. An address without an account gets the same answer.
    #[oai(path = "/auth/magic-link", method = "post", operation_id = "requestMagicLink", tag = "Tag::Accounts")]
    async fn magic_link(&self, app: Data<&App>, visitor: Visitor, body: Body<Address>) -> Result<Done> {
        let email = address(&body.email)?;
        require_mail(&app).await?;
        app.limits.mailed_link(visitor.address)?;
        app.db.write(move |tx| mailed_links::request_link(tx, &email, Purpose::MagicLink)).await?;
        Ok(done("Magic link sent successfully"))
    }

    /// Log in with a magic link
    ///
    /// If nobody had proved the account's mailbox before, its password is removed and its other sessions end, because
    /// somebody else may have registered the address.
    #[oai(path = "/auth/magic-link/verify", method = "post", operation_id = "logInByMagicLink", tag = "Tag::Accounts")]
    async fn enter(
        &self,
        app: Data<&App>,
        entrant: LogInAttempt,
        browser: Browser,
        body: Body<OneTimeToken>,
    ) -> Result<Success<LoggedIn>> {
        let by_cookie = browser.wants_cookie(body.cookie)?;
        let (token, device) = (body.0.token.0, entrant.device.clone());
        let log_in = async {
            app.db.read(|conn| one_time_tokens::find_account(conn, Purpose::MagicLink, &token))?; // a guess costs the writer nothing
            app.db.write_sized(body.1, move |tx| mailed_links::enter(tx, &token, &device)).await
        };
        let started = entrant.run_log_in(&app, log_in).await?;
        Ok(ok("Login successful", browser.keep_session(&app, started, by_cookie).await.into()))
    }

    /// Ask for a password reset
    ///
    /// Mails a link that sets a new password once; the last three links work. An address without an account gets the
    /// same answer.
    #[oai(path = "/auth/password-reset", method = "post", operation_id = "requestPasswordReset", tag = "Tag::Accounts")]
    async fn password_reset(&self, app: Data<&App>, visitor: Visitor, body: Body<Address>) -> Result<Done> {
        let email = address(&body.email)?;
        require_mail(&app).await?;
        app.limits.mailed_link(visitor.address)?;
        app.db.write(move |tx| mailed_links::request_link(tx, &email, Purpose::PasswordReset)).await?;
        Ok(done("Password reset link sent successfully"))
    }

    /// Set a new password
    ///
    /// Takes the token in the mailed link. A refused password does not use up the token. All sessions end, and a mail
    /// tells the user.
    #[oai(path = "/auth/password-reset/verify", method = "post", operation_id = "resetPassword", tag = "Tag::Accounts")]
    async fn reset_password(&self, app: Data<&App>, visitor: Visitor, body: Body<NewPassword>) -> Result<Done> {
        let (token, password) = (body.0.token.0, body.0.new_password.0);
        let user = app.db.read(|conn| mailed_links::find_reset(conn, &token))?;
        accounts::check_new_password(&password, "new_password", &user.email, &user.username).map_err(Error::Invalid)?;
        if app.verify(visitor.address, password.clone(), user.password_hash).await? {
            return Err(Error::Invalid(Code::PasswordUnchanged.says("new_password is the old password").at("new_password")));
        }
        let hash_password = app.hash_password(visitor.address, password).await?;
        app.db.write_sized(body.1, move |tx| mailed_links::set_new_password(tx, &token, &hash_password)).await?;
        Ok(done("Password reset successfully"))
    }

    /// Ask for a verification mail
    ///
    /// Mails a link that verifies the address; the last three links work. An address without an account gets the same
    /// answer, and a verified address is 422.
    #[oai(path = "/auth/email-request", method = "post", operation_id = "requestEmailVerification", tag = "Tag::Accounts")]
    async fn email_request(&self, app: Data<&App>, visitor: Visitor, body: Body<Address>) -> Result<Done> {
        let email = address(&body.email)?;
        app.limits.mailed_link(visitor.address)?;
        app.db.write(move |tx| mailed_links::request_link(tx, &email, Purpose::EmailVerification)).await?;
        Ok(done("Verification email sent successfully"))
    }

    /// Verify an e-mail address
    ///
    /// With the account's bearer token or password, the request also proves that the mailbox is the account's. Without
    /// them, somebody else may have registered the address: a later magic link or password reset ends the account's
    /// sessions and password, pauses its webhooks and cancels its open invitations. A wrong password is 401, and does
    /// not use up the token.
    #[oai(path = "/auth/email-request/verify", method = "post", operation_id = "verifyEmail", tag = "Tag::Accounts")]
    async fn verify(&self, caller: MaybeBearer, app: Data<&App>, visitor: Visitor, body: Body<Verification>) -> Result<Done> {
        let (token, password) = (body.0.token.0, into_string(body.0.password));
        let user = app.db.read(|conn| mailed_links::find_verification(conn, &token))?;
        let companion = match (caller.0, password) {
            (Some(caller), _) if caller.user == user.id => Companion::Session(caller),
            (_, Some(password)) => {
                GivenPassword::check(&password, "password").map_err(Error::Invalid)?;
                if !app.verify_log_in(visitor.address, &user.email, Some(&user), password, None).await? {
                    return Err(mailed_links::WRONG_PASSWORD);
                }
                Companion::Password(user.password_hash)
            }
            _ => Companion::Nothing, // A session of another account proves nothing about this one.
        };
        app.db.write_sized(body.1, move |tx| mailed_links::verify(tx, &token, companion)).await?;
        Ok(done("Email verified successfully"))
    }
}

pub(super) fn address(text: &str) -> Result<String> {
    existing_account_email(text, "email").map_err(Error::BadRequest)
}

/// 500 if the mail server can't be reached. It is asked before the address is looked up, so that the answer doesn't
/// tell whether there is an account.
pub(super) async fn require_mail(app: &App) -> Result<()> {
    if app.mailer.is_reachable().await { Ok(()) } else { Err(Error::outage("the mail server can't be reached")) }
}

#[derive(Object)]
pub struct Address {
    pub(super) email: Text<Email>,
}

#[derive(Object)]
struct OneTimeToken {
    /// The token in the mailed link.
    token: Text<Token>,
    /// Whether the browser keeps the session in a cookie, which only a page of this server may ask for (403). The answer then has
    /// no tokens.
    cookie: Option<bool>,
}

#[derive(Object)]
struct Verification {
    /// The token in the mailed link.
    token: Text<Token>,
    /// The account's password; not needed with the account's bearer token.
    password: Option<Text<GivenPassword>>,
}

#[derive(Object)]
struct NewPassword {
    /// The token in the mailed link.
    token: Text<Token>,
    /// None of the most common passwords, and not the old one.
    new_password: Text<Password>,
}
