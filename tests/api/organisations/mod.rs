//! Organisations: making, reading, changing, deleting them.

pub mod acceptance;
mod bot_owners;
mod bots;
mod founding;
mod heirs;
pub mod invitations;
mod inviting;
mod join_links;
mod leaving;
mod members;
mod memberships;
mod newcomers;
mod permissions;
mod previews;
mod quotas;
mod roles;
mod slugs;

use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    harness::{Client, PASSWORD, Server, blob, text, unknown_id},
    shapes::{CHANNEL, ORGANISATION, OWN_ORGANISATION, PUSHED, assert_shape},
    socket::Socket,
};

fn full() -> Value {
    json!({
        "name": "Engines", "description": "Analytical ones", "email": "info@engines.example", "type": "Computing",
        "location": "London", "country": "UK", "logo_url": "https://engines.example/logo.png"
    })
}

#[tokio::test]
async fn a_new_organisation_is_its_makers() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let made = ada.post("/organisations", full()).await.data(201, "Organization created successfully");
    assert_shape(&made, ORGANISATION);
    for field in ["name", "description", "email", "location", "country", "logo_url"] {
        assert_eq!(made[field], full()[field], "{field}");
    }
    assert_eq!([&made["type"], &made["industry"], &made["org_role"]], ["Computing", "Computing", "admin"]);
    assert_eq!([&made["owner_id"]], [&json!(ada.user_id)]);
    assert_eq!([&made["role"], &made["role_name"]], ["Owner", "Owner"]);
    assert_eq!(made["user_role"], json!({ "role_id": -1, "role_name": "Owner" }));
    assert_eq!([&made["channels_count"], &made["total_messages_count"]], [1, 0]);

    let read = ada.get(&format!("/organisations/{}", text(&made["id"]))).await.data(200, "Organization retrieved successfully");
    assert_eq!(read, made);
}

#[tokio::test]
async fn a_new_organisation_has_a_general_channel_with_its_maker() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let body = ada.get(&format!("/organisations/{organisation}/channels")).await.expect(200);
    let channel = &body["channels"][0];
    assert_shape(channel, CHANNEL);
    assert_eq!([&channel["name"], &channel["description"]], ["general", "Engines's general channel"]);
    assert_eq!(channel["users"], json!([ada.user_id]));
    assert_eq!(body["channels"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_new_organisation_becomes_its_makers_current_one() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    ada.organisation("First").await;
    let second = ada.organisation("Second").await;
    let body = json!({ "email": ada.email, "password": PASSWORD });
    assert_eq!(server.anonymous().post("/auth/login", body).await.expect(200)["data"]["user"]["current_org"], second);
}

#[tokio::test]
async fn a_name_of_1_to_255_characters_is_all_it_takes() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for body in [
        json!({}),
        json!({ "description": "nameless" }),
        json!({ "name": "" }),
        json!({ "name": "  " }),
        json!({ "name": null }),
        json!({ "name": 7 }),
        json!({ "name": "é".repeat(256) }),
        json!({ "name": "Engines", "email": "no address" }),
        json!({ "name": "Engines", "type": 7 }),
        json!({ "name": "Engines", "logo_url": {} }),
        json!(["Engines"]),
    ] {
        ada.post("/organisations", body).await.expect(400);
    }
    ada.call_text("POST", "/organisations", "{\"name\":\"Engines\"").await.expect(400);
    ada.post("/organisations", json!({ "name": "é".repeat(255) })).await.expect(201);
    let bare = ada.post("/organisations", json!({ "name": "Engines" })).await.expect(201)["data"].take();
    assert_shape(&bare, ORGANISATION);
    assert_eq!([&bare["description"], &bare["industry"], &bare["email"]], ["", "", ""]);
    server.anonymous().post("/organisations", full()).await.expect(401);
}

#[tokio::test]
async fn an_organisation_looks_unknown_to_outsiders() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let outsider = server.user("outsider").await;
    outsider.organisation("Elsewhere").await;
    let (known, unknown) = (format!("/organisations/{organisation}"), format!("/organisations/{}", unknown_id()));
    for (method, body) in [("GET", None), ("PUT", Some(json!({ "name": "Mine" }))), ("DELETE", None)] {
        let foreign = outsider.call(method, &known, body.clone()).await.expect(404);
        assert_eq!(foreign, ada.call(method, &unknown, body.clone()).await.expect(404));
        server.anonymous().call(method, &known, body.clone()).await.expect(401);
        ada.call(method, "/organisations/no-uuid", body).await.expect(400);
    }
    assert_eq!(ada.get(&known).await.expect(200)["data"]["name"], "Engines");
}

#[tokio::test]
async fn a_deactivated_member_is_an_outsider() {
    let server = Server::start().await;
    let (_, grace, organisation) = server.ada_and_grace().await;
    grace.get(&format!("/organisations/{organisation}")).await.expect(200);
    server.sql(&format!("update organisation_members set status = 'deactivated' where user_id = {}", blob(&grace.user_id)));
    grace.get(&format!("/organisations/{organisation}")).await.expect(404);
    grace.get(&format!("/organisations/{organisation}/users")).await.expect(403);
    assert_eq!(grace.get("/users/organisations").await.expect(200)["data"], json!([]));
}

#[tokio::test]
async fn an_absent_field_of_an_organisation_is_kept_and_an_empty_one_cleared() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let made = ada.post("/organisations", full()).await.expect(201)["data"].take();
    let path = format!("/organisations/{}", text(&made["id"]));

    let body = json!({ "name": "Motors", "type": "Machines", "description": "" });
    let edited = ada.put(&path, body).await.data(200, "Organization updated successfully");
    assert_shape(&edited, ORGANISATION);
    assert_eq!([&edited["name"], &edited["industry"], &edited["description"]], ["Motors", "Machines", ""]);
    for field in ["id", "email", "location", "country", "logo_url", "owner_id", "created_at"] {
        assert_eq!(edited[field], made[field], "{field}");
    }
    let same = ada.put(&path, json!({})).await.data(200, "Organization updated successfully");
    assert_eq!([&same["name"], &same["description"]], ["Motors", ""]);
}

#[tokio::test]
async fn a_refused_change_leaves_the_organisation_as_it_was() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let path = format!("/organisations/{organisation}");
    let too_long = "x".repeat(256);
    for body in
        [json!({ "name": "" }), json!({ "name": 7 }), json!({ "name": too_long }), json!({ "name": "X", "email": "no address" })]
    {
        ada.put(&path, body).await.expect(400);
    }
    ada.call_text("PUT", &path, "{").await.expect(400);
    assert_eq!(ada.get(&path).await.expect(200)["data"]["name"], "Engines");
}

#[tokio::test]
async fn an_organisation_is_changed_with_the_right_and_deleted_by_its_owner_only() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let admin = server.member(&ada, &organisation, "admin", "admin").await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let path = format!("/organisations/{organisation}");
    for member in [&grace, &guest] {
        assert!(member.get(&path).await.expect(200)["data"]["org_role"].is_string());
        member.put(&path, json!({ "name": "Mine" })).await.expect(403);
        member.delete(&path).await.expect(403);
    }
    assert_eq!(admin.put(&path, json!({ "name": "Ours" })).await.expect(200)["data"]["name"], "Ours");
    admin.delete(&path).await.expect(403);
    ada.get(&path).await.expect(200);
}

#[tokio::test]
async fn a_deleted_organisation_is_gone_for_all() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let general = ada.general(&organisation).await;
    let message = ada.say(&general, "hello").await;
    assert_eq!(ada.delete(&format!("/organisations/{organisation}")).await.expect(204), "");
    for member in [&ada, &grace] {
        member.get(&format!("/organisations/{organisation}")).await.expect(404);
        member.get(&format!("/organisations/{organisation}/channels")).await.expect(404);
        member.get(&format!("/channels/{general}")).await.expect(404);
        member.get(&format!("/channels/{general}/messages")).await.expect(404);
        member.post(&format!("/channels/{general}/messages"), json!({ "content": "still here?" })).await.expect(403);
        member.post("/token/subscription", json!({ "channel": message })).await.expect(403);
        assert_eq!(member.get("/users/organisations").await.expect(200)["data"], json!([]));
        assert_eq!(member.get("/channels").await.expect(200)["channels"], json!([]));
    }
    ada.delete(&format!("/organisations/{organisation}")).await.expect(404);
}

#[tokio::test]
async fn everybody_lists_their_own_organisations() {
    let server = Server::start().await;
    let (ada, grace, engines) = server.ada_and_grace().await;
    let other = ada.organisation("Looms").await;
    let reply = ada.get("/users/organisations").await.expect(200)["data"].take();
    let mine = reply.as_array().unwrap();
    assert_eq!(mine.len(), 2);
    for organisation in mine {
        assert_shape(organisation, OWN_ORGANISATION);
        assert_eq!(organisation["org_role"], "admin");
    }
    let mut ids: Vec<_> = mine.iter().map(|organisation| text(&organisation["id"])).collect();
    ids.sort();
    let mut expected = [engines.clone(), other];
    expected.sort();
    assert_eq!(ids, expected);
    let hers = grace.get("/users/organisations").await.expect(200)["data"].take();
    assert_eq!([&hers[0]["id"], &hers[0]["name"], &hers[0]["org_role"]], [engines.as_str(), "Engines", "member"]);
    assert_eq!(hers.as_array().unwrap().len(), 1);
    let nobody = server.user("nobody").await;
    assert_eq!(nobody.get("/users/organisations").await.expect(200)["data"], json!([]));
    server.anonymous().get("/users/organisations").await.expect(401);
}

#[tokio::test]
async fn an_organisation_counts_its_live_channels_and_their_messages() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let channel = ada.channel(&organisation, "news", &[]).await;
    let thread = ada.say(&channel, "post").await;
    ada.reply(&channel, &thread, "reply").await;
    let counts = async || {
        let data = ada.get(&format!("/organisations/{organisation}")).await.expect(200)["data"].take();
        (data["channels_count"].clone(), data["total_messages_count"].clone())
    };
    assert_eq!(counts().await, (json!(2), json!(2)));
    ada.delete(&format!("/channels/{channel}")).await.expect(204);
    assert_eq!(counts().await, (json!(1), json!(0)));

    // Archived channels don't count, nor does a private one that its last member has left.
    let archived = ada.channel(&organisation, "archived", &[]).await;
    let again = ada.channel(&organisation, "again", &[]).await;
    let deserted = ada.private_channel(&organisation, "deserted", &[]).await;
    for (channel, archived) in [(&archived, true), (&archived, true), (&again, true), (&again, false)] {
        ada.put(&format!("/channels/{channel}/archive"), json!({ "archived": archived })).await.expect(200);
    }
    ada.post(&format!("/channels/{deserted}/leave"), json!({})).await.expect(200);
    ada.delete(&format!("/channels/{archived}")).await.expect(204);
    assert_eq!(counts().await.0, 2);
    let own = ada.get("/users/organisations").await.expect(200)["data"][0]["channels_count"].take();
    assert_eq!(own, 2);
    let live = "select count(*) from channels where is_dm = 0 and archived_at is null and deleted_at is null";
    assert_eq!(server.number(live), 2);
}

/// A count tells of talk as a list does.
#[tokio::test]
async fn an_organisation_counts_for_each_member_only_what_they_see() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let counts = async |client: &Client| {
        let data = client.get(&format!("/organisations/{organisation}")).await.expect(200)["data"].take();
        let own = client.get("/users/organisations").await.expect(200)["data"][0]["channels_count"].take();
        assert_eq!(own, data["channels_count"]);
        [data["channels_count"].as_i64().unwrap(), data["total_messages_count"].as_i64().unwrap()]
    };
    let [channels, _] = counts(&ada).await;
    assert_eq!([counts(&grace).await, counts(&guest).await], [[channels, 0], [1, 0]], "a guest is in the default channel");

    let open = ada.channel(&organisation, "open", &[]).await;
    ada.say(&open, "to the members").await;
    assert_eq!([counts(&grace).await, counts(&guest).await], [[channels + 1, 1], [1, 0]], "guests don't see it");
    let secret = ada.private_channel(&organisation, "secret", &[]).await;
    ada.say(&secret, "to nobody").await;
    let dm = ada.post(&format!("/organisations/{organisation}/dms"), json!({ "user_ids": [guest.user_id] })).await;
    let dm = dm.expect(201)["data"]["id"].as_str().unwrap().to_owned();
    ada.say(&dm, "to the guest").await;
    ada.say(&dm, "again").await;
    assert_eq!(counts(&ada).await, [channels + 2, 4]);
    assert_eq!(counts(&grace).await, [channels + 1, 1]);
    assert_eq!(counts(&guest).await, [1, 2]);

    ada.post(&format!("/channels/{secret}/users"), json!({ "user_ids": [guest.user_id] })).await.expect(200);
    assert_eq!(counts(&guest).await, [2, 3], "what the guest was added to");
    ada.put(&format!("/channels/{open}/archive"), json!({ "archived": true })).await.expect(200);
    assert_eq!(counts(&grace).await, [channels, 1], "an archived channel can still be read");
}

#[tokio::test]
async fn an_account_is_in_at_most_200_organisations() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    ada.organisation("First").await;
    server.sql(
        "insert into organisations (id, name, slug, owner_id, created_at, updated_at)
         with recursive more (k) as (select 1 union all select k + 1 from more where k < 198)
         select unhex(printf('%032x', k)), 'more', 'more' || k, owner_id, created_at, updated_at from more, organisations",
    );
    server.sql(
        "insert into organisation_members (organisation_id, user_id, role_id, created_at, updated_at)
         select id, owner_id, 1, created_at, updated_at from organisations where name = 'more'",
    );
    let last = ada.organisation("Last").await;
    ada.post("/organisations", json!({ "name": "One too many" })).await.refused(400, Code::OwnLimitReached);
    ada.delete(&format!("/organisations/{last}")).await.expect(204);
    ada.organisation("In its place").await;
}

#[tokio::test]
async fn a_changed_or_deleted_organisation_is_pushed_to_all_its_members() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let path = format!("/organisations/{organisation}");
    let mut socket = Socket::listening(&guest, &[&organisation]).await;
    let told = async |socket: &mut Socket, by: &Client, action: &str| {
        let told = socket.on(&organisation).await;
        assert_shape(&told, PUSHED);
        assert_eq!([&told["notification_type"], &told["data"]["action"]], ["organisation_update", action]);
        assert_eq!(told["modification_ids"], json!({ "org_id": organisation, "user_id": by.user_id }));
        told["data"].clone()
    };
    ada.put(&path, json!({})).await.expect(200); // nothing
    ada.put(&path, json!({ "name": "Motors", "logo_url": "https://example.org/logo.png" })).await.expect(200);
    let data = told(&mut socket, &ada, "updated").await;
    assert_eq!([&data["name"], &data["logo_url"]], ["Motors", "https://example.org/logo.png"]);
    ada.put(&format!("{path}/owner"), json!({ "user_id": grace.user_id })).await.expect(200);
    for (member, title) in [(&ada, "Administrator"), (&grace, "Owner")] {
        let data = socket.on(&organisation).await["data"].take();
        assert_eq!([&data["user_id"], &data["role"], &data["role_name"]], [&member.user_id, "admin", title]);
    }
    assert_eq!(told(&mut socket, &ada, "updated").await["owner_id"], grace.user_id);
    grace.delete(&path).await.expect(204);
    told(&mut socket, &grace, "deleted").await;
    assert_eq!(socket.unsubscribed(&organisation).await, 2000);
}
