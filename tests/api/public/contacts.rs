//! The contact form.

use serde_json::{Value, json};
use tidings::config::Switch;

use crate::harness::{Client, Reply, Server};

const MADE: &str = "Contact added successfully.";

fn body() -> Value {
    json!({ "name": "Ada", "email": "Ada@Example.org", "phone_number": "+44 20", "message": "Does it weave?" })
}

fn with(field: &str, value: Value) -> Value {
    let mut body = body();
    body[field] = value;
    body
}

async fn send(client: &Client, body: Value) -> Reply {
    client.post("/contact", body).await
}

#[tokio::test]
async fn a_contact_message_is_kept_as_anybody_sent_it() {
    let server = Server::start().await;
    let anonymous = server.anonymous();
    let message = " <b>Does</b> it\r\nweave?\u{1b}[31m ";
    send(&anonymous, with("message", json!(message))).await.done(201, MADE);
    send(&anonymous, json!({ "name": "A", "email": "a@b.example", "message": "m" })).await.done(201, MADE);
    let database = rusqlite::Connection::open(server.folder().join("tidings.db")).unwrap();
    let kept: [String; 4] = database
        .query_row("select name, email, phone_number, message from contacts order by created_at limit 1", [], |row| {
            Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?])
        })
        .unwrap();
    assert_eq!(kept, ["Ada", "Ada@Example.org", "+44 20", message]);
}

#[tokio::test]
async fn an_unreadable_contact_message_is_400_and_a_refused_one_422() {
    let server = Server::start().await;
    let anonymous = server.anonymous();
    for field in ["name", "email", "message"] {
        send(&anonymous, with(field, Value::Null)).await.expect(400);
        send(&anonymous, with(field, json!(7))).await.expect(400);
        send(&anonymous, with(field, json!(" "))).await.expect(422);
    }
    send(&anonymous, with("phone_number", json!(44))).await.expect(400);
    anonymous.call_text("POST", "/contact", "{").await.expect(400);
    for (field, most) in [("name", 200), ("phone_number", 50), ("message", 10_000)] {
        send(&anonymous, with(field, json!("é".repeat(most)))).await.done(201, MADE);
        send(&anonymous, with(field, json!("é".repeat(most + 1)))).await.expect(422);
    }
    send(&anonymous, with("phone_number", Value::Null)).await.done(201, MADE);
    for email in ["ada", "ada@", "a@b.example\r\nBcc: c@d.example", "a@b.example, c@d.example", "Ada <a@b.example>"] {
        send(&anonymous, with("email", json!(email))).await.expect(422);
    }
}

#[tokio::test]
async fn a_contact_message_is_mailed_without_markup_and_with_an_address_to_reply_to() {
    let server = Server::with(|settings| settings.contact_to = Some("office@example.org".into())).await;
    let sent = json!({
        "name": "<i>Ada</i>\r\nBcc: evil@x.example", "email": "Ada@Example.org",
        "message": "<script>alert(1)</script>Does it <a href='https://evil.example'>weave</a>?\nA &lt;b&gt; & more",
    });
    send(&server.anonymous(), sent).await.done(201, MADE);
    let mail = &server.mails("office@example.org", 1).await[0];
    assert_eq!(mail.reply_to, "ada@example.org");
    assert!(mail.subject.contains("Ada Bcc: evil@x. example wrote to you"), "{}", mail.subject);
    assert!(mail.text.contains("Does it weave?") && mail.text.contains("A <b> & more"), "{}", mail.text);
    assert!(!mail.raw.lines().any(|line| line.starts_with("Bcc")), "{}", mail.raw);
    let (_, html) = mail.raw.split_once("text/html").unwrap();
    assert!(html.contains("Does it weave?<br>A &lt;b&gt; &amp; more"), "{html}");
    assert!(!mail.raw.contains("alert") && !mail.raw.contains("evil.example"), "{}", mail.raw);
}

#[tokio::test]
async fn contact_messages_do_not_use_up_the_mails_of_their_reader() {
    let server = Server::with(|settings| {
        settings.contact_to = Some("ada@example.org".into());
        settings.rate_limit = Switch::On;
        settings.trusted_proxy = vec!["127.0.0.1/32".parse().unwrap()];
    })
    .await;
    for n in 0..7 {
        let request = server.anonymous().request("POST", "/api/v1/contact").json(&body());
        let request = request.header("x-forwarded-for", format!("203.0.113.{n}"));
        Reply::of(request, "POST /contact", "").await.done(201, MADE);
    }
    server.mails("ada@example.org", 7).await;
    server.register("ada").await;
    let mails = server.mails("ada@example.org", 8).await;
    assert!(mails.iter().any(|mail| mail.text.contains("/auth/verify-email?token=")));
}

#[tokio::test]
async fn an_address_sends_at_most_five_contact_messages_a_minute() {
    let server = Server::with(|settings| settings.rate_limit = Switch::On).await;
    let anonymous = server.anonymous();
    for _ in 0..5 {
        send(&anonymous, body()).await.done(201, MADE);
    }
    let refused = send(&anonymous, body()).await;
    let wait: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    refused.expect(429);
    let feedback = json!({ "blog_id": crate::harness::unknown_id(), "feedback": true });
    for _ in 0..5 {
        anonymous.post("/blogs/feedback", feedback.clone()).await.expect(404);
    }
    let refused = anonymous.post("/blogs/feedback", feedback).await;
    assert!(refused.headers.contains_key("retry-after"));
    refused.expect(429);
}

#[tokio::test]
async fn the_rate_of_contact_messages_can_be_lifted() {
    let server = Server::start().await;
    for _ in 0..6 {
        send(&server.anonymous(), body()).await.done(201, MADE);
    }
}
