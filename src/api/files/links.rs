//! Links that open one file without a session.

use poem::web::Data;
use poem_openapi::{Object, OpenApi, param::Path};
use serde::Serialize;

use crate::{
    api::{
        http::{
            auth::{Bearer, IN_CHANNEL, READ},
            envelope::{Success, ok},
            file_reader::LINK,
            secret_text::Secret,
        },
        tags::Tag,
    },
    domain::files::{self, links},
    error::Result,
    id::FileId,
    state::App,
    time::Time,
};

pub struct Api;

/// A link to a file.
#[derive(Object, Serialize)]
struct FileLink {
    /// The address. Whoever has it can open the file.
    link: Secret,
    /// When it ends, unless the session or the right to read the file ends before.
    expires_at: Time,
}

#[OpenApi]
impl Api {
    /// Make a link to a file
    ///
    /// Answers an address that opens the file without a session, for programs and players that can send neither a bearer token nor
    /// a cookie. It lasts a day, and no longer than the session or the token of the caller. Whether the caller may read the file is
    /// looked at each time it is opened. Pages of other origins may show what it opens.
    #[oai(path = "/files/:file_id/link", method = "post", operation_id = "createFileLink", tag = "Tag::Files")]
    async fn make(&self, caller: Bearer<READ, IN_CHANNEL>, app: Data<&App>, file_id: Path<FileId>) -> Result<Success<FileLink>> {
        let (caller, id) = (caller.0, *file_id);
        let file = app.db.read(|conn| files::readable(conn, caller, id))?;
        let (token, expires_at) = links::sign(&app.site.keys(), caller, id, app.clock.now())?;
        let link = Secret(format!("{}?{LINK}={token}", files::address(&file.media)));
        Ok(ok("Link created successfully", FileLink { link, expires_at }))
    }
}
