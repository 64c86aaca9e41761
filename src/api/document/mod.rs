//! The OpenAPI document, and the page on which to read and try it.

mod examples;
mod finish;

use std::{collections::BTreeMap, sync::LazyLock};

use base64::{Engine, prelude::BASE64_STANDARD};
use poem::{
    Request, Response,
    http::{HeaderValue, header},
};
use poem_openapi::OpenApiService;
use serde::{Deserialize, de::IgnoredAny};

use super::routes::openapi_service;
use crate::{
    secret,
    web::{Asset, OPENER},
};

/// The methods of each path template, for the `Allow` header.
pub type Methods = BTreeMap<String, Vec<String>>;

/// The files that are made from the document. They are made together when one is first asked for, because generating the document takes
/// longer than the rest of the start, and more memory.
struct Documents {
    openapi: Asset,
    page: Asset,
    methods: Methods,
}

static DOCUMENTS: LazyLock<Documents> = LazyLock::new(|| {
    let document = document();
    let page = html(&document);
    let policy = HeaderValue::from_str(&policy(&page)).expect("it is ASCII");
    let headers = vec![
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        OPENER,
    ];
    Documents {
        page: Asset::new("text/html; charset=utf-8", page, headers),
        methods: methods_of(&document),
        openapi: Asset::new("application/json; charset=utf-8", document, Vec::new()),
    }
});

/// Generates the OpenAPI document, as JSON.
pub fn document() -> String {
    document_with(include_str!("recorded.txt"))
}

/// Generates the OpenAPI document with the examples of a recording. Tests record what it says with the examples of their run.
pub fn document_with(recording: &str) -> String {
    finish::finish(&openapi_service().spec(), &examples::read(recording))
}

/// Handles `GET /api/v1/openapi.json`.
pub fn openapi(req: Request) -> Response {
    DOCUMENTS.openapi.answer(&req)
}

/// Handles `GET /docs`.
pub fn docs_page(req: Request) -> Response {
    DOCUMENTS.page.answer(&req)
}

pub fn methods() -> &'static Methods {
    &DOCUMENTS.methods
}

fn methods_of(document: &str) -> Methods {
    #[derive(Deserialize)]
    struct Document {
        paths: BTreeMap<String, BTreeMap<String, IgnoredAny>>,
    }
    let Document { paths } = serde_json::from_str(document).expect("the OpenAPI document is JSON");
    let methods = |operations: BTreeMap<String, IgnoredAny>| operations.into_keys().map(|method| method.to_uppercase()).collect();
    paths.into_iter().map(|(path, operations)| (path, methods(operations))).collect()
}

/// The part of the head that the framework's page lacks: an icon, and the width of a phone.
const HEAD: &str = concat!(
    "<title>Tidings API</title>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
    "<link rel=\"icon\" href=\"/favicon.ico\" sizes=\"32x32\">\n<link rel=\"icon\" href=\"/favicon.svg\" type=\"image/svg+xml\">\n",
    "<style>",
    include_str!("page.css"),
    "</style>\n</head>\n<body>"
);
/// The page's settings. The token that somebody enters is kept for the page's origin until they log out there.
const SETTINGS: &str = "deepLinking: true, defaultModelExpandDepth: 3, showExtensions: true, showCommonExtensions: true, \
    persistAuthorization: true,";

/// The framework's page, made for a service without operations, with the document in place of that service's. No `<` of the
/// document is taken for a tag.
fn html(document: &str) -> String {
    let empty = OpenApiService::new((), "", "");
    let page = empty.swagger_ui_html().replacen(&empty.spec(), &document.replace('<', "\\u003c"), 1);
    let page = page.replacen("<title>Swagger UI</title>", "", 1).replacen("</head>\n<body>", HEAD, 1);
    let page = page.replacen("<html charset=\"UTF-8\">", "<!doctype html>\n<html lang=\"en\">", 1).replacen(
        "deepLinking: true,",
        SETTINGS,
        1,
    );
    page.trim_start().to_owned()
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
        assert_eq!(policy(&html(&document())).matches("sha256-").count(), 2);
    }

    #[test]
    fn the_page_shows_the_finished_document() {
        let page = html(&document());
        assert!(page.contains("#/components/responses/TooManyRequests"));
        // Each change of the framework's page has found its place.
        assert!(page.starts_with("<!doctype html>") && page.contains(HEAD) && page.contains(SETTINGS));
        assert_eq!(page.matches("<title>").count(), 1);
        assert_eq!(page.matches("\"openapi\":").count(), 1);
    }
}
