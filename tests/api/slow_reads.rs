//! Reads that are not bounded in rows end by the clock, leave the pool as it was, and wait for a slot.

use std::sync::mpsc;

use tidings::{
    db::{Class, Db},
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
async fn users_and_the_public_have_slots_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(folder.path(), Box::new(drop)).unwrap();
    let (ended, public) = held(&db, Class::Public).await;
    assert_eq!(seven(&db, UserId::new()).await.unwrap(), 7);
    drop(ended);
    public.await.unwrap().unwrap();
    let (one, two) = (held(&db, UserId::new()).await, held(&db, UserId::new()).await);
    let mut third = Box::pin(seven(&db, UserId::new()));
    tokio::select! {
        biased;
        ended = &mut third => panic!("it waits for a slot, as the public must not: {ended:?}"),
        public = seven(&db, Class::Public) => assert_eq!(public.unwrap(), 7),
    }
    drop((one.0, two.0));
    assert_eq!(third.await.unwrap(), 7);
    db.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_wait_for_no_search_and_a_user_reads_several_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(folder.path(), Box::new(drop)).unwrap();
    let searches = [held(&db, UserId::new()).await, held(&db, UserId::new()).await];
    let cores = std::thread::available_parallelism().unwrap().get();
    let mut lists = Vec::new();
    for _ in 0..cores {
        lists.push(held(&db, Class::List).await);
    }
    // All connections that slow reads may have but the public's are taken now: short reads have theirs.
    assert_eq!(db.read(|conn| Ok(conn.query_row("select 7", [], |row| row.get::<_, i64>(0))?)).unwrap(), 7);
    let mut waiting = Box::pin(seven(&db, Class::List));
    tokio::select! {
        biased;
        ended = &mut waiting => panic!("there are as many slots as cores: {ended:?}"),
        public = seven(&db, Class::Public) => assert_eq!(public.unwrap(), 7),
    }
    drop(lists.pop());
    assert_eq!(waiting.await.unwrap(), 7);
    drop((searches, lists));
    db.close();
}

async fn seven(db: &Db, class: impl Into<Class>) -> Result<i64> {
    db.read_slow(class, |conn| Ok(conn.query_row("select 7", [], |row| row.get(0))?)).await
}

/// A slow read that has begun, and goes on until the sender is dropped.
async fn held(db: &Db, class: impl Into<Class>) -> (mpsc::Sender<()>, JoinHandle<Result<()>>) {
    let (release, released) = mpsc::channel::<()>();
    let (began, begun) = oneshot::channel();
    let (db, class) = (db.clone(), class.into());
    let reading = tokio::spawn(async move {
        db.read_slow(class, move |_| {
            _ = began.send(());
            _ = released.recv();
            Ok(())
        })
        .await
    });
    begun.await.expect("it has its turn");
    (release, reading)
}
