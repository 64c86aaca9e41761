//! Sends the mails of the queue.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Semaphore, task::JoinSet};

use super::queue_loops::{MINUTE, rest};
use crate::{
    domain::{accounts::unwritten_mails, mail_queue},
    error::{Error, Result},
    event::Queue,
    state::App,
};

/// Most mails in flight.
const MAILS: usize = 4;

/// Sends due mails. Sleeps until the next one is due or another is queued.
pub(super) async fn run(app: &App, sending: &mut JoinSet<()>) {
    let slots = Arc::new(Semaphore::new(MAILS));
    loop {
        let idle = send_due(app, &slots, sending).await;
        rest(idle, app, Queue::Mails, sending).await;
    }
}

/// Sends due mails. Returns the time until the next one is due.
async fn send_due(app: &App, slots: &Arc<Semaphore>, sending: &mut JoinSet<()>) -> Result<Duration> {
    while app.db.read(|conn| mail_queue::next_due(conn))?.is_some_and(|due| due <= app.clock.now()) {
        // The slot is taken before the claim: a lease must not run while a mail waits for a slot.
        let slot = slots.clone().acquire_owned().await.map_err(Error::internal)?;
        if let Some(claimed) = app.db.write(unwritten_mails::claim_and_write).await? {
            let app = app.clone();
            sending.spawn(async move {
                send(&app, claimed).await;
                drop(slot);
            });
        }
    }
    let next = app.db.read(|conn| mail_queue::next_due(conn))?;
    Ok(next.map_or(MINUTE, |due| due.since(app.clock.now())).clamp(Duration::from_millis(50), MINUTE))
}

async fn send(app: &App, claimed: mail_queue::Claimed) {
    let mail_queue::Claimed { id, attempts, mail } = claimed;
    let sent = app.mailer.send(id, &mail).await;
    app.metrics.mail(sent.is_ok());
    let recorded = match sent {
        Ok(()) => app.write_with_retry(move |tx| mail_queue::sent(tx, id)).await,
        Err(err) => {
            let reason = err.admin_detail();
            tracing::warn!(%id, attempts, reason, "a mail could not be sent");
            app.write_with_retry(move |tx| mail_queue::failed(tx, id, attempts, &reason)).await
        }
    };
    if let Err(err) = recorded {
        tracing::error!(%id, err = err.log_text(), "a mail's outcome could not be recorded");
    }
}
