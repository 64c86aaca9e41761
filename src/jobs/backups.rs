//! Makes the server's own backups at the times that the settings ask for.

use std::time::Duration;

use tokio::time::sleep;

use super::queue_loops::MINUTE;
use crate::{
    archive::backup::{self, Files, Proof, Schedule, WrittenBackup},
    db::Tx,
    domain::{accounts::by_operator, mail_queue},
    error::{Error, Result},
    mail,
    state::{App, low_priority},
};

/// How long after a failed backup the next one is tried, unless the next is due earlier.
const AGAIN: Duration = Duration::from_secs(3600);
/// How much a backup yields to requests for the processor.
const NICENESS: i32 = 10;

/// Makes a backup whenever the newest one in the folder is old enough. A restart of the server doesn't put it off.
pub(super) async fn run(app: &App) {
    let Some(schedule) = &app.backups else { return };
    app.metrics.backups_every(schedule.every);
    let mut has_failed = false;
    loop {
        if let Some((made, path)) = schedule.newest(app.clock.now()) {
            app.metrics.newest_backup(made, std::fs::metadata(path).map_or(0, |file| file.len()));
        }
        if let Some(left) = schedule.left(app.clock.now()) {
            sleep(left.min(MINUTE)).await;
            continue;
        }
        match make(app, schedule.clone()).await {
            Ok(WrittenBackup { path, bytes, .. }) => {
                has_failed = false;
                app.metrics.backup(true);
                tracing::info!(path = %path.display(), bytes, "made a backup");
            }
            Err(err) => {
                app.metrics.backup(false);
                tracing::error!(err = err.log_text(), "the backup failed");
                if !std::mem::replace(&mut has_failed, true)
                    && let Err(err) = mail_operators(app, &err).await
                {
                    tracing::error!(err = err.log_text(), "the administrators could not be told of the failed backup");
                }
                sleep(AGAIN.min(schedule.every)).await;
            }
        }
    }
}

/// Makes and proves a backup, and deletes the oldest ones.
async fn make(app: &App, Schedule { folder, keep, .. }: Schedule) -> Result<WrittenBackup> {
    let (data, now) = (app.data_dir.clone(), app.clock.now());
    let work = move || {
        let made = backup::into_folder(&data, &folder, Files::InPool, Proof::Wanted, now, &mut |_, _, _| ())?;
        backup::keep_newest(&folder, keep, now)?;
        Ok(made)
    };
    low_priority::run("backup", NICENESS, work).await?
}

/// Mails the reason of the first of several failures to all superadmins.
async fn mail_operators(app: &App, err: &Error) -> Result<()> {
    let reason = err.admin_detail();
    let queue = move |tx: &mut Tx| {
        for address in by_operator::superadmins(tx)? {
            mail_queue::add(tx, mail::backup_failed(tx.site(), &address, &reason))?;
        }
        Ok(())
    };
    app.db.write(queue).await
}
