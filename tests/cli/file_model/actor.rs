//! Somebody who uploads, posts, edits, deletes and invites in a channel of their own, and knows what must have come of it.

use std::{fs, path::PathBuf, sync::Arc};

use reqwest::Method;
use rusqlite::Connection;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream};
use uuid::Uuid;

use super::office::{ADA, BOB, EVE, MALLORY, Office, PEOPLE};
use crate::{
    backups::back_up,
    harness::{Admin, Dice},
};

const LARGEST: usize = 300_000;

/// A file, as it must be.
#[derive(Clone)]
pub struct Kept {
    pub id: String,
    pub content: Vec<u8>,
    /// The message that shows it.
    message: Option<String>,
    /// A link that Bob has made when he was in the channel.
    link: Option<String>,
}

pub struct Actor {
    office: Arc<Office>,
    dice: Dice,
    n: usize,
    channel: String,
    bob_is_in: bool,
    files: Vec<Kept>,
    /// What nobody opens any more.
    gone: Vec<Kept>,
    /// Messages, and whether each has a text.
    messages: Vec<(String, bool)>,
    /// Archives, with the files that each must hold.
    pub backups: Vec<(PathBuf, Vec<Kept>)>,
}

impl Actor {
    pub async fn new(office: Arc<Office>, n: usize) -> Actor {
        let body = json!({ "name": format!("room{n}"), "organisation_id": office.organisation, "is_private": true });
        let made = office.expect(ADA, Method::POST, "/channels", body, [201, 201]).await;
        let channel = format!("/channels/{}", made["id"].as_str().unwrap());
        let dice = Dice(Dice::of_run().0 + 1000 * (n as u64 + 1));
        let (files, gone, messages, backups) = Default::default();
        Actor { office, dice, n, channel, bob_is_in: false, files, gone, messages, backups }
    }

    pub async fn step(&mut self) {
        match self.dice.roll(15) {
            0..3 => self.upload().await,
            3..6 => self.upload_in_pieces().await,
            6..9 => self.post().await,
            9 => self.edit().await,
            10 => self.delete_message().await,
            11 => self.delete_file().await,
            12 => self.let_bob_in_or_out().await,
            13 => self.purge().await,
            _ => self.back_up().await,
        }
    }

    fn content(&mut self) -> Vec<u8> {
        let length = self.dice.roll(LARGEST);
        (0..length).map(|_| self.dice.roll(256) as u8).collect()
    }

    fn keep(&mut self, id: &str, content: Vec<u8>) {
        self.files.push(Kept { id: id.to_owned(), content, message: None, link: None });
    }

    /// An upload that was not answered may have left files, which no message takes.
    async fn upload(&mut self) {
        let contents: Vec<_> = (0..=self.dice.roll(2)).map(|_| self.content()).collect();
        let mut body = Vec::new();
        for content in &contents {
            body.extend(b"--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.bin\"\r\n\r\n");
            body.extend(content);
            body.extend(b"\r\n");
        }
        body.extend(b"--b--\r\n");
        let with = |request: reqwest::RequestBuilder| {
            request.header("content-type", "multipart/form-data; boundary=b").body(body.clone())
        };
        let (status, _, answer) = self.office.call(ADA, Method::POST, "/files/upload-files", with).await;
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(status, 200, "{answer}");
        for (file, content) in answer["data"].as_array().unwrap().iter().zip(contents) {
            self.keep(file["id"].as_str().unwrap(), content);
        }
    }

    async fn upload_in_pieces(&mut self) {
        let (content, office) = (self.content(), self.office.clone());
        let begin = |request: reqwest::RequestBuilder| {
            request
                .header("tus-resumable", "1.0.0")
                .header("upload-length", content.len())
                .header("upload-metadata", "filename YS5iaW4=")
        };
        let (status, headers, _) = office.call(ADA, Method::POST, "/files/uploads", begin).await;
        assert_eq!(status, 201);
        let path = headers["location"].to_str().unwrap().to_owned();
        let id = path.rsplit_once('/').unwrap().1.to_owned();
        let (mut offset, mut sent) = (0, 0);
        loop {
            let (status, headers, _) =
                office.call(ADA, Method::HEAD, &path, |request| request.header("tus-resumable", "1.0.0")).await;
            assert_eq!(status, 200);
            let arrived: usize = headers["upload-offset"].to_str().unwrap().parse().unwrap();
            assert!((offset..=sent).contains(&arrived), "{arrived} of {sent} have arrived, and {offset} were answered");
            if arrived == content.len() {
                break;
            }
            offset = arrived;
            let piece = &content[offset..offset + 1 + self.dice.roll(content.len() - offset)];
            sent = sent.max(offset + piece.len()); // what was cut may come to the server later than what follows
            if self.dice.roll(3) == 0 {
                cut(&office, &path, offset, content.len(), piece).await;
                continue;
            }
            let append = |request: reqwest::RequestBuilder| {
                let headed = request.header("tus-resumable", "1.0.0").header("upload-offset", offset);
                headed.header("content-type", "application/offset+octet-stream").body(piece.to_vec())
            };
            match office.try_once(ADA, Method::PATCH, &path, append).await {
                Some((204, ..)) => offset += piece.len(),
                Some((409, ..)) => {} // what was cut has come between
                Some((status, _, answer)) => panic!("{status} {}", String::from_utf8_lossy(&answer)),
                None => {} // killed
            }
        }
        self.keep(&id, content);
    }

    /// Some files that no message has taken, at most so many.
    fn untaken(&self, most: usize) -> Vec<String> {
        self.files.iter().filter(|file| file.message.is_none()).take(most).map(|file| file.id.clone()).collect()
    }

    fn give(&mut self, ids: &[String], message: &str) {
        for file in self.files.iter_mut().filter(|file| ids.contains(&file.id)) {
            file.message = Some(message.to_owned());
        }
    }

    fn end(&mut self, is_gone: impl Fn(&Kept) -> bool) {
        let (gone, files) = std::mem::take(&mut self.files).into_iter().partition(is_gone);
        self.files = files;
        self.gone.extend::<Vec<_>>(gone);
    }

    async fn post(&mut self) {
        let most = 1 + self.dice.roll(3);
        let files = self.untaken(most);
        let has_text = files.is_empty() || self.dice.roll(2) == 0;
        let id = Uuid::now_v7().to_string(); // so that what is asked again is done once
        let body = json!({ "id": id, "content": if has_text { "Here" } else { "" }, "files": files });
        self.office.expect(ADA, Method::POST, &format!("{}/messages", self.channel), body, [201, 200]).await;
        if self.dice.roll(4) == 0 {
            let pin = format!("{}/messages/{id}/pin", self.channel);
            self.office.expect(ADA, Method::PUT, &pin, json!({}), [200, 201]).await;
        }
        self.give(&files, &id);
        self.messages.push((id, has_text));
    }

    /// A message loses its first file, and takes others.
    async fn edit(&mut self) {
        let Some((message, has_text)) = self.messages.last().cloned() else { return };
        let of_message = self.files.iter().filter(|file| file.message.as_ref() == Some(&message)).map(|file| file.id.clone());
        let left_out: Vec<_> = of_message.collect();
        let kept = left_out.iter().skip(1).cloned();
        let files: Vec<_> = kept.chain(self.untaken(2)).take(10).collect();
        if files.is_empty() && !has_text {
            return;
        }
        let body = json!({ "message_id": message, "content": if has_text { "There" } else { "" }, "files": files });
        self.office.expect(ADA, Method::PUT, &format!("{}/messages", self.channel), body, [200, 200]).await;
        self.end(|file| file.message.as_ref() == Some(&message) && !files.contains(&file.id));
        self.give(&files, &message);
    }

    async fn delete_message(&mut self) {
        if self.messages.is_empty() {
            return;
        }
        let (message, _) = self.messages.swap_remove(self.dice.roll(self.messages.len()));
        let path = format!("{}/messages/{message}", self.channel);
        self.office.expect(ADA, Method::DELETE, &path, json!({}), [200, 404]).await;
        self.end(|file| file.message.as_ref() == Some(&message));
    }

    fn any(&mut self) -> Option<Kept> {
        (!self.files.is_empty()).then(|| self.files[self.dice.roll(self.files.len())].clone())
    }

    async fn delete_file(&mut self) {
        let Some(Kept { id, .. }) = self.any() else { return };
        self.office.expect(ADA, Method::DELETE, &format!("/files/file/{id}"), json!({}), [200, 404]).await;
        self.is_taken_out(&id);
    }

    /// A message that was this file alone is deleted.
    fn is_taken_out(&mut self, id: &str) {
        let message = self.files.iter().find(|file| file.id == id).and_then(|file| file.message.clone());
        self.end(|file| file.id == id);
        let has_files = self.files.iter().any(|file| file.message == message);
        self.messages.retain(|(id, has_text)| Some(id) != message.as_ref() || *has_text || has_files);
    }

    async fn let_bob_in_or_out(&mut self) {
        let (members, bob) = (format!("{}/users", self.channel), self.office.bob.clone());
        let nothing = json!({});
        match (self.bob_is_in, self.dice.roll(2)) {
            (false, _) => self.office.expect(ADA, Method::POST, &members, json!({ "user_ids": [bob] }), [200, 200]).await,
            (true, 0) => self.office.expect(BOB, Method::POST, &format!("{}/leave", self.channel), nothing, [200, 403]).await,
            (true, _) => self.office.expect(ADA, Method::DELETE, &format!("{members}/{bob}"), nothing, [200, 404]).await,
        };
        self.bob_is_in = !self.bob_is_in;
    }

    /// The operator removes a file that is old, beside the server or without it.
    async fn purge(&mut self) {
        let Some(Kept { id, message: Some(_), .. }) = self.any() else { return };
        let data = self.office.data();
        tokio::task::block_in_place(|| {
            let database = Connection::open(data.join("tidings.db")).unwrap();
            database.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
            let key = Uuid::parse_str(&id).unwrap();
            database.execute("update files set created_at = 1 where id = ?1", [&key.as_bytes()[..]]).unwrap();
            Admin(&data).print(&["files", "purge", "--older-than", "1"]);
        });
        self.is_taken_out(&id);
    }

    async fn back_up(&mut self) {
        if self.backups.len() == 2 {
            return;
        }
        let folder = self.office.folder.path().join(format!("backups{}-{}", self.n, self.backups.len()));
        tokio::task::block_in_place(|| back_up(&self.office.data(), &folder, &[]));
        let archive = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_file()).unwrap();
        self.backups.push((archive, self.files.clone()));
    }

    /// The files that messages show.
    pub fn in_messages(&self) -> Vec<Kept> {
        self.files.iter().filter(|file| file.message.is_some()).cloned().collect()
    }

    /// What no message took is removed.
    pub fn forget_untaken(&mut self) {
        self.end(|file| file.message.is_none());
    }

    /// Goes to every door of one file, in the place of everybody.
    pub async fn look_at_doors(&mut self) {
        let all = self.files.len() + self.gone.len();
        if all > 0 {
            let at = self.dice.roll(all);
            self.look_at(at).await;
        }
    }

    pub async fn look_at_all_doors(&mut self) {
        for at in 0..self.files.len() + self.gone.len() {
            self.look_at(at).await;
        }
    }

    async fn look_at(&mut self, at: usize) {
        let lives = at < self.files.len();
        let Kept { id, content, message, link } = if lives { &self.files[at] } else { &self.gone[at - self.files.len()] }.clone();
        let office = self.office.clone();
        let mut made = None;
        for (person, name) in PEOPLE.iter().enumerate() {
            let reads = lives && (person == ADA || person == BOB && self.bob_is_in && message.is_some());
            let (status, _, body) = office.call(person, Method::GET, &format!("/files/{id}/a.bin"), |request| request).await;
            assert_eq!(status, if reads { 200 } else { 404 }, "{name} opens {id}, {message:?}");
            assert!(!reads || body == content, "{name} reads {id}");
            let (status, linked) = office.ask(person, Method::POST, &format!("/files/{id}/link"), &json!({})).await;
            assert_eq!(status, if reads { 200 } else { 404 }, "{name} makes a link to {id}");
            if person == BOB && reads {
                made = linked["data"]["link"].as_str().map(str::to_owned);
            }
            let (status, ..) = office
                .call(person, Method::HEAD, &format!("/files/uploads/{id}"), |request| request.header("tus-resumable", "1.0.0"))
                .await;
            assert_eq!(status, if reads && person == ADA { 200 } else { 404 }, "{name} asks how much has arrived of {id}");
            let in_channel = person == ADA || person == BOB && self.bob_is_in;
            let (status, listed) =
                office.ask(person, Method::GET, &format!("{}/files?limit=100", self.channel), &json!({})).await;
            assert_eq!(status == 200, in_channel, "{name} lists the files: {status}");
            if listed["data"].as_array().is_some_and(|list| list.len() < 100) {
                let is_listed = listed["data"].as_array().unwrap().iter().any(|file| file["id"] == *id);
                assert_eq!(is_listed, reads && message.is_some(), "{name} finds {id} in the list");
            }
        }
        self.look_where_messages_are_found(&id, lives && message.is_some()).await;
        if let Some(link) = &link {
            let reads = lives && self.bob_is_in && message.is_some();
            let (status, _, body) = office.call(EVE, Method::GET, link, |request| request).await;
            assert_eq!(status, if reads { 200 } else { 404 }, "Bob's link to {id}");
            assert!(!reads || body == content);
        }
        for person in [EVE, MALLORY] {
            let (status, _) = office.ask(person, Method::DELETE, &format!("/files/file/{id}"), &json!({})).await;
            assert_eq!(status, 404, "{} removes {id}", PEOPLE[person]);
        }
        if let (true, Some(made)) = (lives, made) {
            self.files[at].link = Some(made);
        }
    }
}

impl Actor {
    /// Messages and pins of the channel, and the search, show a file of a message to those alone who may read it.
    async fn look_where_messages_are_found(&self, id: &str, is_shown: bool) {
        let search = format!("/organisations/{}/search?q=a.bin&has=file&limit=50", self.office.organisation);
        for (person, name) in PEOPLE.iter().enumerate() {
            let reads = is_shown && (person == ADA || person == BOB && self.bob_is_in);
            let messages = format!("{}/messages?limit=200", self.channel);
            let (_, listed) = self.office.ask(person, Method::GET, &messages, &json!({})).await;
            if self.messages.len() < 200 {
                assert_eq!(listed.to_string().contains(id), reads, "{name} finds the message of {id}");
            }
            for path in [&format!("{}/pins", self.channel), &search] {
                let (_, found) = self.office.ask(person, Method::GET, path, &json!({})).await;
                assert!(reads || !found.to_string().contains(id), "{name} finds {id} at {path}");
            }
        }
    }
}

/// Sends a part of a piece, and then nothing more.
async fn cut(office: &Office, path: &str, offset: usize, length: usize, part: &[u8]) {
    let (address, token, promised) = (office.address(), office.token(ADA), length - offset);
    let head = format!(
        "PATCH {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ntus-resumable: 1.0.0\r\n\
         upload-offset: {offset}\r\ncontent-type: application/offset+octet-stream\r\ncontent-length: {promised}\r\n\r\n"
    );
    let Ok(mut line) = TcpStream::connect(&address).await else { return };
    for bytes in [head.as_bytes(), part] {
        if line.write_all(bytes).await.is_err() {
            return; // killed
        }
    }
}
