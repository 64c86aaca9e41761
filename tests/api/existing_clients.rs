//! Requests as the specification's first web client sends them, by its paths and in its forms, and what it reads of the answers.

use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    harness::{Client, Reply, Server, text, unknown_id},
    socket::Socket,
};

/// Ada, who owns an organisation with a channel, and Grace, a member of both.
struct Scene {
    server: Server,
    ada: Client,
    grace: Client,
    organisation: String,
    channel: String,
}

async fn scene() -> Scene {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "engines", &[&grace]).await;
    Scene { server, ada, grace, organisation, channel }
}

#[tokio::test]
async fn the_threads_of_an_organisation_have_no_objects_where_a_text_is_shown() {
    let Scene { server: _server, ada, grace, organisation, channel, .. } = scene().await;
    let thread = ada.say(&channel, "The engine has arrived").await;
    grace.reply(&channel, &thread, "At last").await;
    for query in ["", "?mine=true"] {
        let listed = ada.get(&format!("/threads/organisations/{organisation}{query}")).await.expect(200)["data"][0].take();
        assert_eq!([&listed["participants"], &listed["thread_messages"][0]["participants"]], [&json!([]), &json!([])]);
        let participants = listed["thread_participants"].as_array().unwrap();
        assert_eq!((participants.len(), &participants[0]["user_id"]), (1, &json!(grace.user_id)));
    }
    let alone = ada.get(&format!("/threads/{thread}")).await.expect(200)["data"].take();
    assert_eq!(alone["participants"][0]["user_id"], grace.user_id);
}

#[tokio::test]
async fn one_thread_on_the_first_page_marks_its_channel_read_with_a_sessions_token_alone() {
    let Scene { server, ada, grace, organisation, channel, .. } = scene().await;
    let (path, marking) = (format!("/threads/channels/{channel}"), "?page=1&limit=1");
    let own_channels = format!("/organisations/{organisation}/user-channels");
    let unread = async || {
        let listed = grace.get(&own_channels).await.expect(200)["data"].take();
        listed.as_array().unwrap().iter().find(|one| one["id"] == channel).expect("her channel")["thread_count"].clone()
    };
    let program = grace.program(json!({ "name": "reader", "scopes": ["read", "post"] })).await;
    let browser = server.anonymous().with_cookies(&server.log_in_by_cookie("grace").await);
    ada.say(&channel, "The engine has arrived").await;
    for (who, query) in [
        (&grace, ""),
        (&grace, "?page=1&limit=2"),
        (&grace, "?limit=1"),
        (&grace, "?limit=1&page=1"),
        (&grace, "?page=1&limit=1&messages=0"),
        (&program, marking),
        (&browser, marking),
    ] {
        assert_eq!(who.get(&format!("{path}{query}")).await.expect(200)["data"].as_array().unwrap().len(), 1, "{query}");
        assert_eq!(unread().await, 1, "{query} only reads");
    }
    let mut socket = Socket::listening(&grace, &[&grace.personal(&organisation)]).await;
    let read = grace.get(&format!("{path}{marking}")).await.data(200, "Data retrieved successfully");
    assert_eq!((read[0]["message"].as_str(), unread().await), (Some("The engine has arrived"), json!(0)));
    let told = socket.push(|push| push["pub"]["data"]["notification_type"] == "unread_thread_change").await;
    assert_eq!(told["pub"]["data"]["data"]["thread_count"], 0);
    server.user("eve").await.get(&format!("{path}{marking}")).await.expect(404);
}

#[tokio::test]
async fn a_list_of_channels_changes_for_those_who_are_told_so() {
    let Scene { server: _server, ada, grace, organisation, channel, .. } = scene().await;
    let personal = grace.personal(&organisation);
    let mut socket = Socket::connect(&grace).await;
    let place = socket.subscribe(&personal).await;
    ada.channel(&organisation, "news", &[&grace]).await;
    grace.post(&format!("/channels/{channel}/leave"), json!({})).await.expect(200);
    grace.post(&format!("/channels/{channel}/join"), json!({})).await.expect(200);
    let is_trigger = |data: &Value| data["notification_type"] == "trigger_notification";
    for action in ["create", "leave", "joined"] {
        let told = socket.push(|push| is_trigger(&push["pub"]["data"])).await["pub"]["data"].take();
        assert_eq!((&told["data"], &told["section"]), (&json!({ "trigger_action": action }), &json!("channels_section")));
    }
    let mut back = Socket::connect(&grace).await;
    let missed = back.recover(&personal, &place["epoch"], &place["offset"]).await;
    assert_eq!(missed["recovered"], true);
    let missed = missed["publications"].as_array().unwrap().iter().map(|one| &one["data"]).filter(|data| is_trigger(data));
    let missed: Vec<_> = missed.map(|data| text(&data["data"]["trigger_action"])).collect();
    assert_eq!(missed, ["create", "leave", "joined"], "somebody who was away is told the same");
}

#[tokio::test]
async fn a_channel_shows_its_people_beside_their_identifiers() {
    let Scene { server: _server, ada, grace, channel, .. } = scene().await;
    grace.patch("/profile", json!({ "avatar_url": "https://x.example/grace.png" })).await.expect(200);
    let shown = ada.get(&format!("/channels/{channel}")).await.expect(200)["data"].take();
    let person = |who: &Client, name: &str, picture: &str| json!({ "id": who.user_id, "profile": { "username": name, "avatar_url": picture } });
    assert_eq!(shown["users"], json!([ada.user_id, grace.user_id]));
    assert_eq!(shown["members"], json!([person(&ada, "ada", ""), person(&grace, "grace", "https://x.example/grace.png")]));
}

#[tokio::test]
async fn an_organisations_logo_stays_where_a_change_has_none_that_can_be_kept() {
    let Scene { server: _server, ada, organisation, .. } = scene().await;
    let path = format!("/organisations/{organisation}");
    let logo = "https://x.example/logo.png";
    ada.put(&path, json!({ "logo_url": logo, "email": "office@x.example" })).await.data(200, "Organization updated successfully");
    for picture in ["data:image/png;base64,iVBORw0KGgo=", "data:image/jpeg;base64,/9j/4AAQ"] {
        let body = json!({ "name": "Motors", "description": "We build", "email": "", "logo_url": picture });
        let changed = ada.put(&path, body).await.expect(200);
        let message = "Organization updated successfully, without the logo: the server takes its address and no picture";
        assert_eq!(changed["message"], message);
        let data = &changed["data"];
        assert_eq!([&data["name"], &data["description"], &data["email"], &data["logo_url"]], ["Motors", "We build", "", logo]);
    }
    let kept = ada.put(&path, json!({ "logo_url": "" })).await.data(200, "Organization updated successfully");
    assert_eq!(kept["logo_url"], logo, "nothing was chosen");
    for faulty in ["data:image/svg+xml;base64,PHN2Zz4=", "data:text/html,x", "logo.png"] {
        ada.put(&path, json!({ "logo_url": faulty })).await.refused(400, Code::InvalidUrl);
    }
    let removed = ada.put(&path, json!({ "remove_logo": true })).await.expect(200)["data"].take();
    assert_eq!(removed["logo_url"], "");
    let made = ada.post("/organisations", json!({ "name": "New", "logo_url": "data:image/png;base64,iVBORw0KGgo=" })).await;
    assert_eq!(made.expect(201)["data"]["logo_url"], "");
}

/// The body of a form with these parts.
fn form(parts: &[(&str, &str)]) -> String {
    let part =
        |(name, value): &(&str, &str)| format!("--tide\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
    parts.iter().map(part).collect::<String>() + "--tide--\r\n"
}

#[tokio::test]
async fn a_profile_is_taken_from_a_form() {
    let Scene { server, ada, .. } = scene().await;
    let send = async |client: &Client, parts: &[(&str, &str)]| {
        let request = client.request("PATCH", "/api/v1/profile").header("content-type", "multipart/form-data; boundary=tide");
        Reply::of(request.body(form(parts)), "PATCH /profile", "a form").await
    };
    let parts = [
        ("full_name", " Ada  King Lovelace "),
        ("display_name", "undefined"),
        ("username", "ada"),
        ("email", "undefined"),
        ("phone", "+44 1"),
        ("title", "Countess"),
        ("timezone", "undefined"),
        ("avatar_url", "null"),
        ("avatar_file\"; filename=\"ada.png", "PNG"),
    ];
    let changed = send(&ada, &parts).await.expect(200);
    assert_eq!(changed["message"], "Profile updated successfully, without title, avatar_file");
    let user = &changed["data"];
    assert_eq!(
        [&user["first_name"], &user["last_name"], &user["phone"], &user["avatar_url"]],
        ["Ada", "King Lovelace", "+44 1", ""]
    );

    let unset = [("full_name", "undefined"), ("phone", "undefined"), ("username", "countess")];
    let changed = send(&ada, &unset).await.data(200, "Profile updated successfully");
    assert_eq!([&changed["fullname"], &changed["phone"], &changed["username"]], ["Ada King Lovelace", "+44 1", "countess"]);
    send(&ada, &[("username", "grace")]).await.refused(422, Code::UsernameTaken);
    send(&ada, &[("username", &"x".repeat(1 << 20))]).await.refused(413, Code::BodyTooLarge);
    send(&server.anonymous(), &[("username", "eve")]).await.refused(401, Code::TokenMissing);
    let torn =
        ada.request("PATCH", "/api/v1/profile").header("content-type", "multipart/form-data; boundary=x").body("--x\r\nno");
    Reply::of(torn, "PATCH /profile", "a torn form").await.refused(400, Code::BadRequest);
}

#[tokio::test]
async fn a_direct_message_is_opened_by_one_participant() {
    let Scene { server: _server, ada, grace, organisation, .. } = scene().await;
    let path = format!("/organisations/{organisation}/dms");
    let opened =
        ada.post(&path, json!({ "chat_type": "user", "participant_id": grace.user_id })).await.expect(201)["data"].take();
    let same = ada.post(&path, json!({ "user_ids": [grace.user_id] })).await.expect(200)["data"].take();
    assert_eq!((&opened["id"], &opened["users"]), (&same["id"], &json!([ada.user_id, grace.user_id])));
    ada.post(&path, json!({ "participant_id": ada.user_id })).await.refused(422, Code::Empty);
    let (visible, listed) = (ada.get(&format!("{path}/visible")).await.expect(200), ada.get(&path).await.expect(200));
    assert_eq!((&visible, visible["data"].as_array().unwrap().len()), (&listed, 1));
}

#[tokio::test]
async fn a_message_with_a_file_that_nobody_uploaded_is_refused_whole() {
    let Scene { server, ada, channel, .. } = scene().await;
    let file = json!([{ "id": unknown_id(), "file_name": "plan.pdf" }]);
    let eve = server.user("eve").await;
    for path in [format!("/threads/{channel}"), format!("/channels/{channel}/messages")] {
        for content in ["The plan", ""] {
            let refused = ada.post(&path, json!({ "content": content, "media": file })).await.refused(422, Code::FileUnusable);
            assert!(text(&refused["message"]).contains("is no file that you have uploaded"), "{refused}");
        }
        assert_eq!(server.number("select count(*) from messages where content = 'The plan'"), 0);
        ada.post(&path, json!({ "content": "No plan", "media": [] })).await.expect(201);
        ada.post(&path, json!({ "content": "No plan", "media": null })).await.expect(201);
        let refused = eve.post(&path, json!({ "content": "x", "media": file })).await;
        assert!([403, 404].contains(&refused.status), "whoever may not post is told so: {}", refused.body);
    }
}

#[tokio::test]
async fn reactions_and_pins_have_other_paths() {
    let Scene { server: _server, ada, grace, channel, .. } = scene().await;
    let thread = ada.say(&channel, "The engine has arrived").await;
    let reply = grace.reply(&channel, &thread, "At last").await;
    let path = format!("/reactions/{channel}");
    let body = json!({ "thread_id": thread, "type": "thread", "reaction": "tada" });
    let given = grace.post(&path, body).await.data(200, "Reaction added successfully");
    assert_eq!((&given["message_id"], &given["reactions"][0]["reaction"]), (&json!(thread), &json!("tada")));
    let body = json!({ "thread_id": thread, "message_id": reply, "type": "reply", "reaction": "eyes" });
    assert_eq!(ada.post(&path, body).await.expect(200)["data"]["message_id"], reply);
    ada.post(&path, json!({ "reaction": "eyes" })).await.refused(400, Code::Required);

    let pins = format!("/channels/pin/{channel}");
    let pinned = async || ada.get(&format!("/channels/{channel}/pins")).await.expect(200)["data"].as_array().unwrap().len();
    for (message, place) in [(&thread, "thread"), (&reply, "message")] {
        let shown =
            ada.post(&format!("{pins}/thread"), json!({ "thread_id": message })).await.data(200, "Message pinned successfully");
        assert_eq!((&shown["id"], &shown["is_pinned"], pinned().await), (&json!(message), &json!(true), 1));
        assert_eq!(grace.delete(&format!("{pins}/{place}/{message}")).await.expect(200)["data"], Value::Null);
        assert_eq!(pinned().await, 0);
        grace.delete(&format!("{pins}/{place}/{message}")).await.refused(404, Code::PinNotFound);
    }
}

#[tokio::test]
async fn members_are_searched_and_changed_by_other_paths() {
    let Scene { server: _server, ada, grace, organisation, .. } = scene().await;
    let path = format!("/organisations/{organisation}/users");
    let found = ada.get(&format!("{path}/search?query=gra")).await.data(200, "Users retrieved successfully");
    assert_eq!((found.as_array().unwrap().len(), &found[0]["id"], &found[0]["role"]), (1, &json!(grace.user_id), &json!("User")));
    assert_eq!(ada.get(&format!("{path}/search?query=nobody")).await.expect(200)["data"], json!([]));
    let member = format!("{path}/{}", grace.user_id);
    let changed = ada.patch(&format!("{member}/role"), json!({ "role_id": "Manager" })).await.data(200, "success");
    assert_eq!((&changed["role_id"], &changed["status"]), (&json!(2), &json!("active")));
    for (active, status) in [(false, "deactivated"), (true, "active")] {
        let changed = ada.patch(&format!("{member}/status"), json!({ "active": active })).await.data(200, "success");
        assert_eq!(changed["status"], status);
        grace.get(&path).await.expect(if active { 200 } else { 403 });
    }
}
