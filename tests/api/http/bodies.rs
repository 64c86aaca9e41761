//! Request bodies, each bound at the limit and one past it (SECURITY.md, *Bounds*).

use serde_json::{Value, json};
use tidings::error::Code;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    harness::{Client, Reply, Server},
    operations::{Operation, operations},
    scene::{OWNER, Scene},
};

const KIBIBYTE: usize = 1 << 10;
const MEBIBYTE: usize = 1 << 20;

/// A good body of exactly so many bytes.
fn body(bytes: usize) -> String {
    padded(&json!({ "name": "Engines" }), bytes)
}

fn padded(value: &Value, bytes: usize) -> String {
    let text = value.to_string();
    let spaces = " ".repeat(bytes - text.len());
    text + &spaces
}

/// A megabyte that is expensive to parse: each of its values is an object in an object.
fn nested_objects() -> String {
    format!("[{}{{}}]", "{\"\":{}},".repeat(MEBIBYTE / 8 - 2))
}

/// Sends the body in chunks, without saying how long it is; gives the answer's status and text.
async fn chunked(client: &Client, path: &str, body: &str) -> (u16, String) {
    let host = client.origin.strip_prefix("http://").unwrap();
    let bearer = client.token.as_ref().map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let head = format!(
        "POST /api/v1{path} HTTP/1.1\r\nhost: {host}\r\n{bearer}content-type: application/json\r\n\
         transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    for chunk in body.as_bytes().chunks(60_000) {
        stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).await.unwrap();
        stream.write_all(chunk).await.unwrap();
        stream.write_all(b"\r\n").await.unwrap();
    }
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
}

#[tokio::test]
async fn with_a_session_a_body_has_at_most_a_mebibyte() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    ada.call_text("POST", "/organisations", &body(MEBIBYTE)).await.expect(201);
    ada.call_text("POST", "/organisations", &body(MEBIBYTE + 1)).await.expect(413);
    ada.call_text("POST", "/organisations", &body(3 * MEBIBYTE)).await.expect(413);
    let listen = async |bytes| {
        let body = padded(&json!({ "channel": format!("{0}/{0}", ada.user_id) }), bytes);
        let request = ada.http.post(format!("{}/api/v1/realtime/subscription", ada.origin)).body(body);
        let request = request.header("X-Notification-Token", &ada.notification_token).header("content-type", "application/json");
        Reply::of(request, "POST /realtime/subscription", "").await.status
    };
    assert_eq!(listen(MEBIBYTE).await, 403, "it is read, and names what nobody may hear");
    assert_eq!(listen(MEBIBYTE + 1).await, 413);
}

#[tokio::test]
async fn a_chunked_body_has_at_most_a_mebibyte() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let (status, answer) = chunked(&ada, "/organisations", &body(MEBIBYTE)).await;
    assert_eq!(status, 201, "{answer}");
    let (status, answer) = chunked(&ada, "/organisations", &body(MEBIBYTE + 1)).await;
    assert_eq!(status, 413, "{answer}");
    assert!(answer.contains("\"status_code\":413"), "the envelope: {answer}");
    let (anonymous, address) = (server.anonymous(), json!({ "email": "ada@example.org" }));
    let (status, answer) = chunked(&anonymous, "/auth/magic-link", &padded(&address, 16 * KIBIBYTE)).await;
    assert_eq!(status, 200, "{answer}");
    let (status, answer) = chunked(&anonymous, "/auth/magic-link", &padded(&address, 16 * KIBIBYTE + 1)).await;
    assert_eq!(status, 413, "{answer}");
}

/// The bound of an operation for callers who show no session.
fn bound(operation: &Operation) -> usize {
    match operation.path.as_str() {
        "/contact" => 64 * KIBIBYTE,
        "/webhooks/feed/{webhook_slug}" => 256 * KIBIBYTE,
        _ => 16 * KIBIBYTE,
    }
}

#[tokio::test]
async fn without_a_session_an_operation_reads_only_a_small_body() {
    let scene = Scene::make().await;
    let server = scene.server().await;
    // A token that the operation does not ask for opens nothing.
    let owner = Client { origin: server.origin.clone(), ..scene.callers[OWNER].clone() };
    let mut public = 0;
    for operation in operations(&server).await.iter().filter(|operation| operation.has_body()) {
        let (name, path) = (operation.name(), scene.path(&operation.method, &operation.path));
        let send = async |client: &Client, bytes| client.call_text(&operation.method, &path, &padded(&json!({}), bytes)).await;
        if operation.needs_token() {
            send(&server.anonymous(), 2 * MEBIBYTE).await.expect(401);
            continue;
        }
        let read = send(&server.anonymous(), bound(operation)).await.status;
        assert!([400, 422].contains(&read), "{name} with as much as it may be: {read}");
        send(&server.anonymous(), bound(operation) + 1).await.refused(413, Code::BodyTooLarge);
        // Two of them take a bearer beside their token.
        let takes_bearer = ["/auth/email-request/verify", "/auth/links/check"].contains(&operation.path.as_str());
        if operation.path.starts_with("/auth/") && !takes_bearer {
            send(&owner, bound(operation) + 1).await.expect(413);
        }
        public += 1;
    }
    assert!(public >= 10, "{public}");
}

#[tokio::test]
async fn an_optional_bearer_raises_the_bound_of_the_body() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let body = padded(&json!({ "token": "unknown" }), MEBIBYTE);
    ada.call_text("POST", "/invite/verify", &body).await.expect(400);
    ada.call_text("POST", "/invite/verify", &(body.clone() + " ")).await.expect(413);
    server.anonymous().with_token("unknown").call_text("POST", "/invite/verify", &body).await.expect(401);
}

#[tokio::test]
async fn a_feed_to_a_known_slug_has_at_most_256_kibibytes() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let channel = ada.general(&ada.organisation("Engines").await).await;
    let hook = ada.webhook(&channel, "builds").await;
    let (anonymous, known) = (server.anonymous(), format!("/webhooks/feed/{}", hook["webhook_slug"].as_str().unwrap()));
    let feed = |bytes| padded(&json!({ "message": "main is green" }), bytes);
    anonymous.call_text("POST", &known, &feed(256 * KIBIBYTE)).await.expect(200);
    anonymous.call_text("POST", &known, &feed(256 * KIBIBYTE + 1)).await.expect(413);
    assert_eq!(chunked(&anonymous, &known, &feed(256 * KIBIBYTE)).await.0, 200);
    assert_eq!(chunked(&anonymous, &known, &feed(256 * KIBIBYTE + 1)).await.0, 413);
    let unknown = "/webhooks/feed/unknown";
    anonymous.call_text("POST", unknown, &feed(16 * KIBIBYTE)).await.expect(404);
    anonymous.call_text("POST", unknown, &feed(16 * KIBIBYTE + 1)).await.expect(413);
}

#[tokio::test]
async fn json_nests_64_deep() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let nested = |depth: usize| format!("{{\"name\":\"Engines\",\"more\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    ada.call_text("POST", "/organisations", &nested(64)).await.expect(201);
    ada.call_text("POST", "/organisations", &nested(65)).await.expect(400);
    ada.call_text("POST", "/organisations", &nested(100_000)).await.expect(400);
    ada.call_text("POST", "/organisations", &"[".repeat(MEBIBYTE)).await.expect(400);
    let in_text = format!("{{\"name\":\"Engines\",\"more\":\"\\\"{}\"}}", "[{".repeat(100));
    ada.call_text("POST", "/organisations", &in_text).await.expect(201);
}

/// The JSON library parses the text under this key as JSON of its own, past every bound on the outer one.
#[tokio::test]
async fn no_text_of_a_body_is_parsed_as_json() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let body = json!({ "name": "Engines", "more": { "$serde_json::private::RawValue": "[" } });
    ada.post("/organisations", body).await.expect(201);
}

#[tokio::test]
async fn json_holds_at_most_10_000_values() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    // The object itself, the name and the list are three.
    let values = |all: usize| json!({ "name": "Engines", "more": vec![0; all - 3] });
    ada.post("/organisations", values(10_000)).await.expect(201);
    let refused = ada.post("/organisations", values(10_001)).await.refused(400, Code::TooComplex);
    assert!(refused["message"].as_str().unwrap().contains("more than 10000 values"), "{refused}");
    ada.call_text("POST", "/organisations", &nested_objects()).await.expect(400);
    server.anonymous().call_text("POST", "/auth/login", &nested_objects()).await.expect(413);
}
