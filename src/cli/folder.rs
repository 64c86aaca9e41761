//! The data folder as commands beside the server see it.

use std::path::Path;

use crate::{
    config::{Links, Settings},
    db::{self, KeyFile, Tx},
    error::Result,
    site::Site,
    time::Time,
};

/// The [`Site`] of a data folder, for commands that make links; all other settings are the defaults. An error if the
/// folder doesn't exist.
fn site(folder: &Path, links: &Links) -> Result<Site> {
    let settings = Settings { links: links.clone(), ..Settings::for_folder(folder) };
    let links = settings.origins(None)?;
    Ok(Site::new(&settings, KeyFile::open(folder, Time::now())?.keys(), links))
}

/// One write transaction on a data folder that has a database, beside a running server or without one.
pub(super) fn change<T>(folder: &Path, f: impl FnOnce(&mut Tx) -> Result<T>) -> Result<T> {
    change_with(folder, &Links::default(), f)
}

/// [`change`] that makes links.
pub(super) fn change_with<T>(folder: &Path, links: &Links, f: impl FnOnce(&mut Tx) -> Result<T>) -> Result<T> {
    db::require(folder)?;
    db::write_once(folder, &site(folder, links)?, Time::now(), f)
}

/// One write transaction as if it were the time `now`. Makes the folder and its database if there are none.
pub(super) fn create<T>(folder: &Path, now: Time, f: impl FnOnce(&mut Tx) -> Result<T>) -> Result<T> {
    db::make_folder(folder)?;
    db::write_once(folder, &site(folder, &Links::default())?, now, f)
}

/// One write transaction on a copy of the database, which is forgotten.
pub(super) fn rehearse<T>(folder: &Path, f: impl FnOnce(&mut Tx) -> Result<T>) -> Result<T> {
    db::require(folder)?;
    db::snapshot::rehearse(folder, &site(folder, &Links::default())?, Time::now(), f)
}
