//! The writer's promises, with the real thread and a real file.

use std::sync::{Arc, Mutex, mpsc};

use tidings::{
    db::{Db, Tx, write_beside_server},
    domain::{log::events, webhooks::delivery::queue},
    error::{Code, Error, Result},
    event::{Effect, Kind, Stream},
    id::ChannelId,
    time::Time,
};

use crate::harness::{database, site};

struct Fixture {
    db: Db,
    folder: tempfile::TempDir,
    effects: Arc<Mutex<Vec<Effect>>>,
}

impl Fixture {
    fn new() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let effects = Arc::new(Mutex::new(Vec::new()));
        let gathered = effects.clone();
        let db = database(folder.path(), move |batch| gathered.lock().unwrap().extend(batch));
        Fixture { db, folder, effects }
    }

    /// The bodies of what was published.
    fn published(&self) -> Vec<String> {
        let effects = self.effects.lock().unwrap();
        effects
            .iter()
            .filter_map(|effect| if let Effect::Publish(event) = effect { Some(event.body.clone()) } else { None })
            .collect()
    }

    fn rows(&self) -> i64 {
        self.db.read(|conn| Ok(conn.query_row("select count(*) from contacts", [], |row| row.get(0))?)).unwrap()
    }

    /// A transaction of another process.
    fn write_beside<T>(&self, f: impl FnOnce(&mut Tx) -> Result<T>) -> Result<T> {
        write_beside_server(self.folder.path(), &site(self.folder.path()), Time::now(), f)
    }
}

fn insert(tx: &Tx, n: u8) -> Result<()> {
    tx.execute("insert into contacts (id, name, email, message, created_at) values (?1, '', '', '', 0)", [[n; 16]])?;
    Ok(())
}

fn emit(tx: &mut Tx, text: &str) -> Result<i64> {
    let body = serde_json::json!(text);
    let (kind, stream) = (Kind::Reaction, Stream::Channel(ChannelId::new()));
    events::emit(tx, events::New { kind, stream, to_members: false, channel: None, message: None, actor: None, body: &body })
}

type Job = Box<dyn FnOnce(&mut Tx) -> Result<()> + Send>;

/// Runs the jobs in one batch: the writer is held while they queue up.
async fn in_one_batch(db: &Db, jobs: Vec<Job>) -> Vec<Result<()>> {
    let (go, wait) = mpsc::channel();
    let holder = db.write(move |_| {
        wait.recv().map_err(Error::internal)?;
        Ok(())
    });
    let mut waiting = Box::pin(holder);
    assert!(futures_util::poll!(&mut waiting).is_pending());
    let mut queued = Vec::new();
    for job in jobs {
        let mut job = Box::pin(db.write(job));
        assert!(futures_util::poll!(&mut job).is_pending());
        queued.push(job);
    }
    go.send(()).unwrap();
    _ = waiting.await;
    futures_util::future::join_all(queued).await
}

/// Each kind that goes to the members of a channel says how a member who was away gets it; no other kind may go there.
#[tokio::test]
async fn an_event_for_members_that_could_not_be_recovered_is_refused() {
    let fixture = Fixture::new();
    for kind in Kind::ALL {
        let emitted = fixture.db.write(move |tx| {
            let stream = Stream::Channel(ChannelId::new());
            let new = events::New {
                kind,
                stream,
                to_members: true,
                channel: None,
                message: None,
                actor: None,
                body: &serde_json::json!({}),
            };
            events::emit(tx, new)
        });
        assert_eq!(emitted.await.is_ok(), kind.recovery_method(false).is_some(), "{kind:?}");
    }
}

#[tokio::test]
async fn a_failed_or_panicking_job_undoes_only_itself() {
    let fixture = Fixture::new();
    let results = in_one_batch(
        &fixture.db,
        vec![
            Box::new(|tx| insert(tx, 1).and(emit(tx, "first").map(|_| ()))),
            Box::new(|tx| insert(tx, 2).and(emit(tx, "refused").and(Err(Error::Forbidden(Code::PermissionDenied, "no"))))),
            Box::new(|tx| {
                insert(tx, 3)?;
                emit(tx, "panicked")?;
                panic!("on purpose")
            }),
            Box::new(|tx| insert(tx, 4).and(emit(tx, "last").map(|_| ()))),
        ],
    )
    .await;
    assert!(
        matches!(results[..], [Ok(()), Err(Error::Forbidden(Code::PermissionDenied, "no")), Err(Error::Internal { .. }), Ok(())]),
        "{results:?}"
    );
    assert_eq!(fixture.rows(), 2);
    assert_eq!(fixture.published(), ["\"first\"", "\"last\""]);
}

#[tokio::test]
async fn a_job_that_ends_the_transaction_takes_the_batch_with_it_and_no_later_job() {
    let fixture = Fixture::new();
    let results = in_one_batch(
        &fixture.db,
        vec![
            Box::new(|tx| insert(tx, 1).and(emit(tx, "before").map(|_| ()))),
            Box::new(|tx| Ok(tx.execute_batch("rollback")?)),
            Box::new(|tx| insert(tx, 2).and(emit(tx, "after").map(|_| ()))),
        ],
    )
    .await;
    assert!(
        matches!(
            results[..],
            [Err(Error::Unavailable(Code::OutcomeUnknown, _)), Err(Error::Unavailable(Code::OutcomeUnknown, _)), Ok(())]
        ),
        "{results:?}"
    );
    assert_eq!(fixture.rows(), 1);
    assert_eq!(fixture.published(), ["\"after\""]);
}

/// A job that commits by itself leaves rows of unknown fate; they are pushed if they did get there.
#[tokio::test]
async fn a_row_that_was_committed_in_spite_of_the_failure_is_published() {
    let fixture = Fixture::new();
    let results = in_one_batch(
        &fixture.db,
        vec![
            Box::new(|tx| emit(tx, "before").map(|_| ())),
            Box::new(|tx| Ok(tx.execute_batch("commit")?)),
            Box::new(|tx| emit(tx, "after").map(|_| ())),
        ],
    )
    .await;
    assert!(
        matches!(
            results[..],
            [Err(Error::Unavailable(Code::OutcomeUnknown, _)), Err(Error::Unavailable(Code::OutcomeUnknown, _)), Ok(())]
        ),
        "{results:?}"
    );
    assert_eq!(fixture.published(), ["\"before\"", "\"after\""]);
}

#[tokio::test]
async fn a_caller_who_hangs_up_does_not_undo_the_write() {
    let fixture = Fixture::new();
    let mut hung_up = Box::pin(fixture.db.write(|tx| insert(tx, 1).and(emit(tx, "written"))));
    assert!(futures_util::poll!(&mut hung_up).is_pending());
    drop(hung_up);
    fixture.db.write(|tx| insert(tx, 2)).await.unwrap();
    assert_eq!(fixture.rows(), 2);
    assert_eq!(fixture.published(), ["\"written\""]);
}

#[tokio::test]
async fn a_caller_who_hangs_up_does_not_stop_a_write_in_steps() {
    let fixture = Fixture::new();
    let (told, mut steps) = tokio::sync::mpsc::unbounded_channel();
    let mut n = 0;
    let write = fixture.db.write_in_steps(move |tx| {
        n += 1;
        told.send(n).map_err(Error::internal)?;
        insert(tx, n).map(|()| (n == 3).then_some(n))
    });
    let mut hung_up = Box::pin(write);
    assert!(futures_util::poll!(&mut hung_up).is_pending());
    drop(hung_up);
    for n in 1..=3 {
        assert_eq!(steps.recv().await, Some(n));
    }
    fixture.db.write(|_| Ok(())).await.unwrap(); // after the last step's commit
    assert_eq!(fixture.rows(), 3);
}

#[tokio::test]
async fn a_write_in_steps_returns_what_its_last_step_does() {
    let fixture = Fixture::new();
    let steps = |fails: u8| {
        let mut n = 0;
        fixture.db.write_in_steps(move |tx| {
            n += 1;
            insert(tx, 16 * fails + n)?;
            if n == fails { Err(Error::Forbidden(Code::PermissionDenied, "no")) } else { Ok((n == 3).then_some(n)) }
        })
    };
    assert_eq!(steps(0).await.unwrap(), 3);
    assert!(matches!(steps(2).await, Err(Error::Forbidden(Code::PermissionDenied, "no"))));
    assert_eq!(fixture.rows(), 3 + 1, "what failed undoes its own step");
}

#[tokio::test]
async fn rows_written_by_another_process_are_published_once_and_in_order() {
    let fixture = Fixture::new();
    fixture.db.write(|tx| emit(tx, "ours")).await.unwrap();
    fixture.write_beside(|tx| emit(tx, "theirs")).unwrap();
    fixture.db.write(|tx| emit(tx, "ours again")).await.unwrap();
    fixture.db.write(|tx| emit(tx, "and again")).await.unwrap();
    assert_eq!(fixture.published(), ["\"ours\"", "\"theirs\"", "\"ours again\"", "\"and again\""]);
    let foreign = fixture.effects.lock().unwrap().iter().filter(|effect| matches!(effect, Effect::Foreign)).count();
    assert_eq!(foreign, 1, "our own commits and checkpoints are not foreign");
}

#[tokio::test]
async fn a_read_cannot_write_and_sees_one_state() {
    let fixture = Fixture::new();
    let refused = fixture.db.read(|conn| Ok(conn.execute("delete from contacts", [])?));
    assert!(format!("{refused:?}").contains("readonly"), "{refused:?}");
    let Err(Error::Internal { at: Some(at), .. }) = refused else { panic!("{refused:?}") };
    assert!(at.file().ends_with("writer.rs"), "the error names its line: {at}");
    let db = fixture.db.clone();
    let (first, second) = fixture
        .db
        .read(|conn| {
            let count = || conn.query_row("select count(*) from contacts", [], |row| row.get::<_, i64>(0));
            let first = count()?;
            fixture.write_beside(|tx| insert(tx, 1))?;
            Ok((first, count()?))
        })
        .unwrap();
    assert_eq!((first, second), (0, 0));
    drop(db);
    assert_eq!(fixture.rows(), 1, "the next read sees it");
}

#[tokio::test]
async fn closing_commits_all_queued_jobs() {
    let fixture = Fixture::new();
    let queued: Vec<_> = (1..=100).map(|n| fixture.db.write(move |tx| insert(tx, n))).collect();
    let mut queued = Box::pin(futures_util::future::join_all(queued));
    assert!(futures_util::poll!(&mut queued).is_pending());
    let db = fixture.db.clone();
    tokio::task::spawn_blocking(move || db.close()).await.unwrap();
    assert!(queued.await.iter().all(Result::is_ok));
    assert_eq!(fixture.rows(), 100);
    assert!(matches!(fixture.db.write(|tx| insert(tx, 101)).await, Err(Error::Unavailable(..))));
}

#[tokio::test]
async fn pruning_deletes_in_slices_and_raises_the_floor() {
    let fixture = Fixture::new();
    for _ in 0..5 {
        fixture.db.write(|tx| emit(tx, "x")).await.unwrap();
    }
    let later = Time::now() + std::time::Duration::from_secs(1);
    assert_eq!(fixture.db.write(move |tx| events::prune(tx, later, 3)).await.unwrap(), 3);
    assert_eq!(fixture.db.write(move |tx| events::prune(tx, later, 3)).await.unwrap(), 2);
    assert_eq!(fixture.db.write(move |tx| events::prune(tx, later, 3)).await.unwrap(), 0);
    let sql = "select cast(value as integer) from meta where key = 'events_floor'";
    let floor: i64 = fixture.db.read(|conn| Ok(conn.query_row(sql, [], |row| row.get(0))?)).unwrap();
    assert_eq!(floor, 5);
    assert_eq!(fixture.db.write(|tx| emit(tx, "y")).await.unwrap(), 6, "a seq never comes back");
}

#[tokio::test]
async fn a_slice_of_pruning_is_bounded_in_bytes() {
    const LONG: usize = 200 << 10; // two of them are too much for one slice
    let fixture = Fixture::new();
    for n in 1..=3 {
        fixture.db.write(|tx| emit(tx, &"x".repeat(LONG))).await.unwrap();
        let carried = "insert into webhook_events (n, payload) values (?1, ?2)";
        fixture.db.write(move |tx| Ok(tx.execute(carried, (n, "x".repeat(LONG)))?)).await.unwrap();
    }
    let later = Time::now() + std::time::Duration::from_secs(1);
    for expected in [1, 1, 1, 0] {
        assert_eq!(fixture.db.write(move |tx| events::prune(tx, later, 200)).await.unwrap(), expected);
        assert_eq!(fixture.db.write(|tx| queue::prune_unreferenced_events(tx, 200)).await.unwrap(), expected);
    }
}
