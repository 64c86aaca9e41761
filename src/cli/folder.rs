//! The data folder as commands beside the server see it.

use std::path::Path;

use crate::{
    config::{Links, Settings},
    db,
    error::Result,
    secret::Keys,
    site::Site,
};

/// The [`Site`] of a data folder, for commands that make links; all other settings are the defaults. An error if the
/// folder doesn't exist.
pub(super) fn site(folder: &Path, links: &Links) -> Result<Site> {
    let settings = Settings { links: links.clone(), ..Settings::for_folder(folder) };
    let links = settings.links.resolve(settings.listen)?;
    Ok(Site::new(&settings, Keys::derive(&db::secret_key(folder)?), links))
}
