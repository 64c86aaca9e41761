//! Notifications to systemd: that the server is ready, that it stops, and that it is alive. Without systemd, nothing.

use std::path::PathBuf;

use sd_notify::NotifyState;
use tokio::time::interval;

use crate::db;

/// Tells that the server listens. From then on, where the unit has a watchdog, tells twice in its time that the server is well:
/// that its runtime goes on, and that the database can be read. When it is told nothing more, systemd restarts the server.
pub fn ready(data: PathBuf) {
    notify(NotifyState::Ready);
    let Some(within) = sd_notify::watchdog_enabled().filter(|within| !within.is_zero()) else { return };
    tokio::spawn(async move {
        let mut half = interval(within / 2);
        loop {
            half.tick().await;
            let data = data.clone();
            // Over a connection of its own: an old one may have in its memory what the disk has no more.
            let read = move || db::require_database(&data);
            match tokio::task::spawn_blocking(read).await {
                Ok(Ok(_)) => notify(NotifyState::Watchdog),
                Ok(Err(err)) => {
                    tracing::error!(err = err.log_text(), "the database can't be read, systemd is not told that all is well")
                }
                Err(err) => tracing::error!(%err, "the check for systemd failed"),
            }
        }
    });
}

pub fn stopping() {
    notify(NotifyState::Stopping);
}

fn notify(state: NotifyState<'_>) {
    if let Err(err) = sd_notify::notify(&[state]) {
        tracing::warn!(%err, "systemd can't be told of the server");
    }
}
