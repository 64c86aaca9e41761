//! What the background jobs delete when its time has come: many rows of each kind, and the largest.

use std::time::Duration;

use crate::{
    bench::{Bench, Longest, NOW, blob, made},
    world::World,
};
use tidings::{
    db::Tx,
    domain::{
        accounts::{self, identities, one_time_tokens, sessions},
        channel_purging,
        log::events,
        mail_queue,
        organisations::invitations,
        webhooks::{self, delivery::queue, history},
    },
    id::UserId,
    time::Time,
};

/// Rows that the jobs change in one write.
const SLICE: u32 = 200;
/// A message of 40,000 wide characters, and one as it stands in a row of the log: twice.
const LONG: &str = "replace(hex(zeroblob(40000)), '00', char(131072))";
const LOGGED: &str = "replace(hex(zeroblob(80000)), '00', char(131072))";

pub async fn walk(bench: &mut Bench, world: &World) {
    fill(bench, world);
    let soon = Time::now() + Duration::from_secs(48 * 3600);
    bench.slices("deleted channels purged", move |tx| channel_purging::purge(tx, soon, SLICE)).await;
    bench.slices("events pruned", move |tx| events::prune(tx, soon, SLICE)).await;
    let delivered = move |tx: &mut Tx| match queue::prune(tx, soon, SLICE)? {
        0 => queue::prune_unreferenced_events(tx, SLICE), // as soon as no delivery carries them
        gone => Ok(gone),
    };
    bench.slices("deliveries and what they carried pruned", delivered).await;
    bench.slices("attempts pruned", move |tx| history::prune(tx, soon, SLICE)).await;
    bench.slices("webhooks pruned", move |tx| webhooks::purge_deleted(tx, soon, SLICE)).await;
    bench.slices("sessions pruned", move |tx| sessions::prune(tx, soon, SLICE)).await;
    bench.slices("one-time tokens pruned", move |tx| one_time_tokens::prune(tx, soon, SLICE)).await;
    bench.slices("mails pruned", move |tx| mail_queue::prune(tx, soon, SLICE)).await;
    bench.slices("counts of invitations pruned", move |tx| invitations::send::prune_daily_counts(tx, soon, SLICE)).await;
    bench.slices("id tokens pruned", move |tx| identities::prune_used_tokens(tx, soon, SLICE)).await;
    seen(bench).await;
}

async fn seen(bench: &mut Bench) {
    let seen: Vec<_> = (1..=SLICE).map(|k| (UserId(made(0, k).parse().unwrap()), Time::now())).collect();
    bench.begin().await;
    bench.app.db.write(move |tx| accounts::seen(tx, &seen)).await.unwrap();
    let later = bench.longest();
    bench.took.push(super::Case { own: Longest::default(), later, what: "200 users seen".into() });
}

/// In the channel, which is deleted by now, and in another. All of it is from today: the server's own jobs leave it alone.
fn fill(bench: &Bench, world: &World) {
    let [channel, ada, other] = [&world.channel, &world.ada_id, &made(9, 1)].map(|id| blob(id));
    let user = blob(&made(0, 1));
    bench.sql(&format!(
        "create temp table k as with recursive k (k) as (select 1 union all select k + 1 from k where k < 2000) select k from k;
         insert into messages (id, channel_id, user_id, username, content, created_at, updated_at)
           select unhex(printf('0a%030x', k)), {channel}, {ada}, 'ada', {LONG}, 0, 0 from k where k <= 50;
         insert into events (stream, audience, type, channel_id, message_n, body, created_at)
           select 'x', 'subscribers', '', channel_id, n, {LOGGED}, {NOW} from messages where substr(id, 1, 1) = x'0a';
         insert into webhook_events (n, payload, message_n)
           select n, {LOGGED}, n from messages where substr(id, 1, 1) = x'0a';
         insert into channels (id, organisation_id, name, owner_id, created_by, created_at, updated_at)
           select {other}, x'07000000000000000000000000000001', 'other', {ada}, {ada}, 0, 0;
         insert into webhooks (id, channel_id, owner_id, name, slug_hash, secret, created_at, updated_at, deleted_at)
           select unhex(printf('09%030x', k)), {other}, {ada}, 'x', randomblob(32), x'00', 0, 0, {NOW} from k;
         insert into webhook_events (n, payload) select 2000000 + k, case when k <= 50 then {LOGGED} else '{{}}' end from k;
         insert into deliveries (id, webhook_id, event_n, created_at)
           select unhex(printf('09%030x', k)), x'09000000000000000000000000000001', 2000000 + k, {NOW} from k;
         insert into webhook_history
           (id, webhook_id, callback_id, direction, action_type, status_code, error, response, attempted_at)
           select unhex(printf('09%030x', k)), x'09000000000000000000000000000001', x'00', 'out', 'delivery', 500, 'failed',
             hex(zeroblob(512)), {NOW} from k;
         insert into events (stream, audience, type, body, created_at) select 'x', 'subscribers', '', {LOGGED}, {NOW} from k where k <= 50;
         insert into events (stream, audience, type, body, created_at) select 'x', 'subscribers', '', '{{}}', {NOW} from k;
         insert into sessions (id, user_id, notification_hash, created_at, expires_at)
           select randomblob(16), {user}, randomblob(32), 0, {NOW} from k;
         insert into one_time_tokens (hash, purpose, user_id, created_at, expires_at)
           select randomblob(32), 'magic_link', {user}, 0, {NOW} from k;
         insert into mails (id, recipient, kind, created_at) select randomblob(16), 'x@x.example', 'notice', {NOW} from k;
         insert into invitation_counts (counted, day, mailed) select randomblob(16), {NOW} / 86400000000, 1 from k;
         insert into used_id_tokens (hash, expires_at) select randomblob(32), {NOW} + 3600000000 from k"
    ));
}
