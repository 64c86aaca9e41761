//! How the web client is served: its shell, its files, and what stands in their place without it.

use tidings::config::Switch;

use crate::harness::Server;

async fn get(server: &Server, path: &str) -> (u16, reqwest::header::HeaderMap, String) {
    let response = server.anonymous().request("GET", path).send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    (status, headers, response.text().await.unwrap())
}

fn build(shell: &str) -> &str {
    let (_, rest) = shell.split_once("/client/").expect("the shell loads files of a build");
    rest.split('/').next().unwrap()
}

#[tokio::test]
async fn each_address_of_the_client_is_its_shell_and_loads_nothing_from_elsewhere() {
    let server = Server::start().await;
    let (_, _, shell) = get(&server, "/").await;
    for path in [
        "/",
        "/o/engines",
        "/o/engines/x/y?m=z",
        "/settings/profile",
        "/sign-in",
        "/join?org_id=1&token=2",
        "/setup?token=3",
        "/auth/reset-password?token=4",
    ] {
        let (status, headers, page) = get(&server, path).await;
        assert_eq!((status, &page), (200, &shell), "{path}");
        assert_eq!([&headers["cache-control"], &headers["referrer-policy"]], ["no-cache", "no-referrer"], "{path}");
        assert_eq!(headers["cross-origin-opener-policy"], "same-origin", "{path}");
        let policy = headers["content-security-policy"].to_str().unwrap();
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "connect-src 'self';",
            "require-trusted-types-for 'script'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {part} is not in {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
    }
    assert!(!shell.contains("BUILD") && !shell.contains("<style") && !shell.contains("style="), "{shell}");
    assert_eq!(shell.matches("<script").count(), 1, "no script stands in the page itself");
    let at = |file: &str| shell.find(file).unwrap();
    assert!(at("/main.js") < at("/style.css"), "what takes longest is asked for first");
    assert_eq!(get(&server, "/auth/other").await.0, 404);
}

#[tokio::test]
async fn files_are_kept_for_ever_and_those_of_another_build_are_not_there() {
    let server = Server::start().await;
    let (_, _, shell) = get(&server, "/").await;
    let build = build(&shell);
    for (name, kind) in [("main.js", "text/javascript; charset=utf-8"), ("style.css", "text/css; charset=utf-8")] {
        let (status, headers, _) = get(&server, &format!("/client/{build}/{name}")).await;
        assert_eq!(status, 200, "{name}");
        assert_eq!([&headers["content-type"], &headers["cache-control"]], [kind, "public, max-age=31536000, immutable"]);
    }
    for path in
        [format!("/client/{build}/none.js"), "/client/aaaaaaaaaaaa/main.js".into(), "/client/".into(), "/client/main.js".into()]
    {
        assert_eq!(get(&server, &path).await.0, 404, "{path}");
    }
    let ada = server.user("ada").await;
    assert_eq!(ada.get("/start").await.expect(200)["data"]["client_build"], build);
}

#[tokio::test]
async fn the_first_screen_is_one_module_that_the_later_ones_take_from() {
    let server = Server::start().await;
    let (_, _, shell) = get(&server, "/").await;
    let build = build(&shell);
    let (_, _, main) = get(&server, &format!("/client/{build}/main.js")).await;
    assert!(!main.lines().any(|line| line.starts_with("import ")), "it imports nothing");
    assert!(main.contains("const base_signal = (() => {") && !main.contains("\n//"), "its modules are in it, without comments");
    assert_eq!(get(&server, &format!("/client/{build}/base/signal.js")).await.0, 404);
    let (_, _, later) = get(&server, &format!("/client/{build}/screens/settings/settings.js")).await;
    assert!(later.contains("import { view_element } from '../../main.js'\nconst { h"), "{later}");
}

#[tokio::test]
async fn the_shell_names_the_first_words_in_the_language_of_the_browser() {
    let server = Server::start().await;
    for (wanted, language) in [
        (None, "en"),
        (Some("de-AT,de;q=0.9,en;q=0.8"), "de"),
        (Some("fr-FR, HE;q=0.7, de;q=0.3"), "he"),
        (Some("*"), "en"),
        (Some("fr,,;q=1"), "en"),
    ] {
        let mut request = server.anonymous().request("GET", "/");
        if let Some(wanted) = wanted {
            request = request.header("accept-language", wanted);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["vary"], "accept-encoding, accept-language");
        let shell = response.text().await.unwrap();
        let words = format!("/client/{}/texts/{language}/first.js", build(&shell));
        assert!(shell.contains(&format!(r#"<link rel="modulepreload" href="{words}">"#)), "{wanted:?}: {shell}");
        let (status, _, words) = get(&server, &words).await;
        assert_eq!(status, 200);
        assert!(words.contains("export { ") && words.contains("areas }") && !words.contains("import "), "{words}");
    }
    let (_, _, shell) = get(&server, "/").await;
    assert_eq!(get(&server, &format!("/client/{}/texts/en/talk.js", build(&shell))).await.0, 404, "it is joined with the others");
}

#[tokio::test]
async fn every_file_is_listed_and_served_compressed() {
    let server = Server::start().await;
    let (_, _, list) = get(&server, "/client/files.json").await;
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let files = list["files"].as_array().unwrap();
    assert!(files.len() > 20, "{files:?}");
    for file in files {
        assert_eq!(get(&server, file.as_str().unwrap()).await.0, 200, "{file}");
    }
    for encoding in ["gzip", "zstd"] {
        let main = format!("/client/{}/main.js", list["build"].as_str().unwrap());
        let answer = server.anonymous().request("GET", &main).header("accept-encoding", encoding).send().await.unwrap();
        assert_eq!(answer.headers()["content-encoding"], encoding);
    }
}

#[tokio::test]
async fn without_the_client_its_addresses_are_plain_pages_and_its_worker_unregisters() {
    let server = Server::with(|settings| settings.client = Switch::Off).await;
    for path in ["/", "/join?org_id=1&token=2", "/setup?token=3", "/auth/verify-email?token=4"] {
        let (status, headers, page) = get(&server, path).await;
        assert_eq!(status, 200, "{path}");
        assert!(page.contains("/style.css"), "{path}: {page}");
        assert_eq!(headers["cross-origin-opener-policy"], "same-origin", "{path}");
    }
    for path in ["/o/engines", "/sign-in", "/client/files.json", "/manifest.webmanifest"] {
        assert_eq!(get(&server, path).await.0, 404, "{path}");
    }
    let (status, _, worker) = get(&server, "/service-worker.js").await;
    assert!(status == 200 && worker.contains("registration.unregister()"), "{worker}");
}

#[tokio::test]
async fn a_client_of_an_external_push_server_may_reach_that_and_nothing_else() {
    let server = Server::with(|settings| {
        settings.push.server = tidings::config::PushServer::Centrifugo;
        settings.push.centrifugo_url = Some("https://push.example.org".into());
        settings.push.centrifugo_api_key = Some("a-key-of-sixteen-or-more".into());
        settings.push.centrifugo_token_key = Some("a-key-of-thirty-two-characters-or-some-more".into());
    });
    let server = server.await;
    let (_, headers, _) = get(&server, "/").await;
    let policy = headers["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("connect-src 'self' wss://push.example.org https://push.example.org;"), "{policy}");
    let ada = server.user("ada").await;
    assert_eq!(ada.get("/start").await.expect(200)["data"]["push_url"], "wss://push.example.org/connection/websocket");
}
