//! Reads that are not bounded in rows end by the clock, leave the pool as it was, and wait for a slot.

use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

use crate::harness::{Server, database};
use serde_json::json;
use tidings::{
    clock::Clock,
    config::Settings,
    db::{Class, Db},
    domain::{
        access::{Caller, PlatformRole},
        scopes::Grant,
    },
    error::{Code, Error, Result},
    id::{OrganisationId, SessionId, Share, UserId},
    wiring,
};
use tokio::{sync::oneshot, task::JoinHandle};

const ENDLESS: &str = "with recursive number (n) as (select 1 union all select n + 1 from number) select max(n) from number";

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_read_is_aborted_and_delays_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let db = database(folder.path(), drop);
    let endless = || db.read_slow(member(), |conn| Ok(conn.query_row(ENDLESS, [], |row| row.get::<_, i64>(0))?));
    let began = Instant::now();
    let (one, two, quick) = tokio::join!(endless(), endless(), seven(&db, member()));
    for ended in [one, two] {
        assert!(matches!(ended, Err(Error::Unavailable(Code::TooSlow, _))), "{ended:?}");
    }
    assert_eq!(quick.unwrap(), 7, "it waits for its turn");
    let within = began.elapsed();
    assert!(within >= Duration::from_secs(1) && within < Duration::from_secs(2), "one second, and not {within:?}");
    let panicked = db.read_slow(member(), |_| -> Result<()> { panic!("a bug") }).await;
    assert!(matches!(panicked, Err(Error::Internal { .. })));
    // Each connection of the pool, and no clock stands over them any more.
    for _ in 0..20 {
        assert_eq!(db.read(|conn| Ok(conn.query_row("select 7", [], |row| row.get::<_, i64>(0))?)).unwrap(), 7);
    }
    db.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_has_one_slow_read_at_once_and_waits_a_moment_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let db = database(folder.path(), drop);
    let (user, grace) = (person(), member());
    let [ada, elsewhere] = [OrganisationId::new(), OrganisationId::new()].map(|organisation| Class::Member(user, organisation));
    let (release, reading) = held(&db, elsewhere).await;
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
async fn organisations_and_the_public_have_their_own_slots_for_slow_reads() {
    let folder = tempfile::tempdir().unwrap();
    let db = database(folder.path(), drop);
    let (ended, public) = held(&db, Class::Public).await;
    assert_eq!(seven(&db, member()).await.unwrap(), 7);
    drop(ended);
    public.await.unwrap().unwrap();
    let (one, two) = (held(&db, member()).await, held(&db, member()).await);
    let mut third = Box::pin(seven(&db, member()));
    tokio::select! {
        biased;
        ended = &mut third => panic!("it waits for a slot, as the public must not: {ended:?}"),
        public = seven(&db, Class::Public) => assert_eq!(public.unwrap(), 7),
    }
    drop((one.0, two.0));
    assert_eq!(third.await.unwrap(), 7);
    db.close();
}

/// Whatever its members search for, however many of them.
#[tokio::test(flavor = "multi_thread")]
async fn an_organisation_has_one_slow_read_at_once_and_does_not_delay_others() {
    let folder = tempfile::tempdir().unwrap();
    let db = database(folder.path(), drop);
    let organisation = OrganisationId::new();
    let colleague = || Class::Member(person(), organisation);
    let (release, reading) = held(&db, colleague()).await;
    let mut waiting: Vec<_> = (0..20).map(|_| Box::pin(seven(&db, colleague()))).collect();
    for colleague in &mut waiting {
        tokio::select! {
            biased;
            ended = colleague => panic!("it has its turn beside another of the organisation: {ended:?}"),
            other = seven(&db, member()) => assert_eq!(other.unwrap(), 7),
        }
    }
    drop(release);
    reading.await.unwrap().unwrap();
    for colleague in waiting {
        assert_eq!(colleague.await.unwrap(), 7);
    }
    db.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn outsiders_do_not_take_an_organisations_slot_for_slow_reads() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = OrganisationId(ada.organisation("Engines").await.parse().unwrap());
    let folder = server.end_and_keep().await;
    let settings = Settings::for_folder(folder.path());
    let app = wiring::open(&settings, std::net::SocketAddr::from(([127, 0, 0, 1], 80)), Clock::default()).unwrap();
    let seven = async |user: UserId| {
        let caller = Caller { user, session: SessionId::new(), role: PlatformRole::User, person: user, grant: Grant::Session };
        app.read_slow_in_organisation(
            caller,
            organisation,
            |conn| Ok(conn.query_row("select 7", [], |row| row.get::<_, i64>(0))?),
        )
        .await
    };
    let member = UserId(ada.user_id.parse().unwrap());
    let (release, reading) = held(&app.db, Class::Member(person(), organisation)).await;
    let mut waiting = Box::pin(seven(member));
    tokio::select! {
        biased;
        ended = &mut waiting => panic!("a member waits for the other: {ended:?}"),
        outsider = seven(UserId::new()) => assert_eq!(outsider.unwrap(), 7),
    }
    drop(release);
    reading.await.unwrap().unwrap();
    assert_eq!(waiting.await.unwrap(), 7);
    wiring::finish_writes(&app);
}

/// The writer adds up no channels: a change of an organisation is committed while its answer waits for the caller's other lists.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_organisation_is_read_after_the_commit() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let path = format!("/organisations/{organisation}");
    let lists = Class::List(Some(Share::Person(UserId(ada.user_id.parse().unwrap()))));
    let both = [held(&server.app().db, lists).await, held(&server.app().db, lists).await];
    let mut change = Box::pin(async { ada.put(&path, json!({ "name": "Looms" })).await.expect(200) });
    let seen = async { while grace.get(&path).await.expect(200)["data"]["name"] != "Looms" {} };
    tokio::select! {
        biased;
        _ = &mut change => panic!("it is answered while two lists of the caller's are read"),
        () = seen => {}
    }
    for (release, reading) in both {
        drop(release);
        _ = reading.await; // on a busy machine it may have taken longer than a list may
    }
    assert_eq!(change.await["data"]["name"], "Looms");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_user_and_the_public_have_two_lists_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let db = database(folder.path(), drop);
    for (one, other) in [(Some(person()), None), (None, Some(person()))] {
        let held_lists = [held(&db, Class::List(one)).await, held(&db, Class::List(one)).await];
        let mut third = Box::pin(seven(&db, Class::List(one)));
        tokio::select! {
            biased;
            ended = &mut third => panic!("it has its turn beside two lists of theirs: {ended:?}"),
            other = seven(&db, Class::List(other)) => assert_eq!(other.unwrap(), 7),
        }
        let [(release, first), second] = held_lists;
        drop(release);
        first.await.unwrap().unwrap();
        assert_eq!(third.await.unwrap(), 7);
        drop(second.0);
        second.1.await.unwrap().unwrap();
    }
    db.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_wait_for_no_search_and_have_as_many_slots_as_cores() {
    let folder = tempfile::tempdir().unwrap();
    let db = database(folder.path(), drop);
    let searches = [held(&db, member()).await, held(&db, member()).await];
    let cores = std::thread::available_parallelism().unwrap().get().max(3);
    let mut lists = Vec::new();
    for _ in 0..cores {
        lists.push(held(&db, Class::List(Some(person()))).await);
    }
    // All connections that slow reads may have but the public's are taken now: short reads have theirs.
    assert_eq!(db.read(|conn| Ok(conn.query_row("select 7", [], |row| row.get::<_, i64>(0))?)).unwrap(), 7);
    let mut waiting = Box::pin(seven(&db, Class::List(Some(person()))));
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

/// A new member of a new organisation.
fn person() -> Share {
    Share::Person(UserId::new())
}

fn member() -> Class {
    Class::Member(person(), OrganisationId::new())
}

async fn seven(db: &Db, class: Class) -> Result<i64> {
    db.read_slow(class, |conn| Ok(conn.query_row("select 7", [], |row| row.get(0))?)).await
}

/// A slow read that has begun, and goes on until the sender is dropped.
async fn held(db: &Db, class: Class) -> (mpsc::Sender<()>, JoinHandle<Result<()>>) {
    let (release, released) = mpsc::channel::<()>();
    let (began, begun) = oneshot::channel();
    let db = db.clone();
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
