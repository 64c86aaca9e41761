//! A bot does what its role and its owner may do, and what it has made follows its owner.

use serde_json::{Value, json};
use tidings::{
    db::Tx,
    domain::{
        account_erasure,
        accounts::{
            self, by_operator,
            mailbox_proof::{self, Proof},
            tokens,
        },
        scopes::Scope,
    },
    error::Code,
    id::UserId,
};

use crate::{
    harness::{Client, PASSWORD, Server, text},
    socket::Socket,
};

/// Ada's organisation, in which Mallory is an administrator with a bot of that role. The bot's program has all scopes.
struct Scene {
    server: Server,
    ada: Client,
    grace: Client,
    mallory: Client,
    organisation: String,
    bot: String,
    program: Client,
}

async fn scene() -> Scene {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let mallory = server.member(&ada, &organisation, "mallory", "admin").await;
    let bots = format!("/organisations/{organisation}/bots");
    let bot = text(&mallory.post(&bots, json!({ "name": "Helper", "role": "admin" })).await.expect(201)["data"]["id"]);
    let program = token(&mallory, &bot).await;
    Scene { server, ada, grace, mallory, organisation, bot, program }
}

async fn token(owner: &Client, bot: &str) -> Client {
    let all: Vec<_> = Scope::ALL.into_iter().map(Scope::as_str).collect();
    let made = owner.post(&format!("/users/{bot}/tokens"), json!({ "name": "ci", "scopes": all })).await.expect(201);
    owner.with_token(&text(&made["data"]["token"]))
}

/// How Mallory's access ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Demoted,
    Deactivated,
    Removed,
    Leaves,
    Disabled,
    Erased,
    Reclaimed,
}

const ENDS: [End; 7] = [End::Demoted, End::Deactivated, End::Removed, End::Leaves, End::Disabled, End::Erased, End::Reclaimed];

impl Scene {
    fn member(&self, user: &str) -> String {
        format!("/organisations/{}/users/{user}", self.organisation)
    }

    async fn set(&self, user: &Client, change: Value) {
        self.ada.put(&self.member(&user.user_id), change).await.expect(200);
    }

    async fn end(&self, end: End) {
        let (server, mallory, member) = (&self.server, &self.mallory, self.member(&self.mallory.user_id));
        match end {
            End::Demoted => self.set(mallory, json!({ "role_id": "member" })).await,
            End::Deactivated => self.set(mallory, json!({ "status": "deactivated" })).await,
            End::Removed => _ = self.ada.delete(&member).await.expect(200),
            End::Leaves => _ = mallory.delete(&member).await.expect(200),
            End::Disabled => server.write(|tx| by_operator::set_active(tx, &mallory.email, false)).unwrap(),
            End::Erased => {
                let user = server.write(|tx| account_erasure::revoke(tx, &mallory.email)).unwrap();
                while server.write(|tx| account_erasure::leave_an_organisation(tx, user)).unwrap() {}
                server.write(|tx| account_erasure::finish(tx, user)).unwrap();
            }
            End::Reclaimed => {
                let prove = |tx: &mut Tx| {
                    let user = accounts::find_by_email(tx, &mallory.email)?.expect("Mallory");
                    mailbox_proof::prove(tx, user, Proof::Mailbox)
                };
                server.write(prove).map(drop).unwrap();
            }
        }
    }

    /// What somebody who joins by the bot's invitation or join link is answered.
    async fn enter(&self, path: &str, token: &str, name: &str) -> u16 {
        let body = json!({ "token": token, "email": format!("{name}@example.org"), "password": PASSWORD });
        self.server.anonymous().post(path, body).await.status
    }

    async fn join_link(&self) -> String {
        let path = format!("/organisations/{}/join-links", self.organisation);
        text(&self.program.post(&path, json!({ "role": "member" })).await.expect(201)["data"]["token"])
    }
}

#[tokio::test]
async fn a_demoted_administrator_is_not_promoted_by_their_bot() {
    let scene = scene().await;
    scene.set(&scene.mallory, json!({ "role_id": "member" })).await;
    for user in [&scene.mallory.user_id, &scene.bot, &scene.grace.user_id] {
        let promotion = json!({ "role_id": "admin" });
        scene.program.put(&scene.member(user), promotion).await.refused(403, Code::PermissionDenied);
    }
    scene.program.delete(&scene.member(&scene.grace.user_id)).await.refused(403, Code::PermissionDenied);
}

#[tokio::test]
async fn a_bot_does_what_its_owner_may_do_at_each_moment() {
    let scene = scene().await;
    let (program, organisation) = (&scene.program, &scene.organisation);
    let public = scene.grace.channel(organisation, "looms", &[]).await;
    let roles = format!("/organisations/{organisation}/roles");
    let may = async |name: &str| {
        let invited = json!({ "org_id": organisation, "emails": [format!("{name}@example.org")], "role": "admin" });
        let edit = json!({ "name": name, "permission_list": {} });
        [
            program.post(&roles, edit).await.status,
            program.post("/invite", invited).await.status,
            program.post("/channels", json!({ "name": name, "organisation_id": organisation })).await.status,
            program.get(&format!("/channels/{public}")).await.status,
        ]
    };
    assert_eq!(may("as-admin").await, [201, 201, 201, 200]);
    scene.set(&scene.mallory, json!({ "role_id": "member" })).await;
    assert_eq!(may("as-member").await, [403, 403, 201, 200]);
    scene.set(&scene.mallory, json!({ "role_id": "guest" })).await;
    assert_eq!(may("as-guest").await, [403, 403, 403, 404], "nor does it see more than a guest");
    let listed = program.get(&format!("/organisations/{organisation}/user-not-channels")).await.expect(200);
    assert!(!listed.to_string().contains(&public), "{listed:?}");
    let shown = program.get(&format!("/organisations/{organisation}")).await.expect(200)["data"]["channels_count"].take();
    assert_eq!(shown, 3, "the default channel, and what it has made");
    let start = program.get("/start").await.expect(200);
    assert!(!start.to_string().contains("\"can_invite_members\":true"), "{start:?}");
    // The role of an organisation's own changes while its holder keeps it.
    let role = json!({ "name": "inviter", "permission_list": { "invite:members": true, "create:channels": true } });
    scene.ada.post(&roles, role).await.expect(201);
    scene.set(&scene.mallory, json!({ "role_id": "inviter" })).await;
    assert_eq!(may("as-inviter").await, [403, 403, 201, 200]);
    scene.ada.put(&format!("{roles}/inviter"), json!({ "permission_list": { "create:channels": false } })).await.expect(200);
    assert_eq!(may("as-nobody").await, [403, 403, 403, 200]);
    scene.set(&scene.mallory, json!({ "role_id": "admin" })).await;
    assert_eq!(may("again").await, [201, 201, 201, 200]);
}

#[tokio::test]
async fn a_bot_has_no_more_than_its_own_role() {
    let scene = scene().await;
    scene.ada.put(&scene.member(&scene.bot), json!({ "role_id": "member" })).await.expect(200);
    let promotion = json!({ "role_id": "admin" });
    scene.program.put(&scene.member(&scene.grace.user_id), promotion).await.refused(403, Code::PermissionDenied);
}

#[tokio::test]
async fn nobody_comes_in_by_what_a_bot_has_made_after_its_owners_rights_have_ended() {
    for end in ENDS {
        let scene = scene().await;
        let invited = scene.program.invite(&scene.organisation, "back@example.org", "admin").await;
        let link = scene.join_link().await;
        scene.end(end).await;
        let preview = scene.server.anonymous();
        let path = format!("/organisations/{}/load-org-info?invitation_token={invited}", scene.organisation);
        assert!(preview.get(&path).await.status >= 400, "{end:?}: nothing is shown of it");
        assert!([400, 422].contains(&scene.enter("/invite/verify", &invited, "back").await), "{end:?}");
        let joined = scene.enter("/join", &link, "joiner").await;
        // A member may invite members.
        assert_eq!([400, 422].contains(&joined), end != End::Demoted, "{end:?}: {joined}");
        let again = scene.program.post("/invite", json!({ "org_id": scene.organisation, "emails": ["b@example.org"] })).await;
        assert_eq!(again.status, if end == End::Demoted { 201 } else { 401 }, "{end:?}");
        // What the bot makes for its next owner is that owner's.
        if ![End::Demoted, End::Disabled, End::Reclaimed].contains(&end) {
            let listed = scene.ada.get(&format!("/organisations/{}/bots", scene.organisation)).await.expect(200);
            assert_eq!(listed["data"][0]["owner_id"], scene.ada.user_id, "{end:?}");
            let program = token(&scene.ada, &scene.bot).await;
            let invited = program.invite(&scene.organisation, "back@example.org", "admin").await;
            assert_eq!(scene.enter("/invite/verify", &invited, "back").await, 200, "{end:?}");
            assert!([400, 422].contains(&scene.enter("/join", &link, "joiner").await), "{end:?}: it stays ended");
        }
    }
}

#[tokio::test]
async fn an_invitation_of_a_bot_is_good_again_when_its_owner_is() {
    let scene = scene().await;
    let invited = scene.program.invite(&scene.organisation, "new@example.org", "admin").await;
    scene.set(&scene.mallory, json!({ "role_id": "member" })).await;
    let body = json!({ "token": invited, "password": PASSWORD });
    scene.server.anonymous().post("/invite/verify", body.clone()).await.refused(422, Code::LinkInvalid);
    scene.set(&scene.mallory, json!({ "role_id": "admin" })).await;
    scene.server.anonymous().post("/invite/verify", body).await.expect(200);
}

#[tokio::test]
async fn a_bots_sockets_close_when_its_owners_access_ends() {
    for end in ENDS.into_iter().filter(|end| *end != End::Demoted) {
        let scene = scene().await;
        let news = scene.ada.channel(&scene.organisation, "news", &[]).await;
        scene.ada.post(&format!("/channels/{news}/users"), json!({ "user_ids": [scene.bot] })).await.expect(200);
        let socket = Socket::listening(&scene.program, &[&news]).await;
        scene.end(end).await;
        assert_eq!(socket.closed().await, 3503, "{end:?}");
        scene.program.get("/token/connection").await.expect(401);
    }
}

/// An administrator of the server may make a token for a bot whose owner's account is disabled.
#[tokio::test]
async fn a_token_of_a_bot_is_good_only_while_its_owners_account_is() {
    let scene = scene().await;
    scene.end(End::Disabled).await;
    let bot = UserId(scene.bot.parse().unwrap());
    let new = tokens::New { name: "ci".into(), scopes: vec!["read".into()], expires_at: None, channels: None };
    let (_, made) = scene.server.write(|tx| tokens::make_by_operator(tx, bot, &new)).unwrap();
    let program = scene.program.with_token(&made);
    program.get("/profile").await.expect(401);
    scene.server.write(|tx| by_operator::set_active(tx, &scene.mallory.email, true)).unwrap();
    program.get("/profile").await.expect(200);
}

/// The owner of a mailbox takes over the account of somebody who has made a command and set a bot's address for clicks.
#[tokio::test]
async fn the_programs_of_a_reclaimed_account_are_called_no_more() {
    let scene = scene().await;
    let url = json!({ "url": "https://mallory.example/clicks" });
    let bot = format!("/organisations/{}/bots/{}", scene.organisation, scene.bot);
    scene.mallory.patch(&bot, url).await.expect(200);
    let commands = format!("/organisations/{}/commands", scene.organisation);
    let command = json!({ "name": "deploy", "url": "https://mallory.example/calls" });
    let command = text(&scene.mallory.post(&commands, command).await.expect(201)["data"]["id"]);
    let reminder = json!({ "text": "Your password expires: visit https://mallory.example", "due_at": "2100-01-01T00:00:00Z" });
    scene.mallory.post("/reminders", reminder).await.expect(201);
    scene.end(End::Reclaimed).await;
    assert_eq!(scene.server.count("reminders"), 0);
    let listed = scene.ada.get(&format!("/organisations/{}/bots", scene.organisation)).await.expect(200);
    assert_eq!(listed["data"][0]["url"], "");
    let general = scene.ada.general(&scene.organisation).await;
    let call = json!({ "command": "/deploy", "text": "secret" });
    scene.grace.post(&format!("/channels/{general}/commands"), call).await.refused(403, Code::CommandOwnerBarred);
    let again = json!({ "url": "https://ada.example/calls" });
    let changed = scene.ada.patch(&format!("{commands}/{command}"), again).await.expect(200);
    assert_eq!([&changed["data"]["url"], &changed["data"]["owner_id"]], ["https://ada.example/calls", &*scene.ada.user_id]);
}
