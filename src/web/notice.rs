//! A page that tells a person one thing, and where to go on. It runs no script.

use poem::{
    Response,
    http::{HeaderName, HeaderValue, header},
};

/// For pages that run no script and load nothing but their style sheet and icon. No page may frame them.
pub const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// No other site's window keeps a hold of a page with this header, such as one that opened it. Browsers heed it over https and on
/// this machine.
pub const OPENER: (HeaderName, HeaderValue) =
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin"));

pub struct Notice<'a> {
    pub title: &'a str,
    /// The message, in the form of an error's sentence: a full stop may be missing.
    pub says: &'a str,
    /// Where to go on, and what it is called.
    pub link: Option<(&'a str, &'a str)>,
}

impl Notice<'_> {
    /// Makes the page the body of an answer.
    pub fn answer(&self, mut response: Response) -> Response {
        response.set_body(self.html());
        for (name, value) in [
            (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
            (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            OPENER,
        ] {
            response.headers_mut().insert(name, value);
        }
        response
    }

    fn html(&self) -> String {
        let title = ammonia::clean_text(self.title);
        let says = ammonia::clean_text(&sentence(self.says));
        let link = self.link.map_or_else(String::new, |(address, words)| {
            let [address, words] = [address, words].map(ammonia::clean_text);
            format!("<p><a class=\"button\" href=\"{address}\">{words}</a></p>\n")
        });
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"robots\" content=\"noindex\">\n\
             <title>{title} - Tidings</title>\n<link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body>\n<main>\n\
             <h1>{title}</h1>\n<p role=\"status\">{says}</p>\n{link}<p><a href=\"/\">To the start page</a></p>\n\
             </main>\n</body>\n</html>\n"
        )
    }
}

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    let stop = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    first.to_uppercase() + rest + stop
}
