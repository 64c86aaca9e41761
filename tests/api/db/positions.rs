//! The place in the log that an answer notes is that of the first transaction that it shows.

use tidings::{
    db::{Class, Db, with_position},
    domain::log::events,
    event::{Kind, Stream},
    id::ChannelId,
};

use crate::harness::database;

/// Writes another event; returns its seq.
async fn emit(db: &Db) -> i64 {
    let emitted = db.write(|tx| {
        let (kind, stream, body) = (Kind::Reaction, Stream::Channel(ChannelId::new()), serde_json::json!("one"));
        events::emit(tx, events::New { kind, stream, to_members: false, channel: None, message: None, actor: None, body: &body })
    });
    emitted.await.unwrap()
}

#[tokio::test]
async fn an_answer_has_the_place_of_the_first_state_that_it_shows() {
    let folder = tempfile::tempdir().unwrap();
    let db = &database(folder.path(), drop);
    assert_eq!(with_position(async { db.read(|_| Ok(())).unwrap() }).await, ((), Some(0)), "an empty log");
    let first = emit(db).await;

    let keyed = async {
        db.read_without_position(|_| Ok(())).unwrap();
        let shown = db.read(|_| Ok("shown")).unwrap();
        emit(db).await;
        db.read(|_| Ok(())).unwrap();
        shown
    };
    assert_eq!(with_position(keyed).await, ("shown", Some(first)));

    let slow = async {
        db.read_without_position(|_| Ok(())).unwrap();
        let seq = emit(db).await;
        db.read_bounded(None, |_| Ok(())).await.unwrap();
        emit(db).await;
        db.read_slow(Class::Public, |_| Ok(())).await.unwrap();
        seq
    };
    let (seq, shown) = with_position(slow).await;
    assert_eq!(shown, Some(seq));

    assert_eq!(with_position(async { db.read_without_position(|_| Ok(())).unwrap() }).await, ((), None), "it shows nothing");
}

#[tokio::test]
async fn what_commits_during_a_transaction_lies_after_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let db = database(folder.path(), drop);
    let before = emit(&db).await;
    let (started, begun) = tokio::sync::oneshot::channel();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let reading = db.read_bounded(None, move |conn| {
        started.send(()).unwrap();
        wait.recv().unwrap();
        Ok(conn.query_row("select max(seq) from events", [], |row| row.get::<_, i64>(0))?)
    });
    let writing = async {
        begun.await.unwrap();
        emit(&db).await;
        go.send(()).unwrap();
    };
    let ((seen, shown), ()) = tokio::join!(with_position(reading), writing);
    assert_eq!((seen.unwrap(), shown), (before, Some(before)));
}
