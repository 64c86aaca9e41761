//! Messages with their reactions, and what a channel and a thread count of them.

use std::collections::BTreeSet;

use rusqlite::OptionalExtension;

use super::{Import, KeptFile};
use crate::{
    db::Tx,
    domain::{
        files::{self, Media, importing, taking},
        messages::{
            self, media,
            mentions::{self, Mention, MentionKind},
            posting::{Caption, Content},
            reactions::EMOJIS_MAX,
            thread_members::{self, Root},
        },
        text::{self, Emoji},
        transfer::records::{File, Message, Reaction},
        webhooks::{EventName, incoming_posts},
    },
    error::{Code, Error, Refusal, Result},
    id::{ChannelId, MessageId, UserId},
    secret::{self, Hash},
};

impl Import {
    pub(super) fn message(&mut self, tx: &mut Tx, message: &Message) -> Result<bool> {
        let mut at = Destination { channel: self.require_own(tx, message.channel)?, id: message.id, root: None };
        let here = self.taken.here(tx, message.id.0)?;
        let found: Option<ChannelId> = tx
            .prepare_cached("select channel_id from messages where id = ?1")?
            .query_row([MessageId(here)], |row| row.get(0))
            .optional()?;
        if found == Some(at.channel) {
            self.later_files(tx, (at.channel, MessageId(here)), message)?;
            return Ok(false);
        }
        check(message).map_err(Error::BadRequest)?;
        at.id = MessageId(self.taken.unused(tx, message.id.0)?);
        at.root = self.root(tx, message, at.channel)?;
        let mentions: Vec<Mention> = message.mentions.iter().filter_map(|mention| self.mention(at.channel, mention)).collect();
        let n = self.insert_message(tx, message, &at, &mentions)?;
        let author = message.author.map(|author| self.account(author)).transpose()?;
        settle(tx, message, mentions::MessageKey { channel: at.channel, n, root: at.root }, author, &mentions)?;
        if message.deleted_at.is_none() {
            message.reactions.iter().try_for_each(|reaction| self.reaction(tx, n, reaction))?;
            if !message.files.is_empty() {
                let media = self.keep_files(tx, (at.channel, n), author, &message.files)?;
                media::set(tx, n, &media)?;
            }
        }
        Ok(true)
    }

    /// Gives a message that is here those of its files whose content it does not have, where they may come later.
    fn later_files(&mut self, tx: &mut Tx, (channel, id): (ChannelId, MessageId), message: &Message) -> Result<()> {
        if message.files.is_empty() || message.deleted_at.is_some() {
            return Ok(());
        }
        let Some(here) = messages::record::find(tx, id)?.filter(|here| here.deleted_at.is_none()) else { return Ok(()) };
        let mut missing = Vec::new();
        if self.with_later_files {
            let mut known: Vec<String> = importing::contents(tx, here.n)?.iter().map(|sha256| secret::hex(sha256)).collect();
            for file in &message.files {
                match known.iter().position(|sha256| *sha256 == file.sha256) {
                    Some(index) => _ = known.swap_remove(index),
                    None => missing.push(file.clone()),
                }
            }
        }
        self.count(FILES, false, message.files.len() - missing.len());
        let room = taking::MOST.saturating_sub(here.media.len());
        if missing.len() > room {
            self.leave_out("files past ten of a message", (missing.len() - room) as u64);
            missing.truncate(room);
        }
        if !missing.is_empty() {
            let added = self.keep_files(tx, (channel, here.n), here.user, &missing)?;
            media::announce(tx, &here, &[&here.media[..], &added].concat())?;
        }
        Ok(())
    }

    /// Keeps the files of a message, as its author's, or of what a program wrote, as the organisation's owner's.
    fn keep_files(
        &mut self,
        tx: &mut Tx,
        message: (ChannelId, i64),
        author: Option<UserId>,
        files: &[File],
    ) -> Result<Vec<Media>> {
        let organisation = self.id()?;
        let user = match author {
            Some(author) => author,
            None => tx
                .prepare_cached("select owner_id from organisations where id = ?1")?
                .query_row([organisation], |row| row.get(0))?,
        };
        let files = files.iter().map(File::to_media).collect::<Result<Vec<_>>>()?;
        let kept = importing::keep(tx, (organisation, user), message, files.into_iter())?;
        self.count(FILES, true, kept.len());
        let place = |file: &files::File| KeptFile { organisation, id: file.media.id, sha256: file.sha256 };
        self.files.extend(kept.iter().map(place));
        Ok(kept.into_iter().map(|file| file.media).collect())
    }

    /// The post that a message replies to.
    fn root(&mut self, tx: &Tx, message: &Message, channel: ChannelId) -> Result<Option<i64>> {
        let Some(thread) = message.thread else { return Ok(None) };
        let thread = MessageId(self.taken.here(tx, thread.0)?);
        let root: Option<i64> = tx
            .prepare_cached("select n from messages where id = ?1 and channel_id = ?2 and root is null")?
            .query_row((thread, channel), |row| row.get(0))
            .optional()?;
        if root.is_none() && !self.with_orphans {
            return Err(Error::failed(format!("the message {} replies to no post of its channel", message.id)));
        }
        if root.is_none() {
            self.leave_out("the threads of replies whose first post is not imported: each reply is a post", 1);
        }
        Ok(root)
    }

    fn insert_message(&self, tx: &Tx, message: &Message, at: &Destination, mentions: &[Mention]) -> Result<i64> {
        let is_live = message.deleted_at.is_none();
        Ok(tx
            .prepare_cached(
                "insert into messages (id, channel_id, root, user_id, username, avatar_url, content, mentions, type, event_name,
                   action_type, status, current_status, pinned_at, pinned_by, created_at, updated_at, edited_at,
                   deleted_at)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19) returning n",
            )?
            .query_row(
                rusqlite::params![
                    at.id,
                    at.channel,
                    at.root,
                    message.author.map(|author| self.seen(tx, author)).transpose()?,
                    message.username,
                    text::web_address_if_any(&message.avatar_url, "avatar_url").unwrap_or_default(),
                    if is_live { &message.content } else { "" },
                    serde_json::to_string(if is_live { mentions } else { &[] }).map_err(Error::internal)?,
                    message.r#type,
                    message.event_name,
                    message.action_type,
                    message.status,
                    message.current_status,
                    message.pinned_at.filter(|_| is_live),
                    message.pinned_by.filter(|_| is_live).map(|member| self.account(member)).transpose()?,
                    message.created_at,
                    message.updated_at,
                    message.edited_at,
                    message.deleted_at
                ],
                |row| row.get(0),
            )?)
    }

    /// A mention of this organisation's: of the message's channel, or of a person whom the export describes.
    fn mention(&self, channel: ChannelId, mention: &Mention) -> Option<Mention> {
        let id = match mention.kind {
            MentionKind::Channel => channel.0,
            MentionKind::User => self.people.get(&UserId(mention.id))?.0,
        };
        Some(Mention { id, ..mention.clone() })
    }

    fn reaction(&self, tx: &Tx, n: i64, reaction: &Reaction) -> Result<()> {
        Emoji::check(&reaction.emoji, "emoji").map_err(Error::BadRequest)?;
        let given = tx
            .prepare_cached(
                "insert into reactions (n, emoji, user_id, created_at) values (?1, ?2, ?3, ?4) on conflict do nothing",
            )?
            .execute((n, &reaction.emoji, self.seen(tx, reaction.person)?, reaction.created_at))?;
        if given > 0 {
            tx.prepare_cached(
                "insert into reaction_counts (n, emoji, count, first_at) values (?1, ?2, 1, ?3)
                 on conflict (n, emoji) do update set count = count + 1, first_at = min(first_at, excluded.first_at)",
            )?
            .execute((n, &reaction.emoji, reaction.created_at))?;
        }
        Ok(())
    }
}

/// The plural that reports use for files.
const FILES: &str = "files";

impl File {
    /// What its message keeps of it, and the SHA-256 of its content.
    fn to_media(&self) -> Result<(Media, Hash)> {
        let File { id, name, mime_type, size, sha256, picture, description, created_at } = self.clone();
        let sha256 = secret::unhex(&sha256).ok_or_else(|| Error::failed(format!("{sha256:?} is no SHA-256")))?;
        Ok((Media { id, name, mime_type, size, picture, description, created_at, base_url: String::new() }, sha256))
    }
}

/// Where a message goes.
struct Destination {
    id: MessageId,
    channel: ChannelId,
    /// The post that it replies to.
    root: Option<i64>,
}

/// Checks the texts as posts and feeds do. The author of a post is a name in the channel, which is a label, too.
fn check(message: &Message) -> Result<(), Refusal> {
    incoming_posts::Username::check(&message.username, "username")?;
    EventName::check(&message.event_name, "event_name")?;
    incoming_posts::ActionType::check(&message.action_type, "action_type")?;
    if message.deleted_at.is_none() {
        let is_caption = !message.files.is_empty();
        _ = if is_caption { Caption::check(&message.content, "content") } else { Content::check(&message.content, "content") }?;
    }
    let emojis: BTreeSet<&str> = message.reactions.iter().map(|reaction| reaction.emoji.as_str()).collect();
    if emojis.len() as i64 > EMOJIS_MAX {
        let (id, many) = (message.id, emojis.len());
        let says = format!("the message {id} has {many} different reactions, at most {EMOJIS_MAX} are allowed");
        return Err(Code::TooManyItems.says(says));
    }
    match message.mentions.len() {
        0..=mentions::MOST => Ok(()),
        many => {
            let says = format!("the message {} has {many} mentions, at most {} are allowed", message.id, mentions::MOST);
            Err(Code::TooManyItems.says(says))
        }
    }
}

/// Counts a new message in its channel and thread.
fn settle(tx: &Tx, message: &Message, key: mentions::MessageKey, author: Option<UserId>, mentions: &[Mention]) -> Result<()> {
    let mentions::MessageKey { channel, n, root } = key;
    let is_live = message.deleted_at.is_none();
    if is_live {
        mentions::record(tx, key, mentions)?;
    }
    tx.prepare_cached(
        "update channels set message_count = message_count + ?2, thread_count = thread_count + ?3, mention_count = mention_count + ?4,
           last_n = ?5, last_thread = iif(?3, ?5, last_thread), last_message_at = ?6
         where id = ?1",
    )?
    .execute((
        channel,
        is_live,
        is_live && root.is_none(),
        is_live && mentions::has_channel_mention(mentions),
        n,
        message.created_at,
    ))?;
    match root {
        None => tx.prepare_cached("update messages set active_n = n where n = ?1")?.execute([n])?,
        Some(root) if is_live => {
            let is_new = thread_members::replied(tx, &Root::at(tx, root)?, key, author, mentions)?;
            tx.prepare_cached(
                "update messages set reply_count = reply_count + 1, active_n = ?2, last_reply_at = ?3,
                   participant_count = participant_count + ?4
                 where n = ?1",
            )?
            .execute((root, n, message.created_at, is_new))?
        }
        Some(_) => 0,
    };
    Ok(())
}
