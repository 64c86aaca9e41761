//! Notices that a command has replaced the secret key, and that the tokens of a former key are accepted no longer.

use std::time::Duration;

use tokio::time::timeout;

use crate::{
    db::KeyFile,
    error::{Error, Result},
    state::App,
};

/// Time between two looks at the key file.
const EVERY: Duration = Duration::from_secs(5);

pub(super) async fn run(app: &App) {
    let mut advances = app.clock.watch_advances();
    let (mut known, mut has_failed) = (None, false);
    loop {
        let (data, now) = (app.data_dir.clone(), app.clock.now());
        let read = tokio::task::spawn_blocking(move || KeyFile::read(&data, now)).await.map_err(Error::internal);
        match read.and_then(Result::from) {
            Ok(file) => {
                has_failed = false;
                if known.as_ref() != Some(&file) {
                    app.site.replace_keys(file.keys());
                    if known.replace(file).is_some() {
                        tracing::info!("the secret key was replaced, or the tokens of a former one are accepted no longer");
                    }
                }
            }
            Err(err) if !std::mem::replace(&mut has_failed, true) => {
                tracing::error!(err = err.log_text(), "the secret key can't be read; the server goes on with the one it has");
            }
            Err(_) => {}
        }
        _ = timeout(EVERY, advances.changed()).await;
    }
}
