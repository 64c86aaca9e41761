//! Copies of a database that were made past the backup, as Litestream makes them: they get a new epoch.

use std::{fs, path::Path};

use serde_json::json;

use crate::{
    backups::contents,
    harness::{Server, refused, run},
};

fn epoch(folder: &Path) -> String {
    let kept = fs::read_to_string(folder.join("epoch")).unwrap();
    kept.split(' ').next().unwrap().to_owned()
}

/// Copies files of a folder whose server does not run.
fn copy(from: &Path, to: &Path, files: &[&str]) {
    fs::create_dir_all(to).unwrap();
    for file in files {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
}

#[tokio::test]
async fn a_copy_never_keeps_the_epoch() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut server = Server::start(&data, &[]);
    let (token, channel) = server.poster().await;
    let say = async |server: &Server, content: &str| {
        server.post(&format!("{channel}/messages"), &token, json!({ "content": content })).await;
    };
    let stop = |mut server: Server| {
        server.signal("TERM");
        server.end();
    };
    say(&server, "copied").await;
    server.signal("TERM");
    server.end();
    let original = epoch(&data);
    let old = folder.path().join("old");
    copy(&data, &old, &["tidings.db", "epoch"]);
    server = Server::start(&data, &[]);
    assert_eq!(epoch(&data), original, "a restart keeps the epoch");
    say(&server, "not copied").await;
    stop(server);
    assert_eq!(epoch(&data), original);

    let whole = ["tidings.db", "secret.key", "epoch"];
    for (name, files) in [
        ("without its epoch", &whole[..2]),
        // As of one moment: the original goes on, and writes what the copy doesn't have.
        ("with its epoch", &whole[..]),
    ] {
        let standby = folder.path().join(name);
        copy(&data, &standby, files);
        let server = Server::start(&standby, &[]);
        assert_ne!(epoch(&standby), original, "{name}");
        assert_eq!(contents(&server, &token, &channel).await.len(), 2);
    }

    let behind = folder.path().join("an older database beside the newest epoch");
    copy(&data, &behind, &["secret.key", "epoch"]);
    copy(&old, &behind, &["tidings.db"]);
    let server = Server::start(&behind, &[]);
    assert_ne!(epoch(&behind), original);
    assert_eq!(contents(&server, &token, &channel).await.len(), 1);
    drop(server);

    // The database was put back in the folder itself, where the file with the epoch is newer or older than it.
    for epoch_of in [&data, &old] {
        let back = folder.path().join(format!("put back beside the epoch of {}", epoch_of.display()).replace('/', "_"));
        copy(&data, &back, &whole);
        copy(epoch_of, &back, &["epoch"]);
        fs::remove_file(back.join("tidings.db")).unwrap();
        copy(&old, &back, &["tidings.db"]);
        drop(Server::start(&back, &[]));
        assert_ne!(epoch(&back), original);
    }

    let keyless = folder.path().join("without its key");
    copy(&data, &keyless, &["tidings.db"]);
    let started = run(&["serve", "--listen", "127.0.0.1:0", "--data-dir", keyless.to_str().unwrap()]);
    refused(&started, "secret.key is missing: put it back from a backup");
}
