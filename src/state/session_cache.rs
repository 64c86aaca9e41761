//! A cache of live sessions, so that most requests find their caller without the database.

use quick_cache::sync::Cache;

use crate::{domain::access::Caller, error::Result, event::Effect, id::SessionId};

/// The callers of live sessions, bounded in number. While a session is read, its place in the cache is reserved; removing the
/// session removes the place, so that a read from before a log-out can't put the session back.
pub struct SessionCache(Cache<SessionId, Caller>);

impl Default for SessionCache {
    fn default() -> SessionCache {
        SessionCache(Cache::new(Self::MOST))
    }
}

impl SessionCache {
    const MOST: usize = 100_000;

    pub fn find_or_read(&self, session: SessionId, read: impl FnOnce() -> Result<Option<Caller>>) -> Result<Option<Caller>> {
        let found = self.0.get_or_insert_with(&session, || read().map_err(Some)?.ok_or(None));
        found.map_or_else(|failed| failed.map_or(Ok(None), Err), |caller| Ok(Some(caller)))
    }

    /// Removes the sessions that these effects of a commit have ended or changed. Accounts change so seldom that all sessions
    /// may be read again then.
    pub fn forget_affected(&self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::SessionEnded { session, .. } => _ = self.0.remove(session),
                Effect::AccountChanged(_) | Effect::Foreign => self.0.clear(),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{access::PlatformRole, scopes::Grant},
        id::UserId,
    };

    #[test]
    fn a_read_from_before_a_log_out_does_not_put_the_session_back() {
        let (cache, session, user) = (SessionCache::default(), SessionId::new(), UserId::new());
        let caller = Caller { user, session, role: PlatformRole::User, person: user, grant: Grant::Session };
        let is_kept = || cache.find_or_read(session, || Ok(None)).unwrap().is_some();
        let ends = [Effect::SessionEnded { user, session }, Effect::AccountChanged(user), Effect::Foreign];
        for end in ends {
            let read = || {
                cache.forget_affected(std::slice::from_ref(&end));
                Ok(Some(caller))
            };
            assert!(cache.find_or_read(session, read).unwrap().is_some() && !is_kept(), "{end:?}");
            assert!(cache.find_or_read(session, || Ok(Some(caller))).unwrap().is_some() && is_kept(), "{end:?}");
            cache.forget_affected(&[end]);
            assert!(!is_kept());
        }
    }
}
