//! Commands of administrators, beside a running server.

use std::{io::Write, process::Stdio, time::Duration};

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{PASSWORD, Server, printed, refused, run, tidings, until};

#[tokio::test]
async fn an_account_made_beside_a_running_server_works_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.log_in("root@x.example").await, None);
    let mut command = tidings(&["user", "create", "--email", "root@x.example", "--role", "superadmin", "--password-stdin"]);
    let mut process = command.arg("--data-dir").arg(folder.path()).stdin(Stdio::piped()).spawn().unwrap();
    process.stdin.take().unwrap().write_all(format!("{PASSWORD}\n").as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    assert!(printed(&output).contains("root@x.example  superadmin"));
    let token = server.log_in("root@x.example").await.expect("the account is there");
    // A superadmin may add users: an unknown organisation is what is missing, not the right.
    let nowhere = "/organisations/01900000-0000-7000-8000-000000000000/users";
    let (status, _) =
        server.call(Method::POST, nowhere, &token, json!({ "user_id": "01900000-0000-7000-8000-000000000000" })).await.unwrap();
    assert_eq!(status, 404);
    let twice =
        ["user", "create", "--email", "root@x.example", "--password", PASSWORD, "--data-dir", folder.path().to_str().unwrap()];
    refused(&run(&twice), "email already exists");
}

/// Standard input may have no end.
#[test]
fn a_password_is_read_from_standard_input_up_to_the_longest_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut accounts = 0;
    let mut create = |password: &[u8]| {
        accounts += 1;
        let email = format!("person{accounts}@x.example");
        let mut command = tidings(&["user", "create", "--email", &email, "--password-stdin", "--data-dir"]);
        let mut process =
            command.arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        _ = process.stdin.take().unwrap().write_all(password); // it needs not to be read to its end
        process.wait_with_output().unwrap()
    };
    let longest = "🔑".repeat(128);
    printed(&create(format!("{longest}\r\n").as_bytes()));
    refused(&create(format!("{longest}\r\n\n").as_bytes()), "standard input has more than a password of 128 characters");
    printed(&create(&[b'x'; 128]));
    refused(&create(&[b'x'; 129]), "password has 129 characters, at most 128 are allowed");
    refused(&create(&vec![b'x'; 1 << 20]), "standard input has more than a password of 128 characters");
    refused(&create(b"long enough \xff"), "the password is not a text in UTF-8");
}

#[tokio::test]
async fn a_token_made_beside_a_running_server_works_until_it_is_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    let server = Server::start(folder.path(), &[]);
    let (_, path) = server.poster().await;
    let command =
        |command: &[&str]| run(&[&["user", "token"], command, &["--email", "ada@x.example", "--data-dir", at]].concat());
    let token = printed(&command(&["create", "--name", "Build server", "--scope", "post"]));
    let token = token.trim();
    let say = async || {
        let messages = format!("{path}/messages");
        server.call(Method::POST, &messages, token, json!({ "content": "Build 7 passed" })).await.unwrap().0
    };
    assert_eq!(say().await, 201);
    let listed = printed(&command(&["list"]));
    assert!(listed.contains("Build server") && !listed.contains(token), "{listed}");
    let id = listed.lines().nth(1).unwrap().split_whitespace().next().unwrap();
    printed(&command(&["revoke", id]));
    until("the token is refused", async || (say().await == 401).then_some(())).await;
    refused(&command(&["revoke", id]), "Token not found");
    refused(&command(&["create", "--name", "x", "--scope", "everything"]), "possible values: read, post");
}

#[tokio::test]
async fn a_bot_made_beside_a_running_server_posts_until_it_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    let server = Server::start(folder.path(), &[]);
    let (ada, path) = server.poster().await;
    let command = |command: &[&str]| run(&[&["bot"], command, &["--data-dir", at]].concat());
    let made = printed(&command(&[
        "create",
        "--organisation",
        "engines",
        "--name",
        "Build server",
        "--description",
        "Says what was built",
    ]));
    let (id, name) = made.trim().split_once("  ").unwrap();
    assert!(id.len() == 36 && name == "build-server", "{made}");
    let scopes = ["--scope", "post", "--scope", "channels"];
    let token = printed(&command(&[&["token", "create", "--bot", "BUILD-server", "--name", "ci"][..], &scopes].concat()));
    let token = token.trim();
    let (status, joined) = server.call(Method::POST, &format!("{path}/join"), token, json!({})).await.unwrap();
    assert_eq!(status, 200, "{joined}");
    let say = async || {
        let messages = format!("{path}/messages");
        server.call(Method::POST, &messages, token, json!({ "content": "Build 7 passed" })).await.unwrap()
    };
    let (status, said) = say().await;
    assert_eq!((status, &said["data"]["user_type"], &said["data"]["full_name"]), (201, &json!("bot"), &json!("Build server")));
    assert!(printed(&command(&["list", "--organisation", "engines"])).contains("Says what was built"));
    assert!(printed(&command(&["token", "list", "--bot", "build-server"])).contains("ci"));
    assert!(!printed(&run(&["user", "list", "--data-dir", at])).contains("bot.invalid"), "it is nobody's account");
    refused(
        &command(&["create", "--organisation", "engines", "--name", "x", "--owner", "nobody@x.example"]),
        "Account not found",
    );
    refused(&command(&["delete", "--bot", "ada"]), "Bot not found: `tidings bot list` lists those of an organisation");
    printed(&command(&["delete", "--bot", "build-server"]));
    until("the token is refused", async || (say().await.0 == 401).then_some(())).await;
    refused(&command(&["delete", "--bot", "build-server"]), "Bot not found");
    let (_, members) = server.call(Method::GET, &path, &ada, json!({})).await.unwrap();
    assert_eq!(members["data"]["user_count"], 1, "{members}");
}

#[tokio::test]
async fn an_invitation_made_beside_a_running_server_needs_no_mail() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    let link = |organisation: &str, email: &str, more: &[&str]| {
        let command = ["invite", "link", "--data-dir", at, "--organisation", organisation, "--email", email];
        run(&[&command, more].concat())
    };
    let nowhere = "01900000-0000-7000-8000-000000000000";
    refused(&link(nowhere, "new@x.example", &[]), "there is no database");
    let server = Server::start(folder.path(), &["--web-url", "http://web.example"]);
    server.post("/auth/register", "", json!({ "email": "ada@x.example", "password": PASSWORD })).await;
    let token = server.log_in("ada@x.example").await.unwrap();
    let organisation = server.post("/organisations", &token, json!({ "name": "Engines" })).await;
    let organisation = organisation["id"].as_str().unwrap();

    let web = ["--web-url", "http://web.example/"];
    let made = printed(&link(organisation, "New@x.example", &[&web[..], &["--role", "guest"]].concat()));
    let start = format!("http://web.example/accept_org_invitation?org_id={organisation}&invitation_token=");
    let invitation = made.trim_end().strip_prefix(&start).unwrap_or_else(|| panic!("{made}")).to_owned();
    assert_eq!(printed(&link(organisation, "new@x.example", &["--role", "5", web[0], web[1]])), made, "an open one is shown");
    assert!(printed(&link(organisation, "other@x.example", &[])).starts_with(&start), "it leads to the server's own web client");
    let elsewhere = printed(&link(organisation, "other@x.example", &["--base-url", "https://chat.example"]));
    assert!(elsewhere.starts_with("https://chat.example/accept_org_invitation?"), "{elsewhere}");
    let body = json!({ "token": invitation });
    let (status, reply) =
        server.call(Method::GET, &format!("/organisations/{organisation}/invites"), &token, json!({})).await.unwrap();
    assert_eq!(status, 200);
    assert_ne!(reply["data"]["invitations"][1]["token"], body["token"], "it is the mail's");

    refused(&link(organisation, "new@x.example", &["--role", "admin"]), "already invited as guest");
    refused(&link(organisation, "ada@x.example", &[]), "already a member");
    refused(&link(organisation, "no address", &[]), "email");
    refused(&link(organisation, "third@x.example", &["--role", "king"]), "no such role");
    refused(&link(nowhere, "third@x.example", &[]), "Organisation not found");
    refused(&link("no-slug", "third@x.example", &[]), "Organisation not found");
    refused(&link(organisation, "third@x.example", &["--web-url", "chat"]), "--web-url");

    let (status, reply) = server.accept(&body).await;
    assert_eq!((status, &reply["data"]["user"]["email"]), (200, &json!("new@x.example")), "{reply}");
    assert_eq!(reply["data"]["user"]["is_verified"], true, "the operator vouches for the address");
}

#[tokio::test]
async fn a_reset_link_needs_no_mail_server() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    let link = |email: &str| run(&["user", "reset-link", "--data-dir", at, "--email", email, "--web-url", "http://web.example"]);
    refused(&link("ada@x.example"), "there is no database");
    let server = Server::start(folder.path(), &[]);
    server.poster().await;
    refused(&link("grace@x.example"), "Account not found");
    refused(&link("no address"), "not an e-mail address");
    let printed = printed(&link(" Ada@x.example"));
    let token = printed.trim_end().strip_prefix("http://web.example/auth/reset-password?token=").expect("the link");
    let body = json!({ "token": token, "new_password": "a louder harbour" });
    server.post("/auth/password-reset/verify", "", body).await;
    assert!(server.log_in("ada@x.example").await.is_none());
    server.post("/auth/login", "", json!({ "email": "ada@x.example", "password": "a louder harbour" })).await;
}

#[tokio::test]
async fn an_account_is_disabled_enabled_and_given_a_role_beside_a_running_server() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    let user = |verb: &str, more: &[&str]| run(&[&["user", verb, "--data-dir", at, "--email", "ada@x.example"], more].concat());
    let server = Server::start(folder.path(), &[]);
    refused(&user("disable", &[]), "Account not found");
    let (token, _) = server.poster().await;
    let profile = async || server.call(Method::GET, "/profile", &token, json!({})).await.unwrap();
    let until = async |wanted: fn(&(u16, Value)) -> bool| {
        let noticed = async { while !wanted(&profile().await) {} };
        tokio::time::timeout(Duration::from_secs(5), noticed).await.expect("the server notices within a second");
    };
    printed(&user("role", &["--role", "admin"]));
    let category = json!({ "name": "News" });
    let made = async || server.call(Method::POST, "/blog_categories", &token, category.clone()).await.unwrap().0;
    let noticed = async { while made().await != 201 {} };
    tokio::time::timeout(Duration::from_secs(5), noticed).await.expect("the server notices within a second");
    printed(&user("disable", &[]));
    until(|(status, _)| *status == 401).await;
    assert!(server.log_in("ada@x.example").await.is_none());
    refused(&user("reset-link", &[]), "disabled");
    printed(&user("enable", &[]));
    assert!(server.log_in("ada@x.example").await.is_some());
    assert_eq!(profile().await.0, 401, "what had ended stays ended");
}

#[tokio::test]
async fn contact_messages_are_listed_without_control_characters() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let at = folder.path().to_str().unwrap();
    assert_eq!(printed(&run(&["contact", "list", "--data-dir", at])), "");
    let first = json!({ "name": "Grace", "email": "grace@x.example", "phone_number": "+1", "message": "Hello" });
    let forged = "\u{1b}[2J<b>Does</b> it\n\n2026-01-01  Grace&#27;[31m<script>x</script>\u{202e}";
    let second = json!({ "name": "Ada\r\n\u{7}<i>L</i>", "email": "ada@x.example", "message": forged });
    for body in [first, second] {
        let (status, reply) = server.call(Method::POST, "/contact", "", body).await.unwrap();
        assert_eq!(status, 201, "{reply}");
    }
    let listed = printed(&run(&["contact", "list", "--data-dir", at]));
    let lines: Vec<&str> = listed.lines().collect();
    let [ada, does, blank, forged, _, grace, hello, _] = lines[..] else { panic!("{listed:?}") };
    assert!(ada.ends_with("Z  Ada L  ada@x.example"), "{listed:?}");
    assert_eq!([does, blank, forged], ["    [2JDoes it", "    ", "    2026-01-01  Grace[31m"]);
    assert!(grace.ends_with("Z  Grace  grace@x.example  +1") && hello == "    Hello", "{listed:?}");
    assert_eq!(printed(&run(&["contact", "list", "--limit", "1", "--data-dir", at])).lines().count(), 5);
}
