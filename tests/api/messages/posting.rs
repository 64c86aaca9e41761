//! What a post writes and answers: its statements, as SQLite's own trace shows them, and the message without reading it.

use std::cell::RefCell;

use rusqlite::trace::{TraceEvent, TraceEventCodes};
use serde_json::json;
use tidings::{
    db::Tx,
    domain::{
        access::{Caller, PlatformRole},
        messages::{
            posting::{self, New},
            record,
        },
        scopes::Grant,
    },
    error::Result,
    id::{ChannelId, MessageId, SessionId, UserId},
};

use crate::harness::{Client, Server};

thread_local! {
    /// What the connection of this thread has run.
    static TRACED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn note(event: TraceEvent) {
    if let TraceEvent::Stmt(_, sql) = event {
        TRACED.with_borrow_mut(|traced| traced.push(sql.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
}

/// The organisation's first channel, and a member of it as a caller.
async fn place(member: &Client, organisation: &str) -> (ChannelId, Caller) {
    let user = UserId(member.user_id.parse().unwrap());
    let channel = ChannelId(member.general(organisation).await.parse().unwrap());
    (channel, Caller { user, session: SessionId::new(), role: PlatformRole::User, person: user, grant: Grant::Session })
}

/// The statements of one job, without the transaction around it.
pub fn statements(tx: &mut Tx, job: impl FnOnce(&mut Tx) -> Result<()>) -> Result<Vec<String>> {
    tx.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(note));
    let done = job(tx);
    tx.trace_v2(TraceEventCodes::empty(), None);
    done.map(|()| TRACED.take())
}

#[tokio::test]
async fn a_post_answers_the_message_that_is_read_afterwards() {
    let server = Server::start().await;
    let (_, grace, organisation) = server.ada_and_grace().await;
    let profile = json!({ "first_name": "Grace", "last_name": "Hopper", "avatar_url": "https://pictures.example/grace.png" });
    grace.patch("/profile", profile).await.expect(200);
    let (channel, caller) = place(&grace, &organisation).await;
    let thread = MessageId::new();
    server
        .write(|tx| {
            for (content, reply_to, id) in [
                ("@ada and @channel", None, Some(thread)),
                ("a reply", Some(thread), None),
                ("another, @ada", Some(thread), Some(MessageId::new())),
                ("plain", None, None),
            ] {
                let written = posting::create(
                    tx,
                    caller,
                    channel,
                    New { content: content.into(), thread: reply_to, id, ..New::default() },
                )?;
                assert_eq!(written.author.full_name, "Grace Hopper");
                let read = record::find(tx, written.id)?.unwrap();
                assert_eq!(format!("{written:?}"), format!("{read:?}"));
            }
            Ok(())
        })
        .unwrap();
    let newest = "select count(*) from messages m where root is null
        and active_n <> (select max(n) from messages r where r.n = m.n or r.root = m.n)";
    assert_eq!(server.number(newest), 0, "each thread knows its newest message");
}

#[tokio::test]
async fn a_post_is_six_statements_and_a_reply_ten() {
    let server = Server::start().await;
    let (_, grace, organisation) = server.ada_and_grace().await;
    let channel = ChannelId(grace.general(&organisation).await.parse().unwrap());
    let caller = Caller {
        user: UserId(grace.user_id.parse().unwrap()),
        session: SessionId::new(),
        role: PlatformRole::User,
        person: UserId(grace.user_id.parse().unwrap()),
        grant: Grant::Session,
    };
    let thread = MessageId::new();
    let post = |tx: &mut Tx, thread, id| {
        posting::create(tx, caller, channel, New { content: "Hello".into(), thread, id, ..New::default() }).map(|_| ())
    };
    server
        .write(|tx| {
            post(tx, None, Some(thread))?; // with it the connection has read the schema
            for (what, bound, thread, id) in [
                ("a post", 6, None, None),
                ("a post with an id of the client's", 6, None, Some(MessageId::new())),
                ("a reply", 10, Some(thread), None),
                ("a reply with an id of the client's", 10, Some(thread), Some(MessageId::new())),
            ] {
                let traced = statements(tx, |tx| post(tx, thread, id))?;
                println!("{what}: {} statements", traced.len());
                assert!(!traced.is_empty() && traced.len() <= bound, "{what}, at most {bound}: {traced:#?}");
            }
            Ok(())
        })
        .unwrap();
}
