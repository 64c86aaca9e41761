//! Inviting by mail, listing, cancelling, sending again.

use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    harness::{Client, DAY, Reply, Server, text, unknown_id},
    organisations::acceptance::verify,
    shapes::{INVITATION, INVITATION_PAGINATION, INVITING_ORGANISATION, SENT_INVITATION, assert_shape},
};

pub async fn invite(client: &Client, organisation: &str, emails: &[&str]) -> Reply {
    client.post("/invite", json!({ "org_id": organisation, "emails": emails, "role": "member" })).await
}

#[tokio::test]
async fn an_invitation_is_answered_and_mailed() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    server.register("grace").await;
    let organisation = ada.organisation("Engines").await;
    let data = invite(&ada, &organisation, &["grace@example.org", " New@Example.ORG"])
        .await
        .data(201, "Invitations created successfully");
    assert_eq!(data["errors"], json!([]));
    let made = data["invitations"].as_array().unwrap();
    assert_eq!(made.len(), 2);
    for (invitation, (email, has_account)) in made.iter().zip([("grace@example.org", true), ("new@example.org", false)]) {
        assert_shape(invitation, INVITATION);
        assert_eq!([&invitation["email"], &invitation["status"], &invitation["org_id"]], [email, "invited", &organisation]);
        assert_eq!(invitation["is_platform_user"], has_account);
        let token = text(&invitation["invite_token"]);
        let link = format!("{}/accept_org_invitation?org_id={organisation}&invitation_token={token}", server.origin);
        assert_eq!(invitation["invitation_link"], link);
        let (sent, expires) = (text(&invitation["sent_at"]), text(&invitation["expires_at"]));
        let lifetime = expires.parse::<jiff::Timestamp>().unwrap().duration_since(sent.parse().unwrap());
        assert_eq!(lifetime.as_secs(), 7 * 24 * 3600);
    }
    let mails = server.mails("new@example.org", 1).await;
    assert_ne!(mails[0].parameter("invitation_token"), text(&made[1]["invite_token"]), "the inviter does not see the mail's");
    assert_eq!(mails[0].parameter("org_id"), organisation);
}

#[tokio::test]
async fn the_answer_has_an_error_for_each_address_that_cannot_be_invited() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    invite(&ada, &organisation, &["bob@example.org"]).await.expect(201);
    let emails = ["bob@example.org", &grace.email, "no address", "new@example.org", "NEW@example.org"];
    let data = invite(&ada, &organisation, &emails).await.data(201, "Invitations created successfully");
    let made: Vec<_> = data["invitations"].as_array().unwrap().iter().map(|invitation| text(&invitation["email"])).collect();
    assert_eq!(made, ["new@example.org"]);
    let errors = data["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 4, "{errors:?}");
    for expected in [
        "An invitation has already been sent to bob@example.org",
        "grace@example.org is already a member of the organisation",
        "no address is not a valid e-mail address",
    ] {
        assert!(errors.contains(&json!(expected)), "{expected}: {errors:?}");
    }
    let codes = [Code::AlreadyInvited, Code::AlreadyAMember, Code::InvalidEmail, Code::AlreadyInvited].map(Code::name);
    let named = [emails[0], emails[1], emails[2], emails[4]];
    let refused: Vec<_> = named.iter().zip(codes).map(|(email, code)| json!({ "email": email, "code": code })).collect();
    assert_eq!(data["refused"], json!(refused));
    let none = invite(&ada, &organisation, &["no address"]).await.data(201, "Invitations created successfully");
    assert_eq!((&none["invitations"], none["errors"].as_array().unwrap().len()), (&json!([]), 1));
}

#[tokio::test]
async fn a_call_names_1_to_50_addresses() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let many: Vec<_> = (0..51).map(|n| format!("user{n}@example.org")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    invite(&ada, &organisation, &[]).await.expect(400);
    invite(&ada, &organisation, &many).await.expect(422);
    assert_eq!(invite(&ada, &organisation, &many[..50]).await.expect(201)["data"]["invitations"].as_array().unwrap().len(), 50);
}

#[tokio::test]
async fn a_faulty_invitation_is_refused() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let emails = json!(["new@example.org"]);
    for body in [
        json!({ "emails": emails }),
        json!({ "org_id": organisation }),
        json!({ "org_id": "no-uuid", "emails": emails }),
        json!({ "org_id": organisation, "emails": "new@example.org" }),
        json!({ "org_id": organisation, "emails": [7] }),
        json!({ "org_id": organisation, "emails": emails, "role": "king" }),
        json!({ "org_id": organisation, "emails": emails, "role": {} }),
    ] {
        ada.post("/invite", body).await.expect(400);
    }
    ada.call_text("POST", "/invite", "{").await.expect(400);
    let made = ada.post("/invite", json!({ "org_id": organisation, "emails": emails })).await.expect(201);
    assert_eq!(made["data"]["invitations"].as_array().unwrap().len(), 1, "the role is optional, and nothing was left behind");
}

#[tokio::test]
async fn an_outsider_invites_nobody() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let outsider = server.user("outsider").await;
    outsider.organisation("Elsewhere").await;
    let foreign = invite(&outsider, &organisation, &["new@example.org"]).await.expect(404);
    assert_eq!(foreign, invite(&ada, &unknown_id(), &["new@example.org"]).await.expect(404));
    invite(&server.anonymous(), &organisation, &["new@example.org"]).await.expect(401);
}

#[tokio::test]
async fn nobody_invites_to_a_role_above_their_own() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let to = |role: Value| json!({ "org_id": organisation, "emails": ["new@example.org"], "role": role });
    for role in ["guest", "member", "admin"] {
        guest.post("/invite", to(json!(role))).await.expect(403);
    }
    for role in [json!("admin"), json!("manager"), json!(3)] {
        grace.post("/invite", to(role)).await.expect(403);
    }
    assert_eq!(grace.post("/invite", to(json!("guest"))).await.expect(201)["data"]["errors"], json!([]));
}

fn invites(organisation: &str) -> String {
    format!("/organisations/{organisation}/invites")
}

async fn list(client: &Client, organisation: &str, query: &str) -> Value {
    let body = client.get(&format!("{}{query}", invites(organisation))).await.expect(200);
    assert_eq!([&body["status"], &body["message"]], ["success", "success"]);
    body
}

/// One field of each listed invitation.
fn column(list: &Value, field: &str) -> Vec<String> {
    list["data"]["invitations"].as_array().unwrap().iter().map(|invitation| text(&invitation[field])).collect()
}

pub async fn resend(client: &Client, organisation: &str, emails: &[&str]) -> Reply {
    client.post("/invite/resend", json!({ "org_id": organisation, "emails": emails })).await
}

#[tokio::test]
async fn invitations_are_listed_newest_first_in_all_statuses() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await; // Grace's is accepted
    server.member(&ada, &organisation, "guest", "guest").await;
    server.register("known").await;
    ada.invite(&organisation, "late@example.org", "member").await;
    server.clock.advance(DAY * 7);
    let token = ada.invite(&organisation, "known@example.org", "manager").await;

    let list = list(&ada, &organisation, "").await;
    assert_eq!(column(&list, "email"), ["known", "late", "guest", "grace"].map(|name| format!("{name}@example.org")));
    assert_eq!(column(&list, "status"), ["invited", "expired", "accepted", "accepted"]);
    assert_eq!(column(&list, "role"), ["manager", "member", "guest", "member"]);
    assert_eq!(column(&list, "role_name"), ["Manager", "User", "Guest", "User"]);
    assert_eq!(column(&list, "token"), [token.as_str(), "", "", ""]);
    let rows = list["data"]["invitations"].as_array().unwrap();
    for row in rows {
        assert_shape(row, SENT_INVITATION);
        assert_shape(&row["Organisation"], INVITING_ORGANISATION);
        assert_eq!([&row["organisation_id"], &row["Organisation"]["id"]], [&organisation, &organisation]);
        assert_eq!(row["Organisation"]["Users"], json!([]));
        assert_eq!(row["Organisation"]["org_roles"][0], json!({ "id": 1, "name": "Administrator", "key": "admin" }));
    }
    assert_eq!([&rows[0]["is_platform_user"], &rows[1]["is_platform_user"]], [true, false]);
    assert_eq!(list["data"]["totalnoguests"], 1);
    assert_shape(&list["pagination"], INVITATION_PAGINATION);
    assert_eq!(list["pagination"], json!({ "current_page": 1, "page_count": 4, "total_pages_count": 1 }));
}

#[tokio::test]
async fn invitations_come_in_pages() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    invite(&ada, &organisation, &["a@example.org", "b@example.org", "c@example.org"]).await.expect(201);
    for query in ["?page=2&page_size=2", "?page=2&limit=2"] {
        let page = list(&ada, &organisation, query).await;
        assert_eq!(column(&page, "email"), ["a@example.org"]);
        assert_eq!(page["pagination"], json!({ "current_page": 2, "page_count": 1, "total_pages_count": 2 }));
    }
    let beyond = list(&ada, &organisation, "?page=9").await;
    assert_eq!(beyond["pagination"], json!({ "current_page": 9, "page_count": 0, "total_pages_count": 1 }));
    for query in ["?page=0", "?page_size=0", "?page=x", "?page_size=-1"] {
        ada.get(&format!("{}{query}", invites(&organisation))).await.expect(400);
    }
}

#[tokio::test]
async fn a_member_sees_only_the_invitations_that_they_sent() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let lead = server.member(&ada, &organisation, "lead", "project-lead").await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let secret = ada.invite(&organisation, "boss@example.org", "admin").await;
    let hers = grace.invite(&organisation, "friend@example.org", "member").await;

    let mine = list(&grace, &organisation, "").await;
    assert_eq!((column(&mine, "email"), column(&mine, "token")), (vec!["friend@example.org".into()], vec![hers.clone()]));
    assert_eq!(mine["pagination"]["total_pages_count"], 1);
    let all = list(&lead, &organisation, "?page_size=2").await;
    assert_eq!(column(&all, "email"), ["friend@example.org", "boss@example.org"]);
    assert_eq!(column(&all, "token"), [hers.as_str(), ""], "no token to a role above one's own");
    assert_eq!(column(&list(&ada, &organisation, "?page_size=2").await, "token"), [hers, secret]);

    guest.get(&invites(&organisation)).await.expect(403);
    let outsider = server.user("outsider").await;
    let foreign = outsider.get(&invites(&organisation)).await.expect(403);
    assert_eq!(foreign, ada.get(&invites(&unknown_id())).await.expect(403));
    ada.get(&invites("no-uuid")).await.expect(400);
    server.anonymous().get(&invites(&organisation)).await.expect(401);
}

async fn id_of(client: &Client, organisation: &str, email: &str) -> String {
    let list = list(client, organisation, "").await;
    let rows = list["data"]["invitations"].as_array().unwrap();
    text(&rows.iter().find(|row| row["email"] == email).expect("it is listed")["id"])
}

#[tokio::test]
async fn a_cancelled_invitation_is_gone() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let token = grace.invite(&organisation, "new@example.org", "member").await;
    let path = format!("/invite/{}", id_of(&ada, &organisation, "new@example.org").await);
    grace.delete(&path).await.done(200, "Invitation cancelled successfully");
    verify(&server.anonymous(), &token).await.expect(400);
    grace.delete(&path).await.expect(404);
    assert_eq!(column(&list(&grace, &organisation, "").await, "email"), [""; 0]);
    grace.invite(&organisation, "new@example.org", "member").await;
}

#[tokio::test]
async fn an_invitation_is_cancelled_only_by_members_who_may_know_of_it() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let lead = server.member(&ada, &organisation, "lead", "project-lead").await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let outsider = server.user("outsider").await;
    outsider.organisation("Elsewhere").await;
    let boss = ada.invite(&organisation, "boss@example.org", "admin").await;
    ada.invite(&organisation, "new@example.org", "member").await;
    let path = async |email: &str| format!("/invite/{}", id_of(&ada, &organisation, email).await);
    let (to_boss, to_new) = (path("boss@example.org").await, path("new@example.org").await);

    let unknown = ada.delete(&format!("/invite/{}", unknown_id())).await.expect(404);
    for client in [&outsider, &grace, &guest] {
        assert_eq!(client.delete(&to_new).await.expect(404), unknown);
    }
    server.anonymous().delete(&to_new).await.expect(401);
    ada.delete("/invite/no-uuid").await.expect(400);
    lead.delete(&to_boss).await.expect(403);
    ada.delete(&path(&grace.email).await).await.refused(400, Code::InvitationAccepted);
    lead.delete(&to_new).await.expect(200);
    verify(&server.anonymous(), &boss).await.expect(200);
}

#[tokio::test]
async fn a_resent_invitation_has_a_new_link_and_lifetime() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let old = grace.invite(&organisation, "new@example.org", "member").await;
    server.clock.advance(DAY * 7);
    let data = resend(&ada, &organisation, &["New@example.org ", "new@example.org"]).await.data(200, "success");
    assert_eq!(data, "Invitations sent successfully");
    let mails = server.mails("new@example.org", 2).await;
    let (first, new) = (mails[0].parameter("invitation_token"), mails[1].parameter("invitation_token"));
    assert_ne!(new, first);
    assert!(mails[1].subject.starts_with("ada "), "in the name of whoever sent it: {}", mails[1].subject);
    let shown = column(&list(&ada, &organisation, "?page_size=1").await, "token");
    assert!(shown[0] != old && shown[0] != new, "{shown:?}");
    for former in [&old, &first] {
        verify(&server.anonymous(), former).await.expect(400);
    }
    verify(&server.anonymous(), &new).await.expect(200);
}

#[tokio::test]
async fn invitations_are_all_resent_or_none_is() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let token = ada.invite(&organisation, "new@example.org", "member").await;
    for other in ["nobody@example.org", &grace.email] {
        let refused = resend(&ada, &organisation, &["new@example.org", other]).await.expect(422);
        assert!(text(&refused["message"]).contains(other), "{refused}");
    }
    resend(&ada, &organisation, &["new@example.org", "no address"]).await.expect(400);
    resend(&ada, &organisation, &[]).await.expect(400);
    let many: Vec<_> = (0..51).map(|n| format!("user{n}@example.org")).collect();
    resend(&ada, &organisation, &many.iter().map(String::as_str).collect::<Vec<_>>()).await.expect(422);
    for body in [
        json!({}),
        json!({ "org_id": organisation }),
        json!({ "emails": ["new@example.org"] }),
        json!({ "org_id": "no-uuid", "emails": ["new@example.org"] }),
        json!({ "org_id": organisation, "emails": [7] }),
    ] {
        ada.post("/invite/resend", body).await.expect(400);
    }
    ada.invite(&organisation, "marker@example.org", "member").await;
    server.mails("marker@example.org", 1).await;
    assert_eq!(server.mails("new@example.org", 1).await.len(), 1);
    verify(&server.anonymous(), &token).await.expect(200);
}

#[tokio::test]
async fn an_invitation_is_resent_only_by_members_who_may_know_of_it() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let lead = server.member(&ada, &organisation, "lead", "project-lead").await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let outsider = server.user("outsider").await;
    ada.invite(&organisation, "boss@example.org", "admin").await;
    ada.invite(&organisation, "new@example.org", "member").await;
    let foreign = resend(&outsider, &organisation, &["new@example.org"]).await.expect(404);
    assert_eq!(foreign, resend(&ada, &unknown_id(), &["new@example.org"]).await.expect(404));
    resend(&server.anonymous(), &organisation, &["new@example.org"]).await.expect(401);
    resend(&guest, &organisation, &["new@example.org"]).await.expect(403);
    resend(&grace, &organisation, &["new@example.org"]).await.expect(422);
    resend(&lead, &organisation, &["boss@example.org"]).await.expect(403);
    resend(&lead, &organisation, &["new@example.org"]).await.expect(200);
}
