//! The limits of lists: their rows by bare SQL, and then a constant answer.

use crate::{
    clients::Client,
    limits::{Limit, select},
    load::Load,
    machine::Watch,
    measure::Run,
    world::blob,
};

/// The columns that an answer shows of a message.
const MESSAGE: &str = "m.n, m.id, m.channel_id, m.root, m.user_id, m.username, u.first_name, u.last_name, u.email, u.avatar_url,
    m.content, m.mentions, m.type, m.event_name, m.action_type, m.status, m.current_status, m.reply_count, m.last_reply_at,
    m.created_at, m.updated_at, m.edited_at, m.deleted_at, m.pinned_at";

pub fn messages(rule: &str, limit: usize) -> String {
    let from = "messages m left join users u on u.id = m.user_id";
    format!("select {MESSAGE} from {from} where {rule} order by m.n desc limit {limit}")
}

/// Fifty threads and then their replies.
pub fn threads(channel: &str) -> Vec<String> {
    let rule = format!("m.channel_id = {} and m.root is null", blob(channel));
    let replies = format!(
        "select {MESSAGE} from (select m.n from messages m where {rule} order by m.n desc limit 50) t
           cross join messages m on m.root = t.n left join users u on u.id = m.user_id"
    );
    vec![messages(&rule, 50), replies]
}

pub fn channels(organisation: &str) -> String {
    format!(
        "select c.id, c.organisation_id, c.name, c.description, c.topic, c.is_private, c.is_default, c.owner_id, c.user_count,
           c.message_count, c.thread_count - cm.read_thread_count, c.mention_count, cm.is_starred, c.created_at, c.updated_at
         from organisations o cross join channel_members cm on cm.user_id = o.owner_id join channels c on c.id = cm.channel_id
         where o.id = {} and c.organisation_id = o.id and c.deleted_at is null and c.archived_at is null
         order by c.name collate nocase, c.id",
        blob(organisation)
    )
}

pub fn members(channel: &str) -> String {
    format!(
        "select cm.user_id, cm.username, u.avatar_url, cm.created_at from channel_members cm join users u on u.id = cm.user_id
         where cm.channel_id = {} order by cm.created_at, cm.user_id limit 200",
        blob(channel)
    )
}

/// One after the other, as if an answer did both: the times of an answer add up, and so does the CPU.
pub fn run(rows: &select::Plan, load: &Load, constant: &Limit) -> Run {
    let (mut run, _) = load.run(constant.id(), constant.address);
    if rows.sql.is_empty() {
        return run;
    }
    let mut client = Client::start("select", rows);
    let answers = |client: &mut Client, word| {
        client.tell(word);
        client.line().parse::<f64>().unwrap()
    };
    std::thread::sleep(load.warm_up);
    let (before, watch) = (answers(&mut client, "count"), Watch::new(client.id(), &[]));
    std::thread::sleep(load.measured);
    let (spent, selected) = (watch.spent(), answers(&mut client, "count") - before);
    run.figure = 1.0 / (1.0 / run.figure + spent.seconds / selected);
    run.cpu = run.cpu.map(|cpu| cpu + spent.server / selected * 1e6);
    run.foreign = run.foreign.max(spent.foreign);
    (run.p50, run.p99) = (None, None);
    run
}
