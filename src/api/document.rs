//! The OpenAPI document, and the page to read it and to try it out.

use std::sync::LazyLock;

use base64::{Engine, prelude::BASE64_STANDARD};
use poem::{
    Request, Response,
    http::{HeaderValue, header},
};

use super::service::service;
use crate::{secret, web::Asset};

/// The OpenAPI document, as JSON. Made once: it takes as long and as much memory as the rest of the start.
pub fn document() -> &'static str {
    static DOCUMENT: LazyLock<String> = LazyLock::new(|| service().spec());
    &DOCUMENT
}

/// `GET /api/v1/openapi.json`
pub fn openapi(req: Request) -> Response {
    static ASSET: LazyLock<Asset> =
        LazyLock::new(|| Asset::new("application/json; charset=utf-8", document().to_owned(), Vec::new()));
    ASSET.answer(&req)
}

/// `GET /docs`
pub fn page(req: Request) -> Response {
    static ASSET: LazyLock<Asset> = LazyLock::new(|| {
        let page = service().swagger_ui_html();
        let policy = HeaderValue::from_str(&policy(&page)).expect("it is ASCII");
        let headers =
            vec![(header::CONTENT_SECURITY_POLICY, policy), (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"))];
        Asset::new("text/html; charset=utf-8", page, headers)
    });
    ASSET.answer(&req)
}

/// What the page may do (CSP level 3): run its own scripts, which stand in it and are known by their hash, and call
/// this server. Nobody may frame it: a click in it can be made to delete an organisation.
fn policy(page: &str) -> String {
    let hashes: Vec<_> =
        scripts(page).map(|script| format!("'sha256-{}'", BASE64_STANDARD.encode(secret::sha256(script)))).collect();
    format!(
        "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src 'self' data:; font-src data:; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hashes.join(" ")
    )
}

/// The texts of a page's inline scripts. What looks like a tag inside of one is none (HTML standard, section 13.2.5.4).
fn scripts(mut page: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (_, tag) = page.split_once("<script")?;
        let (_, text) = tag.split_once('>')?;
        let (script, rest) = text.split_once("</script>")?;
        page = rest;
        Some(script)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_script_of_the_page_is_known_by_its_hash() {
        let page = "<p>a</p><script>'<script>one'</script><style>x</style><script charset=\"utf-8\">two</script>";
        assert_eq!(scripts(page).collect::<Vec<_>>(), ["'<script>one'", "two"]);
        assert_eq!(policy(&service().swagger_ui_html()).matches("sha256-").count(), 2);
    }
}
