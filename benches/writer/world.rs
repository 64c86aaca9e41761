//! What all is measured in: a database that is filled to its bounds.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    api::{Api, text},
    bench::{Bench, NOW, blob},
};

/// Members of the organisation, of its default channel and of the channel of the measurements. They have no bound.
const MEMBERS: u32 = 2000;
/// Live channels of an organisation, but for the few that are made here.
const CHANNELS: u32 = 1990;
/// Webhooks that one member owns, 50 in a channel.
const WEBHOOKS: u32 = 20_000;
/// Organisations of a person.
const ORGANISATIONS: u32 = 200;
/// Posts that a reader has not seen.
pub const UNREAD: u32 = 100_000;
/// Edits of one message.
const EDITS: u32 = 2000;

pub struct World {
    /// Owns the organisation and the channel.
    pub ada: Api,
    /// Owns thousands of channels and webhooks.
    pub grace: Api,
    /// An administrator of the server.
    pub root: Api,
    pub ada_id: String,
    pub grace_id: String,
    /// Is in as many organisations as a person may be.
    pub mary_id: String,
    pub organisation: String,
    pub channel: String,
    /// A post in it, edited often.
    pub post: String,
    pub webhook: String,
    /// Of the webhook's feed.
    pub slug: String,
    /// Everybody else's.
    pub role: Value,
}

impl World {
    pub async fn make(bench: &Bench) -> World {
        let person = async |name| bench.api.person(name).await;
        let (ada, grace, mary, root) = (person("ada").await, person("grace").await, person("mary").await, person("root").await);
        let (organisation, channel) = ada.place().await;
        let role = json!({ "name": "poster", "permission_list": { "post:messages": true, "create:channels": true } });
        let role = ada.call(Method::POST, &format!("/organisations/{organisation}/roles"), role).await["data"]["id"].take();
        let body = json!({ "org_id": organisation, "emails": ["grace@x.example"], "role": "poster" });
        let token = ada.call(Method::POST, "/invite", body).await["data"]["invitations"][0]["invite_token"].take();
        grace.call(Method::POST, "/invite/verify", json!({ "token": token })).await;
        grace.call(Method::POST, &format!("/channels/{channel}/join"), Value::Null).await;
        let post = ada.call(Method::POST, &format!("/channels/{channel}/messages"), json!({ "content": "x" })).await;
        let hook = json!({ "webhook_name": "out", "webhook_url": "http://127.0.0.1:9/" });
        let hook = ada.call(Method::POST, &format!("/webhooks/{channel}"), hook).await;
        let world = World {
            ada_id: id_of(&ada).await,
            grace_id: id_of(&grace).await,
            mary_id: id_of(&mary).await,
            ada,
            grace,
            root,
            organisation,
            channel,
            post: text(&post["data"]["id"]),
            webhook: text(&hook["data"]["id"]),
            slug: text(&hook["data"]["webhook_slug"]),
            role,
        };
        bench.sql(&world.filling());
        world
    }

    fn filling(&self) -> String {
        let World { organisation, channel, post, webhook, grace_id, ada_id, mary_id, role, .. } = self;
        let [organisation, channel, post, webhook, grace, ada, mary] =
            [organisation, channel, post, webhook, grace_id, ada_id, mary_id].map(|id| blob(id));
        format!(
            "create temp table k as with recursive k (k) as (select 1 union all select k + 1 from k where k < 200000) select k from k;
         -- members, each with the role that is to be deleted, in both channels
         insert into users (id, email, username, created_at, updated_at)
           select unhex(printf('%032x', k)), 'u' || k || '@x.example', 'u' || k, 0, 0 from k where k <= {MEMBERS};
         insert into organisation_members (organisation_id, user_id, role_id, created_at, updated_at)
           select {organisation}, unhex(printf('%032x', k)), {role}, 0, 0 from k where k <= {MEMBERS};
         insert into channel_members (channel_id, user_id, username, created_at)
           select c.id, unhex(printf('%032x', k)), 'u' || k, 0 from k, channels c where k <= {MEMBERS} and c.organisation_id = {organisation};
         update channels set user_count = user_count + {MEMBERS};
         -- channels of the leaver, who is in them with others, and their webhooks
         insert into channels (id, organisation_id, name, owner_id, created_by, user_count, created_at, updated_at)
           select unhex(printf('02%030x', k)), {organisation}, 'c' || k, {grace}, {grace}, 2, 0, 0 from k where k <= {CHANNELS};
         insert into channel_members (channel_id, user_id, username, created_at)
           select unhex(printf('02%030x', k)), {grace}, 'grace', 0 from k where k <= {CHANNELS};
         insert into channel_members (channel_id, user_id, username, created_at)
           select unhex(printf('02%030x', k)), unhex(printf('%032x', k % {MEMBERS} + 1)), 'other', 1 from k where k <= {CHANNELS};
         insert into webhooks (id, channel_id, owner_id, name, url, url_by, target, slug_hash, secret, created_at, updated_at)
           select unhex(printf('03%030x', k)), unhex(printf('02%030x', (k - 1) / 50 + 1)), {grace}, 'w' || k, 'http://127.0.0.1:9/',
             {grace}, '127.0.0.1:9', unhex(printf('%064x', k)), w.secret, 0, 0 from k, webhooks w where k <= {WEBHOOKS} and w.id = {webhook};
         -- 49 more webhooks of the channel, and what one of them can send again
         insert into webhooks (id, channel_id, owner_id, name, url, url_by, target, slug_hash, secret, created_at, updated_at)
           select unhex(printf('04%030x', k)), {channel}, {ada}, 'x' || k, 'http://127.0.0.1:9/', {ada}, '127.0.0.1:9',
             unhex(printf('f%063x', k)), w.secret, 0, 0 from k, webhooks w where k <= 49 and w.id = {webhook};
         update webhooks set status = 'paused' where channel_id = {channel};
         insert into webhook_events (n, payload) select 1000000 + k, '{{}}' from k where k <= 1000;
         insert into deliveries (id, webhook_id, event_n, created_at)
           select unhex(printf('05%030x', k)), {webhook}, 1000000 + k, {NOW} - 7200000000 from k where k <= 1000;
         -- what was posted, and the log of a post that was edited often
         insert into messages (id, channel_id, user_id, username, content, created_at, updated_at)
           select unhex(printf('06%030x', k)), {channel}, {ada}, 'ada', 'x', k, k from k where k <= {UNREAD};
         update channels set thread_count = thread_count + {UNREAD}, message_count = message_count + {UNREAD},
           last_n = (select max(n) from messages), last_thread = (select max(n) from messages) where id = {channel};
         insert into events (stream, audience, type, channel_id, message_n, body, created_at)
           select e.stream, 'subscribers', 'updated', e.channel_id, e.message_n,
             json_object('data', json_object('content', hex(zeroblob(20000)), 'message', hex(zeroblob(20000)))), {NOW}
           from k, events e where k <= {EDITS} and e.message_n = (select n from messages where id = {post}) and e.type = '';
         insert into reactions (n, emoji, user_id, created_at)
           select m.n, 'e' || (k % 50), unhex(printf('%032x', k)), 0 from k, messages m where k <= {MEMBERS} and m.id = {post};
         insert into reaction_counts select n, emoji, count(*), min(created_at) from reactions group by n, emoji;
         update messages set pinned_at = 1 where n in (select n from messages where channel_id = {channel} order by n desc limit 99);
         insert into webhook_history (id, webhook_id, callback_id, direction, action_type, status_code, attempted_at)
           select x'08000000000000000000000000000001', {webhook}, x'05000000000000000000000000000001', 'out', 'delivery', 500, {NOW};
         -- organisations of one person
         insert into organisations (id, name, slug, owner_id, created_at, updated_at)
           select unhex(printf('07%030x', k)), 'o' || k, 'o' || k, {mary}, 0, 0 from k where k <= {ORGANISATIONS};
         insert into organisation_members (organisation_id, user_id, role_id, created_at, updated_at)
           select unhex(printf('07%030x', k)), {mary}, 1, 0, 0 from k where k <= {ORGANISATIONS};
         update users set role = 'superadmin' where username = 'root'"
        )
    }
}

pub async fn id_of(api: &Api) -> String {
    text(&api.call(Method::GET, "/users/me", Value::Null).await["data"]["id"])
}
