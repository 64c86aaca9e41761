//! The end of files: nobody opens them at once, and jobs remove the bytes.

use std::time::Duration;

use serde_json::{Value, json};
use tidings::error::Code;

use super::on_disk;
use crate::{
    harness::{Client, DAY, Server, text},
    socket::Socket,
};

/// Waits until so many files lie in their places, and no more rows than these name them.
async fn left(server: &Server, files: usize) {
    for _ in 0..1000 {
        if on_disk(server).0.len() == files && server.count("files") == files as i64 {
            return;
        }
        tokio::task::yield_now().await;
        server.anonymous().get("/features").await;
    }
    panic!("{files} expected, {:?} found, rows: {}", on_disk(server).0, server.count("files"));
}

async fn post(client: &Client, channel: &str, body: Value) -> String {
    text(&client.post(&format!("/channels/{channel}/messages"), body).await.expect(201)["data"]["id"])
}

#[tokio::test]
async fn a_file_goes_out_of_its_message_and_its_bytes_are_removed() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "pictures", &[&grace]).await;
    let [first, second] = [grace.upload_one("first.txt", b"1").await, grace.upload_one("second.txt", b"2").await];
    let message = post(&grace, &channel, json!({ "content": "", "files": [first, second] })).await;
    let remove = async |client: &Client, file: &str| client.delete(&format!("/files/file/{file}")).await;
    let insider = server.member(&ada, &organisation, "hopper", "member").await;
    insider.post(&format!("/channels/{channel}/join"), json!({})).await.expect(200);
    remove(&insider, &first).await.refused(403, Code::PermissionDenied);
    let mut socket = Socket::listening(&ada, &[&channel]).await;
    remove(&ada, &first).await.expect(200); // who owns the channel
    let told = socket.on(&channel).await;
    assert_eq!([&told["notification_type"], &told["section"]], [&json!("updated_media"), &json!("thread_message")]);
    assert_eq!([&told["data"]["id"], &told["data"]["media"][0]["file_name"]], [&json!(message), &json!("second.txt")]);
    assert_eq!(told["data"]["media"].as_array().unwrap().len(), 1);
    remove(&grace, &first).await.refused(404, Code::FileNotFound);
    left(&server, 1).await;
    // Without text and files, nothing is left of a message.
    remove(&grace, &second).await.expect(200);
    assert_eq!(socket.on(&channel).await["notification_type"], "deleted");
    grace.get(&format!("/messages/{message}")).await.refused(404, Code::MessageNotFound);
    left(&server, 0).await;
}

#[tokio::test]
async fn the_bytes_of_a_deleted_message_and_of_a_purged_channel_are_removed() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "pictures", &[]).await;
    let mut messages = Vec::new();
    for n in 0..3 {
        let file = ada.upload_one(&format!("{n}.txt"), b"x").await;
        messages.push((post(&ada, &channel, json!({ "content": "It", "files": [file] })).await, file));
    }
    let (message, file) = &messages[0];
    ada.delete(&format!("/channels/{channel}/messages/{message}")).await.expect(200);
    assert_eq!(ada.open(file, &[]).await.status(), 404);
    left(&server, 2).await;
    ada.delete(&format!("/channels/{channel}")).await.expect(204);
    assert_eq!(ada.open(&messages[1].1, &[]).await.status(), 404);
    assert_eq!(on_disk(&server).0.len(), 2, "it may still be examined");
    server.clock.advance(31 * DAY);
    left(&server, 0).await;
    assert_eq!(server.number("select sum(bytes) from file_totals"), 0);
}

#[tokio::test]
async fn an_upload_that_no_message_takes_is_removed_after_a_day() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let general = ada.general(&organisation).await;
    let [taken, untaken] = [ada.upload_one("taken.txt", b"1").await, ada.upload_one("untaken.txt", b"2").await];
    post(&ada, &general, json!({ "content": "", "files": [taken] })).await;
    server.clock.advance(DAY - Duration::from_secs(60));
    assert_eq!(ada.open(&untaken, &[]).await.status(), 200);
    server.clock.advance(Duration::from_secs(120));
    left(&server, 1).await;
    assert_eq!([ada.open(&taken, &[]).await.status(), ada.open(&untaken, &[]).await.status()], [200, 404]);
}

#[tokio::test]
async fn bytes_that_no_row_names_are_removed_a_day_later_and_others_stay() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let kept = ada.upload_one("kept.txt", b"1").await;
    let general = ada.general(&organisation).await;
    post(&ada, &general, json!({ "content": "", "files": [kept] })).await;
    let folder = server.folder().join("files");
    let place = |id: &str| folder.join(&organisation).join(&id[34..]).join(id);
    let [old, new] = [0, 1].map(|_| uuid::Uuid::now_v7().to_string());
    let long_ago = std::time::UNIX_EPOCH;
    for (path, is_old) in [
        (place(&old), true),
        (place(&new), false),
        (folder.join("incoming").join(&old), true),
        (folder.join("incoming").join(&new), false),
    ] {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = std::fs::File::create(path).unwrap();
        if is_old {
            file.set_modified(long_ago).unwrap();
        }
    }
    let kept = place(&kept);
    std::fs::File::open(&kept).unwrap().set_modified(long_ago).unwrap();
    let server = server.restart().await;
    for _ in 0..1000 {
        if on_disk(&server).0.len() == 2 && on_disk(&server).1.len() == 1 {
            break;
        }
        server.anonymous().get("/features").await;
    }
    let (mut in_place, arriving) = on_disk(&server);
    in_place.sort();
    let mut expected = vec![kept, place(&new)];
    expected.sort();
    assert_eq!((in_place, arriving), (expected, vec![folder.join("incoming").join(new)]));
}
