//! Magic links whose mail also has a code, for the browser that asked.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use serde::Serialize;

use super::{
    LoggedIn,
    mailed_links::{Address, address, require_mail},
};
use crate::{
    api::{
        http::{
            body::{Body, Text},
            envelope::{Success, ok},
            login_browser::Browser,
            secret_text::Secret,
            visitor::{LogInAttempt, Visitor},
        },
        tags::Tag,
    },
    domain::accounts::{
        login_codes::{self, MailedCode},
        mailed_links,
        one_time_tokens::Token,
    },
    error::{Code, Error, Result},
    state::App,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Ask for a magic link with a code
    ///
    /// Mails a link that logs in once, as `POST /auth/magic-link` does, and a code of six digits beside it, for those who read
    /// their mail on another device. The answer has the `request`, a secret that this client keeps: the code works only with
    /// it. An address without an account gets the same answer.
    #[oai(path = "/auth/magic-link/code", method = "post", operation_id = "requestMagicLinkCode", tag = "Tag::Accounts")]
    async fn request(&self, app: Data<&App>, visitor: Visitor, body: Body<Address>) -> Result<Success<CodeRequest>> {
        let email = address(&body.email)?;
        require_mail(&app).await?;
        app.limits.mailed_link(visitor.address)?;
        let request = app.db.write(move |tx| mailed_links::request_code(tx, &email)).await?;
        Ok(ok("Magic link sent successfully", CodeRequest { request: request.into() }))
    }

    /// Log in with a code
    ///
    /// Takes the request and the code in the mail. Both the code and the link are used up then. A wrong or expired code is 422,
    /// and after five wrong ones the request is void. What the first magic link does for an account whose mailbox was not
    /// proved holds here, too.
    #[oai(path = "/auth/magic-link/code/verify", method = "post", operation_id = "logInByCode", tag = "Tag::Accounts")]
    async fn enter(
        &self,
        app: Data<&App>,
        entrant: LogInAttempt,
        browser: Browser,
        body: Body<GivenCode>,
    ) -> Result<Success<LoggedIn>> {
        let Body(GivenCode { request, code, cookie }, bytes) = body;
        let by_cookie = browser.wants_cookie(cookie)?;
        let (request, code, device) = (request.0, code.0, entrant.device.clone());
        MailedCode::check(&code, "code").map_err(Error::BadRequest)?;
        let log_in = async {
            app.db.read_without_position(|conn| login_codes::require_open(conn, &request))?; // a guess at requests costs the writer nothing
            let entered = app.db.write_sized(bytes, move |tx| mailed_links::enter_by_code(tx, &request, &code, &device)).await?;
            entered.ok_or_else(|| Error::Invalid(Code::WrongCode.says("The code is wrong or has expired").at("code")))
        };
        let started = entrant.run_log_in(&app, log_in).await?;
        Ok(ok("Login successful", browser.keep_session(&app, started, by_cookie).await.into()))
    }
}

#[derive(Object, Serialize)]
struct CodeRequest {
    /// The secret to send with the code. Keep it in the client that asked.
    request: Secret,
}

#[derive(Object)]
struct GivenCode {
    /// The `request` in the answer to this client.
    request: Text<Token>,
    /// The six digits in the mail.
    code: Text<MailedCode>,
    /// Whether the browser keeps the session in a cookie, which only a page of this server may ask for (403). The answer then has
    /// no tokens.
    cookie: Option<bool>,
}
