//! A browser at the log-in by an issuer, and what it is shown.

use std::collections::BTreeMap;

use reqwest::{header::HeaderMap, redirect::Policy};
use serde_json::Value;
use url::{Position, Url};

use crate::{
    accounts::issuer::Issuer,
    harness::{Client, Server, encoded},
};

/// A browser that follows no redirect by itself.
pub(super) struct Browser {
    pub(super) client: Client,
    pub(super) cookies: BTreeMap<String, String>,
}

/// What a browser got.
pub(super) struct Shown {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    /// The values of `Set-Cookie`.
    pub(super) cookies: Vec<String>,
    pub(super) text: String,
}

impl Shown {
    /// Where the answer sends the browser.
    #[track_caller]
    pub(super) fn leads_to(&self) -> String {
        assert_eq!(self.status, 303, "{}", self.text);
        assert_eq!([&self.headers["cache-control"], &self.headers["referrer-policy"]], ["no-store", "no-referrer"]);
        self.headers["location"].to_str().unwrap().to_owned()
    }

    /// Where the page's button leads.
    #[track_caller]
    pub(super) fn link(&self) -> String {
        let text = decoded(&self.text);
        text.split_once("class=\"button\" href=\"").unwrap().1.split('"').next().unwrap().to_owned()
    }

    /// The path that the web client goes on to, once it has erased what it had shown somebody else.
    #[track_caller]
    pub(super) fn goes_on_to(&self, server: &Server) -> String {
        let entrance = Url::parse(&self.leads_to()).unwrap();
        assert_eq!(&entrance[..Position::AfterPath], format!("{}/sign-in", server.origin));
        let parameters: Vec<_> = entrance.query_pairs().collect();
        let [(name, next)] = parameters.as_slice() else { panic!("{parameters:?}") };
        assert_eq!(name, "next");
        next.clone().into_owned()
    }

    /// The answer is a page for people that says this, and nobody is logged in.
    #[track_caller]
    pub(super) fn assert_page(&self, status: u16, says: &str) {
        assert_eq!(self.status, status, "{}", self.text);
        assert!(decoded(&self.text).contains(&format!("<p role=\"status\">{says}</p>")), "{}", decoded(&self.text));
        assert_eq!(self.headers["content-type"], "text/html; charset=utf-8");
        assert!(self.headers["content-security-policy"].to_str().unwrap().contains("default-src 'none'"));
        assert_eq!([&self.headers["cache-control"], &self.headers["referrer-policy"]], ["no-store", "no-referrer"]);
        assert_eq!(self.headers["cross-origin-opener-policy"], "same-origin");
        assert!(self.cookies.iter().all(|cookie| cookie.contains("Max-Age=0")), "{:?}", self.cookies);
    }
}

/// The text of a page, with characters in place of their references.
pub(super) fn decoded(html: &str) -> String {
    let mut parts = html.split('&');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (reference, rest) in parts.map(|part| part.split_once(';').unwrap()) {
        let named = ["amp", "lt", "gt", "quot", "apos"]
            .iter()
            .position(|name| *name == reference)
            .map(|at| ['&', '<', '>', '"', '\''][at]);
        text.push(named.unwrap_or_else(|| char::from_u32(reference.trim_start_matches('#').parse().unwrap()).unwrap()));
        text += rest;
    }
    text
}

impl Browser {
    pub(super) fn of(server: &Server) -> Browser {
        let http = reqwest::Client::builder().tls_certs_only([]).redirect(Policy::none()).build().unwrap();
        Browser { client: Client { http, ..server.anonymous() }, cookies: BTreeMap::new() }
    }

    /// Opens an address of the server, as one that its user typed.
    pub(super) async fn open(&mut self, address: &str) -> Shown {
        self.open_from(address, Some("none")).await
    }

    /// Opens an address; `site` is what the browser says of the page with the link.
    pub(super) async fn open_from(&mut self, address: &str, site: Option<&str>) -> Shown {
        let path = address.strip_prefix(&self.client.origin).unwrap_or(address);
        let mut request = self.client.request("GET", path);
        if let Some(site) = site {
            request = request.header("sec-fetch-site", site);
        }
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let response = request.header("cookie", cookies.join("; ")).send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let set: Vec<String> = headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap().to_owned()).collect();
        for cookie in &set {
            let (name, rest) = cookie.split_once('=').unwrap();
            let (value, attributes) = rest.split_once("; ").unwrap();
            match attributes.contains("Max-Age=0") {
                true => self.cookies.remove(name),
                false => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        Shown { status, headers, cookies: set, text: response.text().await.unwrap() }
    }

    /// Begins a log-in: the address at the issuer. Somebody who is logged in agrees to it.
    pub(super) async fn begin(&mut self, next: &str) -> String {
        let mut shown = self.open(&format!("/auth/oidc/start?next={}", encoded(next))).await;
        if shown.status == 200 {
            shown = self.open_from(&shown.link(), Some("same-origin")).await;
        }
        shown.leads_to()
    }

    /// Logs in as Ada, with further claims in her id token: what the browser shows then.
    pub(super) async fn log_in(&mut self, issuer: &Issuer, claims: Value) -> Shown {
        let address = self.begin("/channels").await;
        self.open_from(&issuer.log_in(&address, claims).1, Some("cross-site")).await
    }

    /// The cookies of log-ins that were begun.
    pub(super) fn begun(&self) -> Vec<&String> {
        self.cookies.keys().filter(|name| name.contains("-log-in-")).collect()
    }

    /// The address of the account that a page of the server is logged in to.
    pub(super) async fn email(&self) -> Value {
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let page = self.client.own_page().with("cookie", &cookies.join("; "));
        page.get("/profile").await.expect(200)["data"]["email"].take()
    }
}
