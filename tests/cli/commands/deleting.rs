//! Accounts that are deleted: what others have of their names, and what they leave.

use super::*;

/// The names of erased accounts are reserved, but may have been taken before they were.
#[tokio::test]
async fn an_account_is_deleted_though_others_have_the_names_that_it_gets() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Admin(folder.path());
    let server = Server::start(folder.path(), &[]);
    let (token, _) = server.poster().await;
    let organisation = organisation_of(&server, &token).await;
    let dms = format!("/organisations/{}/dms", organisation["organisation_id"].as_str().or(organisation["id"].as_str()).unwrap());
    let organisation = organisation["organisation_slug"].as_str().unwrap().to_owned();
    grace(&server, &token, &organisation, &admin).await;
    let id = admin.json(&["user", "show", "--email", "grace@x.example"])["id"].as_str().unwrap().to_owned();
    server.post(&dms, &token, json!({ "user_ids": [id] })).await;
    for email in ["eve@x.example", "mallory@x.example"] {
        admin.print(&["user", "create", "--email", email, "--password", PASSWORD]);
    }
    let name = format!("deleted-{}", id.replace('-', ""));
    let database = Connection::open(folder.path().join("tidings.db")).unwrap();
    for (taken, by) in [
        ("update users set username = ?1 where email = ?2", "mallory@x.example"),
        (
            "update channel_members set username = ?1 from users u
             where u.id = user_id and u.email = ?2 and channel_id in (select id from channels where is_dm = 1)",
            "ada@x.example",
        ),
    ] {
        assert_eq!(database.execute(taken, [&name, by]).unwrap(), 1, "{taken}");
    }
    let address = format!("{id}@deleted.invalid");
    database.execute("update users set email = ?1 where email = 'mallory@x.example'", [&address]).unwrap();
    // So far did a deletion come that failed at the names.
    database.execute("update users set is_active = 0 where email = 'grace@x.example'", []).unwrap();

    assert_eq!(admin.json(&["user", "delete", "--email", "grace@x.example"]), json!({ "deleted": "grace@x.example" }));
    let row = |sql: &str| -> (String, String) { database.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap() };
    let (email, username) = row("select email, username from users where first_name = 'Deleted'");
    assert!(email.starts_with(&id) && email.ends_with("@deleted.invalid") && email != address, "{email}");
    for (names, taken) in [(&email, &id), (&username, &name)] {
        let random = names.trim_end_matches("@deleted.invalid").strip_prefix(&format!("{taken}-"));
        assert!(random.is_some_and(|random| random.len() == 16), "{names}: nobody can have taken it beforehand");
    }
    let other = row(&format!("select email, username from users where email = '{address}'"));
    assert_eq!(other, (address, name), "who has the names keeps them");
    assert!(server.log_in("eve@x.example").await.is_some(), "and still logs in");
}

#[tokio::test]
async fn a_deleted_account_keeps_no_face_no_status_and_no_reminders() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Admin(folder.path());
    let server = Server::start(folder.path(), &[]);
    let (token, _) = server.poster().await;
    server.post("/reminders", &token, json!({ "text": "Call the doctor", "due_at": "2100-01-01T00:00:00Z" })).await;
    let mut face = std::io::Cursor::new(Vec::new());
    image::DynamicImage::new_rgb8(9, 9).write_to(&mut face, image::ImageFormat::Png).unwrap();
    let set = server.http.put(format!("{}/api/v1/profile/avatar", server.url)).bearer_auth(&token).body(face.into_inner());
    let address = set.send().await.unwrap().json::<Value>().await.unwrap()["data"]["avatar_url"].as_str().unwrap().to_owned();
    assert_eq!(server.http.get(&address).send().await.unwrap().status(), 200);
    let database = Connection::open(folder.path().join("tidings.db")).unwrap();
    database
        .execute_batch(
            "update users set status_emoji = '🤒', status_text = 'Off sick', status_until = 4102444800000000;
             update organisations set deleted_at = 1",
        )
        .unwrap();
    admin.json(&["user", "delete", "--email", "ada@x.example"]);
    let left = "select count(*) from users where status_emoji <> '' or status_text <> '' or status_until is not null";
    assert_eq!(server.http.get(&address).send().await.unwrap().status(), 404);
    for rest in [left, "select count(*) from reminders", "select count(*) from faces"] {
        assert_eq!(database.query_row(rest, [], |row| row.get::<_, i64>(0)).unwrap(), 0, "{rest}");
    }
}

#[tokio::test]
async fn members_of_a_deleted_organisation_and_deactivated_ones_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Admin(folder.path());
    let _server = Server::start(folder.path(), &[]);
    admin.print(&["user", "create", "--email", "ada@x.example", "--password", PASSWORD]);
    let database = Connection::open(folder.path().join("tidings.db")).unwrap();
    for (name, email) in [("Hedy", "hedy@x.example"), ("Ida", "ida@x.example")] {
        let account = ["user", "create", "--email", email, "--password", PASSWORD];
        admin.print(&account);
        admin.print(&["org", "create", name, "--owner", email]);
    }
    admin.print(&["org", "delete", "hedy"]);
    database.execute("update organisation_members set status = 'deactivated', role_id = 4 where organisation_id = (select id from organisations where slug = 'ida')", []).unwrap();
    database
        .execute(
            "update organisations set owner_id = (select id from users where email = 'ada@x.example') where slug = 'ida'",
            [],
        )
        .unwrap();
    for email in ["hedy@x.example", "ida@x.example"] {
        assert_eq!(admin.json(&["user", "delete", "--email", email]), json!({ "deleted": email }));
    }
    let erased: i64 = database
        .query_row("select count(*) from channels c join organisations o on o.id = c.organisation_id where o.slug = 'hedy' and c.deleted_at is null", [], |row| row.get(0))
        .unwrap();
    assert_eq!(erased, 0, "the channels of a deleted organisation are to be erased");
    let erased: String =
        database.query_row("select email from users where email like '%@deleted.invalid' limit 1", [], |row| row.get(0)).unwrap();
    refused(&admin.run(&["user", "role", "--email", &erased, "--role", "superadmin"]), "the account was erased");
}

#[tokio::test]
async fn a_session_of_an_account_that_was_just_deleted_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Admin(folder.path());
    let server = Server::start(folder.path(), &[]);
    server.post("/auth/register", "", json!({ "email": "ada@x.example", "password": PASSWORD })).await;
    let token = server.log_in("ada@x.example").await.unwrap();
    admin.print(&["user", "delete", "--email", "ada@x.example"]);
    // Until the server notices the commit, it still knows the session.
    let (status, reply) = server.call(Method::GET, "/users/me", &token, json!({})).await.unwrap();
    assert_eq!(status, 401, "{reply}");
}
