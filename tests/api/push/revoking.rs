//! Rights that end while posts keep coming: within a second, and nothing more is heard of what is lost.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinSet};

use crate::{
    harness::{Client, PASSWORD, Server, blob},
    socket::Socket,
};

/// The time from the answer until the client is told.
const AT_ONCE: Duration = Duration::from_secs(1);
/// Posts that are answered after the act before its silence is believed.
const ENOUGH: u32 = 20;

/// Ada's posts and replies in a channel, two at a time, without a pause until it is dropped. They say `before`
/// while nothing has happened, and `after` from the answer to the act on.
struct Load {
    acted: Arc<AtomicBool>,
    answered_after: watch::Receiver<u32>,
    _posters: JoinSet<()>,
}

impl Load {
    fn on(author: &Client, channel: &str, thread: &str) -> Load {
        let acted = Arc::new(AtomicBool::new(false));
        let (counter, answered_after) = watch::channel(0);
        let counter = Arc::new(counter);
        let mut posters = JoinSet::new();
        for thread in [None, Some(thread.to_owned())] {
            let (author, acted, counter) = (author.clone(), acted.clone(), counter.clone());
            let path = format!("/channels/{channel}/messages");
            posters.spawn(async move {
                loop {
                    let is_after = acted.load(Ordering::SeqCst);
                    let content = if is_after { "after @channel @grace" } else { "before @channel @grace" };
                    // Refused once the channel is gone.
                    author.post(&path, json!({ "content": content, "thread_id": thread })).await;
                    counter.send_modify(|count| *count += u32::from(is_after));
                }
            });
        }
        Load { acted, answered_after, _posters: posters }
    }

    async fn enough_after(&mut self) {
        self.answered_after.wait_for(|count| *count >= ENOUGH).await.expect("the posters go on");
    }
}

/// Ada's organisation with Grace in it, who listens to everything there and to a channel of her own elsewhere.
struct Stage {
    server: Server,
    ada: Client,
    grace: Client,
    organisation: String,
    channel: String,
    thread: String,
    personal: String,
    elsewhere: String,
    socket: Socket,
    load: Load,
}

async fn stage() -> Stage {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let thread = ada.say(&channel, "post").await;
    let (personal, elsewhere) = (grace.personal(&organisation), grace.general(&grace.organisation("Other").await).await);
    let socket = Socket::listening(&grace, &[&channel, &thread, &organisation, &personal, &elsewhere]).await;
    let load = Load::on(&ada, &channel, &thread);
    let mut stage = Stage { server, ada, grace, organisation, channel, thread, personal, elsewhere, socket, load };
    // The premise: she hears it, on all three ways.
    for stream in [&stage.channel, &stage.thread, &stage.personal] {
        stage.socket.on(stream).await;
    }
    stage
}

impl Stage {
    fn member(&self) -> String {
        format!("/organisations/{}/users/{}", self.organisation, self.grace.user_id)
    }

    /// The seq of the last thing that was logged of channels or members, which the posts are not.
    fn last_change(&self) -> i64 {
        self.server.number("select coalesce(max(seq), 0) from events where type in ('channel_update', 'member_update')")
    }

    /// Does it while the posts go on. Her session's end closes the socket.
    async fn closes_on(self, act: impl AsyncFnOnce(&Stage)) {
        act(&self).await;
        let answered = Instant::now();
        self.load.acted.store(true, Ordering::SeqCst);
        let (pushes, code) = self.socket.heard_until_closed().await;
        assert_eq!(code, 3503);
        assert!(answered.elapsed() < AT_ONCE, "{:?}", answered.elapsed());
        assert!(!pushes.iter().any(says_after), "{pushes:#?}");
    }

    /// Does it while the posts go on. Her subscriptions to the streams end, and she hears nothing of them that
    /// was committed later.
    async fn ends_on(mut self, streams: impl Fn(&Stage) -> Vec<String>, act: impl AsyncFnOnce(&Stage)) {
        let mut streams = streams(&self);
        let before = self.last_change();
        act(&self).await;
        let answered = Instant::now();
        self.load.acted.store(true, Ordering::SeqCst);
        // Not everything is logged; where it is, the log has the exact place.
        let limit = Some(self.last_change()).filter(|seq| *seq > before);
        let lost = streams.clone();
        let mut pushes = Vec::new();
        while !streams.is_empty() {
            let push = self.socket.push(|_| true).await;
            assert!(answered.elapsed() < AT_ONCE, "still heard: {streams:?}");
            if push["unsubscribe"].is_object() {
                assert_eq!(push["unsubscribe"]["code"], 2000, "{push}");
                let ended = streams.iter().position(|stream| push["channel"] == **stream);
                streams.remove(ended.unwrap_or_else(|| panic!("it was not hers to lose, or lost twice: {push}")));
            } else {
                assert!(lost.iter().all(|stream| push["channel"] != **stream || streams.contains(stream)), "{push}");
                pushes.push(push);
            }
        }

        self.load.enough_after().await;
        self.grace.say(&self.elsewhere, "marker").await;
        loop {
            let push = self.socket.push(|_| true).await;
            if push["channel"] == *self.elsewhere {
                break assert_eq!(push["pub"]["data"]["content"], "marker", "{push}");
            }
            assert!(lost.iter().all(|stream| push["channel"] != **stream), "{push}");
            pushes.push(push);
        }
        for push in pushes {
            assert!(!says_after(&push), "{push}");
            let is_of_lost = lost.iter().any(|stream| push["channel"] == **stream);
            let is_of_channel = push.to_string().contains(&self.channel);
            if let (true, Some(limit)) = (is_of_lost || is_of_channel, limit) {
                let late = push["pub"]["offset"].as_i64().is_none_or(|offset| offset > limit);
                // Of several rows of one act the last is the limit: her own comes before it.
                assert!(!late, "of a later commit than {limit}: {push}");
            }
        }
    }
}

fn says_after(push: &Value) -> bool {
    push.to_string().contains("after @channel")
}

fn room(stage: &Stage) -> Vec<String> {
    vec![stage.channel.clone(), stage.thread.clone()]
}

fn everything(stage: &Stage) -> Vec<String> {
    [room(stage), vec![stage.organisation.clone(), stage.personal.clone()]].concat()
}

#[tokio::test]
async fn a_log_out_ends_pushes_under_load() {
    stage().await.closes_on(async |stage| drop(stage.grace.call("POST", "/auth/logout", None).await.expect(200))).await;
}

#[tokio::test]
async fn a_changed_password_ends_pushes_under_load() {
    let other_device = async |stage: &Stage| {
        let there = stage.server.log_in("grace", PASSWORD).await;
        let body = json!({ "old_password": PASSWORD, "new_password": "a quite different one" });
        there.put("/auth/change-password", body).await.expect(200);
    };
    stage().await.closes_on(other_device).await;
}

#[tokio::test]
async fn a_revoked_session_ends_pushes_under_load() {
    let other_device = async |stage: &Stage| {
        let sessions = stage.grace.get(&format!("/users/{}/sessions", stage.grace.user_id)).await.expect(200);
        let hers = sessions["data"].as_array().unwrap().last().expect("she logged in, and then accepted an invitation");
        let there = stage.server.log_in("grace", PASSWORD).await;
        there.put("/users/revoke-session", json!({ "session_id": hers["id"] })).await.expect(200);
    };
    stage().await.closes_on(other_device).await;
}

#[tokio::test]
async fn a_disabled_account_ends_pushes_under_load() {
    stage().await.closes_on(async |stage| stage.server.sql("update users set is_active = 0 where username = 'grace'")).await;
}

#[tokio::test]
async fn leaving_a_channel_ends_pushes_under_load() {
    let leave = async |stage: &Stage| {
        stage.grace.call("POST", &format!("/channels/{}/leave", stage.channel), None).await.expect(200);
    };
    stage().await.ends_on(room, leave).await;
}

#[tokio::test]
async fn removal_from_a_channel_ends_pushes_under_load() {
    let remove = async |stage: &Stage| {
        stage.ada.delete(&format!("/channels/{}/users/{}", stage.channel, stage.grace.user_id)).await.expect(200);
    };
    stage().await.ends_on(room, remove).await;
}

#[tokio::test]
async fn a_deleted_channel_ends_pushes_under_load() {
    let delete = async |stage: &Stage| drop(stage.ada.delete(&format!("/channels/{}", stage.channel)).await.expect(204));
    stage().await.ends_on(room, delete).await;
}

#[tokio::test]
async fn removal_from_the_organisation_ends_pushes_under_load() {
    stage().await.ends_on(everything, async |stage| drop(stage.ada.delete(&stage.member()).await.expect(200))).await;
}

#[tokio::test]
async fn a_deactivated_membership_ends_pushes_under_load() {
    let deactivate = async |stage: &Stage| {
        stage.ada.put(&stage.member(), json!({ "status": "deactivated" })).await.expect(200);
    };
    stage().await.ends_on(everything, deactivate).await;
}

#[tokio::test]
async fn a_membership_ended_beside_the_server_ends_pushes_under_load() {
    let deactivate = async |stage: &Stage| {
        let user = blob(&stage.grace.user_id);
        stage.server.sql(&format!(
            "update organisation_members set status = 'deactivated' where user_id = {user} and organisation_id = {}",
            blob(&stage.organisation)
        ));
    };
    stage().await.ends_on(everything, deactivate).await;
}

#[tokio::test]
async fn a_deleted_organisation_ends_pushes_under_load() {
    let delete =
        async |stage: &Stage| drop(stage.ada.delete(&format!("/organisations/{}", stage.organisation)).await.expect(204));
    stage().await.ends_on(everything, delete).await;
}

/// No member loses a subscription: a private channel excludes only others, and an archived one stays readable.
#[tokio::test]
async fn a_channel_made_private_or_archived_keeps_its_members_subscriptions_only() {
    let Stage { server, ada, channel, organisation, mut socket, mut load, .. } = stage().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let path = format!("/channels/{channel}");
    ada.patch(&path, json!({ "is_private": true })).await.expect(200);
    bob.post("/token/subscription", json!({ "channel": channel })).await.expect(403);
    ada.put(&format!("{path}/archive"), json!({ "archived": true })).await.expect(200);
    load.acted.store(true, Ordering::SeqCst);
    load.enough_after().await;
    ada.put(&format!("{path}/archive"), json!({ "archived": false })).await.expect(200);
    let mut heard = Vec::new();
    while heard.last() != Some(&json!("unarchived")) {
        let push = socket.push(|_| true).await;
        assert!(push["unsubscribe"].is_null(), "{push}");
        assert!(heard.last() != Some(&json!("archived")) || !says_after(&push), "{push}");
        if push["channel"] == *channel && push["pub"]["data"]["notification_type"] == "channel_update" {
            heard.push(push["pub"]["data"]["data"]["action"].clone());
        }
    }
    assert_eq!(heard, ["updated", "archived", "unarchived"]);
}
