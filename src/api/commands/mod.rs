//! Commands of organisations: how they are managed. Below: how they are called and answered.

mod answer_bodies;
pub mod calling;

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};
use serde::Serialize;

use crate::{
    api::{
        http::{
            auth::{Bearer, READ},
            body::{Body, Text, into_string},
            envelope::{Created, Done, Success, created, done, ok},
            framework_traits::Nullable,
            listing::{Address, Listed, Offset, Size, answer_list, fill, page_or_whole_list},
            rows::Rows,
            secret_text::Secret,
        },
        tags::Tag,
    },
    domain::commands::{self, Change, Description, FormName, Hint, Name, New},
    error::Result,
    id::{CommandId, OrganisationId, UserId},
    state::App,
    time::Time,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Make a command
    ///
    /// Members then call `/name` in any channel, and the program at `url` answers: see `POST /channels/{channel_id}/commands`. Needs
    /// `manage:webhooks`. The caller answers for the command, which works while they hold that right.
    #[oai(path = "/organisations/:org_id/commands", method = "post", operation_id = "createCommand", tag = "Tag::Commands")]
    async fn create(
        &self,
        caller: Bearer,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        body: Body<NewCommand>,
    ) -> Result<Created<MadeCommand>> {
        let Body(NewCommand { name, description, hint, url, form }, bytes) = body;
        let [description, hint] = [into_string(description), into_string(hint)].map(Option::unwrap_or_default);
        let new = New { name: name.0, description, hint, url: url.0, form: into_string(form) };
        let (made, secret) = app.db.write_sized(bytes, move |tx| commands::create(tx, caller.0, *org_id, &new)).await?;
        Ok(created("Command created successfully", MadeCommand { secret: Nullable(Some(secret.into())), command: made.into() }))
    }

    /// List an organisation's commands
    ///
    /// In the order of their names. All members see them; holders of `manage:webhooks` see their addresses.
    #[oai(path = "/organisations/:org_id/commands", method = "get", operation_id = "listCommands", tag = "Tag::Commands")]
    async fn list(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        address: Address,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 1,000, the default. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
    ) -> Result<Listed<Rows<Command>>> {
        let page = page_or_whole_list(*offset, *limit);
        let found = app.db.read(|conn| fill(page, |part| commands::list(conn, caller.0, *org_id, part), Command::from))?;
        Ok(answer_list("Commands retrieved successfully", found, &address))
    }

    /// Change a command
    ///
    /// Needs `manage:webhooks`. Fields that the request leaves out stay as they are. The caller answers for the command from now on.
    #[oai(
        path = "/organisations/:org_id/commands/:command_id",
        method = "patch",
        operation_id = "updateCommand",
        tag = "Tag::Commands"
    )]
    async fn update(
        &self,
        caller: Bearer,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        command_id: Path<CommandId>,
        body: Body<EditCommand>,
    ) -> Result<Success<MadeCommand>> {
        let Body(EditCommand { name, description, hint, url, form, new_secret }, bytes) = body;
        let change = Change {
            name: into_string(name),
            description: into_string(description),
            hint: into_string(hint),
            url: into_string(url),
            form: into_string(form),
            is_new_secret: new_secret.unwrap_or(false),
        };
        let edited = app.db.write_sized(bytes, move |tx| commands::update(tx, caller.0, *org_id, *command_id, &change)).await?;
        let (command, secret) = edited;
        Ok(ok("Command updated successfully", MadeCommand { secret: Nullable(secret.map(Secret)), command: command.into() }))
    }

    /// Delete a command
    ///
    /// Needs `manage:webhooks`. Programs can't answer calls of it any more.
    #[oai(
        path = "/organisations/:org_id/commands/:command_id",
        method = "delete",
        operation_id = "deleteCommand",
        tag = "Tag::Commands"
    )]
    async fn delete(
        &self,
        caller: Bearer,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        command_id: Path<CommandId>,
    ) -> Result<Done> {
        app.db.write(move |tx| commands::delete(tx, caller.0, *org_id, *command_id)).await?;
        Ok(done("Command deleted successfully"))
    }
}

#[derive(Object)]
struct NewCommand {
    /// What members type after the slash: up to 32 letters, digits, `.`, `_` and `-`. Stored in lower case.
    name: Text<Name>,
    /// What it does.
    description: Option<Text<Description>>,
    /// What follows its name, as in `[environment]`.
    hint: Option<Text<Hint>>,
    /// The address of its program.
    url: Text<commands::Address>,
    /// `json`, the default, or `slack` for the form fields of Slack.
    form: Option<Text<FormName>>,
}

#[derive(Object)]
struct EditCommand {
    name: Option<Text<Name>>,
    description: Option<Text<Description>>,
    hint: Option<Text<Hint>>,
    url: Option<Text<commands::Address>>,
    form: Option<Text<FormName>>,
    /// Whether it gets a new secret, which the answer shows. The former one signs no more.
    new_secret: Option<bool>,
}

#[derive(Object, Serialize)]
struct MadeCommand {
    /// The secret that signs calls (Standard Webhooks, `whsec_…`). It is shown only this once; `null` if it stays as it was.
    secret: Nullable<Secret>,
    #[oai(flatten)]
    #[serde(flatten)]
    command: Command,
}

#[derive(Object, Serialize)]
struct Command {
    id: CommandId,
    organisation_id: OrganisationId,
    /// The member who answers for it.
    owner_id: UserId,
    /// Without the slash.
    name: String,
    /// What it does; may be empty.
    description: String,
    /// What follows its name; may be empty.
    hint: String,
    /// The address of its program; `null` for members without `manage:webhooks`.
    url: Nullable<Secret>,
    /// `json` or `slack`.
    form: String,
    created_at: Time,
    updated_at: Time,
}

impl From<commands::Command> for Command {
    fn from(command: commands::Command) -> Self {
        Command {
            id: command.id,
            organisation_id: command.organisation,
            owner_id: command.owner,
            name: command.name,
            description: command.description,
            hint: command.hint,
            url: Nullable(command.url.map(Secret)),
            form: command.form.as_str().into(),
            created_at: command.created_at,
            updated_at: command.updated_at,
        }
    }
}
