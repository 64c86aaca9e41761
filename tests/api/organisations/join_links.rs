//! Join links: making them, joining by them, and their end.

mod registering;

use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    harness::{Client, DAY, PASSWORD, Reply, Server, text, unknown_id},
    shapes::{INVITATION_PREVIEW, SESSION, assert_shape},
    socket::Socket,
};

fn path(organisation: &str) -> String {
    format!("/organisations/{organisation}/join-links")
}

async fn make(maker: &Client, organisation: &str, link: Value) -> Value {
    maker.post(&path(organisation), link).await.data(201, "Join link created successfully")
}

async fn token(maker: &Client, organisation: &str, link: Value) -> String {
    text(&make(maker, organisation, link).await["token"])
}

async fn join(client: &Client, token: &str) -> Reply {
    client.post("/join", json!({ "token": token })).await
}

fn person(token: &str, name: &str) -> Value {
    json!({ "token": token, "email": format!("{name}@example.org"), "password": PASSWORD })
}

async fn join_as(server: &Server, token: &str, name: &str) -> Reply {
    server.anonymous().post("/join", person(token, name)).await
}

async fn status(client: &Client, organisation: &str) -> Value {
    client.get(&path(organisation)).await.expect(200)["data"][0]["status"].take()
}

#[tokio::test]
async fn an_account_and_a_new_person_join_by_a_link_as_who_they_are() {
    let server = Server::start().await;
    let (ada, grace) = (server.user("ada").await, server.user("grace").await);
    let organisation = ada.organisation("Engines").await;
    let made = make(&ada, &organisation, json!({})).await;
    let shape = "id:uuid org_id:uuid role:text role_name:text domain:text uses:int used:int status:text created_by:uuid
        created_at:time expires_at:time token:text link:text";
    assert_shape(&made, shape);
    assert_eq!([&made["role"], &made["role_name"], &made["domain"], &made["status"]], ["member", "User", "", "open"]);
    assert_eq!([&made["uses"], &made["used"]], [&json!(25), &json!(0)]);
    let token = text(&made["token"]);
    assert_eq!(made["link"], format!("{}/join?org_id={organisation}&token={token}", server.origin));
    assert!(!server.stores(&token), "only its hash");

    let mut listening = Socket::listening(&ada, &[&organisation]).await;
    let data = join(&grace, &token).await.data(200, "Organisation joined successfully");
    assert_shape(&data, SESSION);
    assert_eq!(data["user"]["current_org"], organisation);
    assert_eq!(listening.on(&organisation).await["notification_type"], "member_update");
    grace.say(&ada.general(&organisation).await, "hello").await;

    let body =
        json!({ "token": token, "email": " New@Example.org ", "password": PASSWORD, "first_name": "Mary", "username": "mary" });
    let data = server.anonymous().post("/join", body).await.data(200, "Organisation joined successfully");
    assert_shape(&data, SESSION);
    let user = &data["user"];
    assert_eq!([&user["email"], &user["username"], &user["fullname"]], ["new@example.org", "mary", "Mary"]);
    assert_eq!(user["is_verified"], false, "a link proves no mailbox");
    assert_eq!(server.mails("new@example.org", 1).await[0].subject, "Verify your e-mail address");
    server.anonymous().with_session(&data).get(&format!("/organisations/{organisation}")).await.expect(200);

    let listed = ada.get(&path(&organisation)).await.data(200, "Join links retrieved successfully");
    assert_eq!(listed[0]["used"], 2);
    assert!(listed[0].get("token").is_none() && listed[0].get("link").is_none(), "both are shown once");
}

#[tokio::test]
async fn two_people_at_once_do_not_share_the_last_place() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let token = token(&ada, &organisation, json!({ "uses": 3 })).await;
    let names: Vec<_> = (0..8).map(|n| format!("person{n}")).collect();
    // A machine that is busy hashing passwords answers 503, and a client then tries again.
    let join = async |name: &String| loop {
        let reply = join_as(&server, &token, name).await;
        if reply.status != 503 {
            return reply;
        }
    };
    let replies = futures_util::future::join_all(names.iter().map(join)).await;
    let joined = replies.iter().filter(|reply| reply.status == 200).count();
    assert_eq!(joined, 3);
    assert!(replies.iter().all(|reply| [200, 422].contains(&reply.status)));
    assert_eq!([server.count("organisation_members"), server.count("users")], [4, 4], "nothing is half done");
    assert_eq!(status(&ada, &organisation).await, "used");
}

#[tokio::test]
async fn a_link_ends_after_its_days_and_seven_by_default() {
    let server = Server::start().await;
    let (ada, grace) = (server.user("ada").await, server.user("grace").await);
    let organisation = ada.organisation("Engines").await;
    let usual = token(&ada, &organisation, json!({})).await;
    let longest = token(&ada, &organisation, json!({ "expires_in_days": 30, "uses": 1000 })).await;
    server.clock.advance(DAY * 7);
    join(&grace, &usual).await.expect(422);
    join(&grace, &longest).await.expect(200);
    for (field, past) in [("expires_in_days", 31), ("expires_in_days", 0), ("uses", 1001), ("uses", 0), ("uses", -1)] {
        ada.post(&path(&organisation), json!({ field: past })).await.expect(400);
    }
}

#[tokio::test]
async fn a_member_joins_no_second_time_and_takes_no_place() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let token = token(&ada, &organisation, json!({ "uses": 1 })).await;
    join(&grace, &token).await.expect(422);
    let member = format!("/organisations/{organisation}/users/{}", grace.user_id);
    ada.put(&member, json!({ "status": "deactivated" })).await.expect(200);
    join(&grace, &token).await.expect(422);
    assert_eq!(status(&ada, &organisation).await, "open");
    assert_eq!(server.count("invitation_counts where counted = (select created_by from join_links) and mailed > 1"), 0);
}

#[tokio::test]
async fn a_link_gives_at_most_the_rights_of_a_member_and_of_its_maker() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let roles = format!("/organisations/{organisation}/roles");
    let list = json!({ "post:messages": true });
    let own = ada.post(&roles, json!({ "name": "poster", "permission_list": list })).await.expect(201)["data"]["id"].take();
    let strong = json!({ "name": "strong", "permission_list": { "manage:channels": true } });
    ada.post(&roles, strong).await.expect(201);
    for refused in ["admin", "manager", "project-lead", "strong"] {
        ada.post(&path(&organisation), json!({ "role": refused })).await.expect(422);
        grace.post(&path(&organisation), json!({ "role": refused })).await.refused(403, Code::RightsExceeded);
    }
    ada.post(&path(&organisation), json!({ "role": "none such" })).await.expect(400);
    let inviter = json!({ "name": "inviter", "permission_list": { "invite:members": true } });
    let inviter = ada.post(&roles, inviter).await.expect(201)["data"]["id"].take();
    ada.put(&format!("/organisations/{organisation}/users/{}", grace.user_id), json!({ "role_id": inviter })).await.expect(200);
    grace.post(&path(&organisation), json!({ "role": "member" })).await.expect(403);
    grace.post(&path(&organisation), json!({ "role": "guest" })).await.expect(201);

    let token = token(&ada, &organisation, json!({ "role": own })).await;
    let data = join_as(&server, &token, "new").await.expect(200);
    let member = server.anonymous().with_session(&data["data"]);
    let shown = member.get(&format!("/organisations/{organisation}")).await.expect(200);
    assert_eq!(shown["data"]["org_role"], "poster");
    // A role that grows beyond a member's rights lets nobody in any more.
    let more = json!({ "permission_list": { "manage:channels": true } });
    ada.put(&format!("{roles}/{own}/permissions"), more).await.expect(200);
    join_as(&server, &token, "late").await.expect(422);
    assert_eq!(status(&ada, &organisation).await, "void");
    ada.delete(&format!("{roles}/{own}")).await.expect(200);
    let data = join_as(&server, &token, "later").await.expect(200);
    let shown = server.anonymous().with_session(&data["data"]).get(&format!("/organisations/{organisation}")).await.expect(200);
    assert_eq!(shown["data"]["org_role"], "member", "the role was deleted");
}

#[tokio::test]
async fn a_link_works_only_while_its_maker_may_invite() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.user("bob").await;
    let token = token(&grace, &organisation, json!({})).await;
    let member = format!("/organisations/{organisation}/users/{}", grace.user_id);
    ada.put(&member, json!({ "role_id": "guest" })).await.expect(200);
    join(&bob, &token).await.expect(422);
    grace.post(&path(&organisation), json!({})).await.expect(403);
    ada.put(&member, json!({ "role_id": "member", "status": "deactivated" })).await.expect(200);
    join(&bob, &token).await.expect(422);
    ada.put(&member, json!({ "status": "active" })).await.expect(200);
    join(&bob, &token).await.expect(200);
}

#[tokio::test]
async fn members_see_and_delete_their_own_links_and_managers_all() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (bob, outsider) = (server.member(&ada, &organisation, "bob", "member").await, server.user("eve").await);
    let adas = text(&make(&ada, &organisation, json!({})).await["id"]);
    let graces = make(&grace, &organisation, json!({})).await;
    let seen = async |client: &Client| client.get(&path(&organisation)).await.expect(200)["data"].as_array().unwrap().len();
    assert_eq!([seen(&ada).await, seen(&grace).await, seen(&bob).await], [2, 1, 0]);
    let one = |id: &str| format!("{}/{id}", path(&organisation));
    outsider.get(&path(&organisation)).await.expect(404);
    let unknown = bob.delete(&one(&unknown_id())).await.expect(404);
    assert_eq!(bob.delete(&one(&adas)).await.expect(404), unknown);
    let other = ada.organisation("Looms").await;
    ada.delete(&format!("{}/{adas}", path(&other))).await.expect(404);
    let graces_id = text(&graces["id"]);
    assert_eq!(ada.delete(&one(&graces_id)).await.data(200, "Join link deleted successfully"), Value::Null);
    let gone = join(&outsider, &text(&graces["token"])).await.expect(400);
    assert_eq!(gone, join(&outsider, "unknown").await.expect(400), "a deleted link is like none");
    ada.delete(&one(&adas)).await.expect(200);
}

#[tokio::test]
async fn an_organisation_has_at_most_fifty_links() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    for _ in 0..50 {
        make(&ada, &organisation, json!({})).await;
    }
    let refused = ada.post(&path(&organisation), json!({})).await.expect(422);
    assert_eq!(refused["message"], "an organisation has at most 50 join links: delete one first");
    let id = ada.get(&path(&organisation)).await.expect(200)["data"][0]["id"].take();
    ada.delete(&format!("{}/{}", path(&organisation), text(&id))).await.expect(200);
    make(&ada, &organisation, json!({})).await;
}

/// Anybody can write an address of any domain into a form, so only a proved mailbox counts.
#[tokio::test]
async fn a_link_for_a_domain_lets_in_proved_addresses_of_that_domain_only() {
    let server = Server::start().await;
    let (ada, grace) = (server.user("ada").await, server.user("grace").await);
    let organisation = ada.organisation("Engines").await;
    for bad in ["no domain", "a@b", "-", &"x".repeat(254)] {
        ada.post(&path(&organisation), json!({ "domain": bad })).await.expect(422);
    }
    let other = token(&ada, &organisation, json!({ "domain": "elsewhere.example" })).await;
    let made = make(&ada, &organisation, json!({ "domain": " @Example.ORG " })).await;
    assert_eq!(made["domain"], "example.org");
    let token = text(&made["token"]);
    join_as(&server, &token, "new").await.expect(403);
    join(&grace, &token).await.expect(403);
    server.sql("update users set is_verified = 1");
    join(&grace, &token).await.expect(403);
    server.sql("update users set mailbox_proved = 1");
    join(&grace, &other).await.expect(403);
    join(&grace, &token).await.expect(200);
    assert_eq!(server.count("users"), 2);
}

#[tokio::test]
async fn who_joins_counts_towards_the_invitations_of_the_maker_and_of_the_organisation() {
    let server = Server::with(|settings| {
        settings.rate_limit = tidings::config::Switch::On;
        settings.invitations.per_account_unverified = 1;
        settings.invitations.per_organisation = 2;
    })
    .await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    // Grace was invited by Ada, who has used up her own share.
    let adas = token(&ada, &organisation, json!({})).await;
    let graces = token(&grace, &organisation, json!({})).await;
    let refused = join_as(&server, &adas, "one").await;
    assert!(refused.headers.contains_key("retry-after"));
    refused.expect(429);
    join_as(&server, &graces, "one").await.expect(200);
    server.sql("update users set mailbox_proved = 1 where username = 'ada'");
    join_as(&server, &adas, "two").await.expect(429);
    assert_eq!(server.count("organisation_members"), 3);
    server.clock.advance(DAY);
    join_as(&server, &adas, "two").await.expect(200);
}

#[tokio::test]
async fn a_link_shows_where_it_leads_and_what_has_become_of_it() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let made = make(&ada, &organisation, json!({ "role": "guest", "domain": "example.org" })).await;
    let token = text(&made["token"]);
    let anonymous = server.anonymous();
    let preview = async |organisation: &str| {
        anonymous.get(&format!("/organisations/{organisation}/load-org-info?invitation_token={token}")).await
    };
    let data = preview(&organisation).await.data(200, "Organisation info retrieved successfully");
    assert_shape(&data, INVITATION_PREVIEW);
    assert_eq!([&data["organisation_name"], &data["inviter_name"], &data["role"]], ["Engines", "ada", "guest"]);
    assert_eq!(
        [&data["user_email"], &data["domain"], &data["expires_at"]],
        [&json!(""), &json!("example.org"), &made["expires_at"]]
    );
    preview(&ada.organisation("Looms").await).await.expect(404);
    let check = async || anonymous.post("/auth/links/check", json!({ "token": token })).await;
    assert_eq!(check().await.expect(200)["data"], json!({ "purpose": "join_link", "status": "open" }));
    server.clock.advance(DAY * 7);
    assert_eq!(check().await.expect(200)["data"], json!({ "purpose": "join_link", "status": "expired" }));
    preview(&organisation).await.expect(404);
    ada.delete(&format!("{}/{}", path(&organisation), text(&made["id"]))).await.expect(200);
    check().await.expect(404);
    let page = anonymous.request("GET", "/join?token=x").send().await.unwrap();
    assert_eq!(page.status(), 200);
    assert_eq!(page.headers()["referrer-policy"], "no-referrer");
}

#[tokio::test]
async fn links_of_a_deleted_organisation_and_of_whoever_only_registered_an_address_end() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.user("bob").await;
    let graces = token(&grace, &organisation, json!({})).await;
    // The mailbox's owner enters an account that somebody else registered.
    server.anonymous().post("/auth/magic-link", json!({ "email": grace.email })).await.expect(200);
    let mails = server.mails(&grace.email, 3).await;
    let link = mails.iter().find(|mail| mail.subject == "Your link to log in").unwrap().parameter("token");
    server.anonymous().post("/auth/magic-link/verify", json!({ "token": link })).await.expect(200);
    join(&bob, &graces).await.expect(400);
    let adas = token(&ada, &organisation, json!({})).await;
    ada.delete(&format!("/organisations/{organisation}")).await.expect(204);
    join(&bob, &adas).await.expect(400);
}
