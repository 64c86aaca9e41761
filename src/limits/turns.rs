//! Turns at work that thousands ask for at once, as when all clients come back after a restart. Without turns, all of them would
//! be in the queue of the runtime, and each request of those who are there already would wait behind them.

use std::{future::poll_fn, pin::Pin, task::Poll, thread::available_parallelism};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// As many turns as the machine has cores.
pub struct Turns(Semaphore);

impl Default for Turns {
    fn default() -> Turns {
        Turns(Semaphore::new(available_parallelism().map_or(1, usize::from)))
    }
}

impl Turns {
    /// Waits for a turn, in the order of the calls. Whoever has it works without waiting for anything, and drops it.
    pub async fn wait(&self) -> SemaphorePermit<'_> {
        self.0.acquire().await.expect("it is never closed")
    }

    /// Runs a future whose first step takes a turn. From where it waits for something, it has none: a client that says nothing
    /// keeps nobody waiting. A permit to begin at all is given back then, too.
    pub async fn begin<T>(&self, mut future: Pin<Box<impl Future<Output = T>>>, permit: Option<OwnedSemaphorePermit>) -> T {
        let turn = self.wait().await;
        let first = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await;
        drop((turn, permit));
        match first {
            Poll::Ready(done) => done,
            Poll::Pending => future.await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, sync::Arc};

    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn as_many_work_as_there_are_turns_and_who_waits_has_none() {
        let turns = Arc::new(Turns(Semaphore::new(2)));
        let others = [turns.wait().await, turns.wait().await];
        let waiting = turns.clone();
        let third = tokio::spawn(async move { waiting.begin(Box::pin(async { 3 }), None).await });
        yield_now().await;
        assert!(!third.is_finished());
        drop(others);
        assert_eq!(third.await.unwrap(), 3);

        let clients = [(); 3].map(|()| {
            let turns = turns.clone();
            tokio::spawn(async move { turns.begin(Box::pin(pending::<()>()), None).await })
        });
        yield_now().await;
        assert_eq!(turns.0.available_permits(), 2);
        clients.iter().for_each(|client| client.abort());
    }
}
