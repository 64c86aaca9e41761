//! The commands that list files and remove old ones.

use super::*;

#[tokio::test]
async fn files_are_listed_by_size_and_old_ones_are_taken_out_of_their_messages() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Admin(folder.path());
    let server = Server::start(folder.path(), &[]);
    let (token, channel) = server.poster().await;
    let messages = format!("{channel}/messages");
    let mut files = Vec::new();
    for (name, content, text) in [("small.txt", "12345", "Read this"), ("alone.txt", "1234567", ""), ("new.txt", "123456", "")] {
        let file = server.upload(&token, name, content).await;
        let posted = server.post(&messages, &token, json!({ "content": text, "files": [file] })).await;
        files.push((file, posted["id"].as_str().unwrap().to_owned()));
    }
    let untaken = server.upload(&token, "untaken.txt", "1").await;
    let listed = admin.json(&["files", "list"]);
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["alone.txt", "new.txt", "small.txt", "untaken.txt"]);
    let first = &listed[0];
    assert_eq!([&first["size"], &first["in_message"], &listed[3]["in_message"]], [&json!(7), &json!(true), &json!(false)]);
    assert_eq!([&first["uploaded_by"], &first["mime_type"]], ["ada@x.example", "text/plain"]);
    let organisation = first["organisation"].as_str().unwrap();
    assert_eq!(admin.json(&["files", "list", "--organisation", organisation, "--limit", "1"]).as_array().unwrap().len(), 1);
    refused(&admin.run(&["files", "list", "--organisation", "nobody"]), "`tidings org list` lists all");
    refused(&admin.run(&["files", "purge"]), "--older-than <DAYS>");
    refused(&admin.run(&["files", "purge", "--older-than", "0"]), "0 is not in 1..");

    let database = Connection::open(folder.path().join("tidings.db")).unwrap();
    let day = 24 * 3600 * 1_000_000_i64;
    // Not the one that no message shows: a job may remove it at any moment then.
    let age = "update files set created_at = created_at - ?1 where name in ('small.txt', 'alone.txt')";
    assert_eq!(database.execute(age, [10 * day]).unwrap(), 2);
    assert_eq!(admin.json(&["files", "list", "--older-than", "9"]).as_array().unwrap().len(), 2);
    assert_eq!(admin.json(&["files", "purge", "--older-than", "11"]), json!({ "files": 0, "bytes": 0 }));
    let purge = ["files", "purge", "--older-than", "9", "--organisation", organisation];
    let rehearsed = admin.print(&[&purge[..], &["--dry-run"]].concat());
    assert_eq!(rehearsed, "would remove 2 files of 12 bytes\n");
    assert_eq!(admin.json(&["files", "list"]).as_array().unwrap().len(), 4, "none is removed");
    assert_eq!(admin.print(&purge), "removed 2 files of 12 bytes\n");
    let (status, page) = server.call(Method::GET, &messages, &token, json!({})).await.unwrap();
    assert_eq!(status, 200);
    let shown: Vec<_> = page["messages"].as_array().unwrap().iter().map(|message| (&message["id"], &message["media"])).collect();
    assert_eq!(shown.iter().map(|(id, _)| id.as_str().unwrap()).collect::<Vec<_>>(), [&files[2].1, &files[0].1]);
    assert_eq!([shown[0].1.as_array().unwrap().len(), shown[1].1.as_array().unwrap().len()], [1, 0]);
    for (file, status) in [(&files[0].0, 404), (&files[1].0, 404), (&files[2].0, 200)] {
        let opened = server.http.get(format!("{}/api/v1/files/{file}/a", server.url)).bearer_auth(&token).send().await.unwrap();
        assert_eq!(opened.status(), status);
    }
    assert_ne!(untaken, files[0].0);
    until("the bytes are gone", async || {
        let left: i64 =
            database.query_row("select count(*) from files where deleted_at is not null", [], |row| row.get(0)).unwrap();
        (left == 0).then_some(())
    })
    .await;
}
