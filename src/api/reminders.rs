//! Reminders of the caller's own.

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};
use serde::Serialize;

use super::{
    http::{
        auth::{Bearer, POST, READ},
        body::{Body, Text, into_string},
        envelope::{Created, Done, Success, created, done, ok},
        framework_traits::Nullable,
        listing::{Address, Listed, Offset, Size, answer_list, fill, page_or_whole_list},
        rows::Rows,
    },
    tags::Tag,
};
use crate::{
    db::Tx,
    domain::reminders,
    error::Result,
    id::{ChannelId, ReminderId},
    state::App,
    time::Time,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Make a reminder
    ///
    /// At its time, the caller's devices are told by `reminder_update`, and the reminder is due until it is deleted. A user has up to
    /// 200 of them.
    #[oai(path = "/reminders", method = "post", operation_id = "createReminder", tag = "Tag::Reminders")]
    async fn create(&self, caller: Bearer<POST>, app: Data<&App>, body: Body<NewReminder>) -> Result<Created<Reminder>> {
        let Body(NewReminder { text, due_at, channel_id }, bytes) = body;
        let made = app.db.write_sized(bytes, move |tx| reminders::create(tx, caller.0, &text, due_at, channel_id)).await?;
        Ok(created("Reminder created successfully", made.into()))
    }

    /// List the caller's reminders
    ///
    /// Those that are due first come first.
    #[oai(path = "/reminders", method = "get", operation_id = "listReminders", tag = "Tag::Reminders")]
    async fn list(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        address: Address,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 1,000, the default. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
    ) -> Result<Listed<Rows<Reminder>>> {
        let page = page_or_whole_list(*offset, *limit);
        let found = app.db.read(|conn| fill(page, |part| reminders::list(conn, caller.0, part), Reminder::from))?;
        Ok(answer_list("Reminders retrieved successfully", found, &address))
    }

    /// Change a reminder
    ///
    /// Omitted fields stay as they are. With another time, the caller is reminded again.
    #[oai(path = "/reminders/:reminder_id", method = "patch", operation_id = "updateReminder", tag = "Tag::Reminders")]
    async fn update(
        &self,
        caller: Bearer<POST>,
        app: Data<&App>,
        reminder_id: Path<ReminderId>,
        body: Body<EditReminder>,
    ) -> Result<Success<Reminder>> {
        let Body(EditReminder { text, due_at }, bytes) = body;
        let text = into_string(text);
        let change = move |tx: &mut Tx| reminders::update(tx, caller.0, *reminder_id, text.as_deref(), due_at);
        Ok(ok("Reminder updated successfully", app.db.write_sized(bytes, change).await?.into()))
    }

    /// Delete a reminder
    ///
    /// Whether it is due or not.
    #[oai(path = "/reminders/:reminder_id", method = "delete", operation_id = "deleteReminder", tag = "Tag::Reminders")]
    async fn delete(&self, caller: Bearer<POST>, app: Data<&App>, reminder_id: Path<ReminderId>) -> Result<Done> {
        app.db.write(move |tx| reminders::delete(tx, caller.0, *reminder_id)).await?;
        Ok(done("Reminder deleted successfully"))
    }
}

#[derive(Object)]
struct NewReminder {
    /// What it is about.
    text: Text<reminders::Text>,
    /// When the caller is to be reminded: a time to come.
    due_at: Time,
    /// The channel that it belongs to, which clients lead to.
    channel_id: Option<ChannelId>,
}

#[derive(Object)]
struct EditReminder {
    /// What it is about.
    text: Option<Text<reminders::Text>>,
    /// When the caller is to be reminded: a time to come.
    due_at: Option<Time>,
}

#[derive(Object, Serialize)]
struct Reminder {
    id: ReminderId,
    text: String,
    /// The channel that it was made in; null if there is none.
    channel_id: Nullable<ChannelId>,
    due_at: Time,
    /// Whether its time has come.
    is_due: bool,
    created_at: Time,
}

impl From<reminders::Reminder> for Reminder {
    fn from(found: reminders::Reminder) -> Self {
        let reminders::Reminder { id, text, channel_id, due_at, is_due, created_at } = found;
        Reminder { id, text, channel_id: Nullable(channel_id), due_at, is_due, created_at }
    }
}
