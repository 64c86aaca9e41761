//! Files: uploads, a channel's list, removal. Their bytes go out in [`download`].

pub mod copies;
pub mod download;
mod headers;
pub mod links;
pub mod receiving;
pub mod resumable;
mod sips;
mod upload;

use poem::{Request, web::Data};
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};
use serde::Serialize;

use self::upload::Upload;
use super::{
    http::{
        auth::{Bearer, IN_CHANNEL, POST, READ},
        body::Text,
        described::{self, by_schema},
        envelope::{Success, ok},
        framework_traits::Null,
        listing::{self, Address, Filled, Paged, ShallowOffset, ShallowPage, Size, fill, paged},
        rows::Rows,
    },
    tags::Tag,
};
use crate::{
    domain::{
        files::{self, File, FileKind, lists::ChannelFile},
        messages,
        page::Page,
        text::{self, Rule},
    },
    error::Result,
    id::{ChannelId, FileId, OrganisationId},
    state::App,
};

/// Files on a page.
const PAGE: u32 = 20;
const LARGEST_PAGE: u32 = 100;

static SCHEMAS: std::sync::LazyLock<serde_json::Map<String, serde_json::Value>> =
    std::sync::LazyLock::new(described::schemas_of::<ChannelFile>);

by_schema!(SCHEMAS: ChannelFile);

static FILE: std::sync::LazyLock<serde_json::Map<String, serde_json::Value>> =
    std::sync::LazyLock::new(described::schemas_of::<File>);

by_schema!(FILE: File);

text::rules! {
    /// The names of the kinds, and those of existing clients.
    pub Kind: Rule::one_of(&["all", "image", "images", "video", "videos", "audio", "audios", "document", "documents", "file", "files"]);
}

pub struct Api;

#[OpenApi]
impl Api {
    /// Upload files
    ///
    /// Takes up to ten files, each in a part with the name `files`. They are the caller's alone until a message of theirs takes
    /// them, and are removed after a day without one. What a file is, its content says: its name and its declared type are not
    /// believed. All of them are kept, or none.
    ///
    /// Of pictures (JPEG, PNG, WebP), what cameras and programs note in them is left out: the place, the time, the device. Videos and
    /// other forms keep theirs.
    #[oai(path = "/files/upload-files", method = "post", operation_id = "uploadFiles", tag = "Tag::Files")]
    async fn upload(
        &self,
        caller: Bearer<POST, IN_CHANNEL>,
        app: Data<&App>,
        /// Where the files will be shown; by default the organisation that the caller works in, and of a bot its own.
        organisation_id: Query<Option<OrganisationId>>,
        req: &Request,
        body: Upload,
    ) -> Result<Success<Vec<File>>> {
        let kept = body.receive(req, &app, caller.0, *organisation_id).await?;
        Ok(ok("Files uploaded successfully", kept))
    }

    /// Remove a file
    ///
    /// Takes the file out of its message: for the message's author, the channel's owner, and holders of `manage:channels`. A
    /// message that was this file alone is deleted. A file that no message has taken is removed for who uploaded it. Nobody can
    /// open the file any more.
    #[oai(path = "/files/file/:file_id", method = "delete", operation_id = "deleteFile", tag = "Tag::Files")]
    async fn delete(&self, caller: Bearer<POST, IN_CHANNEL>, app: Data<&App>, file_id: Path<FileId>) -> Result<Success<Null>> {
        let (caller, id) = (caller.0, *file_id);
        app.write_throttled(caller.share(), 0, move |tx| messages::media::remove(tx, caller, id)).await?;
        Ok(ok("File deleted successfully", Null))
    }

    /// List a channel's files
    ///
    /// Lists the files of the channel's messages, those of the newest message first. For members of the channel.
    #[oai(path = "/channels/:channel_id/files", method = "get", operation_id = "listChannelFiles", tag = "Tag::Files")]
    async fn list(
        &self,
        caller: Bearer<READ, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        address: Address,
        /// The page, from 1; default 1.
        page: Query<Option<ShallowPage>>,
        /// Rows to skip, instead of `page`.
        offset: Query<Option<ShallowOffset>>,
        /// Up to 100; default 20.
        limit: Query<Option<Size>>,
        /// What the files are; default `all`.
        r#type: Query<Option<Text<Kind>>>,
    ) -> Result<Paged<Rows<ChannelFile>, FilePages>> {
        let page = listing::requested_page(*page, *offset, *limit, PAGE, LARGEST_PAGE).shallow()?;
        let name = r#type
            .0
            .map(|name| Kind::check(&name, "type").map(str::to_owned).map_err(crate::error::Error::BadRequest))
            .transpose()?;
        let kind = name.and_then(|name| FileKind::named(name.trim_end_matches('s')));
        let (caller, channel) = (caller.0, *channel_id);
        let read = move |conn: &_| fill(page, |part| files::lists::of_channel(conn, caller, channel, kind, part), |file| file);
        let found = app.db.read_bounded(caller.share(), move |conn| read(conn)).await?;
        let pages = FilePages::new(page, &found);
        Ok(paged("Files retrieved successfully", found, pages, &address))
    }
}

/// A page of files. Their number is not counted.
#[derive(Object, Serialize)]
struct FilePages {
    current_page: u32,
    page_size: u32,
    /// The number of this page, and one more if there are more files.
    total_pages_count: u32,
}

impl FilePages {
    fn new<T>(page: Page, Filled { rest, .. }: &Filled<T>) -> FilePages {
        let current_page = page.number();
        FilePages { current_page, page_size: page.size, total_pages_count: current_page + u32::from(rest.is_some()) }
    }
}
