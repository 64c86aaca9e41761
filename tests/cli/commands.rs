//! The administrator's commands beside a running server: what they print for people and for programs, and what they change.

mod deleting;
mod files;

use std::fs;

use reqwest::Method;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::harness::{Admin, PASSWORD, Server, printed, refused, run, tidings, until};

/// A second account in the organisation of the first.
async fn grace(server: &Server, token: &str, organisation: &str, admin: &Admin<'_>) -> String {
    server
        .post(
            "/auth/register",
            "",
            json!({ "email": "grace@x.example", "password": PASSWORD, "first_name": "Grace", "last_name": "Hopper" }),
        )
        .await;
    let link = admin.print(&["invite", "link", "--organisation", organisation, "--email", "grace@x.example"]);
    let invitation = link.trim_end().rsplit_once("invitation_token=").unwrap().1.to_owned();
    let listed = admin.json(&["invite", "list", "--organisation", organisation]);
    assert_eq!([&listed[0]["email"], &listed[0]["invited_by"]], ["grace@x.example", "ada@x.example"]);
    let token_of_grace = server.log_in("grace@x.example").await.unwrap();
    let (status, reply) =
        server.call(Method::POST, "/invite/verify", &token_of_grace, json!({ "token": invitation })).await.unwrap();
    assert_eq!(status, 200, "{reply}");
    assert_ne!(token, token_of_grace);
    token_of_grace
}

async fn organisation_of(server: &Server, token: &str) -> Value {
    server.call(Method::GET, "/users/organisations", token, json!({})).await.unwrap().1["data"][0].clone()
}

#[tokio::test]
async fn accounts_are_listed_shown_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Admin(folder.path());
    refused(&admin.run(&["user", "list"]), "there is no database");
    let server = Server::start(folder.path(), &[]);
    let (token, channel) = server.poster().await;
    let organisation = organisation_of(&server, &token).await;
    let dms = format!("/organisations/{}/dms", organisation["organisation_id"].as_str().or(organisation["id"].as_str()).unwrap());
    let organisation = organisation["slug"].as_str().or(organisation["organisation_slug"].as_str()).unwrap().to_owned();
    let token_of_grace = grace(&server, &token, &organisation, &admin).await;
    server.post(&format!("{channel}/join"), &token_of_grace, json!({})).await;
    server.post(&format!("{channel}/messages"), &token_of_grace, json!({ "content": "what I wrote stays" })).await;

    let listed = admin.print(&["user", "list"]);
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].starts_with("id ") && lines[0].contains("email") && lines[0].contains("last seen at"), "{listed}");
    assert!(lines[1].contains("ada@x.example") && lines[2].contains("Grace Hopper") && lines.len() == 3, "{listed}");
    let found = admin.json(&["user", "list", "--search", "HOPPER"]);
    assert_eq!((found.as_array().unwrap().len(), &found[0]["email"]), (1, &json!("grace@x.example")));
    assert_eq!(admin.json(&["user", "list", "--limit", "1"]).as_array().unwrap().len(), 1);
    let shown = admin.json(&["user", "show", "--email", "Grace@x.example"]);
    assert_eq!([&shown["organisations"], &shown["sessions"]], [&json!(["Engines (member)"]), &json!(2)]);
    assert!(admin.print(&["user", "show", "--email", "ada@x.example"]).contains("Engines (owner)"));
    refused(&admin.run(&["user", "show", "--email", "nobody@x.example"]), "Account not found");
    server.post(&dms, &token, json!({ "user_ids": [shown["id"]] })).await;
    let dm = async || server.call(Method::GET, &dms, &token, json!({})).await.unwrap().1["data"][0]["name"].clone();
    assert_eq!(dm().await, "ada, grace");

    assert_eq!(
        admin.json(&["user", "sessions", "--email", "grace@x.example"]).as_array().unwrap().len(),
        2,
        "registered and logged in"
    );
    let gone = async |token: &str| {
        let ends = async { while server.call(Method::GET, "/profile", token, json!({})).await.unwrap().0 != 401 {} };
        tokio::time::timeout(std::time::Duration::from_secs(5), ends).await.expect("the session ends");
    };
    admin.print(&["user", "logout", "--email", "grace@x.example"]);
    gone(&token_of_grace).await;
    refused(&admin.run(&["user", "password", "--email", "grace@x.example", "--password", "short"]), "password");
    admin.print(&["user", "password", "--email", "grace@x.example", "--password", "a louder harbour"]);
    assert!(server.log_in("grace@x.example").await.is_none());

    refused(&admin.run(&["user", "delete", "--email", "ada@x.example"]), "owns the organisation Engines");
    assert_eq!(admin.json(&["user", "delete", "--email", "grace@x.example"]), json!({ "deleted": "grace@x.example" }));
    let (_, page) = server.call(Method::GET, &format!("{channel}/messages"), &token, json!({})).await.unwrap();
    let message = &page["messages"][0];
    assert_eq!([&message["content"], &message["username"]], ["what I wrote stays", "Deleted user"]);
    assert_eq!(dm().await, "ada, Deleted user");
    let database = Connection::open(folder.path().join("tidings.db")).unwrap();
    let left: i64 = database
        .query_row(
            "select (select count(*) from users where email like 'grace%' or first_name = 'Grace' or username like 'grace%')
               + (select count(*) from sessions s join users u on u.id = s.user_id where u.email like '%@deleted.invalid')
               + (select count(*) from mails where recipient like 'grace%')
               + (select count(*) from channels where name like '%grace%') + (select count(*) from invitations where email like 'grace%')",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(left, 0);
    refused(&admin.run(&["user", "delete", "--email", "grace@x.example"]), "Account not found");
}

#[tokio::test]
async fn organisations_channels_and_webhooks_are_managed() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Admin(folder.path());
    let server = Server::start(folder.path(), &[]);
    let (token, channel) = server.poster().await;
    let listed = admin.json(&["org", "list"]);
    assert_eq!(
        [&listed[0]["name"], &listed[0]["owner"], &listed[0]["members"]],
        [&json!("Engines"), &json!("ada@x.example"), &json!(1)]
    );
    let slug = listed[0]["slug"].as_str().unwrap();
    let token_of_grace = grace(&server, &token, slug, &admin).await;
    let shown = admin.json(&["org", "show", slug]);
    assert_eq!([&shown["members"], &shown["channels"]], [&json!(2), &json!(2)]);
    refused(&admin.run(&["org", "show", "none"]), "Organisation not found");

    let id = channel.trim_start_matches("/channels/");
    server.post(&format!("{channel}/messages"), &token, json!({ "content": "still here" })).await;
    admin.print(&["channel", "delete", "--channel", id]);
    let status = async || server.call(Method::GET, &channel, &token, json!({})).await.unwrap().0;
    assert_eq!(status().await, 404);
    let named = |name: &str| {
        let all = admin.json(&["channel", "list", "--organisation", slug]);
        all.as_array().unwrap().iter().find(|channel| channel["name"] == name).unwrap().clone()
    };
    assert!(named("dev")["deleted_at"].is_string());
    admin.print(&["channel", "restore", "--channel", id]);
    refused(&admin.run(&["channel", "restore", "--channel", id]), "Channel not found");
    assert_eq!((status().await, &named("dev")["messages"]), (200, &json!(1)));
    let default = named("general")["id"].as_str().unwrap().to_owned();
    refused(&admin.run(&["channel", "delete", "--channel", &default]), "The default channel can't be deleted");

    let made = server.post(&format!("/webhooks/{id}"), &token, json!({ "webhook_name": "builds" })).await;
    let webhooks = admin.json(&["webhook", "list", "--organisation", slug]);
    let webhook = webhooks[0]["id"].as_str().unwrap();
    assert_eq!([&webhooks[0]["name"], &webhooks[0]["status"]], ["builds", "active"], "{made}");
    assert_eq!(admin.json(&["webhook", "retry", "--webhook", webhook]), json!({ "deliveries": 0 }));
    admin.print(&["webhook", "disable", "--webhook", webhook]);
    assert_eq!(admin.json(&["webhook", "show", "--webhook", webhook])["status"], "inactive");
    refused(&admin.run(&["webhook", "retry", "--webhook", webhook]), "the webhook is inactive");

    refused(&admin.run(&["org", "transfer", slug, "--email", "nobody@x.example"]), "Account not found");
    admin.print(&["org", "transfer", slug, "--email", "grace@x.example"]);
    assert_eq!(admin.json(&["org", "list"])[0]["owner"], "grace@x.example");
    admin.print(&["org", "delete", slug]);
    assert_eq!(admin.json(&["org", "list"]), json!([]));
    let made = admin.json(&["org", "create", "Second Engines", "--owner", "grace@x.example"]);
    assert_eq!([&made["slug"], &made["owner"]], ["second-engines", "grace@x.example"]);
    refused(&admin.run(&["org", "create", "", "--owner", "grace@x.example"]), "name");
    refused(&admin.run(&["org", "create", "Third", "--owner", "nobody@x.example"]), "Account not found");
    admin.print(&["org", "delete", "second-engines"]);
    assert_eq!(admin.print(&["org", "list"]), "");
    let (_, own) = server.call(Method::GET, "/users/organisations", &token_of_grace, json!({})).await.unwrap();
    assert_eq!(own["data"], json!([]));
}

#[tokio::test]
async fn mails_are_tested_listed_and_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let (data, mails) = (folder.path().join("data"), folder.path().join("mails"));
    let admin = Admin(&data);
    let server = Server::start(&data, &["--mail-url", "smtp://127.0.0.1:1"]);
    server.post("/auth/register", "", json!({ "email": "ada@x.example", "password": PASSWORD })).await;
    let failed = async || Some(admin.json(&["mail", "list"])).filter(|mails| mails[0]["error"] != "");
    let unsent = until("a mail that failed", failed).await;
    assert_eq!([&unsent[0]["recipient"], &unsent[0]["kind"]], ["ada@x.example", "verification"]);
    assert_eq!(admin.json(&["mail", "retry"])["mails"], 1);

    fs::create_dir(&mails).unwrap();
    let url = format!("file://{}", mails.display());
    admin.print(&["mail", "test", "ada@x.example", "--mail-url", &url]);
    let mail = fs::read_dir(&mails).unwrap().next().unwrap().unwrap().path();
    assert!(fs::read_to_string(mail).unwrap().contains("Subject: A test of your mail server"));
    refused(&admin.run(&["mail", "test", "ada@x.example", "--mail-url", "smtp://127.0.0.1:1"]), "could not be sent");
    refused(&admin.run(&["mail", "test", "nobody"]), "this is not an e-mail address");
    refused(&admin.run(&["mail", "test", "ada@x.example"]), "no mail server is set");
}

#[test]
fn settings_are_shown_with_their_sources_and_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let (file, secret) = (folder.path().join("settings.toml"), folder.path().join("token"));
    fs::write(&file, "session_days = 7\n").unwrap();
    fs::write(&secret, "a-long-metrics-token\n").unwrap();
    let mut show = tidings(&["config", "show", "--json", "--base-url", "https://chat.example.org", "--config"]);
    show.arg(&file).env("TIDINGS_LOG", "debug").env("TIDINGS_METRICS_TOKEN_FILE", &secret);
    let text = printed(&show.output().unwrap());
    assert!(!text.contains("a-long-metrics-token"), "{text}");
    let shown: Vec<Value> = serde_json::from_str(&text).unwrap();
    let of = |name: &str| shown.iter().find(|setting| setting["setting"] == name).unwrap().clone();
    let is = |name: &str, value: &str, from: &str| assert_eq!(of(name), json!({ "setting": name, "value": value, "from": from }));
    is("base_url", "https://chat.example.org", "flag");
    is("log", "debug", "environment");
    is("session_days", "7", "file");
    is("purge_days", "30", "default");
    is("metrics_token", "********", "file");

    let both = tidings(&["config", "check"])
        .env("TIDINGS_METRICS_TOKEN_FILE", &secret)
        .env("TIDINGS_METRICS_TOKEN", "x")
        .output()
        .unwrap();
    refused(&both, "TIDINGS_METRICS_TOKEN and TIDINGS_METRICS_TOKEN_FILE are both set");
    refused(
        &tidings(&["config", "check"]).env("TIDINGS_MAIL_URL_FILE", "/nowhere").output().unwrap(),
        "TIDINGS_MAIL_URL_FILE /nowhere",
    );
    // As systemd gives a unit its credentials.
    fs::write(folder.path().join("tidings_metrics_token"), "another-metrics-token").unwrap();
    let mut show = tidings(&["config", "show", "--json"]);
    let text = printed(&show.env("CREDENTIALS_DIRECTORY", folder.path()).output().unwrap());
    assert!(text.contains("********") && !text.contains("another-metrics-token"), "{text}");
    fs::write(folder.path().join("tidings_mail-url"), "smtp://mail.example.org").unwrap();
    let misnamed = tidings(&["config", "check"]).env("CREDENTIALS_DIRECTORY", folder.path()).output().unwrap();
    refused(&misnamed, "tidings_mail-url is no secret setting");
    printed(&tidings(&["config", "check"]).env("TIDINGS_BASE_URL", "").env("TIDINGS_BACKUP_EVERY", "").output().unwrap());
    assert_eq!(printed(&run(&["config", "check"])), "the settings are valid\n");
    refused(&run(&["config", "check", "--mail-url", "pigeon:"]), "pigeon");
    printed(&run(&["config", "check", "--mail-url", "smtps://ada:s3cret@mail.example.org"]));
    let mails = folder.path().join("mails");
    printed(&run(&["config", "check", "--mail-url", &format!("file://{}", mails.display())]));
    assert!(!mails.exists(), "a check changes nothing");
    refused(&run(&["config", "check", "--log", "tidings=loud"]), "--log");

    // The printed file is a settings file, with its lines as well as without.
    let default = printed(&run(&["config", "default"]));
    let lines: String = default
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(|line| line.contains(" = "))
        .collect::<Vec<_>>()
        .join("\n");
    assert!(lines.contains("feed_auth = \"slug\"") && lines.contains("session_days = 30"), "{default}");
    fs::write(&file, &default).unwrap();
    printed(&run(&["config", "check", "--config", file.to_str().unwrap()]));
    let env = printed(&run(&["config", "env"]));
    let [default_json, env_json] = ["default", "env"].map(|what| printed(&run(&["config", what, "--json"])));
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!([&json(&default_json)["feed_auth"], &json(&env_json)["TIDINGS_FEED_AUTH"]], ["slug", "slug"]);
    assert_eq!([&json(&default_json)["config"], &json(&env_json)["TIDINGS_CONFIG"]], [&Value::Null, &json!("")]);
    assert!(env.contains("# TIDINGS_FEED_AUTH=slug\n") && env.contains("# TIDINGS_DATA_DIR="), "{env}");
}

#[test]
fn the_names_of_a_server_are_checked_with_what_belongs_to_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidings.toml");
    let domain = ["config", "check", "--domain", "chat.example.org"];
    printed(&run(&domain));
    refused(&run(&[&domain[..], &["--base-url", "http://chat.example.org"]].concat()), "the server speaks https");
    refused(&run(&[&domain[..], &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]].concat()), "leave out --tls-cert");
    refused(&run(&["config", "check", "--domain", "localhost"]), "expected a name such as");
    fs::write(&file, "domain = [\"chat.example.org\"]\nacme_directory = \"staging\"\nacme_email = \"ops@example.org\"\n")
        .unwrap();
    printed(&run(&["config", "check", "--config", file.to_str().unwrap()]));
}

#[test]
fn the_command_line_describes_itself() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(printed(&run(&["completions", shell])).contains("healthcheck"));
    }
    assert!(printed(&run(&["man"])).contains(".TH tidings 1"));
    let folder = tempfile::tempdir().unwrap();
    printed(&run(&["man", "--dir", folder.path().to_str().unwrap()]));
    assert!(folder.path().join("tidings.1").exists() && folder.path().join("tidings-user-list.1").exists());
    let version: Value = serde_json::from_str(&printed(&run(&["version", "--json"]))).unwrap();
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_server_that_is_not_there_is_not_healthy() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let address = server.url.trim_start_matches("http://").to_owned();
    assert_eq!(printed(&run(&["healthcheck", "--listen", &address])), "healthy\n");
    drop(server);
    refused(&run(&["healthcheck", "--listen", &address]), "can't be reached");
}

#[tokio::test]
async fn a_demonstration_fills_an_empty_server() {
    let parent = tempfile::tempdir().unwrap();
    let folder = &parent.path().join("data"); // which the server makes, for its own user alone
    let admin = Admin(folder);
    let log_ins = admin.json(&["demo"]);
    let server = Server::start(folder, &[]);
    let body = json!({ "email": log_ins[0]["email"], "password": log_ins[0]["password"] });
    let session = server.post("/auth/login", "", body).await;
    let token = session["access_token"].as_str().unwrap();
    let shown = admin.json(&["org", "show", admin.json(&["org", "list"])[0]["slug"].as_str().unwrap()]);
    assert_eq!([&shown["members"], &shown["channels"]], [&json!(5), &json!(3)]);
    assert!(shown["messages"].as_i64().unwrap() > 50, "{shown}");
    let organisation = shown["id"].as_str().unwrap();
    let (_, channels) =
        server.call(Method::GET, &format!("/organisations/{organisation}/user-channels"), token, json!({})).await.unwrap();
    assert!(channels.to_string().contains("launch"), "{channels}");
    assert!(printed(&admin.run(&["doctor", "--base-url", &server.url])).contains("intact"));
    refused(&admin.run(&["demo"]), "this server has accounts already");
}

#[test]
fn what_is_not_found_says_where_it_is_listed() {
    let parent = tempfile::tempdir().unwrap();
    let folder = &parent.path().join("data");
    let admin = Admin(folder);
    admin.print(&["user", "create", "--email", "ada@x.example", "--password", PASSWORD]);
    admin.print(&["org", "create", "Engines", "--owner", "ada@x.example"]);
    let nobody = "01a2e6d1-357b-7bd2-ae90-8ad3a2f5a4f8";
    for (command, says) in [
        (&["user", "show", "--email", "eve@x.example"][..], "Account not found: `tidings user list` lists all"),
        (&["org", "show", "none"], "Organisation not found: `tidings org list` lists all"),
        (&["channel", "delete", "--channel", nobody], "Channel not found: `tidings channel list` lists those"),
        (&["webhook", "show", "--webhook", nobody], "Webhook not found: `tidings webhook list` lists all"),
        (&["channel", "delete", "--channel", "random"], "expected an identifier, as the command `list` shows it, and not a name"),
        (&["webhook", "show", "--webhook", "builds"], "expected an identifier, as the command `list` shows it, and not a name"),
        (
            &["invite", "link", "--organisation", "engines", "--email", "x@x.example", "--role", "king"],
            "--role king: no such role, the organisation has admin, manager, project-lead, member, guest",
        ),
        (&["restore", "-", "--dry-run"], "--dry-run can't read standard input: name a file"),
    ] {
        refused(&admin.run(command), says);
    }
    let custom = "insert into roles (uuid, organisation_id, name, rights, created_at, updated_at)
        select randomblob(16), id, 'scribe', 0, 0, 0 from organisations";
    Connection::open(folder.join("tidings.db")).unwrap().execute(custom, []).unwrap();
    let king = ["invite", "link", "--organisation", "engines", "--email", "x@x.example", "--role", "king"];
    refused(&admin.run(&king), "member, guest, scribe");
}

#[test]
fn a_command_without_its_database_says_how_to_name_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let output = tidings(&["user", "list"]).current_dir(&folder).output().unwrap();
    refused(&output, "there is no database in ./tidings-data: name the server's data folder with --data-dir");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let service = std::path::Path::new("/var/lib/tidings").exists();
    assert_eq!(said.contains("as in `sudo tidings user list --data-dir /var/lib/tidings`"), service, "{said}");
}
