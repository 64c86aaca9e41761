//! Channels, their members and their webhooks.

use rusqlite::OptionalExtension;

use super::{Import, foreign};
use crate::{
    db::{Tx, log_reader},
    domain::{
        accounts,
        channels::{Description, Topic, direct_messages, record},
        messages::{thread_members, thread_unreads},
        transfer::{
            notifications,
            records::{Channel, ChannelMember, UnreadThread, Webhook},
        },
        webhooks::{self, subscription::Subscription, trigger_words::TriggerWords},
    },
    error::{Error, Result},
    id::{ChannelId, MessageId, OrganisationId, UserId},
    secret,
};

impl Import {
    pub(super) fn channel(&mut self, tx: &mut Tx, channel: &Channel) -> Result<bool> {
        let id = self.id()?;
        let here = self.channel_here(tx, channel.id)?;
        if organisation_of(tx, here)? == Some(id) {
            return Ok(false);
        }
        let here = ChannelId(self.taken.unused(tx, channel.id.0)?);
        let is_listed = channel.archived_at.is_none() && !channel.is_dm;
        let name = if is_listed { self.free_name(tx, id, &channel.name)? } else { channel.name.clone() };
        // The name of a direct message has those of its members.
        let named = if channel.is_dm { Description::check(&name, "name") } else { record::Name::check(&name, "name") };
        named
            .and(Topic::check(&channel.topic, "topic"))
            .and(Description::check(&channel.description, "description"))
            .map_err(Error::BadRequest)?;
        tx.prepare_cached(
            "insert into channels (id, organisation_id, name, description, topic, is_private, is_default, is_dm, dm_key, owner_id,
               created_by, created_at, updated_at, archived_at)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7 and not exists (select 1 from channels
               where organisation_id = ?2 and is_default = 1 and deleted_at is null), ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(rusqlite::params![
            here,
            id,
            name,
            channel.description,
            channel.topic,
            channel.is_private || channel.is_dm,
            channel.is_default,
            channel.is_dm,
            self.key(tx, id, channel)?,
            self.account(channel.owner)?,
            self.account(channel.created_by)?,
            channel.created_at,
            channel.updated_at,
            channel.archived_at
        ])?;
        if is_listed {
            record::count(tx, id, 1)?;
        }
        Ok(true)
    }

    /// The channel's name, or that with a number if another channel of the organisation has it.
    fn free_name(&mut self, tx: &Tx, id: OrganisationId, name: &str) -> Result<String> {
        let mut taken = tx.prepare_cached(
            "select 1 from channels where organisation_id = ?1 and name = ?2 and deleted_at is null and archived_at is null and is_dm = 0",
        )?;
        let free = accounts::first_free(name, |name| Ok(taken.exists((id, name))?))?;
        if free != name {
            self.leave_out(format!("the name of the channel {name}, which another one has: it is {free}"), 1);
        }
        Ok(free)
    }

    /// The key of a direct message by which it is opened; none if it can't be opened again, or its members have another one.
    fn key(&self, tx: &Tx, id: OrganisationId, channel: &Channel) -> Result<Option<[u8; 32]>> {
        if !channel.is_dm || channel.participants.is_empty() {
            return Ok(None);
        }
        let users: Vec<UserId> = channel.participants.iter().map(|person| self.account(*person)).collect::<Result<_>>()?;
        let key = direct_messages::key(&users);
        let is_taken =
            tx.prepare_cached("select 1 from channels where organisation_id = ?1 and dm_key = ?2")?.exists((id, &key[..]))?;
        Ok((!is_taken).then_some(key))
    }

    pub(super) fn channel_member(&mut self, tx: &mut Tx, member: &ChannelMember) -> Result<bool> {
        let channel = self.require_own(tx, member.channel)?;
        let user = self.seen(tx, member.person)?;
        let read = member.read.map(|read| self.taken.here(tx, read.0).map(MessageId)).transpose()?;
        if tx.prepare_cached("select 1 from channel_members where channel_id = ?1 and user_id = ?2")?.exists((channel, user))? {
            return Ok(false);
        }
        let mut taken = tx.prepare_cached("select 1 from channel_members where channel_id = ?1 and username = ?2")?;
        let username = accounts::check_imported_username(&member.username).map_err(Error::BadRequest)?;
        let username = accounts::first_free(&username, |name| Ok(taken.exists((channel, name))?))?;
        // What comes after the mark is counted, as it is less than what comes before. Without a mark nothing is read.
        tx.prepare_cached(
            "with mark as (select coalesce((select n from messages where id = ?3 and channel_id = ?1), 0) as n)
             insert into channel_members (channel_id, user_id, username, joined_seq, read_n, read_thread_count, read_mention_count,
               read_id, is_starred, is_muted, created_at)
             select c.id, ?2, ?4, ?5, mark.n,
               iif(?3 is null, 0, c.thread_count - (select count(*) from messages m
                 where m.channel_id = c.id and m.root is null and m.deleted_at is null and m.n > mark.n)),
               iif(?3 is null, 0, c.mention_count - (select count(*) from channel_mentions x
                 where x.channel_id = c.id and x.n > mark.n
                   and not exists (select 1 from messages own where own.n = x.n and own.root is not null and own.user_id = ?2))),
               (select passed.id from messages passed where passed.channel_id = c.id and passed.root is null
                 and passed.n <= mark.n and passed.deleted_at is null order by passed.n desc limit 1), ?6, ?7, ?8
             from channels c, mark where c.id = ?1",
        )?
        .execute((channel, user, read, username, log_reader::last_seq(tx)?, member.is_starred, member.is_muted, member.created_at))?;
        tx.prepare_cached("update channels set user_count = user_count + 1 where id = ?1")?.execute([channel])?;
        notifications::keep_in_channel(tx, channel, user, &member.notifications)?;
        self.thread_marks(tx, channel, user, member)?;
        Ok(true)
    }

    /// Marks the member's threads of the channel as read but for those that are not, and lets them leave those that they have left.
    fn thread_marks(&mut self, tx: &Tx, channel: ChannelId, user: UserId, member: &ChannelMember) -> Result<()> {
        tx.prepare_cached(
            "update thread_members set read_n = r.active_n, read_reply_count = r.reply_count, mention_count = 0
             from messages r
             where r.n = thread_members.root and thread_members.user_id = ?1 and thread_members.channel_id = ?2",
        )?
        .execute((user, channel))?;
        for UnreadThread { thread, read } in &member.unread_threads {
            let Some(root) = self.thread(tx, channel, *thread)? else { continue };
            let read = read.map(|read| self.taken.here(tx, read.0).map(MessageId)).transpose()?;
            thread_members::set_followed(tx, root, channel, user, true)?;
            thread_unreads::put(tx, root, user, read)?;
        }
        for thread in &member.left_threads {
            let Some(root) = self.thread(tx, channel, *thread)? else { continue };
            thread_members::set_followed(tx, root, channel, user, false)?;
        }
        Ok(())
    }

    /// The `n` of a post of the channel that the file names.
    fn thread(&mut self, tx: &Tx, channel: ChannelId, thread: MessageId) -> Result<Option<i64>> {
        let thread = MessageId(self.taken.here(tx, thread.0)?);
        Ok(tx
            .prepare_cached("select n from messages where id = ?1 and channel_id = ?2 and root is null")?
            .query_row((thread, channel), |row| row.get(0))
            .optional()?)
    }

    /// It is inactive until its owner gives it a secret that the receiver knows.
    pub(super) fn webhook(&mut self, tx: &mut Tx, webhook: &Webhook) -> Result<bool> {
        let channel = self.require_own(tx, webhook.channel)?;
        let found: Option<ChannelId> = tx
            .prepare_cached("select channel_id from webhooks where id = ?1")?
            .query_row([webhook.id], |row| row.get(0))
            .optional()?;
        if let Some(of) = found {
            return if of == channel { Ok(false) } else { Err(foreign("webhook", webhook.id)) };
        }
        let owner = self.account(webhook.owner)?;
        let name = webhooks::Name::check(&webhook.name, "name").map_err(Error::BadRequest)?;
        let event_name = webhooks::EventName::check(&webhook.event_name, "event_name").map_err(Error::BadRequest)?;
        let events = webhook.events.as_deref().map_or(Ok(Subscription::DEFAULT), Subscription::from_names)?;
        let trigger_words = TriggerWords::of(&webhook.trigger_words)?;
        let (url, target) = match webhooks::check_url(tx.site(), &webhook.url) {
            Ok(checked) => checked,
            Err(err) => {
                self.leave_out(format!("the address of the webhook {name}: {err}"), 1);
                Default::default()
            }
        };
        let keys = tx.site().keys();
        tx.prepare_cached(
            "insert into webhooks (id, channel_id, owner_id, name, event_name, url, url_by, target, slug_hash, secret, status, events,
               trigger_words, organisation_id, is_ordered, from_seq, created_at, updated_at)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'inactive', ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        )?
        .execute(rusqlite::params![
            webhook.id,
            channel,
            owner,
            name,
            event_name,
            url,
            (!url.is_empty()).then_some(owner),
            target,
            secret::sha256(keys.webhook_slug(webhook.id, 1, None)),
            keys.seal(&secret::signing_secret()),
            events,
            trigger_words,
            webhook.all_channels.then(|| self.id()).transpose()?,
            webhook.ordered,
            log_reader::last_seq(tx)?,
            webhook.created_at,
            webhook.updated_at
        ])?;
        Ok(true)
    }

    /// The identifier here of a channel of the file. Fails unless it is the organisation's.
    pub(super) fn require_own(&mut self, tx: &Tx, channel: ChannelId) -> Result<ChannelId> {
        let here = self.channel_here(tx, channel)?;
        if organisation_of(tx, here)? == Some(self.id()?) { Ok(here) } else { Err(foreign("channel", channel)) }
    }

    fn channel_here(&mut self, tx: &Tx, channel: ChannelId) -> Result<ChannelId> {
        Ok(ChannelId(self.taken.here(tx, channel.0)?))
    }
}

fn organisation_of(tx: &Tx, channel: ChannelId) -> Result<Option<OrganisationId>> {
    Ok(tx
        .prepare_cached("select organisation_id from channels where id = ?1")?
        .query_row([channel], |row| row.get(0))
        .optional()?)
}
