//! Compares what is counted with what is there, for `tidings doctor`. Each counter is kept by the write that changes the rows;
//! a difference is a fault of the server, or somebody has changed the database by other means.

use rusqlite::Connection;

use crate::{db::Tx, domain::messages::indexing, error::Result};

/// A rule that all rows of a table must fulfil.
pub struct Rule {
    /// The end of a sentence that begins with a number: "3 channels have a wrong number of members".
    pub says: &'static str,
    /// SQL that counts the rows that break the rule.
    find: &'static str,
    /// SQL that mends them all.
    mend: &'static str,
}

/// The expected number of a channel's messages, of its top-level posts, and of its messages that mention @channel.
macro_rules! counted {
    ($select:literal) => {
        concat!(
            "with counted as materialized (select channel_id, count(*) as messages, count(*) filter (where root is null) as threads
               from messages where deleted_at is null group by channel_id),
             expected as materialized (select c.id, coalesce(n.messages, 0) as messages, coalesce(n.threads, 0) as threads,
               (select count(*) from channel_mentions m where m.channel_id = c.id) as mentions
               from channels c left join counted n on n.channel_id = c.id) ",
            $select
        )
    };
}

/// The expected number of replies to each thread.
macro_rules! replied {
    ($select:literal) => {
        concat!(
            "with replied as materialized (select root, count(*) as replies from messages
               where root is not null and deleted_at is null group by root) ",
            $select
        )
    };
}

pub const RULES: &[Rule] = &[
    Rule {
        says: "channels have a wrong number of members",
        find: "select count(*) from channels c
            where user_count <> (select count(*) from channel_members m where m.channel_id = c.id)",
        mend: "update channels set user_count = (select count(*) from channel_members m where m.channel_id = channels.id)
            where user_count <> (select count(*) from channel_members m where m.channel_id = channels.id)",
    },
    Rule {
        says: "channels have a wrong number of messages",
        find: counted!(
            "select count(*) from channels c join expected e on e.id = c.id
             where c.deleted_at is null
               and (c.message_count, c.thread_count, c.mention_count) <> (e.messages, e.threads, e.mentions)"
        ),
        mend: counted!(
            "update channels set (message_count, thread_count, mention_count) =
               (select e.messages, e.threads, e.mentions from expected e where e.id = channels.id)
             where deleted_at is null and (message_count, thread_count, mention_count) <>
               (select e.messages, e.threads, e.mentions from expected e where e.id = channels.id)"
        ),
    },
    Rule {
        says: "threads have a wrong number of replies",
        find: replied!(
            "select count(*) from messages m left join replied r on r.root = m.n
             where m.root is null and m.reply_count <> coalesce(r.replies, 0)"
        ),
        mend: replied!(
            "update messages set reply_count = coalesce((select replies from replied r where r.root = messages.n), 0)
             where root is null and reply_count <> coalesce((select replies from replied r where r.root = messages.n), 0)"
        ),
    },
    Rule {
        says: "reactions have a wrong count",
        find: "select count(*) from reaction_counts k join messages m on m.n = k.n
            where m.deleted_at is null
              and k.count <> (select count(*) from reactions r where r.n = k.n and r.emoji = k.emoji)",
        mend: "update reaction_counts set count = (select count(*) from reactions r
              where r.n = reaction_counts.n and r.emoji = reaction_counts.emoji)
            where count <> (select count(*) from reactions r
              where r.n = reaction_counts.n and r.emoji = reaction_counts.emoji)",
    },
    Rule {
        says: "organisations have a wrong total of their files",
        find: "with held as materialized (select organisation_id, sum(size) as bytes from files where deleted_at is null group by organisation_id)
            select count(*) from file_totals t left join held h on h.organisation_id = t.organisation_id
            where t.bytes <> coalesce(h.bytes, 0)",
        mend: "with held as materialized (select organisation_id, sum(size) as bytes from files where deleted_at is null group by organisation_id)
            update file_totals set bytes = coalesce((select h.bytes from held h where h.organisation_id = file_totals.organisation_id), 0)
            where bytes <> coalesce((select h.bytes from held h where h.organisation_id = file_totals.organisation_id), 0)",
    },
    Rule {
        says: "organisations have a wrong number of channels",
        find: "select count(*) from organisations o where channels_count <> (select count(*) from channels c
            where c.organisation_id = o.id and c.is_dm = 0 and c.archived_at is null and c.deleted_at is null)",
        mend: "update organisations set channels_count = (select count(*) from channels c
              where c.organisation_id = organisations.id and c.is_dm = 0 and c.archived_at is null and c.deleted_at is null)
            where channels_count <> (select count(*) from channels c
              where c.organisation_id = organisations.id and c.is_dm = 0 and c.archived_at is null and c.deleted_at is null)",
    },
];

/// Counts the messages that belong to no channel. Nothing mends them: somebody wrote them.
pub fn count_stray_messages(conn: &Connection) -> Result<i64> {
    let sql = "select count(*) from messages m where not exists (select 1 from channels c where c.id = m.channel_id)";
    Ok(conn.query_row(sql, [], |row| row.get(0))?)
}

/// SQL for messages that the search index lacks: the background has passed them, and their text may have a trigram.
macro_rules! unindexed {
    ($select:literal) => {
        concat!(
            $select,
            " from messages m where m.deleted_at is null and length(trim(m.content)) >= 3
               and m.n <= (select cast(value as integer) from meta where key = 'search_cursor')
               and not exists (select 1 from message_search_docsize d where d.id = m.n)
               and not exists (select 1 from unindexed_edits u where u.n = m.n)"
        )
    };
}

/// Counts the messages that the search index lacks.
pub fn count_unindexed_messages(conn: &Connection) -> Result<usize> {
    let mut select = conn.prepare(unindexed!("select m.content"))?;
    let (mut rows, mut lacking) = (select.query([])?, 0);
    while let Some(row) = rows.next()? {
        // White space within a text may leave it no trigram.
        lacking += usize::from(indexing::comparable(&row.get::<_, String>("content")?).chars().count() >= indexing::TRIGRAM);
    }
    Ok(lacking)
}

/// Queues the messages that the search index lacks for the background.
pub fn queue_unindexed_messages(tx: &mut Tx) -> Result<()> {
    tx.execute(concat!("insert or ignore into unindexed_edits (n) ", unindexed!("select m.n")), [])?;
    Ok(())
}

impl Rule {
    /// Counts the rows that break the rule.
    pub fn count_violations(&self, conn: &Connection) -> Result<i64> {
        Ok(conn.query_row(self.find, [], |row| row.get(0))?)
    }

    /// Mends all rows that break the rule. Returns their number.
    pub fn mend(&self, tx: &Tx) -> Result<usize> {
        Ok(tx.execute(self.mend, [])?)
    }
}
