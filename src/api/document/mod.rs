//! The OpenAPI document, and the page on which to read and try it.

mod examples;
mod finish;

use std::sync::LazyLock;

use base64::{Engine, prelude::BASE64_STANDARD};
use poem::{
    Request, Response,
    http::{HeaderValue, header},
};

use super::service::service;
use crate::{secret, web::Asset};

/// The OpenAPI document, as JSON. It is generated once, because that takes as much time and memory as the rest of the
/// start.
pub fn document() -> &'static str {
    static DOCUMENT: LazyLock<String> = LazyLock::new(|| finish::finish(&service().spec()));
    &DOCUMENT
}

/// Handles `GET /api/v1/openapi.json`.
pub fn openapi(req: Request) -> Response {
    static ASSET: LazyLock<Asset> =
        LazyLock::new(|| Asset::new("application/json; charset=utf-8", document().to_owned(), Vec::new()));
    ASSET.answer(&req)
}

/// Handles `GET /docs`.
pub fn page(req: Request) -> Response {
    static ASSET: LazyLock<Asset> = LazyLock::new(|| {
        let page = html();
        let policy = HeaderValue::from_str(&policy(&page)).expect("it is ASCII");
        let headers =
            vec![(header::CONTENT_SECURITY_POLICY, policy), (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"))];
        Asset::new("text/html; charset=utf-8", page, headers)
    });
    ASSET.answer(&req)
}

/// The framework's page with the finished document in place of the generated one. No `<` of the document is taken for a
/// tag.
fn html() -> String {
    let (service, document) = (service(), document().replace('<', "\\u003c"));
    let page = service.swagger_ui_html().replacen(&service.spec(), &document, 1);
    page.replacen("deepLinking: true,", "deepLinking: true, defaultModelExpandDepth: 3, showCommonExtensions: true,", 1)
}

/// The page's Content-Security-Policy (CSP level 3). The page may run its own inline scripts, which are listed by their
/// hashes, and may call this server. Nobody may frame it, because a click on it can delete an organisation.
fn policy(page: &str) -> String {
    let hashes: Vec<_> =
        scripts(page).map(|script| format!("'sha256-{}'", BASE64_STANDARD.encode(secret::sha256(script)))).collect();
    format!(
        "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src 'self' data:; font-src data:; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hashes.join(" ")
    )
}

/// The texts of a page's inline scripts. Text inside a script that looks like a tag is not a tag (HTML standard,
/// section 13.2.5.4).
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
        assert_eq!(policy(&html()).matches("sha256-").count(), 2);
    }

    #[test]
    fn the_page_shows_the_finished_document() {
        let page = html();
        assert!(page.contains("#/components/responses/TooManyRequests") && page.contains("showCommonExtensions"));
        assert_eq!(page.matches("\"openapi\":").count(), 1);
    }
}
