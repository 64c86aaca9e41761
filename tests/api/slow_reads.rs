//! Reads that are not bounded in rows end by the clock, leave the pool as it was, and wait for their turn.

use std::sync::mpsc;

use tidings::{
    db::{Asker, Db},
    error::{Error, Result},
    id::UserId,
};
use tokio::{sync::oneshot, task::JoinHandle};

const ENDLESS: &str = "with recursive number (n) as (select 1 union all select n + 1 from number) select max(n) from number";

#[tokio::test(flavor = "multi_thread")]
async fn a_read_without_end_is_ended_and_harms_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(folder.path(), Box::new(drop)).unwrap();
    let endless = || db.read_slow(UserId::new(), |conn| Ok(conn.query_row(ENDLESS, [], |row| row.get::<_, i64>(0))?));
    let (one, two, quick) = tokio::join!(endless(), endless(), seven(&db, UserId::new()));
    for ended in [one, two] {
        assert!(matches!(ended, Err(Error::Unavailable(_))), "{ended:?}");
    }
    assert_eq!(quick.unwrap(), 7, "it waits for its turn");
    let panicked = db.read_slow(UserId::new(), |_| -> Result<()> { panic!("a bug") }).await;
    assert!(matches!(panicked, Err(Error::Internal { .. })));
    // Each connection of the pool, and no clock stands over them any more.
    for _ in 0..20 {
        assert_eq!(db.read(|conn| Ok(conn.query_row("select 7", [], |row| row.get::<_, i64>(0))?)).unwrap(), 7);
    }
    db.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_has_one_at_once_and_waits_a_moment_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(folder.path(), Box::new(drop)).unwrap();
    let (ada, grace) = (UserId::new(), UserId::new());
    let (release, reading) = held(&db, ada).await;
    let (refused, other) = tokio::join!(seven(&db, ada), seven(&db, grace));
    assert!(matches!(refused, Err(Error::TooMany(1))), "{refused:?}");
    assert_eq!(other.unwrap(), 7);
    // One that waits when the first ends goes on.
    let waiting = tokio::join!(seven(&db, ada), async { drop(release) }).0;
    assert_eq!(waiting.unwrap(), 7);
    reading.await.unwrap().unwrap();
    db.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn users_and_the_public_have_places_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(folder.path(), Box::new(drop)).unwrap();
    let (ended, public) = held(&db, Asker::Public).await;
    assert_eq!(seven(&db, UserId::new()).await.unwrap(), 7);
    drop(ended);
    public.await.unwrap().unwrap();
    let (one, two) = (held(&db, UserId::new()).await, held(&db, UserId::new()).await);
    let mut third = Box::pin(seven(&db, UserId::new()));
    tokio::select! {
        biased;
        ended = &mut third => panic!("it waits for a place, as the public must not: {ended:?}"),
        public = seven(&db, Asker::Public) => assert_eq!(public.unwrap(), 7),
    }
    drop((one.0, two.0));
    assert_eq!(third.await.unwrap(), 7);
    db.close();
}

async fn seven(db: &Db, asker: impl Into<Asker>) -> Result<i64> {
    db.read_slow(asker, |conn| Ok(conn.query_row("select 7", [], |row| row.get(0))?)).await
}

/// A slow read that has begun, and goes on until the sender is dropped.
async fn held(db: &Db, asker: impl Into<Asker>) -> (mpsc::Sender<()>, JoinHandle<Result<()>>) {
    let (release, released) = mpsc::channel::<()>();
    let (began, begun) = oneshot::channel();
    let (db, asker) = (db.clone(), asker.into());
    let reading = tokio::spawn(async move {
        db.read_slow(asker, move |_| {
            _ = began.send(());
            _ = released.recv();
            Ok(())
        })
        .await
    });
    begun.await.expect("it has its turn");
    (release, reading)
}
