//! Bounds the backlog of publications that one user can cause. A request that may change something counts from its start until the
//! publisher has sent what was committed before its end, and a user at the bound waits. The rate limits don't know the size of an
//! audience: alone, they let one author queue seconds of deliveries to 10,000 listeners, and those of other authors wait behind them.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, OnceLock},
};

use tokio::sync::Notify;

use crate::id::UserId;

/// At most 8 requests of a user count at once: deliveries to 10,000 listeners are then some 90 ms behind (bench "fan-out-flood"). To a
/// hundred listeners, 8 posts are sent within milliseconds, so that nobody waits.
const MOST: usize = 8;

#[derive(Default)]
pub struct Unpublished {
    state: Mutex<State>,
    /// Notified when a user is below the bound again.
    eased: Notify,
}

#[derive(Default)]
struct State {
    of_users: HashMap<UserId, usize>,
    /// The number of commits that the publisher got, and of those that it has sent.
    committed: u64,
    published: u64,
    /// Requests that have ended, each with the number of commits that must be sent before it no longer counts.
    ended: VecDeque<(u64, UserId)>,
}

/// Counts a request until this is dropped and all commits up to then are sent.
struct Counted(Arc<Unpublished>, UserId);

impl Drop for Counted {
    fn drop(&mut self) {
        let mut state = self.0.state();
        let committed = state.committed;
        state.ended.push_back((committed, self.1));
        self.0.release(state);
    }
}

/// Data of each request: keeps it counted for as long as the request exists.
#[derive(Clone, Default)]
pub struct RequestGuard(Arc<OnceLock<Counted>>);

impl Unpublished {
    /// Counts the request, once the user is below the bound. A request whose session is checked twice counts once: otherwise it
    /// could wait for itself.
    pub async fn begin(self: &Arc<Self>, user: UserId, request: &RequestGuard) {
        while request.0.get().is_none() {
            let eased = self.eased.notified();
            if self.try_count(user) {
                _ = request.0.set(Counted(self.clone(), user));
                return;
            }
            eased.await;
        }
    }

    fn try_count(&self, user: UserId) -> bool {
        let mut state = self.state();
        let count = state.of_users.entry(user).or_default();
        let is_below = *count < MOST;
        *count += usize::from(is_below);
        is_below
    }

    /// Notes a commit that goes to the publisher.
    pub fn committed(&self) {
        self.state().committed += 1;
    }

    /// Notes that so many more commits are sent, or that nothing here sends them.
    pub fn published(&self, count: u64) {
        let mut state = self.state();
        state.published += count;
        self.release(state);
    }

    /// Stops counting the ended requests whose commits are sent.
    fn release(&self, mut state: MutexGuard<'_, State>) {
        let (mut has_eased, published) = (false, state.published);
        while let Some((_, user)) = state.ended.pop_front_if(|(committed, _)| *committed <= published) {
            let count = state.of_users.get_mut(&user).expect("a request that has ended is counted");
            has_eased |= *count == MOST;
            *count -= 1;
            if *count == 0 {
                state.of_users.remove(&user);
            }
        }
        drop(state);
        if has_eased {
            self.eased.notify_waiters();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds this")
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn eight_requests_of_a_user_begin_and_one_more_waits() {
        let unpublished = Arc::<Unpublished>::default();
        let (user, other) = (UserId::new(), UserId::new());
        let begin = |user| {
            let guard = RequestGuard::default();
            unpublished.begin(user, &guard).now_or_never().map(|()| guard)
        };
        let mut guards: Vec<RequestGuard> = (0..MOST).map(|_| begin(user).unwrap()).collect();
        assert!(begin(user).is_none());
        assert!(begin(other).is_some());
        unpublished.begin(user, &guards[0]).now_or_never().expect("a request never waits for itself");
        guards.pop();
        assert!(begin(user).is_some());
        drop(guards);
        assert!(unpublished.state().of_users.is_empty());
    }

    #[tokio::test]
    async fn a_request_counts_until_what_it_has_changed_is_sent() {
        let unpublished = Arc::<Unpublished>::default();
        let user = UserId::new();
        for _ in 0..MOST {
            let guard = RequestGuard::default();
            unpublished.begin(user, &guard).await;
            unpublished.committed();
        }
        let guard = RequestGuard::default();
        let mut begins = Box::pin(unpublished.begin(user, &guard));
        assert!(futures_util::poll!(&mut begins).is_pending());
        unpublished.published(1);
        begins.await;
        drop(guard);
        assert_eq!(unpublished.state().of_users[&user], MOST);
        unpublished.published(MOST as u64 - 1);
        assert!(unpublished.state().of_users.is_empty());
    }
}
