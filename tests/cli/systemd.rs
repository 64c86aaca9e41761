//! What systemd is told of the server.

use std::fs::{self, File};

use tokio::net::UnixDatagram;

use crate::harness::{Server, tidings};

#[tokio::test]
async fn systemd_is_told_that_the_server_is_ready_well_and_stopping() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let notices = UnixDatagram::bind(folder.path().join("notify")).unwrap();
    let next = async || {
        let mut notice = [0; 100];
        let length = notices.recv(&mut notice).await.unwrap();
        String::from_utf8_lossy(&notice[..length]).trim_end().to_owned()
    };
    let mut command = tidings(&["serve", "--listen", "127.0.0.1:0", "--log", "error", "--data-dir", data.to_str().unwrap()]);
    command.env("NOTIFY_SOCKET", folder.path().join("notify")).env("WATCHDOG_USEC", "40000");
    let mut server = Server::logging(&mut command, File::create(&log).unwrap().into());
    assert_eq!(next().await, "READY=1");
    assert_eq!(reqwest::get(format!("{}/health", server.url)).await.unwrap().status(), 200);
    for _ in 0..3 {
        assert_eq!(next().await, "WATCHDOG=1");
    }

    // Without its database the server is not well, until it is back.
    let [file, away] = ["tidings.db", "away.db"].map(|name| data.join(name));
    fs::rename(&file, &away).unwrap();
    let failures = || fs::read_to_string(&log).unwrap().matches("the database can't be read").count();
    let fails_again = async || {
        let before = failures();
        while failures() == before {
            tokio::task::yield_now().await;
        }
    };
    fails_again().await;
    let mut notice = [0; 100];
    while notices.try_recv(&mut notice).is_ok() {} // those from before
    for _ in 0..3 {
        fails_again().await;
    }
    assert!(notices.try_recv(&mut notice).is_err(), "systemd is told that all is well");
    fs::rename(&away, &file).unwrap();
    assert_eq!(next().await, "WATCHDOG=1");

    server.signal("TERM");
    while next().await != "STOPPING=1" {}
    assert_eq!(server.end().code(), Some(0));
}
