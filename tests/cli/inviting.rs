//! `tidings invite send`, beside a running server that mails.

use std::{collections::BTreeSet, fs, io::Write, path::Path, process::Stdio};

use reqwest::Method;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::{
    harness::{Admin, PASSWORD, Server, printed, refused, tidings},
    mail_server::{MailServer, token},
};

/// A server that mails, with the organisation `engines` of ada@x.example.
async fn mailing(folder: &Path) -> (Server, MailServer, String) {
    let mails = MailServer::start().await;
    let url = format!("smtp://{}?tls=none", mails.address);
    let server = Server::start(folder, &["--mail-url", &url, "--web-url", "https://chat.example"]);
    let (token, _) = server.poster().await;
    (server, mails, token)
}

/// The next mail that invites somebody.
async fn invitation(mails: &mut MailServer) -> String {
    loop {
        let mail = mails.next().await;
        if mail.contains("invites you to") {
            return mail;
        }
    }
}

#[tokio::test]
async fn people_who_are_invited_by_command_are_mailed_at_once_and_each_address_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Admin(folder.path());
    let (server, mut mails, _) = mailing(folder.path()).await;
    let send = ["invite", "send", "--organisation", "engines", "--role", "guest", "--json"];
    let addresses = "Grace@x.example, ada@x.example,nobody,grace@x.example";
    let output = admin.run(&[&send[..], &["--email", addresses, "--email", "linus@x.example"]].concat());
    refused(&output, "tidings: not invited: 3 of 5 addresses\n");
    let answers: Value = serde_json::from_slice(&output.stdout).unwrap();
    let answer = |email: &str, reason: &str| json!({ "email": email, "invited": reason.is_empty(), "reason": reason });
    let expected = [
        answer("Grace@x.example", ""),
        answer("ada@x.example", "ada@x.example is already a member of the organisation"),
        answer("nobody", "nobody is not a valid e-mail address"),
        answer("grace@x.example", "An invitation has already been sent to grace@x.example"),
        answer("linus@x.example", ""),
    ];
    assert_eq!(answers, json!(expected));

    let mailed = [invitation(&mut mails).await, invitation(&mut mails).await];
    let to_grace = mailed.iter().find(|mail| mail.contains("To: grace@x.example")).expect("grace has a mail");
    assert!(mailed.iter().any(|mail| mail.contains("To: linus@x.example")), "{mailed:?}");
    assert!(to_grace.contains("ada invites you to Engines"), "in the name of the owner: {to_grace}");
    assert!(to_grace.contains("https://chat.example/accept_org_invitation?org_id="), "{to_grace}");
    let (status, reply) = server.accept(&json!({ "token": token(to_grace) })).await;
    assert_eq!((status, &reply["data"]["user"]["is_verified"]), (200, &json!(true)), "{reply}");
    let listed = admin.json(&["invite", "list", "--organisation", "engines"]);
    let [left] = &listed.as_array().unwrap()[..] else { panic!("{listed}") };
    assert_eq!([&left["email"], &left["role"], &left["invited_by"]], ["linus@x.example", "guest", "ada@x.example"]);
    let all = admin.print(&["invite", "send", "--organisation", "engines", "--email", "mary@x.example"]);
    assert_eq!(all.lines().map(str::trim_end).collect::<Vec<_>>(), ["email           invited  reason", "mary@x.example  yes"]);
}

#[tokio::test]
async fn a_file_of_more_addresses_than_the_daily_bounds_is_invited_whole() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Admin(folder.path());
    let (_server, mut mails, _) = mailing(folder.path()).await;
    let file = folder.path().join("team.txt");
    let addresses: Vec<String> = (0..201).map(|n| format!("p{n}@x.example")).collect();
    fs::write(&file, format!("\u{feff}{}\r\n\r\n", addresses.join("\r\n"))).unwrap();
    let answers = admin.json(&["invite", "send", "--organisation", "engines", "--file", file.to_str().unwrap()]);
    let invited = answers.as_array().unwrap().iter().filter(|answer| answer["invited"] == true).map(|answer| &answer["email"]);
    assert_eq!(json!(invited.collect::<Vec<_>>()), json!(addresses));
    let mut mailed = BTreeSet::new();
    for _ in &addresses {
        let mail = invitation(&mut mails).await;
        let to = mail.lines().find_map(|line| line.trim_end().strip_prefix("To: ")).unwrap();
        mailed.insert(to.to_owned());
    }
    assert_eq!(mailed, addresses.into_iter().collect());
    let counted: i64 = Connection::open(folder.path().join("tidings.db"))
        .unwrap()
        .query_row("select count(*) from invitation_counts", [], |row| row.get(0))
        .unwrap();
    assert_eq!(counted, 0, "the owner may still invite as many as before");
}

#[tokio::test]
async fn a_member_who_may_invite_can_be_named_as_the_sender() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Admin(folder.path());
    let (server, mut mails, token_of_ada) = mailing(folder.path()).await;
    let send = |email: &str, more: &[&str]| {
        admin.run(&[&["invite", "send", "--organisation", "engines", "--email", email], more].concat())
    };
    for (email, role) in [("grace@x.example", "admin"), ("guest@x.example", "guest")] {
        printed(&send(email, &["--role", role]));
        let mailed = invitation(&mut mails).await;
        assert_eq!(server.accept(&json!({ "token": token(&mailed) })).await.0, 200);
    }
    let by_grace = ["--as", "Grace@x.example"];
    printed(&send("mary@x.example", &by_grace));
    let mailed = invitation(&mut mails).await;
    assert!(mailed.contains("grace invites you to Engines"), "{mailed}");

    refused(&send("new@x.example", &["--as", "guest@x.example"]), "permission");
    refused(&send("new@x.example", &["--as", "nobody@x.example"]), "Account not found");
    server.post("/auth/register", "", json!({ "email": "eve@x.example", "password": PASSWORD })).await;
    refused(&send("new@x.example", &["--as", "eve@x.example"]), "eve@x.example is no member of the organisation");
    let rights = json!({ "name": "Host", "permissions": { "permission_list": { "invite:members": true } } });
    let (_, own) = server.call(Method::GET, "/users/organisations", &token_of_ada, json!({})).await.unwrap();
    let id = own["data"][0]["organisation_id"].as_str().or(own["data"][0]["id"].as_str()).unwrap().to_owned();
    let (status, reply) = server.call(Method::POST, &format!("/organisations/{id}/roles"), &token_of_ada, rights).await.unwrap();
    assert_eq!(status, 201, "{reply}");
    printed(&send("host@x.example", &["--role", "Host"]));
    let mailed = invitation(&mut mails).await;
    assert_eq!(server.accept(&json!({ "token": token(&mailed) })).await.0, 200);
    refused(&send("new@x.example", &["--as", "host@x.example", "--role", "admin"]), "rights that you do not have");
    let open = admin.json(&["invite", "list", "--organisation", "engines"]);
    assert!(open.as_array().unwrap().iter().all(|invitation| invitation["email"] != "new@x.example"), "{open}");
}

#[tokio::test]
async fn without_a_server_that_mails_nobody_is_invited_and_the_operator_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Admin(folder.path());
    let send = |more: &[&str]| admin.run(&[&["invite", "send", "--organisation", "engines"], more].concat());
    let new = ["--email", "new@x.example"];
    refused(&send(&new), "there is no database");
    admin.print(&["user", "create", "--email", "ada@x.example", "--password", PASSWORD]);
    admin.print(&["org", "create", "Engines", "--owner", "ada@x.example"]);
    refused(&send(&new), "it is the server that sends mails: start it first");
    let server = Server::start(folder.path(), &[]);
    refused(&send(&new), "the server has no mail server");
    refused(&send(&new), "`tidings invite link`");
    assert_eq!(admin.json(&["invite", "list", "--organisation", "engines"]), json!([]));
    drop(server);

    let mut mails = MailServer::start().await;
    let url = format!("smtp://{}?tls=none", mails.address);
    let start = || Server::start(folder.path(), &["--mail-url", &url]);
    drop(start());
    printed(&send(&new));
    let _server = start();
    assert!(invitation(&mut mails).await.contains("To: new@x.example"), "the next start mails it");
}

#[tokio::test]
async fn what_names_nobody_or_nothing_to_invite_to_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Admin(folder.path());
    let (_server, _mails, _) = mailing(folder.path()).await;
    let empty = folder.path().join("empty.txt");
    fs::write(&empty, "\n \n").unwrap();
    let none = folder.path().join("none.txt");
    let new = ["--email", "new@x.example"];
    for (organisation, args, says) in [
        ("engines", &["--file", empty.to_str().unwrap()][..], "empty.txt names no address to invite"),
        ("engines", &["--file", none.to_str().unwrap()], "none.txt: No such file"),
        ("engines", &["--email", " ,"], "--email names no address to invite"),
        ("engines", &[new[0], new[1], "--file", "-"], "cannot be used with"),
        ("engines", &[], "--email"),
        ("engines", &[new[0], new[1], "--role", "king"], "no such role"),
        ("nowhere", &new, "Organisation not found"),
    ] {
        let output = admin.run(&[&["invite", "send", "--organisation", organisation], args].concat());
        refused(&output, says);
    }
    let mut command = tidings(&["invite", "send", "--organisation", "engines", "--file", "-"]);
    let mut process = command.arg("--data-dir").arg(folder.path()).stdin(Stdio::piped()).spawn().unwrap();
    process.stdin.take().unwrap().write_all(b"grace@x.example\nlinus@x.example").unwrap();
    assert_eq!(printed(&process.wait_with_output().unwrap()).lines().count(), 3, "a head and two addresses");
}
