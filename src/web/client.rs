//! The web client: the files of `src/web/client`, in one folder for each build of them, and the shell that loads them.

use std::{collections::BTreeMap, sync::LazyLock};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use poem::{
    Request, Response,
    http::{HeaderName, HeaderValue, header},
};
use rust_embed::RustEmbed;
use serde_json::json;

use super::{asset::Asset, module_bundle, notice::OPENER};
use crate::secret;

#[derive(RustEmbed)]
#[folder = "src/web/client"]
struct Files;

/// First segments of the client's addresses. Each address serves the shell, and the client shows what it names.
const SCREENS: [&str; 10] = [
    "accept_org_invitation",
    "forgotten-password",
    "join",
    "new-organisation",
    "o",
    "settings",
    "setup",
    "sign-in",
    "sign-up",
    "threads",
];

/// Pages of the client under `/auth`, to which links in mails lead.
const MAILED: [&str; 3] = ["auth/login/magic-link", "auth/reset-password", "auth/verify-email"];

/// Style sheets that come before the others, since they define what those use.
const FIRST_STYLES: [&str; 2] = ["style/tokens.css", "style/base.css"];

pub struct Client {
    /// The hash of all files. It names their folder, so that a browser never mixes two builds.
    build: String,
    /// By the language whose words the shell names.
    shells: BTreeMap<String, Asset>,
    service_worker: Asset,
    manifest: Asset,
    /// The files that the service worker keeps.
    list: Asset,
    /// By path within the folder of the build.
    files: BTreeMap<String, Asset>,
}

static CLIENT: LazyLock<Client> = LazyLock::new(Client::load);

/// Identifies the build of the client. Tabs of another build load themselves again.
pub fn build_id() -> &'static str {
    &CLIENT.build
}

/// Answers with a file of the client or its shell; `None` for addresses that are not the client's. `push` is the origin of an
/// external push server.
pub fn answer(req: &Request, push: Option<&str>) -> Option<Response> {
    let path = req.uri().path().trim_matches('/');
    let client = &*CLIENT;
    if let Some(file) = path.strip_prefix("client/") {
        return match file.strip_prefix(&client.build).and_then(|name| name.strip_prefix('/')) {
            Some(name) => Some(client.files.get(name)?.answer(req)),
            None if file == "files.json" => Some(client.list.answer(req)),
            None => None,
        };
    }
    match path {
        "service-worker.js" => Some(client.service_worker.answer(req)),
        "manifest.webmanifest" => Some(client.manifest.answer(req)),
        _ if is_screen(path) => {
            let mut response = client.shell(req).answer(req);
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy(push));
            Some(response)
        }
        _ => None,
    }
}

fn is_screen(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    path.is_empty() || SCREENS.contains(&first) || MAILED.contains(&path)
}

/// Nothing comes from elsewhere, and no text becomes HTML: the one policy of trusted types names the service worker's address.
fn policy(push: Option<&str>) -> HeaderValue {
    let push = push.map_or_else(String::new, |url| format!(" {} {url}", url.replacen("http", "ws", 1)));
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; connect-src 'self'{push}; manifest-src 'self'; \
         worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types service-worker"
    );
    HeaderValue::try_from(policy).expect("the address was checked when the server started")
}

impl Client {
    fn load() -> Client {
        let mut sources: BTreeMap<String, Vec<u8>> =
            Files::iter().filter_map(|name| Some((name.to_string(), Files::get(&name)?.data.into_owned()))).collect();
        let mut whole = Vec::new();
        for (name, content) in &sources {
            whole.extend_from_slice(name.as_bytes());
            whole.extend_from_slice(&secret::sha256(content));
        }
        let build = BASE64_URL_SAFE_NO_PAD.encode(&secret::sha256(&whole)[..9]);
        let styles = join_styles(&mut sources);
        sources.insert("style.css".into(), styles.into_bytes());
        module_bundle::join(&mut sources, "main.js");
        let languages = languages(&sources);
        for language in &languages {
            module_bundle::join(&mut sources, &format!("texts/{language}/first.js"));
        }
        // These three have addresses of their own, which stay the same from build to build.
        let mut named = |name: &str| {
            let content = sources.remove(name).unwrap_or_default();
            String::from_utf8_lossy(&content).replace("BUILD", &build)
        };
        let (shell, service_worker, manifest) = (named("index.html"), named("service-worker.js"), named("manifest.webmanifest"));
        let paths: Vec<String> = sources.keys().map(|name| format!("/client/{build}/{name}")).collect();
        let list = json!({ "build": build, "files": paths }).to_string();
        let shell_headers = [
            (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")), // its addresses carry tokens
            (header::VARY, HeaderValue::from_static("accept-encoding, accept-language")),
            OPENER,
        ];
        let shell_in = |language: &String| {
            Asset::new("text/html; charset=utf-8", shell.replace("LANGUAGE", language), shell_headers.to_vec())
        };
        Client {
            shells: languages.iter().map(|language| (language.clone(), shell_in(language))).collect(),
            service_worker: Asset::new("text/javascript; charset=utf-8", service_worker, Vec::new()),
            manifest: Asset::new("application/manifest+json", manifest, Vec::new()),
            list: Asset::new("application/json", list, Vec::new()),
            files: sources.into_iter().map(|(name, content)| (name.clone(), file(&name, content))).collect(),
            build,
        }
    }

    /// The shell that names the words in the reader's language: the first that the browser asks for and there is, or else English.
    /// Readers who have chosen another one in the client wait for its words, since only `main.js` knows that.
    fn shell(&self, req: &Request) -> &Asset {
        let wanted = req.header(header::ACCEPT_LANGUAGE).unwrap_or_default().to_ascii_lowercase();
        let mut names = wanted.split(',').filter_map(|each| each.trim().split(['-', ';']).next());
        names.find_map(|name| self.shells.get(name)).unwrap_or(&self.shells["en"])
    }
}

/// The languages of the client, which are the folders of its texts.
fn languages(sources: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let names = sources.keys().filter_map(|name| name.strip_prefix("texts/")?.strip_suffix("/first.js"));
    names.map(str::to_owned).collect()
}

/// Takes the style sheets out of the files, and joins them: the first screen asks for one.
fn join_styles(sources: &mut BTreeMap<String, Vec<u8>>) -> String {
    let rest: Vec<String> = sources.keys().filter(|name| name.ends_with(".css")).cloned().collect();
    let (first, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|name| FIRST_STYLES.contains(&name.as_str()));
    let mut first = first;
    first.sort_by_key(|name| FIRST_STYLES.iter().position(|other| other == name));
    let mut joined = String::new();
    for name in first.into_iter().chain(others) {
        joined += &String::from_utf8_lossy(&sources.remove(&name).unwrap_or_default());
        joined.push('\n');
    }
    joined
}

/// A file of the build's folder, which never changes.
fn file(name: &str, content: Vec<u8>) -> Asset {
    let kind = match name.rsplit_once('.').map_or("", |(_, kind)| kind) {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        _ => "application/octet-stream",
    };
    let lasting: (HeaderName, HeaderValue) =
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    Asset::new(kind, content, vec![lasting])
}
