//! Bots of organisations.

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
            body::{Body, RoleName, Text, into_string},
            envelope::{Created, Done, Success, created, done, ok},
            framework_traits::Nullable,
            listing::{Address, Listed, Offset, Size, answer_list, fill, page_or_whole_list},
            rows::Rows,
            secret_text::Secret,
        },
        tags::Tag,
    },
    domain::{
        accounts::UsernameIfAny,
        organisations::{
            bot_callbacks,
            bots::{self, Change, Description, Name, New},
        },
        text::WebAddress,
    },
    error::Result,
    id::{OrganisationId, UserId},
    state::App,
    time::Time,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Make a bot
    ///
    /// Makes a member that is a program. It has no mailbox and no password: `POST /users/{user_id}/tokens` with its id makes a token,
    /// with which the program reads and posts as the bot. Add it to channels as people are added. Needs `manage:webhooks` and every
    /// right of the role. The caller owns the bot; if the caller loses access, the organisation's owner gets it, and its tokens end.
    #[oai(path = "/organisations/:org_id/bots", method = "post", operation_id = "createBot", tag = "Tag::Bots")]
    async fn create(
        &self,
        caller: Bearer,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        body: Body<NewBot>,
    ) -> Result<Created<MadeBot>> {
        let Body(NewBot { name, username, description, avatar_url, url, role }, bytes) = body;
        let [username, role] = [into_string(username), role.map(|role| role.0)];
        let [description, avatar_url, url] =
            [into_string(description), into_string(avatar_url), into_string(url)].map(Option::unwrap_or_default);
        let new = New { name: name.0, username, description, avatar_url, url, role };
        let (bot, secret) = app.db.write_sized(bytes, move |tx| bots::make(tx, caller.0, *org_id, &new)).await?;
        Ok(created("Bot created successfully", MadeBot { secret: Nullable(secret.map(Secret)), bot: bot.into() }))
    }

    /// List an organisation's bots
    ///
    /// In the order of their usernames. All members see them.
    #[oai(path = "/organisations/:org_id/bots", method = "get", operation_id = "listBots", tag = "Tag::Bots")]
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
    ) -> Result<Listed<Rows<Bot>>> {
        let page = page_or_whole_list(*offset, *limit);
        let found = app.db.read(|conn| fill(page, |part| bots::list(conn, caller.0, *org_id, part), Bot::from))?;
        Ok(answer_list("Bots retrieved successfully", found, &address))
    }

    /// Change a bot
    ///
    /// Needs `manage:webhooks`. Fields that the request leaves out stay as they are. The bot keeps the name that it has in channels.
    #[oai(path = "/organisations/:org_id/bots/:bot_id", method = "patch", operation_id = "updateBot", tag = "Tag::Bots")]
    async fn update(
        &self,
        caller: Bearer,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        bot_id: Path<UserId>,
        body: Body<EditBot>,
    ) -> Result<Success<MadeBot>> {
        let Body(EditBot { name, username, description, avatar_url, url, new_secret }, bytes) = body;
        let change = Change {
            name: into_string(name),
            username: into_string(username).filter(|name| !name.is_empty()),
            description: into_string(description),
            avatar_url: into_string(avatar_url),
            url: into_string(url),
            is_new_secret: new_secret.unwrap_or(false),
        };
        let (bot, secret) = app.db.write_sized(bytes, move |tx| bots::update(tx, caller.0, *org_id, *bot_id, change)).await?;
        Ok(ok("Bot updated successfully", MadeBot { secret: Nullable(secret.map(Secret)), bot: bot.into() }))
    }

    /// Remove a bot
    ///
    /// For good: its tokens and its membership end, and what it wrote stays. Needs `manage:webhooks` and every right of its role.
    #[oai(path = "/organisations/:org_id/bots/:bot_id", method = "delete", operation_id = "deleteBot", tag = "Tag::Bots")]
    async fn delete(&self, caller: Bearer, app: Data<&App>, org_id: Path<OrganisationId>, bot_id: Path<UserId>) -> Result<Done> {
        app.db.write(move |tx| bots::remove(tx, caller.0, *org_id, *bot_id)).await?;
        Ok(done("Bot deleted successfully"))
    }
}

#[derive(Object)]
struct NewBot {
    /// What its messages show as their author.
    name: Text<Name>,
    /// What mentions it; made from the name if omitted. Unique on the server without regard to case.
    username: Option<Text<UsernameIfAny>>,
    /// What it is for.
    description: Option<Text<Description>>,
    /// The address of its picture.
    avatar_url: Option<Text<WebAddress>>,
    /// The address to which clicks on the actions of its messages are sent.
    url: Option<Text<bot_callbacks::Address>>,
    /// Its role: the integer, the UUID, the name or the key; `member` if omitted.
    role: Option<RoleName>,
}

#[derive(Object)]
struct EditBot {
    name: Option<Text<Name>>,
    /// An empty one changes nothing.
    username: Option<Text<UsernameIfAny>>,
    description: Option<Text<Description>>,
    /// An empty one removes the picture.
    avatar_url: Option<Text<WebAddress>>,
    /// The address to which clicks on the actions of its messages are sent; an empty one for nowhere. The caller answers for it: it
    /// works while they may manage bots.
    url: Option<Text<bot_callbacks::Address>>,
    /// Whether it gets a new secret, which the answer shows. The former one signs no more.
    new_secret: Option<bool>,
}

#[derive(Object, Serialize)]
struct MadeBot {
    /// The secret that signs clicks (Standard Webhooks, `whsec_…`). It is shown only this once; `null` if there is none, or if it stays as
    /// it was.
    secret: Nullable<Secret>,
    #[oai(flatten)]
    #[serde(flatten)]
    bot: Bot,
}

#[derive(Object, Serialize)]
pub struct Bot {
    id: UserId,
    organisation_id: OrganisationId,
    /// The member who makes its tokens.
    owner_id: UserId,
    username: String,
    name: String,
    /// What it is for; may be empty.
    description: String,
    /// The address of its picture; empty if there is none.
    avatar_url: String,
    /// The address to which clicks on the actions of its messages are sent; empty if there is none, and for members without
    /// `manage:webhooks`.
    url: Secret,
    /// The `key` of its role.
    role: String,
    /// The integer of its role.
    role_id: i64,
    /// `active`, `inactive` or `deactivated`.
    status: String,
    created_at: Time,
    /// When it last sent a request or had an open socket; `null` if it never did.
    last_used_at: Nullable<Time>,
}

impl From<bots::Bot> for Bot {
    fn from(bot: bots::Bot) -> Self {
        Bot {
            id: bot.id,
            organisation_id: bot.organisation,
            owner_id: bot.owner,
            username: bot.username,
            name: bot.name,
            description: bot.description,
            avatar_url: bot.avatar_url,
            url: bot.url.into(),
            role: bot.role,
            role_id: bot.role_id,
            status: bot.status.as_str().into(),
            created_at: bot.created_at,
            last_used_at: Nullable(bot.last_used_at),
        }
    }
}
