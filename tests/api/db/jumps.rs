//! The clock jumps by a day, forward and back.

use std::{fs, time::Duration};

use serde_json::json;
use tidings::{archive::backup::Schedule, time::Time};

use crate::{
    harness::{DAY, PASSWORD, Server},
    socket::Socket,
};

#[tokio::test]
async fn a_clock_that_jumps_a_day_forward_and_back_loses_nothing() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let channel = ada.channel(&organisation, "news", &[]).await;
    ada.say(&channel, "today").await;
    server.clock.advance(DAY);
    ada.say(&channel, "tomorrow").await;
    let from_tomorrow = server.log_in("ada", PASSWORD).await;
    let folder = server.end_and_keep().await;

    let server = Server::on_folder(folder, |_| {}).await; // by the system's clock, a day back
    let ada = server.log_in("ada", PASSWORD).await;
    let mut socket = Socket::listening(&ada, &[&channel]).await;
    ada.say(&channel, "today again").await;
    assert_eq!(socket.on(&channel).await["content"], "today again");
    let page = ada.get(&format!("/channels/{channel}/messages")).await.expect(200);
    let texts: Vec<_> = page["messages"].as_array().unwrap().iter().map(|message| message["content"].clone()).collect();
    assert_eq!(json!(texts), json!(["today again", "tomorrow", "today"]), "in the order of their posting");
    ada.with_token(&from_tomorrow.token.unwrap()).get("/profile").await.expect(200);
}

#[test]
fn a_backup_of_a_time_to_come_puts_off_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let now = Time::now();
    let schedule = Schedule { folder: folder.path().to_owned(), every: DAY, keep: 1 };
    let made = |time: Time| fs::write(folder.path().join(time.strftime("tidings-%Y-%m-%dT%H%M%SZ.tar.zst")), "").unwrap();
    assert!(schedule.left(now).is_none());
    made(now + 300 * DAY);
    assert!(schedule.left(now).is_none(), "it was made while the clock was wrong");
    made(now - DAY / 2);
    let left = schedule.left(now).unwrap();
    assert!(left > DAY / 3 && left < DAY, "{left:?}");
    made(now - DAY * 2);
    tidings::archive::backup::keep_newest(folder.path(), 1, now).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the newest one, and that of a time to come");
    assert!(schedule.left(now + Duration::from_secs(86_400)).is_none());
}
