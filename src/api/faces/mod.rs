//! Faces of people and bots, and logos of organisations.

mod picture;

use poem::{
    IntoResponse, Request, Response,
    http::{HeaderValue, header},
    web::Data,
};
use poem_openapi::{
    ApiResponse, OpenApi,
    param::{Path, Query},
    registry::{MetaMediaType, MetaResponse, MetaResponses, MetaSchema, Registry},
};

use self::picture::Picture;
use crate::{
    api::{
        accounts::{User, own_account::own},
        files::copies::Size,
        http::{
            auth::{Bearer, MEMBERS},
            envelope::{Success, ok},
            framework_traits::inline_schema,
        },
        organisations::{self as shown, Organisation, bots::Bot},
        tags::Tag,
    },
    db::Tx,
    domain::{
        access::Caller,
        accounts::profiles,
        faces::{self, Face},
        organisations::{self, bots},
    },
    error::{Error, Result},
    files::recognise,
    id::{FaceId, OrganisationId, UserId},
    pictures::CopySize,
    state::App,
};

/// Browsers keep a face for good: another one has another address.
const KEPT: &str = "public, max-age=31536000, immutable";

pub struct Api;

#[OpenApi]
impl Api {
    /// Open an avatar or a logo
    ///
    /// For everybody who has its address, which `avatar_url` and `logo_url` show. A square of 256 pixels, JPEG or PNG. The address of
    /// another picture is another one.
    #[oai(path = "/faces/:face_id", method = "get", operation_id = "getFace", tag = "Tag::Profile")]
    async fn get(
        &self,
        app: Data<&App>,
        face_id: Path<FaceId>,
        /// `small` for 64 pixels.
        size: Query<Option<Size>>,
    ) -> Result<Shown> {
        let size = size.map_or(CopySize::Large, CopySize::from);
        app.db.read(|conn| faces::get(conn, *face_id, size)).map(Shown)
    }

    /// Set the caller's avatar
    ///
    /// The body is the picture: JPEG, PNG, GIF or WebP, up to 10 MB and 50 megapixels. What is not square is cut to the middle. The new
    /// `avatar_url` is told to all who share an organisation with the caller.
    #[oai(path = "/profile/avatar", method = "put", operation_id = "setAvatar", tag = "Tag::Profile")]
    async fn set(&self, caller: Bearer, app: Data<&App>, req: &Request, picture: Picture) -> Result<Success<User>> {
        let face = picture.face(req, &app, caller.0).await?;
        app.write_throttled(caller.0.share(), bytes(&face), move |tx| profiles::set_face(tx, caller.0, Some(&face))).await?;
        own(&app, caller.0, "Avatar updated successfully")
    }

    /// Remove the caller's avatar
    #[oai(path = "/profile/avatar", method = "delete", operation_id = "removeAvatar", tag = "Tag::Profile")]
    async fn remove(&self, caller: Bearer, app: Data<&App>) -> Result<Success<User>> {
        app.write_throttled(caller.0.share(), 0, move |tx| profiles::set_face(tx, caller.0, None)).await?;
        own(&app, caller.0, "Avatar removed successfully")
    }

    /// Set an organisation's logo
    ///
    /// The body is the picture, as for the caller's avatar. Needs `manage:organization`.
    #[oai(path = "/organisations/:org_id/logo", method = "put", operation_id = "setLogo", tag = "Tag::Organisations")]
    async fn set_logo(
        &self,
        caller: Bearer<MEMBERS>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        req: &Request,
        picture: Picture,
    ) -> Result<Success<Organisation>> {
        app.db.read(|conn| organisations::require_manager(conn, caller.0, *org_id))?;
        let logo = picture.face(req, &app, caller.0).await?;
        change_logo(&app, caller.0, *org_id, Some(logo)).await?;
        Ok(ok("Logo updated successfully", shown::read(&app, caller.0, *org_id).await?))
    }

    /// Remove an organisation's logo
    ///
    /// Needs `manage:organization`.
    #[oai(path = "/organisations/:org_id/logo", method = "delete", operation_id = "removeLogo", tag = "Tag::Organisations")]
    async fn remove_logo(
        &self,
        caller: Bearer<MEMBERS>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
    ) -> Result<Success<Organisation>> {
        change_logo(&app, caller.0, *org_id, None).await?;
        Ok(ok("Logo removed successfully", shown::read(&app, caller.0, *org_id).await?))
    }

    /// Set a bot's avatar
    ///
    /// The body is the picture, as for the caller's avatar. Needs `manage:webhooks`.
    #[oai(path = "/organisations/:org_id/bots/:bot_id/avatar", method = "put", operation_id = "setBotAvatar", tag = "Tag::Bots")]
    async fn set_bot_avatar(
        &self,
        caller: Bearer,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        bot_id: Path<UserId>,
        req: &Request,
        picture: Picture,
    ) -> Result<Success<Bot>> {
        app.db.read(|conn| bots::require_manager(conn, caller.0, *org_id, *bot_id))?;
        let face = picture.face(req, &app, caller.0).await?;
        let size = bytes(&face);
        let change = move |tx: &mut Tx| bots::set_face(tx, caller.0, *org_id, *bot_id, Some(&face));
        Ok(ok("Avatar updated successfully", app.db.write_sized(size, change).await?.into()))
    }

    /// Remove a bot's avatar
    ///
    /// Needs `manage:webhooks`.
    #[oai(
        path = "/organisations/:org_id/bots/:bot_id/avatar",
        method = "delete",
        operation_id = "removeBotAvatar",
        tag = "Tag::Bots"
    )]
    async fn remove_bot_avatar(
        &self,
        caller: Bearer,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        bot_id: Path<UserId>,
    ) -> Result<Success<Bot>> {
        let change = move |tx: &mut Tx| bots::set_face(tx, caller.0, *org_id, *bot_id, None);
        Ok(ok("Avatar removed successfully", app.db.write(change).await?.into()))
    }
}

async fn change_logo(app: &App, caller: Caller, id: OrganisationId, logo: Option<Face>) -> Result<()> {
    let size = logo.as_ref().map_or(0, bytes);
    app.db.write_sized(size, move |tx| organisations::set_logo(tx, caller, id, logo.as_ref())).await
}

fn bytes([small, large]: &Face) -> usize {
    small.len() + large.len()
}

/// The answer with a face.
struct Shown(Vec<u8>);

impl IntoResponse for Shown {
    fn into_response(self) -> Response {
        let mime_type = recognise(&self.0);
        let mut response = self.0.into_response();
        for (name, value) in [
            (header::CONTENT_TYPE, mime_type),
            (header::CACHE_CONTROL, KEPT),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
        ] {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

impl ApiResponse for Shown {
    fn meta() -> MetaResponses {
        let schema = || inline_schema(MetaSchema { format: Some("binary"), ..MetaSchema::new("string") });
        let of_type = |content_type| MetaMediaType { content_type, schema: schema() };
        let shown = MetaResponse {
            description: "The picture",
            status: Some(200),
            status_range: None,
            // Generators of clients know the first.
            content: vec![of_type("application/octet-stream"), of_type("image/jpeg"), of_type("image/png")],
            headers: vec![],
        };
        let mut responses = Error::meta().responses;
        responses.insert(0, shown);
        MetaResponses { responses }
    }

    fn register(registry: &mut Registry) {
        Error::register(registry);
    }
}
