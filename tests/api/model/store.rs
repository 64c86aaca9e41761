//! The state that a client keeps of its user's organisations, changed by publications only.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::fetch::{
    CHANNEL, CHANNEL_MEMBER, MEMBER, ORGANISATION, OWN, ROLE, UNREAD, assign, message, participants_of, pick, reactions_of,
};
use crate::harness::text;

const NEVER: &str = "0001-01-01T00:00:00Z";

pub struct Store {
    pub me: String,
    /// The organisations, as [`super::fetch::all`] answers them.
    pub organisations: Value,
    /// The messages of which it was told that they mention its user.
    pub mentions: BTreeSet<String>,
    /// Whether each publication follows the kept state directly. Otherwise some are older than what was fetched, and tell of what
    /// is gone since; all together lead to the present state.
    pub is_live: bool,
}

/// A request that a client makes because a publication doesn't contain everything.
#[derive(Debug, PartialEq, Eq)]
pub enum Then {
    /// The user joined a channel, so its messages and members are fetched.
    Fetch { organisation: String, channel: String },
    /// A channel that was archived when the client started is open again, so its unread counts are fetched.
    Count { organisation: String, channel: String },
    /// A new thread has its own stream, to which the client subscribes.
    Listen(String),
}

impl Store {
    /// Takes a publication in.
    pub fn hear(&mut self, stream: &str, publication: &Value) -> Option<Then> {
        let Some(kind) = publication.get("notification_type") else { return self.posted(stream, publication) };
        let (data, ids) = (&publication["data"], &publication["modification_ids"]);
        let channel = data.get("channels_id").or(ids.get("channel_id")).and_then(Value::as_str);
        if !self.is_live && kind != "channel_update" && channel.is_some_and(|id| !self.has(id)) {
            return None;
        }
        match kind.as_str().unwrap() {
            "channel_update" => return self.channel_update(stream, data),
            "member_update" => self.member_update(data),
            "role_update" => self.role_update(data),
            "organisation_update" => self.organisation_update(data),
            "unread_thread_change" => {
                let channel = self.channel(&data["channels_id"]);
                channel["unread"] = pick(data, UNREAD);
            }
            "thread_unread" => {
                // Recovery tells a channel's last change alone, which may come after a reply in it: with that change, all of the
                // channel is fetched.
                if !self.has(&text(&data["channels_id"])) {
                    return None;
                }
                let own = self.channel(&data["channels_id"])["own_threads"].as_object_mut().unwrap();
                match data["message_count"] != 0 && data["is_followed"] == true {
                    false => _ = own.remove(&text(&data["thread_id"])),
                    true => _ = own.insert(text(&data["thread_id"]), pick(data, OWN)),
                }
            }
            "trigger_notification" => {
                assert!(["joined", "leave", "create"].iter().any(|action| data["trigger_action"] == *action))
            }
            "channel_star" => assign(self.channel(&data["channels_id"]), data, "is_starred"),
            "channel_mute" => assign(self.channel(&data["channels_id"]), data, "is_muted"),
            "channel_mention" => {
                assert!(self.channel(&ids["channel_id"]).is_object(), "of what the user may read");
                self.mentions.insert(text(&data["id"])); // the count comes by itself
            }
            "reply_count_change" => {
                assert_eq!(data["id"], ids["message_id"], "the reply itself");
                self.posted(stream, data);
                self.recount(publication);
            }
            "updated" => {
                assert_eq!(data["edited"], true);
                self.replace(ids, data);
            }
            "updated_media" => self.replace(ids, data),
            "deleted" => self.deleted(publication),
            "status_update" => {
                if let Some(thread) = self.expected(ids) {
                    thread["current_status"] = data["current_status"].clone();
                }
            }
            "reaction_event" => self.reaction(stream, ids, data),
            "pinned_message_event" | "unpinned_message_event" => {
                self.replace(ids, data);
                self.pin(ids, kind == "pinned_message_event");
            }
            other => panic!("nobody knows of {other}: {publication:#}"),
        }
        None
    }

    /// Whether the stream is one of an organisation, a channel or a thread that is kept.
    pub fn has(&self, stream: &str) -> bool {
        let organisations = self.organisations.as_object().unwrap();
        let mut channels = organisations.values().flat_map(|one| one["channels"].as_object().unwrap());
        organisations.contains_key(stream.split('/').next().unwrap())
            || channels.any(|(id, channel)| id == stream || channel["threads"].get(stream).is_some())
    }

    pub fn has_message(&self, id: &str) -> bool {
        let organisations = self.organisations.as_object().unwrap().values();
        let channels = organisations.flat_map(|one| one["channels"].as_object().unwrap().values());
        let mut threads = channels.flat_map(|channel| channel["threads"].as_object().unwrap());
        threads.any(|(thread, root)| thread == id || root["replies"].get(id).is_some())
    }

    /// Drops the organisation or channel whose stream may not be heard any more.
    pub fn lose(&mut self, stream: &str) {
        let organisations = self.organisations.as_object_mut().unwrap();
        organisations.remove(stream);
        organisations.values_mut().for_each(|one| _ = one["channels"].as_object_mut().unwrap().remove(stream));
    }

    fn posted(&mut self, stream: &str, data: &Value) -> Option<Then> {
        let mut message = message(data);
        let (id, thread, channel) = (text(&data["id"]), text(&data["thread_id"]), text(&data["channel_id"]));
        if !self.is_live && !self.has(&channel) {
            return None;
        }
        let threads = &mut self.channel(&data["channel_id"])["threads"];
        if id != thread {
            assert!(stream == thread || stream == channel, "a reply is its thread's");
            if let Some(root) = threads.get_mut(&thread) {
                root["replies"][&id] = message;
            }
            return None;
        }
        message["replies"] = threads.get_mut(&id).map_or_else(|| json!({}), |known| known["replies"].take());
        threads[&id] = message;
        Some(Then::Listen(id))
    }

    /// A channel that the user is in; publications about other channels are a failure.
    #[track_caller]
    fn channel(&mut self, id: &Value) -> &mut Value {
        let id = id.as_str().expect("a channel's id");
        let mut organisations = self.organisations.as_object_mut().unwrap().values_mut();
        organisations.find_map(|one| one["channels"].get_mut(id)).unwrap_or_else(|| panic!("told of the channel {id}"))
    }

    /// None of what is gone: a reply's end is told to channel and thread alike.
    fn message(&mut self, ids: &Value) -> Option<&mut Value> {
        let (id, thread) = (text(&ids["message_id"]), text(&ids["thread_id"]));
        let thread_of_it = self.channel(&ids["channel_id"])["threads"].get_mut(&thread)?;
        if id == thread { Some(thread_of_it) } else { thread_of_it["replies"].get_mut(&id) }
    }

    /// [`Store::message`] of what a client must have that has missed nothing.
    #[track_caller]
    fn expected(&mut self, ids: &Value) -> Option<&mut Value> {
        let is_live = self.is_live;
        let found = self.message(ids);
        assert!(found.is_some() || !is_live, "a live message: {ids}");
        found
    }

    /// Replaces a message that is kept by what was pushed of it.
    fn replace(&mut self, ids: &Value, data: &Value) {
        if let Some(kept) = self.message(ids) {
            let mut new = message(data);
            if let Some(replies) = kept.get_mut("replies") {
                new["replies"] = replies.take();
            }
            *kept = new;
        }
    }

    /// Applies what a new or deleted message did to its thread.
    fn recount(&mut self, publication: &Value) {
        let ids = &publication["modification_ids"];
        let thread = json!({ "channel_id": ids["channel_id"], "thread_id": ids["thread_id"], "message_id": ids["thread_id"] });
        if let Some(thread) = self.message(&thread) {
            let change = &publication["update_change"];
            assert_eq!(change["thread_count"], change["message_count"]);
            assign(thread, change, "message_count last_reply participant_count");
            thread["participants"] = participants_of(change);
        }
    }

    fn deleted(&mut self, publication: &Value) {
        self.recount(publication);
        let ids = &publication["modification_ids"];
        let (id, thread) = (text(&ids["message_id"]), text(&ids["thread_id"]));
        self.pin(ids, false);
        let threads = self.channel(&ids["channel_id"])["threads"].as_object_mut().unwrap();
        let Some(root) = threads.get_mut(&thread) else { return };
        if id == thread {
            assign(root, &json!({ "content": "", "mentions": [], "reactions": [] }), "content mentions reactions");
            assign(root, &publication["data"], "deleted_at");
        } else {
            root["replies"].as_object_mut().unwrap().remove(&id);
        }
        // A post keeps its place for its replies.
        if root["deleted_at"] != NEVER && root["message_count"] == 0 {
            threads.remove(&thread);
        }
    }

    fn reaction(&mut self, stream: &str, ids: &Value, data: &Value) {
        let (emoji, user) = (&data["emoji"], &data["user_id"]);
        // The thread's stream tells again what the channel's told.
        let is_next = self.is_live && ids["channel_id"] == stream;
        let Some(message) = self.expected(ids) else { return };
        let all = reactions_of(data);
        let given = |reactions: &Value| -> BTreeSet<(String, String)> {
            let one = |reaction: &Value| {
                let users = reaction["users"].as_array().unwrap();
                users.iter().map(|user| (text(&reaction["emoji"]), text(user))).collect::<Vec<_>>()
            };
            reactions.as_array().unwrap().iter().flat_map(one).collect()
        };
        if is_next {
            let (mut expected, change) = (given(&message["reactions"]), (text(emoji), text(user)));
            let is_change = if data["action"] == "added" { expected.insert(change) } else { expected.remove(&change) };
            assert!(is_change, "{data}");
            assert_eq!(given(&all), expected, "the whole list");
            let count = expected.iter().filter(|(given, _)| *given == *emoji).count();
            assert_eq!(data["count"], count, "{data}");
        }
        message["reactions"] = all;
    }

    fn pin(&mut self, ids: &Value, is_pinned: bool) {
        let pins = self.channel(&ids["channel_id"])["pins"].as_array_mut().unwrap();
        pins.retain(|id| *id != ids["message_id"]);
        if is_pinned {
            pins.insert(0, ids["message_id"].clone());
        }
        if let Some(message) = self.message(ids) {
            message["is_pinned"] = json!(is_pinned);
            if !is_pinned {
                message["pin"] = Value::Null;
            }
        }
    }

    fn channel_update(&mut self, stream: &str, data: &Value) -> Option<Then> {
        let (organisation, id, user) = (text(&data["organisation_id"]), text(&data["channels_id"]), text(&data["user_id"]));
        let action = data["action"].as_str().unwrap();
        let channels = self.organisations[&organisation]["channels"].as_object_mut().expect("an organisation of the user's");
        if action == "deleted" || (action == "left" && user == self.me) {
            channels.remove(&id);
            return None;
        }
        let Some(channel) = channels.get_mut(&id) else {
            assert!(!self.is_live || stream == format!("{organisation}/{}", self.me), "told of the channel {id}");
            return Some(Then::Fetch { organisation, channel: id });
        };
        assign(channel, data, CHANNEL);
        if action == "unarchived" && channel["unread"].is_null() {
            return Some(Then::Count { organisation, channel: id });
        }
        match action {
            "joined" | "renamed" => channel["members"][&user] = pick(data, CHANNEL_MEMBER),
            "left" => _ = channel["members"].as_object_mut().unwrap().remove(&user),
            _ => {}
        }
        None
    }

    fn member_update(&mut self, data: &Value) {
        let (organisation, user) = (text(&data["organisation_id"]), text(&data["user_id"]));
        let (is_gone, is_me) = (data["action"] == "removed", user == self.me);
        if is_me && (is_gone || data["status"] == "deactivated") {
            self.organisations.as_object_mut().unwrap().remove(&organisation);
            return;
        }
        let organisation = &mut self.organisations[&organisation];
        if is_gone {
            organisation["members"].as_object_mut().unwrap().remove(&user);
            return;
        }
        organisation["members"][&user] = pick(data, MEMBER);
        if is_me {
            organisation["org_role"] = data["role"].clone();
        }
        let channels = organisation["channels"].as_object_mut().unwrap().values_mut();
        for thread in channels.flat_map(|channel| channel["threads"].as_object_mut().unwrap().values_mut()) {
            let author = |message: &mut Value| {
                if message["user_id"] == user {
                    assign(message, data, "full_name avatar_url");
                }
            };
            author(thread);
            thread["replies"].as_object_mut().unwrap().values_mut().for_each(author);
        }
    }

    fn role_update(&mut self, data: &Value) {
        let organisation = &mut self.organisations[text(&data["organisation_id"])];
        let roles = organisation["roles"].as_object_mut().unwrap();
        let id = data["id"].to_string();
        if data["action"] == "deleted" {
            roles.remove(&id);
            return;
        }
        let before = roles.insert(id, pick(data, ROLE)).map(|role| role["name"].clone());
        let rename = |role: &mut Value| {
            if before.as_ref() == Some(role) {
                *role = data["name"].clone();
            }
        };
        rename(&mut organisation["org_role"]);
        organisation["members"].as_object_mut().unwrap().values_mut().for_each(|member| rename(&mut member["role_key"]));
    }

    fn organisation_update(&mut self, data: &Value) {
        let id = text(&data["organisation_id"]);
        if data["action"] == "deleted" {
            self.organisations.as_object_mut().unwrap().remove(&id);
        } else {
            assign(&mut self.organisations[&id], data, ORGANISATION);
        }
    }
}
