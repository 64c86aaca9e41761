//! Magic links, password resets, and verification of the e-mail address.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};

use super::{
    Tag,
    accounts::LoggedIn,
    auth::Visitor,
    body::{Body, Text, example},
    envelope::{Done, Success, done, ok},
};
use crate::{
    app::App,
    domain::{self, accounts, mailbox},
    error::{Error, Result},
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Ask for a magic link
    ///
    /// Mails a link that logs in, once. An address without an account is answered alike.
    #[oai(path = "/auth/magic-link", method = "post", tag = "Tag::Accounts")]
    async fn magic_link(&self, app: Data<&App>, _visitor: Visitor, body: Body<Address>) -> Result<Done> {
        let email = address(&body.email)?;
        require_mail(&app).await?;
        let site = app.site.clone();
        app.db.write(move |tx| mailbox::request_magic_link(tx, &site, &email)).await?;
        Ok(done("Magic link sent successfully"))
    }

    /// Log in with a magic link
    ///
    /// Entering an account whose address nobody had proved before removes its password and ends its other sessions:
    /// whoever registered the address may have been somebody else.
    #[oai(path = "/auth/magic-link/verify", method = "post", tag = "Tag::Accounts")]
    async fn enter(&self, app: Data<&App>, visitor: Visitor, body: Body<OneTimeToken>) -> Result<Success<LoggedIn>> {
        let (site, token) = (app.site.clone(), body.0.token.0);
        let started = app.db.write_sized(body.1, move |tx| mailbox::enter(tx, &site, &token, &visitor.device)).await?;
        Ok(ok("Login successful", started.into()))
    }

    /// Ask for a password reset
    ///
    /// Mails a link that sets a new password, once. An address without an account is answered alike.
    #[oai(path = "/auth/password-reset", method = "post", tag = "Tag::Accounts")]
    async fn password_reset(&self, app: Data<&App>, _visitor: Visitor, body: Body<Address>) -> Result<Done> {
        let email = address(&body.email)?;
        require_mail(&app).await?;
        let site = app.site.clone();
        app.db.write(move |tx| mailbox::request_reset(tx, &site, &email)).await?;
        Ok(done("Password reset link sent successfully"))
    }

    /// Set a new password
    ///
    /// With the token of the mail; a password that is refused does not use it up. All sessions end, and the user is told
    /// by mail.
    #[oai(path = "/auth/password-reset/verify", method = "post", tag = "Tag::Accounts")]
    async fn reset_password(&self, app: Data<&App>, _visitor: Visitor, body: Body<NewPassword>) -> Result<Done> {
        let NewPassword { token: Text(token), new_password: Text(password) } = body.0;
        let user = app.db.read(|conn| mailbox::find_reset(conn, &token))?;
        accounts::check_password(&password, &user.email, &user.username).map_err(Error::Invalid)?;
        if app.verify(password.clone(), user.password_hash).await? {
            return Err(Error::invalid("the new password is the old one"));
        }
        let (site, hash) = (app.site.clone(), app.hash(password).await?);
        app.db.write_sized(body.1, move |tx| mailbox::reset(tx, &site, &token, &hash)).await?;
        Ok(done("Password reset successfully"))
    }

    /// Ask for a verification mail
    ///
    /// Mails a link that verifies the address. An address without an account is answered alike; a verified one is 422.
    #[oai(path = "/auth/email-request", method = "post", tag = "Tag::Accounts")]
    async fn email_request(&self, app: Data<&App>, _visitor: Visitor, body: Body<Address>) -> Result<Done> {
        let (site, email) = (app.site.clone(), address(&body.email)?);
        app.db.write(move |tx| mailbox::request_verification(tx, &site, &email)).await?;
        Ok(done("Verification email sent successfully"))
    }

    /// Verify an e-mail address
    #[oai(path = "/auth/email-request/verify", method = "post", tag = "Tag::Accounts")]
    async fn verify(&self, app: Data<&App>, _visitor: Visitor, body: Body<OneTimeToken>) -> Result<Done> {
        app.db.write_sized(body.1, move |tx| mailbox::verify(tx, &body.0.token)).await?;
        Ok(done("Email verified successfully"))
    }
}

fn address(email: &str) -> Result<String> {
    domain::email_address(email).ok_or_else(|| Error::bad_request("email is not a valid e-mail address"))
}

/// Asked before anything is known of the address, so that the answer tells nothing of it.
async fn require_mail(app: &App) -> Result<()> {
    if app.mailer.is_reachable().await { Ok(()) } else { Err(Error::internal("the mail server can't be reached")) }
}

#[derive(Object)]
#[oai(example)]
struct Address {
    email: Text,
}
example!(Address, { "email": "ada@example.org" });

#[derive(Object)]
#[oai(example)]
struct OneTimeToken {
    /// From the mail's link.
    token: Text,
}
example!(OneTimeToken, { "token": "mZ0n3Q4y1k6f8c2x5v7b9w1e3r5t7y9u2i4o6p8a0sd" });

#[derive(Object)]
#[oai(example)]
struct NewPassword {
    /// From the mail's link.
    token: Text,
    /// As at registration, and not the old one.
    new_password: Text,
}
example!(NewPassword, { "token": "mZ0n3Q4y1k6f8c2x5v7b9w1e3r5t7y9u2i4o6p8a0sd", "new_password": "staple of the battery" });
