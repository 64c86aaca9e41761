//! Work on a thread of its own that yields the processor to requests.

use std::thread;

use tokio::sync::oneshot;

use crate::error::{Error, Result};

/// Runs `work` with this niceness. It goes on if the future is dropped.
///
/// On Linux, a niceness is that of a thread. It can't be lowered again, so each work has a new thread.
pub async fn run<T: Send + 'static>(name: &str, niceness: i32, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let (done, result) = oneshot::channel();
    let low = move || {
        if let Err(err) = rustix::process::nice(niceness) {
            tracing::debug!(%err, "a thread runs with the priority of requests");
        }
        _ = done.send(work());
    };
    thread::Builder::new().name(name.into()).spawn(low).map_err(Error::internal)?;
    result.await.map_err(Error::internal)
}
