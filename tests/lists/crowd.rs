//! A server's folder in which every list is as long as it can be, or longer than an answer.
//!
//! One of each thing is made through the API, and then copied in the database.

use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use crate::{
    Case,
    copies::{Copies, PEOPLE, times},
    harness::{Client, Server, blob, text},
};

pub struct Crowd {
    pub folder: TempDir,
    /// A superadmin, who owns the organisation and is in all of its channels.
    pub ada: Client,
    /// The channel `big`.
    pub channel: String,
    pub cases: Vec<Case>,
}

impl Crowd {
    pub async fn make() -> Crowd {
        let server = Server::start().await;
        let ada = server.superadmin("ada").await;
        let org = ada.organisation("Engines").await;
        let bob = server.member(&ada, &org, "bob", "member").await;
        let channel = ada.channel(&org, "big", &[&bob]).await;
        let shut = ada.channel(&org, "shut", &[&bob]).await;
        ada.put(&format!("/channels/{shut}/archive"), json!({ "archived": true })).await.expect(200);
        let open = bob.channel(&org, "open", &[]).await;
        let dm = ada.post(&format!("/organisations/{org}/dms"), json!({ "user_ids": [bob.user_id] })).await.expect(201);
        let dm = text(&dm["data"]["id"]);
        let thread = ada.say(&channel, "harbour").await;
        ada.reply(&channel, &thread, "harbour").await;
        let files = [ada.upload_one("harbour.txt", b"harbour").await];
        ada.post(&format!("/channels/{channel}/messages"), json!({ "content": "", "files": files })).await.expect(201);
        ada.invite(&org, "eve@example.org", "member").await;
        ada.post(&format!("/organisations/{org}/roles"), json!({ "name": "clerk" })).await.expect(201);
        let webhook = ada.webhook(&channel, "builds").await;
        server
            .anonymous()
            .post(&format!("/webhooks/feed/{}", text(&webhook["webhook_slug"])), json!({ "message": "ok" }))
            .await
            .expect(200);
        ada.post("/blog_categories", json!({ "name": "News" })).await.expect(201);
        let category = server.anonymous().get("/blog_categories").await.expect(200)["data"][0]["id"].take();
        ada.post("/blogs", json!({ "content": "harbour", "category_id": category })).await.expect(201);
        ada.post("/testimonials", json!({ "company_name": "Looms", "content": "It weaves" })).await.expect(201);

        let named =
            Named { org: &org, channel: &channel, shut: &shut, open: &open, dm: &dm, thread: &thread, ada: &ada, bob: &bob };
        let cases = named.cases(&text(&webhook["id"]));
        let folder = server.end_and_keep().await;
        let database = Connection::open(folder.path().join("tidings.db")).unwrap();
        database.execute_batch("begin").unwrap();
        named.fill(&Copies(&database));
        database.execute_batch("commit").unwrap();
        Crowd { folder, ada, channel, cases }
    }
}

struct Named<'a> {
    org: &'a str,
    channel: &'a str,
    shut: &'a str,
    open: &'a str,
    dm: &'a str,
    thread: &'a str,
    ada: &'a Client,
    bob: &'a Client,
}

const ID: (&str, &str) = ("id", "randomblob(16)");
const PLAIN: &str = "replace(hex(zeroblob(500)), '0', 'e')";
/// Texts that JSON makes longer, and the longest in bytes.
const QUOTES: &str = "replace(hex(zeroblob(500)), '0', '\"')";
const LONGEST: &str = "'harbour ' || replace(hex(zeroblob(19996)), '0', '\u{1d11e}')";
const CONTROLS: &str = "'harbour ' || replace(hex(zeroblob(19996)), '0', char(1))";

impl Named<'_> {
    fn fill(&self, copies: &Copies) {
        let [org, channel, shut, open, dm] = [self.org, self.channel, self.shut, self.open, self.dm].map(blob);
        let [ada, bob] = [self.ada, self.bob].map(|client| blob(&client.user_id));
        // People: 2,500 in the organisation, and in seven of its channels.
        let users = [ID, ("email", "'u' || s.n || '@example.org'"), ("username", "'u' || s.n")];
        copies.make("users", &format!("o.id = {bob}"), &times(2500), &users);
        let bobs = format!("o.user_id = {bob} and o.organisation_id = {org}");
        copies.make("organisation_members", &bobs, &format!("{PEOPLE} s"), &[("user_id", "s.id")]);

        // Channels: 2,000 live ones, 1,200 archived, 500 direct messages; Ada is in all of them but one.
        let like = |id: &str| format!("o.id = {id}");
        let name = ("name", "printf('%080d', s.n)");
        copies.make("channels", &like(&channel), &times(1000), &[ID, name, ("description", PLAIN)]);
        let name = ("name", "'open ' || s.n");
        copies.make("channels", &like(&open), &times(997), &[ID, name, ("description", PLAIN)]);
        let name = ("name", "'shut ' || s.n");
        copies.make("channels", &like(&shut), &times(1199), &[ID, name, ("description", PLAIN)]);
        copies.make("channels", &like(&dm), &times(499), &[ID, ("dm_key", "randomblob(32)")]);
        let own = format!("o.channel_id = {channel} and o.user_id = {ada}");
        let rest = "(select * from channels c where name <> 'open' and not name glob 'open *' and not exists
            (select 1 from channel_members m where m.channel_id = c.id and m.user_id = {ada})) s";
        copies.make("channel_members", &own, &rest.replace("{ada}", &ada), &[("channel_id", "s.id")]);
        let people = format!(
            "(select p.id as user, p.username, c.id from channels c, {PEOPLE} p
              where c.id in ({channel}, {shut}) or c.name glob '*000[1-5]') s"
        );
        let joined = [("channel_id", "s.id"), ("user_id", "s.user"), ("username", "s.username")];
        copies.make("channel_members", &own, &people, &joined);

        self.fill_messages(copies, &channel);
        Self::fill_rest(copies, &org, &channel, &ada);
    }

    fn fill_messages(&self, copies: &Copies, channel: &str) {
        let post = format!("o.id = {}", blob(self.thread));
        let top = [("n", "null"), ID];
        let with = |content| [top[0], top[1], ("content", content)];
        // In the channel: 300 posts, some of them as large as can be.
        copies.make("messages", &post, &times(291), &top);
        copies.make("messages", &post, &times(6), &with(LONGEST));
        copies.make("messages", &post, &times(2), &with(CONTROLS));
        copies.make("files", &format!("o.channel_id = {channel}"), &times(250), &[ID, ("description", PLAIN)]);
        // The newest in some channels and direct messages.
        for (some, number) in [("name glob '000*'", 8), ("archived_at is not null", 4), ("is_dm = 1", 5)] {
            let some = format!("(select id as channel from channels where {some} limit {number}) s");
            copies.make("messages", &post, &some, &[top[0], top[1], ("content", LONGEST), ("channel_id", "s.channel")]);
        }
        // 300 replies in one thread, and a hundred in each of the longest.
        let reply = format!("o.root = (select n from messages where id = {})", blob(self.thread));
        copies.make("messages", &reply, &times(294), &top);
        copies.make("messages", &reply, &times(5), &with(LONGEST));
        let roots = format!(
            "(select m.n as root from messages m, (select 1 from users limit 100)
              where m.root is null and m.channel_id = {channel} and length(m.content) > 1000) s"
        );
        let page = ("content", "replace(hex(zeroblob(2000)), '0', 'e')");
        copies.make("messages", &reply, &roots, &[top[0], top[1], ("root", "s.root"), page]);
        for sql in [
            "update messages set active_n = n, reply_count = (select count(*) from messages r where r.root = messages.n) where root is null",
            "update channels set last_thread = (select max(n) from messages m where m.channel_id = channels.id and root is null),
               last_n = (select max(n) from messages m where m.channel_id = channels.id)
             where id in (select channel_id from messages)",
            // The largest ones.
            "update messages set pinned_at = n where n in
               (select n from messages where channel_id = {channel} order by length(content) desc, n limit 100)",
            "insert into reactions (n, emoji, user_id, created_at)
               select m.n, 'emoji' || e.n, u.id, 1 from (select * from messages where pinned_at is not null order by length(content) desc limit 5) m,
                 (select n from messages order by n limit 50) e, (select id from users limit 150) u",
            "insert into reaction_counts select n, emoji, count(*), min(created_at) from reactions group by n, emoji",
            "update meta set value = (select max(n) from messages) where key = 'search_cursor'",
            // Of a text only the word that is looked for: its runs of three, behind the organisation's key.
            "insert into message_search (rowid, content)
               select m.n, replace(replace('*har/*arb/*rbo/*bou/*our/', '*', lower(hex(substr(c.organisation_id, 12)))), '/', char(10))
               from messages m join channels c on c.id = m.channel_id
               where m.content glob 'harbour*' and m.n not in (select rowid from message_search)",
        ] {
            copies.run(&sql.replace("{channel}", channel));
        }
    }

    fn fill_rest(copies: &Copies, org: &str, channel: &str, ada: &str) {
        let quotes = |length: u32| format!("substr({QUOTES}, 1, {length})");
        let (name, logo) = (quotes(255), format!("'https://example.org/' || {QUOTES} || {}", quotes(979)));
        copies.make(
            "organisations",
            &format!("o.id = {org}"),
            &times(199),
            &[ID, ("name", &name), ("slug", "printf('%060d', s.n)"), ("logo_url", &logo)],
        );
        let others = format!("(select id as organisation from organisations where id <> {org}) s");
        let own = format!("o.user_id = {ada} and o.organisation_id = {org}");
        copies.make("organisation_members", &own, &others, &[("organisation_id", "s.organisation")]);
        let [short, long] = [quotes(255), format!("{QUOTES} || {}", quotes(24))];
        copies.make(
            "invitations",
            "o.accepted_at is null",
            &times(299),
            &[ID, ("token_hash", "randomblob(32)"), ("mailed_hash", "randomblob(32)"), ("email", "'i' || s.n || '@example.org'")],
        );
        copies.make(
            "roles",
            "o.name = 'clerk'",
            &times(99),
            &[("id", "null"), ("uuid", "randomblob(16)"), ("name", "printf('%064d', s.n)"), ("description", &short)],
        );
        copies.make(
            "webhooks",
            "true",
            &times(49),
            &[ID, ("slug_hash", "randomblob(32)"), ("event_name", &short), ("url", &logo), ("url_by", "o.owner_id")],
        );
        copies.make("webhook_history", "true", &times(299), &[ID, ("response", &long)]);
        copies.make("sessions", &format!("o.user_id = {ada}"), &times(1100), &[ID, ("notification_hash", "randomblob(32)")]);
        copies.make(
            "sessions",
            &format!("o.id = (select min(id) from sessions where user_id = {ada})"),
            &times(1100),
            &[
                ID,
                ("notification_hash", "randomblob(32)"),
                ("token_hash", "randomblob(32)"),
                ("token_name", "printf('%.80c', 'x')"),
                ("scopes", "63"),
            ],
        );
        copies.make("blog_categories", "true", &times(1500), &[ID, ("name", "'Category ' || s.n")]);
        copies.make("blogs", "true", &times(100), &[ID]);
        copies.make("blogs", "true", &times(5), &[ID, ("content", "replace(hex(zeroblob(100000)), '0', '\u{1d11e}')")]);
        let five_thousand = "replace(hex(zeroblob(2500)), '0', '\u{1d11e}')";
        copies.make("testimonials", "true", &times(150), &[ID, ("content", five_thousand)]);
        copies.run(&format!(
            "update channels set user_count = (select count(*) from channel_members where channel_id = {channel})"
        ));
    }

    fn cases(&self, webhook: &str) -> Vec<Case> {
        let Named { org, channel, thread, ada, .. } = self;
        let [organisation, place, user] = [*org, *channel, &ada.user_id].map(blob);
        let of = |what: &str| format!("select count(*) from {what}");
        let live = "archived_at is null and is_dm = 0";
        let channels = |rule: &str| of(&format!("channels where organisation_id = {organisation} and {rule}"));
        let own = |rule: &str| {
            of(&format!("channels c join channel_members m on m.channel_id = c.id where m.user_id = {user} and {rule}"))
        };
        let members = of(&format!("channel_members where channel_id = {place}"));
        let messages = |rule: &str| of(&format!("messages where channel_id = {place} and {rule}"));
        let root = format!("root = (select n from messages where id = {})", blob(thread));
        let all_roots = "messages where root is null";
        let case = |operation, path: String, rows, key, count| Case { operation, path, rows, key, count };
        vec![
            case("GET /blog_categories", "/blog_categories".into(), "/data", "id", of("blog_categories")),
            case("GET /blogs", "/blogs?limit=1000".into(), "/data", "id", of("blogs")),
            case("GET /testimonials", "/testimonials?limit=1000".into(), "/data", "id", of("testimonials")),
            case("GET /users/organisations", "/users/organisations".into(), "/data", "id", of("organisations")),
            case(
                "GET /users/{user_id}/sessions",
                format!("/users/{}/sessions", ada.user_id),
                "/data",
                "id",
                of(&format!("sessions where user_id = {user} and token_hash is null")),
            ),
            case(
                "GET /users/{user_id}/tokens",
                format!("/users/{}/tokens", ada.user_id),
                "/data",
                "id",
                of(&format!("sessions where user_id = {user} and token_hash is not null")),
            ),
            case("GET /channels", "/channels".into(), "/channels", "id", own(live)),
            case(
                "GET /organisations/{org_id}/channels",
                format!("/organisations/{org}/channels"),
                "/channels",
                "id",
                channels(live),
            ),
            case(
                "GET /organisations/{org_id}/channels",
                format!("/organisations/{org}/channels?limit=1000"),
                "/data",
                "id",
                channels(live),
            ),
            case(
                "GET /organisations/{org_id}/user-channels",
                format!("/organisations/{org}/user-channels"),
                "/data",
                "id",
                own(live),
            ),
            case(
                "GET /organisations/{org_id}/user-channels",
                format!("/organisations/{org}/user-channels?preview=3"),
                "/data",
                "id",
                own(live),
            ),
            case(
                "GET /organisations/{org_id}/user-not-channels",
                format!("/organisations/{org}/user-not-channels"),
                "/data",
                "id",
                channels("name glob 'open*'"),
            ),
            case(
                "GET /organisations/{org_id}/channels/archived",
                format!("/organisations/{org}/channels/archived"),
                "/data",
                "channels_id",
                channels("archived_at is not null"),
            ),
            case("GET /organisations/{org_id}/dms", format!("/organisations/{org}/dms"), "/data", "id", channels("is_dm = 1")),
            case(
                "GET /organisations/{org_id}/dms/visible",
                format!("/organisations/{org}/dms/visible"),
                "/data",
                "id",
                channels("is_dm = 1"),
            ),
            case("GET /channels/{channel_id}/users", format!("/channels/{channel}/users"), "/users", "user_id", members),
            case(
                "GET /channels/{channel_id}/messages",
                format!("/channels/{channel}/messages?limit=1000"),
                "/messages",
                "id",
                messages("root is null"),
            ),
            case(
                "GET /channels/{channel_id}/pins",
                format!("/channels/{channel}/pins"),
                "/data",
                "id",
                messages("pinned_at is not null"),
            ),
            case(
                "GET /channels/{channel_id}/files",
                format!("/channels/{channel}/files"),
                "/data",
                "id",
                format!("select count(*) from files where channel_id = {}", blob(channel)),
            ),
            case(
                "GET /organisations/{org_id}/search",
                format!("/organisations/{org}/search?q=harbour&limit=1000"),
                "/data",
                "id",
                of("messages where content glob 'harbour*'"),
            ),
            case(
                "GET /threads/channels/{channel_id}",
                format!("/threads/channels/{channel}?limit=1000&messages=1000"),
                "/data",
                "thread_id",
                messages("root is null"),
            ),
            case(
                "GET /threads/organisations/{org_id}",
                format!("/threads/organisations/{org}?limit=1000&messages=1000"),
                "/data",
                "thread_id",
                of(all_roots),
            ),
            case(
                "GET /threads/{thread_id}/channels/{channel_id}",
                format!("/threads/{thread}/channels/{channel}?limit=1000"),
                "/data",
                "id",
                messages(&root),
            ),
            case(
                "GET /organisations/{org_id}/users",
                format!("/organisations/{org}/users?limit=1000"),
                "/data",
                "id",
                of(&format!("organisation_members where organisation_id = {organisation}")),
            ),
            case(
                "GET /organisations/{org_id}/users",
                format!("/organisations/{org}/users?search=%40&limit=1000"),
                "/data",
                "id",
                of(&format!("organisation_members where organisation_id = {organisation}")),
            ),
            case(
                "GET /organisations/{org_id}/users/search",
                format!("/organisations/{org}/users/search?query=%40&limit=1000"),
                "/data",
                "id",
                of(&format!("organisation_members where organisation_id = {organisation}")),
            ),
            case("GET /permissions", "/permissions".into(), "/data", "key", "select 8".into()),
            case("GET /organisations/{org_id}/roles", format!("/organisations/{org}/roles"), "/data", "id", of("roles")),
            // A user has at most 200.
            case("GET /reminders", "/reminders".into(), "/data", "id", of("reminders")),
            // An organisation has at most 100 of each.
            case("GET /organisations/{org_id}/commands", format!("/organisations/{org}/commands"), "/data", "id", of("commands")),
            case("GET /organisations/{org_id}/bots", format!("/organisations/{org}/bots"), "/data", "id", of("bots")),
            case(
                "GET /organisations/{org_id}/invites",
                format!("/organisations/{org}/invites?limit=1000"),
                "/data/invitations",
                "id",
                of("invitations"),
            ),
            // An organisation has at most 50.
            case(
                "GET /organisations/{org_id}/join-links",
                format!("/organisations/{org}/join-links"),
                "/data",
                "id",
                of("join_links"),
            ),
            case(
                "GET /webhooks/{channel_id}/all",
                format!("/webhooks/{channel}/all?limit=1000"),
                "/data/webhooks",
                "id",
                of("webhooks"),
            ),
            case(
                "GET /webhooks/{channel_id}/history/{webhook_id}",
                format!("/webhooks/{channel}/history/{webhook}?limit=1000"),
                "/data/webhooks_history",
                "id",
                of("webhook_history"),
            ),
        ]
    }
}
