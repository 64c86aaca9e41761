//! Start and end of the server, and what it refuses to start with.

use reqwest::Method;
use serde_json::json;
use tidings::error::Code;

use crate::harness::{PASSWORD, Server, printed, refused, run, tidings};

#[tokio::test]
async fn a_server_starts_with_no_setting_at_all_but_a_free_port_and_ends_cleanly() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    for signal in ["TERM", "INT"] {
        let mut command = tidings(&["serve", "--listen", "127.0.0.1:0"]);
        let mut server = Server::spawn(command.current_dir(&folder));
        assert_eq!(reqwest::get(format!("{}/health", server.url)).await.unwrap().status(), 200);
        let data = folder.path().join("tidings-data");
        assert_eq!(std::fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(std::fs::metadata(data.join("secret.key")).unwrap().permissions().mode() & 0o777, 0o600);
        server.signal(signal);
        assert_eq!(server.end().code(), Some(0));
        assert!(!data.join("tidings.db-wal").exists(), "the WAL is folded into the database");
    }
}

#[tokio::test]
async fn sockets_are_closed_with_3001_at_the_end() {
    use futures_util::{SinkExt, StreamExt};
    use tokio_tungstenite::tungstenite::Message;
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let (token, _) = server.poster().await;
    let (_, reply) = server.call(Method::GET, "/token/connection", &token, json!({})).await.unwrap();
    let url = format!("{}/connection/websocket", server.url.replacen("http", "ws", 1));
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    let connect = json!({ "id": 1, "connect": { "token": reply["data"]["token"] } });
    socket.send(Message::text(connect.to_string())).await.unwrap();
    assert!(socket.next().await.unwrap().unwrap().to_text().unwrap().contains("\"client\""));
    server.signal("TERM");
    let Message::Close(Some(close)) = socket.next().await.unwrap().unwrap() else { panic!("a close was expected") };
    assert_eq!((u16::from(close.code), close.reason.as_str()), (3001, "shutdown"));
    drop(socket);
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn a_start_that_cannot_work_says_why_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let at = data.to_str().unwrap();

    refused(&run(&["serve", "--nonsense"]), "--nonsense");
    refused(&run(&["serve", "--rate-limit", "maybe"]), "maybe");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    refused(&run(&["serve", "--data-dir", at, "--listen", &taken.local_addr().unwrap().to_string()]), "can't listen on");
    for (flag, value) in [("--base-url", "chat"), ("--mail-url", "gopher://x"), ("--mail-from", "nobody"), ("--log", "a=b=c")] {
        refused(&run(&["serve", "--data-dir", at, "--listen", "127.0.0.1:0", flag, value]), flag);
    }
    let push = ["--push", "centrifugo", "--centrifugo-url", "chat", "--centrifugo-api-key", "k", "--centrifugo-token-key", "k"];
    for (flags, says, faults) in
        [(&push[..6], "needs --centrifugo-url,", 1), (&push[..], "--centrifugo-url chat: expected an http or https address", 3)]
    {
        let output = run(&[&["serve", "--data-dir", at, "--listen", "127.0.0.1:0"], flags].concat());
        refused(&output, says);
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), faults, "{output:?}");
    }
    for origin in
        ["", "chat.example.org", "https://", "https://a.example/app", "https://u@a.example", "https://*.a.example", "null"]
    {
        let output = run(&["serve", "--data-dir", at, "--listen", "127.0.0.1:0", "--allowed-origin", origin]);
        refused(&output, &format!("--allowed-origin {origin}: expected * or an origin"));
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "{output:?}");
    }
    refused(&run(&["serve", "--data-dir", at, "--listen", "127.0.0.1:0", "--contact-to", "nobody"]), "not an e-mail address");
    refused(&run(&["serve", "--data-dir", at, "--trusted-proxy", "10.0.0.0/33"]), "10.0.0.0/33");
    refused(&run(&["serve", "--data-dir", at, "--allow-private-webhooks", "intranet"]), "intranet");
    refused(&run(&["contact", "list", "--data-dir", at]), "there is no database in");
    assert!(!data.exists());

    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    refused(&run(&["serve", "--listen", "127.0.0.1:0", "--data-dir", file.join("x").to_str().unwrap()]), "data folder");
    refused(&run(&["user", "create", "--data-dir", at, "--email", "ada", "--password", PASSWORD]), "email");
    refused(&run(&["user", "create", "--data-dir", at, "--email", "a@b.example", "--password", "short"]), "password");
    assert!(!data.exists());
}

#[test]
fn a_newer_database_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    let status = || printed(&run(&["migrate", "status", "--data-dir", at]));
    let newest: u32 = status().strip_prefix("database 0, binary ").unwrap().trim_end().parse().unwrap();
    assert_eq!(printed(&run(&["migrate", "up", "--data-dir", at])), format!("database 0 -> {newest}\n"));
    assert_eq!(status(), format!("database {newest}, binary {newest}\n"));
    let file = folder.path().join("tidings.db");
    rusqlite::Connection::open(&file).unwrap().pragma_update(None, "user_version", 99).unwrap();
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["migrate", "up"]] {
        refused(&run(&[command, &["--data-dir", at]].concat()), "run a newer tidings");
    }
    assert_eq!(status(), format!("database 99, binary {newest}\n"));
}

#[tokio::test]
async fn the_log_tells_no_secret_address_and_no_query() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let mut command = tidings(&["serve", "--listen", "127.0.0.1:0", "--log", "trace", "--data-dir", data.to_str().unwrap()]);
    let mut server = Server::logging(&mut command, std::fs::File::create(&log).unwrap().into());
    let (token, channel) = server.poster().await;
    let webhook = server.post(&channel.replace("channels", "webhooks"), &token, json!({ "webhook_name": "ci" })).await;
    let (feed, slug) = (webhook["feed_url"].as_str().unwrap(), webhook["webhook_slug"].as_str().unwrap());
    for status in ["success", "green"] {
        let body = json!({ "message": "confidential", "status": status }).to_string();
        let request = server.http.post(feed).header("content-type", "application/json").body(body);
        assert_eq!(request.send().await.unwrap().status().is_success(), status == "success");
        let query = format!("{feed}?username=ci&event_name=build&message=confidential&status={status}");
        assert_eq!(server.http.get(query).send().await.unwrap().status().is_success(), status == "success");
    }
    server.signal("TERM");
    assert_eq!(server.end().code(), Some(0));
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("shutting down"), "it is the log: {log}");
    for secret in [slug, "confidential", "event_name=", &token] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
}

#[tokio::test]
async fn the_log_tells_nothing_of_what_a_webhook_delivers() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}/", listener.local_addr().unwrap());
    let (tell, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let endpoint = poem::endpoint::make(move |request: poem::Request| {
        tell.send(request.header("webhook-signature").unwrap().to_owned()).unwrap();
        async { poem::Response::builder().status(poem::http::StatusCode::IM_A_TEAPOT).body("an answer of its own") }
    });
    let acceptor = poem::listener::TcpAcceptor::from_tokio(listener).unwrap();
    tokio::spawn(poem::Server::new_with_acceptor(acceptor).run(endpoint));

    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let mut command = tidings(&["serve", "--listen", "127.0.0.1:0", "--log", "trace", "--data-dir", data.to_str().unwrap()]);
    command.args(["--allow-private-webhooks", "127.0.0.0/8"]);
    let mut server = Server::logging(&mut command, std::fs::File::create(&log).unwrap().into());
    let (token, channel) = server.poster().await;
    let hooks = channel.replace("channels", "webhooks");
    let body = json!({ "webhook_name": "out", "webhook_url": format!("{origin}hidden-path?key=hidden-query") });
    let webhook = server.post(&hooks, &token, body).await;
    server.post(&format!("{channel}/messages"), &token, json!({ "content": "confidential" })).await;
    let delivered = heard.recv().await.unwrap();
    let path = format!("{hooks}/{}", webhook["id"].as_str().unwrap());
    let tested = server.call(Method::POST, &format!("{path}/test"), &token, json!({})).await.unwrap().1;
    assert_eq!(tested["data"]["status_code"], "418");
    let rotated = server.call(Method::POST, &format!("{path}/rotate-secret"), &token, json!({})).await.unwrap().1;
    server.signal("TERM");
    assert_eq!(server.end().code(), Some(0));

    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains(origin.trim_start_matches("http://").trim_end_matches('/')), "it tells of the connection: {log}");
    let secrets = [&webhook["webhook_secret"], &rotated["data"]["webhook_secret"]]
        .map(|secret| secret.as_str().unwrap().trim_start_matches("whsec_"));
    let signatures = [delivered, heard.recv().await.unwrap()];
    let signatures = signatures.iter().map(|signature| signature.strip_prefix("v1,").unwrap());
    for secret in ["hidden", "confidential", "an answer", "whsec_"].into_iter().chain(secrets).chain(signatures) {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
}

#[tokio::test]
async fn one_data_folder_has_one_server() {
    let folder = tempfile::tempdir().unwrap();
    let _server = Server::start(folder.path(), &[]);
    let second = run(&["serve", "--listen", "127.0.0.1:0", "--data-dir", folder.path().to_str().unwrap()]);
    refused(&second, "another server is running");
}

/// With 150 files, 59 connections are admitted, and the newest 16 of the others are in the reserve.
#[tokio::test]
async fn without_files_for_more_connections_health_is_answered_and_the_log_says_why() {
    use std::process::Stdio;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
    };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut command = std::process::Command::new("sh");
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped());
    command.args(["-c", r#"ulimit -n 150; exec "$0" serve --listen 127.0.0.1:0 --log warn --data-dir "$1""#]);
    command.arg(crate::harness::BINARY).arg(folder.path().join("data"));
    let server = Server::logging(&mut command, std::fs::File::create(&log).unwrap().into());
    let address = server.url.trim_start_matches("http://").to_owned();
    let ask = async |path: &str| {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes()).await.unwrap();
        let mut said = String::new();
        _ = stream.read_to_string(&mut said).await;
        said
    };
    let mut idle = Vec::new();
    for n in 0..200 {
        idle.push(TcpStream::connect(&address).await.unwrap());
        if n == 40 {
            assert!(ask("/api/v1/blogs").await.starts_with("HTTP/1.1 200"));
        }
    }
    for _ in 0..3 {
        assert!(ask("/health").await.starts_with("HTTP/1.1 200"));
    }
    let refused = ask("/api/v1/blogs").await;
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains(r#""status_code":503"#), "{refused}");
    assert!(refused.contains("retry-after: 1") && refused.contains(Code::Overloaded.name()), "{refused}");
    let log = std::fs::read_to_string(&log).unwrap();
    assert_eq!(log.matches("as many as the limit of open files allows").count(), 1, "{log}");
    drop(idle);
    while !ask("/api/v1/blogs").await.starts_with("HTTP/1.1 200") {}
}

#[tokio::test]
async fn a_folder_whose_database_is_lost_gets_no_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    let server = Server::start(folder.path(), &[]);
    server.poster().await;
    drop(server);
    let [database, away] = ["tidings.db", "away.db"].map(|name| folder.path().join(name));
    std::fs::rename(&database, &away).unwrap();
    for command in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["user", "create", "--email", "ada@x.example", "--password", PASSWORD],
        &["user", "list"],
        &["migrate", "up"],
    ] {
        refused(&run(&[command, &["--data-dir", at]].concat()), "tidings.db is missing: put it back");
        assert!(!database.exists());
    }
    std::fs::rename(&away, &database).unwrap();
    Server::start(folder.path(), &[]);
    // Who deletes the file with the epoch, too, wants to begin anew.
    std::fs::remove_file(&database).unwrap();
    std::fs::remove_file(folder.path().join("epoch")).unwrap();
    Server::start(folder.path(), &[]);
}

#[test]
fn an_address_that_leads_nowhere_and_a_variable_that_is_no_setting_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let says = |listen: &str, more: &[&str]| {
        let mut command = tidings(&["serve", "--listen", listen, "--data-dir", folder.path().join("data").to_str().unwrap()]);
        command.args(more).env("TIDINGS_BASEURL", "https://chat.example.org").env("TIDINGS_MAIL_URL", "");
        drop(Server::logging(&mut command, std::fs::File::create(&log).unwrap().into()));
        std::fs::read_to_string(&log).unwrap()
    };
    let (nowhere, variable) = (
        "nobody can follow links to this address",
        "the variable TIDINGS_BASEURL is not a setting: did you mean TIDINGS_BASE_URL?",
    );
    for (listen, more, warns) in [
        ("0.0.0.0:0", &[][..], true),
        ("[::]:0", &[], true),
        ("0.0.0.0:0", &["--base-url", "http://chat.example.org"], false),
        ("127.0.0.1:0", &[], false),
    ] {
        let log = says(listen, more);
        assert_eq!(log.contains(nowhere), warns, "{listen} {more:?}: {log}");
        assert!(log.contains(variable) && !log.contains("TIDINGS_MAIL_URL"), "{log}");
    }
    for name in ["TIDINGS_BASEURL", "TIDINGS_BASE_URL_FILE"] {
        let check = tidings(&["config", "check"]).env(name, "").output().unwrap();
        refused(&check, &format!("the variable {name} is not a setting: did you mean TIDINGS_BASE_URL?"));
    }
    let key = folder.path().join("key");
    std::fs::write(&key, "0123456789abcdef0123456789abcdef").unwrap();
    let check = tidings(&["config", "check"]).env("TIDINGS_METRICS_TOKEN_FILE", &key).output().unwrap();
    assert!(check.status.success() && check.stderr.is_empty(), "{check:?}");
}

#[test]
fn a_server_that_others_reach_warns_of_mails_in_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let mails = format!("file://{}", folder.path().join("mails").display());
    for (n, (settings, warns)) in [
        (&["--base-url", "https://chat.example.org"][..], true),
        (&["--web-url", "https://web.example.org"], true),
        (&["--listen", "0.0.0.0:0"], true),
        (&["--base-url", "https://chat.example.org", "--mail-url", &mails], false),
        (&["--base-url", "http://localhost:8080"], false),
        (&["--base-url", "http://[::1]:8080"], false),
        (&[], false),
    ]
    .into_iter()
    .enumerate()
    {
        let (data, log) = (folder.path().join(format!("data{n}")), folder.path().join(format!("log{n}")));
        let mut command = tidings(&["serve", "--data-dir", data.to_str().unwrap()]);
        command.args(if settings.contains(&"--listen") { &[][..] } else { &["--listen", "127.0.0.1:0"] }).args(settings);
        let mut server = Server::logging(&mut command, std::fs::File::create(&log).unwrap().into());
        server.signal("TERM");
        assert_eq!(server.end().code(), Some(0));
        let log = std::fs::read_to_string(log).unwrap();
        assert_eq!(log.contains("MAILS GO TO THE LOG, LINKS INCLUDED"), warns, "{settings:?}: {log}");
    }
}

#[tokio::test]
async fn a_clock_behind_the_last_write_is_said_at_the_start_and_by_the_doctor() {
    let parent = tempfile::tempdir().unwrap();
    let (folder, log) = (&parent.path().join("data"), parent.path().join("log"));
    let at = folder.to_str().unwrap();
    let server = Server::start(folder, &[]);
    server.poster().await;
    drop(server); // killed, so the WAL is left
    let [file, wal] = ["tidings.db", "tidings.db-wal"].map(|name| folder.join(name));
    let now = std::fs::metadata(&wal).unwrap().modified().unwrap();
    let hour = std::time::Duration::from_secs(3600);
    let touch = |path, to| std::fs::File::options().append(true).open(path).unwrap().set_modified(to).unwrap();
    let doctor = || run(&["doctor", "--data-dir", at]);
    let start = || {
        // With one address for all starts, the next one writes nothing.
        let address = ["--base-url", "http://localhost"];
        let mut command = tidings(&[&["serve", "--listen", "127.0.0.1:0", "--data-dir", at], &address[..]].concat());
        drop(Server::logging(&mut command, std::fs::File::create(&log).unwrap().into()));
        std::fs::read_to_string(&log).unwrap()
    };
    let is_said = |log: &str| log.contains("the clock is behind the last write");
    assert!(!is_said(&start()) && printed(&doctor()).contains("it is not behind the last write"));

    // A minute is what a clock may be corrected by.
    touch(&file, now + std::time::Duration::from_secs(30));
    assert!(!is_said(&start()));
    touch(&file, now + hour);
    let lines = start();
    let line = lines.lines().find(|line| is_said(line)).unwrap_or_else(|| panic!("{lines}"));
    assert!(line.contains("WARN") && line.contains("now=20") && line.contains("last_write=20"), "{line}");
    refused(&doctor(), "checks failed");
    assert!(String::from_utf8_lossy(&doctor().stdout).contains("the last write was at "));

    // A restored database has new files.
    touch(&file, now);
    rusqlite::Connection::open(&file).unwrap().execute("update events set created_at = created_at + 3600000000", []).unwrap();
    assert!(is_said(&start()));
    refused(&doctor(), "checks failed");
}

#[test]
fn the_file_with_the_epoch_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let _server = Server::start(folder.path(), &[]);
    let epoch = std::fs::metadata(folder.path().join("epoch")).unwrap();
    assert_eq!(epoch.permissions().mode() & 0o777, 0o600);
}
