//! A long queue is not read to find what is delivered next.

use tidings::{
    domain::{
        access::{Caller, PlatformRole},
        messages::posting::{self, New},
        scopes::Grant,
        webhooks::{
            self,
            delivery::{queue, replay, schedule},
        },
    },
    error::{Code, Error},
    id::{ChannelId, SessionId, UserId, WebhookId},
};

use super::{Scene, scene};
use crate::receiver;

/// Each lookup for a webhook uses an index, however long the queues are. Finding the events to send again does not read
/// queued deliveries.
#[tokio::test]
async fn claiming_a_delivery_does_not_scan_a_long_queue() {
    let server = receiver::server().await;
    server.user("ada").await;
    let database = rusqlite::Connection::open(server.folder().join("tidings.db")).unwrap();
    let plan = |sql: &str, values: &[&dyn rusqlite::ToSql]| -> Vec<String> {
        let mut explain = database.prepare(&format!("explain query plan {sql}")).unwrap();
        explain.query_map(values, |row| row.get(3)).unwrap().map(Result::unwrap).collect()
    };
    let due = plan(schedule::DUE, &[&[0_u8; 16].as_slice()]);
    assert_eq!(due[0], "SEARCH w USING PRIMARY KEY (id=?)");
    let first = "SEARCH d USING COVERING INDEX deliveries_due (webhook_id=? AND due_at>?)";
    assert!(due.iter().any(|step| step == first), "{due:?}");
    let claim = plan(queue::CLAIM, &[&[0_u8; 16].as_slice(), &0]);
    assert_eq!(claim[0], "SEARCH w USING PRIMARY KEY (id=?)");
    assert_eq!(claim[1], "SEARCH d USING INDEX deliveries_due (webhook_id=? AND due_at<?)");
    let span = plan(replay::SPAN, &[&[0_u8; 16].as_slice(), &0, &1, &1001]);
    let search =
        "SEARCH deliveries USING COVERING INDEX deliveries_due (webhook_id=? AND due_at=? AND created_at>? AND created_at<?)";
    assert_eq!(span, [search]);
    let all = due.iter().chain(&claim);
    assert!(!all.clone().any(|step| step.contains("TEMP B-TREE") || step.starts_with("SCAN")), "{due:?} {claim:?}");
}

/// A slice of the log holds 200 deliveries. A change after more unqueued messages is refused, so that none of them is lost.
#[tokio::test]
async fn a_webhook_is_not_changed_before_all_earlier_messages_are_queued_for_it() {
    let Scene { server, ada, channel, .. } = scene().await;
    let hook = ada.hook(&channel, "http://127.0.0.1:9/").await;
    let caller = Caller {
        user: UserId(ada.user_id.parse().unwrap()),
        session: SessionId::new(),
        role: PlatformRole::User,
        person: UserId(ada.user_id.parse().unwrap()),
        grant: Grant::Session,
    };
    let (channel, webhook) = (ChannelId(channel.parse().unwrap()), WebhookId(hook.id.parse().unwrap()));
    let change_after = |messages: u32| {
        server.write(|tx| {
            for n in 0..messages {
                posting::create(tx, caller, channel, New { content: format!("{n}"), ..New::default() })?;
            }
            webhooks::change_status(tx, caller, channel, webhook, "inactive")
        })
    };
    assert!(matches!(change_after(201), Err(Error::Unavailable(Code::StillInProgress, _))));
    assert_eq!((server.count("messages"), server.count("deliveries")), (0, 0), "the whole job is undone");
    change_after(200).unwrap();
    assert_eq!(server.count("deliveries"), 200);
}
