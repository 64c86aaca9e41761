//! Removes the bytes of files that have ended, those of uploads that no message has taken, and those that no row names.

use std::time::Duration;

use tokio::{task::JoinSet, time::Instant};

use super::queue_loops::{MINUTE, in_slices, rest};
use crate::{
    domain::files::{removal, resumable},
    error::{Error, Result},
    event::Queue,
    state::App,
};

/// Files that one write changes, and whose bytes are removed at once.
const SLICE: u32 = 100;
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Removes what is to be removed, and sleeps until there may be more. Once a day it looks for bytes that no row names: those of
/// uploads that a kill has interrupted.
pub(super) async fn run(app: &App) {
    let mut look_at = Instant::now();
    loop {
        let mut done = remove_ended(app).await;
        if done.is_ok() && Instant::now() >= look_at {
            done = remove_nameless(app).await;
            if done.is_ok() {
                look_at = Instant::now() + DAY;
            }
        }
        rest(done.map(|()| MINUTE), app, Queue::Files, &mut JoinSet::new()).await;
    }
}

/// Ends the uploads that no message has taken in a day and those that were not finished in one, and removes the bytes of all that has
/// ended, each before its row.
async fn remove_ended(app: &App) -> Result<()> {
    let before = app.clock.now() - removal::KEPT_UNTAKEN;
    in_slices(app, move |tx| removal::end_untaken(tx, before, SLICE)).await?;
    end_expired(app).await?;
    loop {
        let ended = app.db.read_without_position(|conn| removal::ended(conn, SLICE))?;
        if ended.is_empty() {
            return Ok(());
        }
        let store = app.files.clone();
        let Some(_held) = store.try_removing().map_err(Error::internal)? else { return Ok(()) }; // until the backup is made
        let gone = move || ended.into_iter().map(|(organisation, id)| store.remove(organisation, id).map(|()| id)).collect();
        let gone: std::io::Result<Vec<_>> = tokio::task::spawn_blocking(gone).await.map_err(Error::internal)?;
        let gone = gone.map_err(Error::internal)?;
        app.write_with_retry(move |tx| removal::forget(tx, &gone)).await?;
    }
}

/// Removes the bytes of uploads in pieces that were not finished in a day, and then forgets them.
async fn end_expired(app: &App) -> Result<()> {
    loop {
        let now = app.clock.now();
        let expired = app.db.read_without_position(|conn| resumable::expired(conn, now, SLICE))?;
        if expired.is_empty() {
            return Ok(());
        }
        let (store, ids) = (app.files.clone(), expired.clone());
        let remove = move || ids.iter().try_for_each(|id| store.remove_pieces(*id));
        tokio::task::spawn_blocking(remove).await.map_err(Error::internal)?.map_err(Error::internal)?;
        app.write_with_retry(move |tx| resumable::forget_expired(tx, &expired)).await?;
    }
}

/// Removes bytes that no row names, though it would have been written by now.
async fn remove_nameless(app: &App) -> Result<()> {
    let (store, db, before) = (app.files.clone(), app.db.clone(), app.clock.now() - removal::NAMED_WITHIN);
    let look = move || {
        let Some(_held) = store.try_removing().map_err(Error::internal)? else { return Ok(()) }; // tomorrow is early enough
        store.remove_incoming_before(before)?;
        store.each_written_before(before, |organisation, ids| {
            let nameless = db.read_without_position(|conn| removal::unknown(conn, &ids))?;
            for id in nameless {
                store.remove(organisation, id).map_err(Error::internal)?;
                tracing::info!(%organisation, %id, "removed the bytes of an upload that was interrupted");
            }
            Ok(())
        })
    };
    tokio::task::spawn_blocking(look).await.map_err(Error::internal)?
}
