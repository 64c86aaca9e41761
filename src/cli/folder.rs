//! The data folder as commands beside the server see it.

use std::path::Path;

use crate::{
    config::{Links, Settings},
    db::{self, KeyFile, Tx},
    error::Result,
    site::{Served, Site},
    time::Time,
};

/// The description of itself that the newest server on the folder has published; `None` if there was no server.
pub(super) fn served(folder: &Path) -> Option<Served> {
    db::read_published_text(folder).and_then(|text| serde_json::from_str(&text).ok())
}

/// The addresses that links lead to: those of the folder's server, unless the command line names others.
fn addresses(folder: &Path, links: &Links) -> Links {
    match served(folder) {
        Some(Served { base_url, web_url, .. }) if links.base_url.is_none() => {
            Links { base_url: Some(base_url), web_url: links.web_url.clone().or(Some(web_url)) }
        }
        _ => links.clone(),
    }
}

/// The [`Site`] of a data folder; all settings except the addresses are the defaults. An error if the folder doesn't exist.
fn site(folder: &Path, links: &Links) -> Result<Site> {
    let settings = Settings { links: addresses(folder, links), ..Settings::for_folder(folder) };
    let links = settings.server_and_link_origins(None)?;
    Ok(Site::new(&settings, KeyFile::open(folder, Time::now())?.keys(), links))
}

/// One write transaction on a data folder that has a database, beside a running server or without one.
pub(super) fn change<T>(folder: &Path, f: impl FnOnce(&mut Tx) -> Result<T>) -> Result<T> {
    change_with(folder, &Links::default(), f)
}

/// [`change`] that makes links.
pub(super) fn change_with<T>(folder: &Path, links: &Links, f: impl FnOnce(&mut Tx) -> Result<T>) -> Result<T> {
    db::require_database(folder)?;
    db::write_beside_server(folder, &site(folder, links)?, Time::now(), f)
}

/// One write transaction as if it were the time `now`. Makes the folder and its database if there are none.
pub(super) fn create<T>(folder: &Path, now: Time, f: impl FnOnce(&mut Tx) -> Result<T>) -> Result<T> {
    db::make_folder(folder)?;
    db::write_beside_server(folder, &site(folder, &Links::default())?, now, f)
}

/// One write transaction on a copy of the database, which is forgotten.
pub(super) fn rehearse<T>(folder: &Path, f: impl FnOnce(&mut Tx) -> Result<T>) -> Result<T> {
    db::require_database(folder)?;
    db::snapshot::try_on_copy(folder, &site(folder, &Links::default())?, Time::now(), f)
}
