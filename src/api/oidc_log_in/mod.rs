//! Log-in of browsers at the OpenID Connect issuer, by authorization code. It is no part of the API: browsers come here by links
//! and redirects, so that refusals are pages for people.

mod flow;

use poem::{
    Request, Response, handler,
    http::{HeaderValue, StatusCode, header},
    web::Data,
};
use url::{Position, Url, form_urlencoded};

use self::flow::Flow;
use super::http::{failure, login_browser::Browser, visitor::LogInAttempt};
use crate::{
    domain::accounts::{self, NextPath, identities, sessions::Started},
    error::{Code, Error, Result},
    issuer::{Issuer, NO_CLIENT},
    net::origins::is_from_elsewhere,
    state::App,
    web::Notice,
};

/// Where a browser begins to log in; `next` is the path that its user wants.
pub const START: &str = "/auth/oidc/start";
/// The parameter of a start with which somebody agrees to another session than the one that they have.
const INSTEAD: &str = "instead";
/// Where the issuer sends the browser back to.
pub const CALLBACK: &str = "/auth/oidc/callback";

const FROM_ELSEWHERE: Error = Error::Forbidden(Code::ForeignPage, "Another website sent you here. Go on if you want to log in");
const NOT_BEGUN: Error = Error::Unauthorized(
    Code::IdTokenInvalid,
    "This log-in was begun in another browser, took more than ten minutes, or is over already",
);
const CANCELLED: Error =
    Error::Unauthorized(Code::IdTokenInvalid, "You cancelled the log-in, or the identity provider refused it");
const FAILED: Error = Error::Unauthorized(Code::IdTokenInvalid, "The identity provider could not log you in");
const MIXED_UP: Error = Error::Unauthorized(Code::IdTokenInvalid, "The answer is from another identity provider");

/// Handles `GET /auth/oidc/start`: sends the browser to the issuer. Somebody who is logged in is asked first, because the log-in
/// replaces their session, and anybody can give them a link to here.
#[handler]
pub async fn start(req: &Request, app: Data<&App>, entrant: LogInAttempt) -> Response {
    let next = parameter(req, "next").unwrap_or_default();
    match entrant.run_log_in(&app, begin(req, &app, &next)).await {
        Ok(Begun::AtIssuer(address)) => redirect(&address),
        Ok(Begun::Asked { name, proof }) => ask(&app, &name, &proof, &next),
        Err(err) => refuse(&app, err, &next),
    }
}

enum Begun {
    /// The browser goes to this address.
    AtIssuer(Url),
    /// The browser has a session of somebody with this name. The proof shows that they were asked.
    Asked { name: String, proof: String },
}

async fn begin(req: &Request, app: &App, next: &str) -> Result<Begun> {
    let issuer = issuer(app)?;
    NextPath::check(next, "next").map_err(Error::BadRequest)?;
    if let Some((caller, proof)) = Browser::of(req, true).live_session(app)?
        && parameter(req, INSTEAD).is_none_or(|given| given != proof)
    {
        let name = app.db.read_without_position(|conn| accounts::own(conn, caller))?.shown_name();
        return Ok(Begun::Asked { name, proof });
    }
    // Another site could otherwise log its visitors in unasked, and out of the account that they use.
    if is_from_elsewhere(req) {
        return Err(FROM_ELSEWHERE);
    }
    let flow = flow::begin(req, app, next)?;
    issuer.authorization(&flow.issuer_visible_values(&redirect_uri(app))).await.map(Begun::AtIssuer)
}

/// Handles `GET /auth/oidc/callback`: logs the browser in, and sends it on to the path that its user wanted, by way of the web
/// client where that is served.
#[handler]
pub async fn callback(req: &Request, app: Data<&App>, entrant: LogInAttempt) -> Response {
    let flow = flow::take(req, &app, &parameter(req, "state").unwrap_or_default());
    let next = flow.as_ref().map_or_else(String::new, |flow| flow.next.clone());
    match entrant.run_log_in(&app, enter(req, &app, &entrant, flow)).await {
        Ok(started) => {
            // The state has proved that the browser's own user logs in.
            Browser::of(req, true).keep_session(&app, started, true).await;
            redirect(&destination(&app, &next))
        }
        Err(err) => refuse(&app, err, &next),
    }
}

async fn enter(req: &Request, app: &App, entrant: &LogInAttempt, flow: Option<Flow>) -> Result<Started> {
    let issuer = issuer(app)?;
    let flow = flow.ok_or(NOT_BEGUN)?;
    // RFC 9207: another issuer's code is none of this one's.
    if parameter(req, "iss").is_some_and(|iss| iss != issuer.url()) {
        return Err(MIXED_UP);
    }
    if let Some(error) = parameter(req, "error") {
        tracing::info!(error = error.chars().take(100).collect::<String>(), "the issuer logs a browser not in");
        return Err(if error == "access_denied" { CANCELLED } else { FAILED });
    }
    let code = parameter(req, "code").ok_or(FAILED)?;
    let _permit = app.limits.code_exchange(entrant.address).await;
    let token = issuer.redeem(&code, &flow.issuer_visible_values(&redirect_uri(app))).await?;
    let device = entrant.device.clone();
    app.db.write(move |tx| identities::log_in(tx, &token, &device)).await
}

/// The issuer, if browsers may log in there.
fn issuer(app: &App) -> Result<&Issuer> {
    app.issuer.as_ref().filter(|issuer| issuer.log_in_label().is_some()).ok_or(NO_CLIENT)
}

fn redirect_uri(app: &App) -> String {
    format!("{}{CALLBACK}", app.site.base_url)
}

/// The first parameter of that name in the query.
fn parameter(req: &Request, name: &str) -> Option<String> {
    let query = req.uri().query().unwrap_or_default();
    form_urlencoded::parse(query.as_bytes()).find(|(found, _)| found == name).map(|(_, value)| value.into_owned())
}

/// The whole address of a path of this server. Whatever the path, it is on this server: a path without its origin could become the
/// address of another, as `/.//example.org` would.
fn own(app: &App, next: &str) -> Url {
    let base = Url::parse(&app.site.base_url).expect("the settings were checked");
    base.join(next).ok().filter(|url| url.origin() == base.origin()).unwrap_or(base)
}

/// Where the browser goes once it is logged in. The web client's page for signing in first erases what it had shown the person
/// before, and goes on at once. Clients of `--web-url` and those without this one are sent to the path itself.
fn destination(app: &App, next: &str) -> Url {
    let wanted = own(app, next);
    if !app.site.client || app.site.web_url != app.site.base_url {
        return wanted;
    }
    let mut entrance = own(app, "/sign-in");
    entrance.query_pairs_mut().append_pair("next", &wanted[Position::BeforePath..]);
    entrance
}

fn redirect(address: &Url) -> Response {
    let location = HeaderValue::from_str(address.as_str()).expect("it is ASCII");
    let response = Response::builder().status(StatusCode::SEE_OTHER).header(header::LOCATION, location);
    response.header(header::CACHE_CONTROL, "no-store").header(header::REFERRER_POLICY, "no-referrer").finish()
}

/// The page that asks somebody who is logged in whether they want to log in anew.
fn ask(app: &App, name: &str, proof: &str, next: &str) -> Response {
    let says = format!("You are logged in as {name}. Log in as somebody else?");
    notice(app, &says, &[("next", next), (INSTEAD, proof)], Response::default())
}

/// The page of a refusal, with its status and headers, from which a person can begin again.
fn refuse(app: &App, why: Error, next: &str) -> Response {
    let next = if NextPath::check(next, "next").is_ok() { next } else { "" };
    let says = why.to_string();
    notice(app, &says, &[("next", next)], failure::answer(why.into(), START))
}

/// A page with a link to a start with these parameters.
fn notice(app: &App, says: &str, parameters: &[(&str, &str)], answer: Response) -> Response {
    let parameters = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    let again = format!("{START}?{parameters}");
    let words = app.issuer.as_ref().and_then(Issuer::log_in_label).map(|name| format!("Log in with {name}"));
    Notice { title: "Log in", says, link: words.as_deref().map(|words| (&*again, words)) }.answer(answer)
}
