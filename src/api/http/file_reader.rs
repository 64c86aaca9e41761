//! Who opens a file.

use poem::{Request, RequestBody};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions, registry::Registry};
use url::form_urlencoded;

use super::{
    app,
    auth::{Bearer, IN_CHANNEL, READ, Use, admit, require_session},
    visitor::count_without_session,
};
use crate::{
    db,
    domain::{
        access::Caller,
        files::links,
        scopes::{Need, Scope},
    },
    error::{Code, Error, Result},
    id::FileId,
};

/// The caller who opens a file: by a bearer token, by the cookie of a browser (see [`Origins::may_show_file`]), or by a link that they
/// have made.
///
/// [`Origins::may_show_file`]: crate::net::origins::Origins::may_show_file
pub struct FileReader {
    pub caller: Caller,
    /// Whether a link opens it.
    pub by_link: bool,
}

impl FileReader {
    const NEED: Need = Need::Scope { scope: Scope::Read, is_for_one_channel: true };
}

impl<'a> ApiExtractor<'a> for FileReader {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::SecurityScheme];
    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        Bearer::<READ, IN_CHANNEL>::register(registry);
    }

    fn security_schemes() -> Vec<&'static str> {
        Bearer::<READ, IN_CHANNEL>::security_schemes()
    }

    async fn from_request(req: &'a Request, _: &mut RequestBody, _: ExtractParamOptions<()>) -> poem::Result<Self> {
        if let Some(caller) = by_link(req).await? {
            return Ok(FileReader { caller, by_link: true });
        }
        Ok(FileReader { caller: require_session(req, Self::NEED, Use::File).await?, by_link: false })
    }
}

/// The caller who has made the link of a request, if one is sent. It must be good, and counts like a wrong token otherwise.
async fn by_link(req: &Request) -> Result<Option<Caller>> {
    let Some(token) = query_value(req, LINK) else { return Ok(None) };
    let app = app(req);
    let file = req.path_params::<(FileId, String)>().ok().map(|(file, _)| file);
    let session = file.and_then(|file| links::session(&app.site.keys(), &token, file, app.clock.now()));
    let caller = session.map_or(Ok(None), |session| Use::File.caller(app, session))?;
    let Some(caller) = caller else {
        count_without_session(req).await?;
        return Err(Error::Unauthorized(Code::TokenInvalid, FILE_LINK_INVALID));
    };
    db::ban_writes();
    admit(req, caller, FileReader::NEED).map(Some)
}

/// The parameter with the token of a link.
pub const LINK: &str = "link";
const FILE_LINK_INVALID: &str = "This link has ended, or is for another file";

fn query_value(req: &Request, name: &str) -> Option<String> {
    let pairs = form_urlencoded::parse(req.uri().query()?.as_bytes());
    pairs.into_iter().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}
