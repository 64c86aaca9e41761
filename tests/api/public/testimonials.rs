//! Testimonials, and their envelope without `status_code`.

use serde_json::{Value, json};

use crate::{
    harness::{Client, Server},
    shapes::{TESTIMONIAL, assert_shape},
};

async fn create(client: &Client, content: &str) -> Value {
    let body = client.post("/testimonials", json!({ "company_name": "Looms Ltd", "content": content })).await.expect(201);
    let made = data(body, "Testimonial created successfully");
    assert_shape(&made, TESTIMONIAL);
    made
}

async fn list(client: &Client, query: &str) -> Vec<Value> {
    let body = client.get(&format!("/testimonials{query}")).await.expect(200);
    data(body, "Testimonials retrieved successfully.").as_array().unwrap().clone()
}

#[track_caller]
fn data(mut body: Value, message: &str) -> Value {
    assert_eq!((&body["status"], &body["message"]), (&json!("success"), &json!(message)));
    assert!(body.get("status_code").is_none(), "{body}");
    body["data"].take()
}

#[tokio::test]
async fn a_user_writes_a_testimonial_and_anybody_reads_it() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let made = create(&ada, " It <b>weaves</b> ").await;
    assert_eq!((&made["user_id"], &made["company_name"]), (&json!(ada.user_id), &json!("Looms Ltd")));
    assert_eq!((&made["content"], &made["name"], &made["image_url"]), (&json!("It <b>weaves</b>"), &json!("ada"), &json!("")));
    assert_eq!(list(&server.anonymous(), "").await, [made]);
    server.sql("update users set first_name = 'Ada', last_name = 'Lovelace', avatar_url = 'https://x.example/a.png'");
    let [shown] = &list(&server.anonymous(), "").await[..] else { panic!("one") };
    assert_eq!((&shown["name"], &shown["image_url"]), (&json!("Ada Lovelace"), &json!("https://x.example/a.png")));
    assert!(!shown.to_string().contains('@'), "no e-mail address is told: {shown}");
}

#[tokio::test]
async fn failures_of_testimonials_have_no_status_code() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let body = |company_name: Value, content: Value| json!({ "company_name": company_name, "content": content });
    server.anonymous().post("/testimonials", body(json!("a"), json!("b"))).await.expect(401);
    ada.call_text("POST", "/testimonials", "{").await.expect(400);
    ada.delete("/testimonials").await.expect(405);
    let long = |count: usize| json!("é".repeat(count));
    ada.post("/testimonials", body(long(200), long(5000))).await.expect(201);
    for (company_name, content) in [
        (long(201), json!("b")),
        (json!("a"), long(5001)),
        (json!(""), json!("b")),
        (json!("a\nb"), json!("b")),
        (json!("a"), json!(" ")),
        (json!("a"), json!(1)),
        (Value::Null, json!("b")),
        (json!("a"), Value::Null),
    ] {
        ada.post("/testimonials", body(company_name, content)).await.expect(400);
    }
}

#[tokio::test]
async fn testimonials_are_listed_newest_first_in_pages() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for n in 0..11 {
        create(&ada, &n.to_string()).await;
    }
    let anonymous = server.anonymous();
    let found = async |query: &str| {
        let listed = list(&anonymous, query).await;
        listed.iter().map(|one| one["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("").await, ["10", "9", "8", "7", "6", "5", "4", "3", "2", "1"]);
    assert_eq!(found("?page=2").await, ["0"]);
    assert_eq!(found("?limit=2&page=2").await, ["8", "7"]);
    assert_eq!(found("?page_limit=2").await, ["10", "9"]);
    assert_eq!(found("?limit=1&page_limit=2").await, ["10"]);
    assert_eq!(found("?limit=100000").await.len(), 11);
    for query in ["limit=0", "page=0", "page_limit=0", "limit=x", "page_limit=-1"] {
        anonymous.get(&format!("/testimonials?{query}")).await.expect(400);
    }
}
