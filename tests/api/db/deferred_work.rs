//! Changes that touch many records: access that they end has ended at once, and the rest follows in slices, over a
//! restart, too. Between the two, nobody sees what they may not see any more.

mod profiles;

use crate::harness::{Client, Server, blob};
use serde_json::json;
use tempfile::TempDir;
use tidings::{
    clock::Clock,
    config::Settings,
    domain::{
        access::{self, Caller, PlatformRole},
        accounts::{
            self,
            mailbox_proof::{self, Proof},
        },
        channels::record,
        deferred_work,
        log::cursors,
        messages::deleting,
        organisations::{leaving, members, memberships, roles},
        scopes::Grant,
        streams::{self, recovery},
        webhooks::{
            delivery::{
                following,
                queue::{self, Claim},
            },
            incoming_posts, received,
        },
    },
    error::{Code, Error, Result},
    event::Stream,
    id::{ChannelId, MessageId, OrganisationId, SessionId, UserId, WebhookId},
    secret::sender_proof,
    state::App,
    wiring,
};
use uuid::Uuid;

/// More than two slices of anything.
const MANY: u128 = 450;

/// A folder with Ada's organisation, and Grace in it, for an application without background jobs.
struct Scene {
    folder: TempDir,
    organisation: OrganisationId,
    ada: Caller,
    grace: Caller,
    general: ChannelId,
}

impl Scene {
    /// Makes the scene. `fill` gets the ids of the organisation, its default channel, Ada and Grace as SQL literals.
    async fn make(role: &str, fill: impl Fn([&str; 4]) -> String) -> Scene {
        let server = Server::start().await;
        let ada = server.user("ada").await;
        let organisation = ada.organisation("Engines").await;
        let role = json!({ "name": role, "permission_list": { "post:messages": true, "invite:members": true } });
        let role = ada.post(&format!("/organisations/{organisation}/roles"), role).await.expect(201)["data"]["name"].take();
        let grace = server.member(&ada, &organisation, "grace", role.as_str().unwrap()).await;
        let general = ada.general(&organisation).await;
        let caller = |client: &Client| Caller {
            user: UserId(id(&client.user_id)),
            session: SessionId::new(),
            role: PlatformRole::User,
            person: UserId(id(&client.user_id)),
            grant: Grant::Session,
        };
        let (ada, grace) = (caller(&ada), caller(&grace));
        let in_sql = [&organisation, &general, &ada.user.to_string(), &grace.user.to_string()].map(|id| blob(id));
        let folder = server.end_and_keep().await;
        let database = rusqlite::Connection::open(folder.path().join("tidings.db")).unwrap();
        database
            .execute_batch(&format!(
                "create temp table k as with recursive k (k) as (select 1 union all select k + 1 from k where k < {MANY}) select k from k;
                 {}",
                fill(in_sql.each_ref().map(String::as_str))
            ))
            .unwrap();
        Scene { folder, organisation: OrganisationId(id(&organisation)), ada, grace, general: ChannelId(id(&general)) }
    }

    fn open(&self) -> App {
        wiring::open(&Settings::for_folder(self.folder.path()), std::net::SocketAddr::from(([127, 0, 0, 1], 1)), Clock::default())
            .unwrap()
    }

    fn number(&self, query: &str) -> i64 {
        let database = rusqlite::Connection::open(self.folder.path().join("tidings.db")).unwrap();
        database.query_row(query, [], |row| row.get(0)).unwrap()
    }
}

fn id(text: &str) -> Uuid {
    text.parse().unwrap()
}

fn left(app: &App) -> i64 {
    app.db.read(|conn| deferred_work::count(conn)).unwrap()
}

/// Finishes all deferred work and lets webhooks follow the log; returns the number of slices.
async fn finish(app: &App) -> usize {
    let mut slices = 0;
    loop {
        let done = app.db.write(tidings::jobs::deferred_work::work_slice).await.unwrap();
        let followed = if follow(app).await { 1 } else { 0 };
        if done + followed == 0 {
            return slices;
        }
        slices += done + followed;
    }
}

/// Lets webhooks follow the log by one slice; false if there was nothing left.
async fn follow(app: &App) -> bool {
    let from = app.db.write(following::start).await.unwrap();
    let ahead = app.db.read(|conn| following::skip_irrelevant_rows(conn, from)).unwrap();
    app.db.write(move |tx| following::queue_from_log(tx, ahead.seq)).await.unwrap();
    ahead.next == cursors::Next::Work
}

/// Channels that Grace owns and Ada is in, each with a webhook of Grace's that has something to deliver.
fn hers([organisation, _, ada, grace]: [&str; 4]) -> String {
    format!(
        "insert into channels (id, organisation_id, name, is_private, owner_id, created_by, user_count, created_at, updated_at)
           select unhex(printf('f2%030x', k)), {organisation}, 'c' || k, 1, {grace}, {grace}, 2, 0, 0 from k;
         insert into channel_members (channel_id, user_id, username, created_at)
           select unhex(printf('f2%030x', k)), {grace}, 'grace', 0 from k
           union all select unhex(printf('f2%030x', k)), {ada}, 'ada', 1 from k;
         insert into webhooks (id, channel_id, owner_id, name, url, url_by, target, slug_hash, secret, created_at, updated_at)
           select unhex(printf('f3%030x', k)), unhex(printf('f2%030x', k)), {grace}, 'w', 'http://x.example/', {grace},
             'x.example:80', unhex(printf('%064x', k)), x'00', 0, 0 from k;
         -- a deleted one, with more webhooks than a slice changes
         insert into channels (id, organisation_id, name, owner_id, created_by, created_at, updated_at, deleted_at)
           values (x'f7000000000000000000000000000001', {organisation}, 'gone', {grace}, {grace}, 0, 0, 1);
         insert into webhooks (id, channel_id, owner_id, name, slug_hash, secret, created_at, updated_at)
           select unhex(printf('f7%030x', k)), x'f7000000000000000000000000000001', {grace}, 'w', unhex(printf('f7%062x', k)), x'00', 0, 0
           from k where k <= 30;
         insert into webhook_events (n, payload) values (1, '{{}}');
         insert into deliveries (id, webhook_id, event_n, due_at, created_at)
           select unhex(printf('f4%030x', k)), unhex(printf('f3%030x', k)), 1, 1, 1 from k;"
    )
}

const LAST_CHANNEL: ChannelId = ChannelId(Uuid::from_u128((0xf2 << 120) + MANY));
const LAST_WEBHOOK: WebhookId = WebhookId(Uuid::from_u128((0xf3 << 120) + MANY));

/// Whether the last of Grace's webhooks, which is active and has a queued delivery, is refused to deliver.
async fn is_refused(app: &App) -> bool {
    let claims = app.db.write(move |tx| queue::claim(tx, &[LAST_WEBHOOK])).await.unwrap();
    matches!(claims[..], [Claim::Refused])
}

async fn join(app: &App, scene: &Scene) -> Result<()> {
    let (organisation, user) = (scene.organisation, scene.grace.user);
    let join = move |tx: &mut tidings::db::Tx| {
        let (user, role) = (accounts::get(tx, user)?, roles::find_named(tx, organisation, "member")?.unwrap());
        members::join(tx, organisation, &user, &role)
    };
    app.db.write(join).await
}

#[tokio::test]
async fn a_leaver_with_many_channels_and_webhooks_has_no_access_from_the_first_slice_on() {
    let scene = Scene::make("poster", hers).await;
    let (organisation, ada, grace) = (scene.organisation, scene.ada, scene.grace);
    let app = scene.open();
    let remove = || app.db.write(move |tx| leaving::remove(tx, ada, organisation, grace.user));
    remove().await.unwrap();
    assert_eq!(left(&app), 1);
    let stands = app.db.read(|conn| {
        let stands =
            conn.query_row("select count(*) from channel_members where username = 'grace'", [], |row| row.get::<_, i64>(0))?;
        assert!(access::membership(conn, organisation, grace.user)?.is_none());
        assert!(record::find(conn, grace, LAST_CHANNEL)?.is_none());
        assert!(streams::find_audible(conn, grace.user, &LAST_CHANNEL.to_string())?.is_none());
        assert!(
            tidings::domain::channels::unread_counts::counts_of_members(conn, LAST_CHANNEL)?
                .iter()
                .all(|member| member.user != grace.user)
        );
        Ok(stands)
    });
    assert!(stands.unwrap() > 200, "most follows later");
    assert!(is_refused(&app).await);
    assert!(matches!(remove().await, Err(Error::NotFound(Code::MemberNotFound))));
    assert!(
        matches!(join(&app, &scene).await, Err(Error::Unavailable(Code::StillInProgress, _))),
        "what she had must not come back with her"
    );
    wiring::finish_writes(&app);
    drop(app);

    // The jobs of the next start go on with it.
    let Scene { folder, .. } = &scene;
    let copy = Server::on_copy_of(folder.path(), |_| {}).await;
    copy.deferred_work_done().await;
    copy.followed().await;
    assert_eq!(copy.count("channels where is_private = 1 and (owner_id <> created_by and user_count = 1)"), MANY as i64);
    assert_eq!(copy.count("channel_members where username = 'grace'"), 0);
    assert_eq!(copy.count("webhooks where status = 'paused'"), MANY as i64);
    assert_eq!(copy.count("events where type = 'webhook_update'"), MANY as i64);
    copy.stop().await;

    let app = scene.open();
    assert!(finish(&app).await > 2);
    join(&app, &scene).await.unwrap();
    assert!(app.db.read(|conn| record::find(conn, grace, LAST_CHANNEL)).unwrap().is_none());
}

/// [`hers`], but the webhooks are Ada's by now; their addresses are Grace's.
fn to_her(ids: [&str; 4]) -> String {
    format!("{} update webhooks set owner_id = {} where url <> '';", hers(ids), ids[2])
}

#[tokio::test]
async fn the_webhooks_of_others_that_deliver_to_a_leaver_pause() {
    let scene = Scene::make("poster", to_her).await;
    let (organisation, ada, grace) = (scene.organisation, scene.ada, scene.grace);
    let app = scene.open();
    app.db.write(move |tx| leaving::remove(tx, ada, organisation, grace.user)).await.unwrap();
    assert!(is_refused(&app).await, "from the first slice on");
    assert!(finish(&app).await > 2);
    assert_eq!(scene.number("select count(*) from webhooks where status = 'paused'"), MANY as i64);
    assert_eq!(scene.number("select count(*) from events where type = 'webhook_update'"), MANY as i64);
}

/// Somebody else may have used her account to make many webhooks deliver to them.
#[tokio::test]
async fn many_webhooks_pause_when_their_owners_mailbox_is_proved_and_until_then_none_delivers_or_is_fed() {
    for fill in [hers, to_her] {
        let scene = Scene::make("poster", fill).await;
        let slug = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // SHA-256 of abc
        let app = scene.open();
        let (user, last) = (scene.grace.user, blob(&LAST_WEBHOOK.to_string()));
        let prove = move |tx: &mut tidings::db::Tx| {
            tx.execute(&format!("update webhooks set slug_hash = x'{slug}' where id = {last}"), [])?;
            let user = accounts::get(tx, user)?;
            mailbox_proof::prove(tx, user, Proof::Mailbox)
        };
        app.db.write(prove).await.unwrap();
        assert!(is_refused(&app).await);
        let is_hers = scene.number(&format!("select owner_id = {} from webhooks limit 1", blob(&user.to_string()))) == 1;
        let feed = |tx: &mut tidings::db::Tx| {
            let fed = incoming_posts::Feed { message: "fed".into(), ..incoming_posts::Feed::default() };
            incoming_posts::receive(
                tx,
                None,
                "abc",
                Some(&fed),
                (&received::Received::from_query(), &sender_proof::Proof::default()),
            )
        };
        assert_eq!(app.db.write(feed).await.is_err(), is_hers, "Ada's may still be fed");
        assert!(follow(&app).await);
        assert!(is_refused(&app).await, "most pause later");
        // One that she makes meanwhile goes on.
        let database = rusqlite::Connection::open(scene.folder.path().join("tidings.db")).unwrap();
        let meanwhile = "update webhooks set status = 'active', from_seq = (select max(seq) from events) where id = ?1";
        database.execute(meanwhile, [LAST_WEBHOOK]).unwrap();
        assert!(finish(&app).await > 2);
        assert!(!is_refused(&app).await);
        assert_eq!(scene.number("select count(*) from webhooks where status = 'paused'"), MANY as i64 - 1);
        assert_eq!(
            scene.number("select count(*) from events where type = 'webhook_update' and body like '%\"paused\"%'"),
            MANY as i64 - 1
        );
    }
}

#[tokio::test]
async fn the_webhooks_of_a_deactivated_member_are_refused() {
    for fill in [hers, to_her] {
        are_refused(Scene::make("poster", fill).await).await;
    }
}

async fn are_refused(scene: Scene) {
    let (organisation, ada, grace) = (scene.organisation, scene.ada, scene.grace);
    let app = scene.open();
    let set = |status: &str| {
        let edit = memberships::Edit { role: None, status: Some(status.into()) };
        app.db.write(move |tx| memberships::update(tx, ada, organisation, grace.user, edit).map(|_| ()))
    };
    set("deactivated").await.unwrap();
    assert!(is_refused(&app).await);
    set("active").await.unwrap();
    assert!(!is_refused(&app).await);
}

#[tokio::test]
async fn the_holders_of_a_deleted_role_have_a_members_rights_at_once() {
    let scene = Scene::make("poster", |[organisation, ..]| {
        format!(
            "insert into users (id, email, username, created_at, updated_at)
               select unhex(printf('f5%030x', k)), k || '@x.example', 'u' || k, 0, 0 from k;
             insert into organisation_members (organisation_id, user_id, role_id, created_at, updated_at)
               select {organisation}, unhex(printf('f5%030x', k)), (select id from roles where name = 'poster'), 0, 0 from k;"
        )
    })
    .await;
    let (organisation, ada) = (scene.organisation, scene.ada);
    let app = scene.open();
    app.db.write(move |tx| roles::delete(tx, ada, organisation, "poster")).await.unwrap();
    assert_eq!(left(&app), 1);
    let last = UserId(Uuid::from_u128((0xf5 << 120) + MANY));
    app.db
        .read(|conn| {
            let member = roles::find_named(conn, organisation, "member")?.unwrap().rights;
            assert_eq!(access::membership(conn, organisation, last)?.unwrap().rights, member);
            assert_eq!(memberships::find_with_callers(conn, ada, organisation, last)?.1.role.name, "member");
            assert!(roles::find_named(conn, organisation, "poster")?.is_none());
            assert_eq!(roles::list(conn, ada, organisation)?.len(), 5);
            Ok(())
        })
        .unwrap();
    let again = roles::Edit { name: Some("poster".into()), ..roles::Edit::default() };
    app.db.write(move |tx| roles::create(tx, ada, organisation, &again).map(|_| ())).await.unwrap();
    assert!(finish(&app).await > 2);
    assert_eq!(scene.number("select count(*) from organisation_members where role_id = 4"), MANY as i64 + 1);
    assert_eq!(scene.number("select count(*) from roles where organisation_id is not null"), 1);
    assert_eq!(
        scene.number("select count(*) from events where body like '%member_update%' and body like '%\"updated\"%'"),
        MANY as i64 + 1
    );
}

#[tokio::test]
async fn the_text_of_a_deleted_message_with_many_edits_is_shown_to_nobody() {
    let scene = Scene::make("poster", |[_, general, ada, _]| {
        format!(
            "insert into messages (id, channel_id, user_id, username, content, created_at, updated_at)
               values (x'f6000000000000000000000000000001', {general}, {ada}, 'ada', 'secret', 1, 1);
             update channels set thread_count = 1, message_count = 1, last_n = 1 where id = {general};
             insert into events (stream, audience, type, channel_id, message_n, body, created_at)
               select {stream}, 'subscribers', 'updated', {general}, (select max(n) from messages),
                 json_object('notification_type', 'updated', 'data', json_object('content', 'secret')), 1 from k;
             insert into reactions (n, emoji, user_id, created_at)
               select (select max(n) from messages), 'e' || k, {ada}, 1 from k;",
            stream = format_args!(
                "(select lower(hex(substr(id, 1, 4)) || '-' || hex(substr(id, 5, 2)) || '-' || hex(substr(id, 7, 2))
               || '-' || hex(substr(id, 9, 2)) || '-' || hex(substr(id, 11))) from channels where id = {general})"
            ),
        )
    })
    .await;
    let (ada, general) = (scene.ada, scene.general);
    let app = scene.open();
    let shown = || {
        app.db
            .read(|conn| {
                let range = recovery::Range { after: 0, before: i64::MAX, newest_first: true, limit: 300 };
                let shown = recovery::publications(conn, Stream::Channel(general), "", range)?;
                Ok(shown.iter().filter(|publication| String::from_utf8_lossy(&publication.body).contains("secret")).count())
            })
            .unwrap()
    };
    assert_eq!(shown(), 300);
    let message = MessageId(Uuid::from_u128((0xf6 << 120) + 1));
    app.db.write(move |tx| deleting::delete(tx, ada, general, message)).await.unwrap();
    assert_eq!((left(&app), shown()), (1, 0));
    assert!(scene.number("select count(*) from events where body like '%secret%'") > 0, "most follows later");
    assert_eq!(finish(&app).await, 2);
    assert_eq!(scene.number("select count(*) from events where body like '%secret%'"), 0);
    assert_eq!(scene.number("select count(*) from reactions"), 0);
}

#[tokio::test]
async fn failing_deferred_work_does_not_delay_other_work() {
    let scene = Scene::make("poster", |_| String::new()).await;
    let server = Server::on_copy_of(scene.folder.path(), |_| {}).await;
    // The log's row of message 1 can't be changed, and its work is the first.
    let broken =
        "insert into events (stream, audience, type, message_n, body, created_at)
           values ('x', 'subscribers', 'updated', 1, '{}', 1), ('x', 'subscribers', 'updated', 2, '{}', 1);
         create trigger broken before update of body on events when old.message_n = 1 and old.created_at = 1 begin select raise(abort, 'broken'); end;
         insert into deferred_work (kind, number, cursor) values ('message', 1, x''), ('message', 2, x'');";
    rusqlite::Connection::open(server.folder().join("tidings.db")).unwrap().execute_batch(broken).unwrap();
    server.clock.advance(std::time::Duration::from_secs(1)); // the jobs look at their queues
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while server.count("deferred_work where number = 2") > 0 || server.count("deferred_work where retry_at = 0") > 0 {
        assert!(std::time::Instant::now() < until, "it waits for the one that fails");
        server.anonymous().get("/blogs").await.expect(200);
    }
    assert_eq!(server.count("deferred_work where number = 1"), 1, "which is tried again later");
    server.sql("update events set created_at = 2 where message_n = 1");
    server.clock.advance(std::time::Duration::from_secs(60));
    server.deferred_work_done().await;
}
