//! The guide: the documents of this repository as pages under `/docs/guide`. Each is rendered once and then shared by all
//! answers. Links between documents name their files, so that they also work on a forge.

use std::{fmt::Write, sync::LazyLock};

use poem::{
    Request, Response,
    error::NotFoundError,
    http::{HeaderValue, header},
};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::{
    Asset,
    notice::{OPENER, POLICY},
};

struct Document {
    /// The last segment of the page's address; empty for the first page.
    name: &'static str,
    /// The path of the file in the repository.
    path: &'static str,
    text: &'static str,
}

macro_rules! documents {
    ($($name:literal: $path:literal),* $(,)?) => {
        [$(Document { name: $name, path: $path, text: include_str!(concat!("../../", $path)) }),*]
    };
}

/// All documents, in the order of the navigation.
const DOCUMENTS: &[Document] = &documents! {
    "": "README.md",
    "start": "docs/start.md",
    "push": "docs/push.md",
    "browsers": "docs/browsers.md",
    "client": "docs/client.md",
    "events": "docs/events.md",
    "errors": "docs/errors.md",
    "tokens": "docs/tokens.md",
    "bots": "docs/bots.md",
    "slash-commands": "docs/slash-commands.md",
    "webhooks": "docs/webhooks.md",
    "assistants": "docs/assistants.md",
    "integrations": "docs/integrations.md",
    "operating": "docs/operating.md",
    "notifications": "docs/notifications.md",
    "moving": "docs/moving.md",
    "settings": "docs/settings.md",
    "commands": "docs/commands.md",
    "limits": "docs/limits.md",
    "security": "SECURITY.md",
    "performance": "docs/performance.md",
    "decisions": "docs/decisions.md",
    "contributing": "docs/contributing.md",
    "changelog": "CHANGELOG.md",
};

/// `GET /docs/guide` and `GET /docs/guide/:name`; 404 for a name that no document has.
pub fn page(req: Request) -> poem::Result<Response> {
    static PAGES: LazyLock<Vec<Asset>> = LazyLock::new(|| DOCUMENTS.iter().map(asset).collect());
    let name = req.raw_path_param("name").unwrap_or_default();
    let index = DOCUMENTS.iter().position(|document| document.name == name).ok_or(NotFoundError)?;
    Ok(PAGES[index].answer(&req))
}

fn asset(document: &Document) -> Asset {
    let headers = vec![
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        OPENER,
    ];
    Asset::new("text/html; charset=utf-8", render(document), headers)
}

/// The whole page: the navigation and the document.
fn render(document: &Document) -> String {
    let mut body = String::new();
    html::push_html(&mut body, events(document).into_iter());
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{} · Tidings</title>\n\
         <link rel=\"stylesheet\" href=\"/guide.css\">\n</head>\n<body>\n<nav>{}</nav>\n<main>\n{body}</main>\n</body>\n</html>\n",
        title(document),
        navigation(document)
    )
}

fn navigation(current: &Document) -> String {
    let mut links = String::from("<a href=\"/docs\">API</a>");
    for document in DOCUMENTS {
        let mark = if document.name == current.name { " aria-current=\"page\"" } else { "" };
        _ = write!(links, "\n<a href=\"{}\"{mark}>{}</a>", address(document), title(document));
    }
    links
}

fn address(document: &Document) -> String {
    format!("/docs/guide/{}", document.name).trim_end_matches('/').to_owned()
}

/// The document's first heading. Every document begins with one that needs no escaping, which a test checks.
fn title(document: &Document) -> &'static str {
    let heading = document.text.lines().find_map(|line| line.strip_prefix("# "));
    heading.unwrap_or(document.path)
}

/// The parsed document, with links to files changed into links to pages, an anchor on each heading, and no pictures.
fn events(document: &Document) -> Vec<Event<'static>> {
    let mut is_picture = false;
    let parser = Parser::new_ext(document.text, Options::ENABLE_TABLES);
    let shown = parser.filter(|event| {
        is_picture |= matches!(event, Event::Start(Tag::Image { .. }));
        let is_shown = !is_picture;
        is_picture &= !matches!(event, Event::End(TagEnd::Image));
        is_shown
    });
    let mut events: Vec<Event> = shown.map(|event| linked(event, document)).collect();
    for start in 0..events.len() {
        let words = words(&events[start + 1..]);
        if let Event::Start(Tag::Heading { id, .. }) = &mut events[start] {
            *id = Some(anchor(&words).into());
        }
    }
    events
}

/// The text of the heading that these events begin in.
fn words(events: &[Event]) -> String {
    let inside = events.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let texts = inside.filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
        _ => None,
    });
    texts.collect()
}

/// The anchor that forges give to a heading: lower case, hyphens for spaces, and no punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn linked<'a>(event: Event<'a>, from: &Document) -> Event<'a> {
    match event {
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = CowStr::from(target(&dest_url, from));
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        other => other,
    }
}

/// The address of the page that a file is served as. Any other link stays as it is.
fn target(link: &str, from: &Document) -> String {
    let (file, anchor) = link.find('#').map_or((link, ""), |at| link.split_at(at));
    let path = match (from.path.rsplit_once('/'), file.strip_prefix("../")) {
        (_, Some(above)) => above.to_owned(),
        (Some((folder, _)), None) => format!("{folder}/{file}"),
        (None, None) => file.to_owned(),
    };
    let page = DOCUMENTS.iter().find(|document| document.path == path);
    page.map_or_else(|| link.to_owned(), |page| address(page) + anchor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_between_files_become_links_between_pages() {
        let document = |path: &'static str| Document { name: "", path, text: "" };
        for (from, link, leads_to) in [
            ("README.md", "docs/push.md", "/docs/guide/push"),
            ("docs/push.md", "../README.md#install", "/docs/guide#install"),
            ("docs/push.md", "webhooks.md", "/docs/guide/webhooks"),
            ("docs/push.md", "limits.md#rates", "/docs/guide/limits#rates"),
            ("docs/push.md", "../SECURITY.md", "/docs/guide/security"),
            ("SECURITY.md", "docs/limits.md", "/docs/guide/limits"),
            ("docs/push.md", "#encodings", "#encodings"),
            ("docs/push.md", "https://example.org/push.md", "https://example.org/push.md"),
        ] {
            assert_eq!(target(link, &document(from)), leads_to, "{link} in {from}");
        }
    }

    #[test]
    fn pictures_are_omitted_from_pages() {
        let document = Document { name: "", path: "README.md", text: "One ![a *picture*](a.png) two\n" };
        let mut page = String::new();
        html::push_html(&mut page, events(&document).into_iter());
        assert_eq!(page, "<p>One  two</p>\n");
    }

    #[test]
    fn a_heading_has_the_anchor_that_forges_give_it() {
        let document = Document { name: "", path: "docs/a.md", text: "## The `--log` setting, and *more*\n" };
        let mut page = String::new();
        html::push_html(&mut page, events(&document).into_iter());
        assert!(page.contains("<h2 id=\"the---log-setting-and-more\">"), "{page}");
    }
}
