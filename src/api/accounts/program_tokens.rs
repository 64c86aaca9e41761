//! Tokens of programs.

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};
use serde::Serialize;

use crate::{
    api::{
        http::{
            auth::Bearer,
            body::{Body, List, Text, into_strings},
            envelope::{Created, Done, created, done},
            framework_traits::Nullable,
            listing::{Address, Listed, Offset, Size, answer_list, fill, page_or_whole_list},
            rows::Rows,
            secret_text::Secret,
        },
        tags::Tag,
    },
    domain::{
        accounts::tokens::{self, MOST_CHANNELS, ScopeName, TokenName},
        scopes::Scope,
    },
    error::Result,
    id::{ChannelId, SessionId, UserId},
    state::App,
    time::Time,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Make a token
    ///
    /// Makes a token with which a program acts as the caller: `Authorization: Bearer tdg_…`. It opens the operations of its scopes,
    /// as far as the caller's own rights go, and if it names channels, in these only. The answer alone shows the token. A mail
    /// tells the caller. A token can't make tokens, and can't be used for passwords, sessions, or the end of an organisation.
    #[oai(path = "/users/:user_id/tokens", method = "post", operation_id = "createToken", tag = "Tag::Profile")]
    async fn create(
        &self,
        caller: Bearer,
        app: Data<&App>,
        user_id: Path<UserId>,
        body: Body<NewApiToken>,
    ) -> Result<Created<MadeApiToken>> {
        let Body(NewApiToken { name, scopes, expires_at, channels }, bytes) = body;
        let (scopes, channels) = (into_strings(scopes), channels.map(|list| list.0));
        let new = tokens::New { name: name.0, scopes, expires_at, channels };
        let (made, token) = app.db.write_sized(bytes, move |tx| tokens::make(tx, caller.0, *user_id, &new)).await?;
        Ok(created("Token created successfully", MadeApiToken { token: token.into(), details: made.into() }))
    }

    /// List a user's tokens
    ///
    /// Lists live tokens, newest first. Users list their own; superadmins of the server list everybody's.
    #[oai(path = "/users/:user_id/tokens", method = "get", operation_id = "listTokens", tag = "Tag::Profile")]
    async fn list(
        &self,
        caller: Bearer,
        app: Data<&App>,
        user_id: Path<UserId>,
        address: Address,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 1,000, the default. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
    ) -> Result<Listed<Rows<ApiToken>>> {
        let page = page_or_whole_list(*offset, *limit);
        let found = app.db.read(|conn| fill(page, |part| tokens::list(conn, caller.0, *user_id, part), ApiToken::from))?;
        Ok(answer_list("Tokens retrieved successfully", found, &address))
    }

    /// End a token
    ///
    /// Programs can't use it any more, and its sockets close at once. Users end their own; superadmins of the server end
    /// everybody's.
    #[oai(path = "/users/:user_id/tokens/:token_id", method = "delete", operation_id = "revokeToken", tag = "Tag::Profile")]
    async fn revoke(&self, caller: Bearer, app: Data<&App>, user_id: Path<UserId>, token_id: Path<SessionId>) -> Result<Done> {
        app.db.write(move |tx| tokens::revoke(tx, caller.0, *user_id, *token_id)).await?;
        Ok(done("Token revoked successfully"))
    }
}

#[derive(Object)]
struct NewApiToken {
    /// The program that it is for. Its user and superadmins of the server see the name.
    name: Text<TokenName>,
    /// `read`: read, listen and mark as read. `post`: post, reply, edit, delete, react, pin. `channels`: make, change and end
    /// channels. `members`: invite, change and remove members, roles and details. `webhooks`: manage webhooks. `content`: publish
    /// blogs and testimonials.
    scopes: List<Text<ScopeName>, 1, { Scope::ALL.len() }>,
    /// When it ends, in RFC 3339; it has no end if omitted.
    expires_at: Option<Time>,
    /// Up to 100 channels that the caller is in. The token is for these only: it finds no other channel, and can't be used for
    /// what concerns a whole organisation. If omitted, it is for all of the caller's channels.
    channels: Option<List<ChannelId, 1, MOST_CHANNELS>>,
}

#[derive(Object, Serialize)]
struct ApiToken {
    id: SessionId,
    name: String,
    scopes: Vec<String>,
    /// The channels that it is for; `null` if it is for all of its user's.
    channels: Nullable<Vec<ChannelId>>,
    created_at: Time,
    /// `null` if it has no end.
    expires_at: Nullable<Time>,
    /// When it was last used, by a request or an open socket, to the minute; `null` if it was never used.
    last_used_at: Nullable<Time>,
}

#[derive(Object, Serialize)]
struct MadeApiToken {
    /// The token. It is shown only this once.
    token: Secret,
    #[oai(flatten)]
    #[serde(flatten)]
    details: ApiToken,
}

impl From<tokens::Token> for ApiToken {
    fn from(token: tokens::Token) -> Self {
        let tokens::Token { id, name, scopes, channels, created_at, expires_at, last_used_at } = token;
        let scopes = scopes.into_iter().map(|scope| scope.as_str().to_owned()).collect();
        let (channels, expires_at, last_used_at) = (Nullable(channels), Nullable(expires_at), Nullable(last_used_at));
        ApiToken { id, name, scopes, channels, created_at, expires_at, last_used_at }
    }
}
