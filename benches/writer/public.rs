//! What is for everybody: the blog, testimonials, the contact form; and what other programs publish.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    api::text,
    bench::{Bench, blob, made},
    world::World,
};

pub const KEY: &str = "a-key-of-the-bench";
/// Feedback of one blog post. It has no bound.
const FEEDBACK: u32 = 20_000;

pub async fn walk(bench: &mut Bench, world: &World) {
    blog(bench, world).await;
    let testimonial = json!({ "company_name": "x".repeat(200), "content": "𠀀".repeat(5000) });
    bench.call("testimonial", &world.ada, Method::POST, "/testimonials", testimonial).await;
    let contact = json!({
        "name": "x".repeat(200), "email": "ada@x.example", "phone_number": "1".repeat(50), "message": "𠀀".repeat(10_000),
    });
    bench.call("contact form", &world.ada, Method::POST, "/contact", contact).await;
    publications(bench).await;
}

async fn blog(bench: &mut Bench, world: &World) {
    let root = &world.root;
    let category = bench.call("category", root, Method::POST, "/blog_categories", json!({ "name": "x".repeat(100) })).await;
    let category = text(&category["data"]["id"]);
    let blog = json!({ "content": "𠀀".repeat(200_000), "title": "x".repeat(120), "category_id": category });
    bench.call("blog post of 200,000 wide characters", root, Method::POST, "/blogs", blog).await;
    let blogs = root.call(Method::GET, "/blogs", Value::Null).await;
    let blog = text(&blogs["data"][0]["id"]);
    let feedback = json!({ "blog_id": blog, "feedback": true });
    bench.call("feedback", root, Method::POST, "/blogs/feedback", feedback).await;
    bench.sql(&format!(
        "insert into blog_feedback (id, blog_id, feedback, created_at)
         with recursive k (k) as (select 1 union all select k + 1 from k where k < {FEEDBACK})
         select randomblob(16), {}, 1, 0 from k",
        blob(&blog)
    ));
    bench.call("blog post with 20,000 feedbacks deleted", root, Method::DELETE, &format!("/blogs/{blog}"), Value::Null).await;
    bench.call("category deleted", root, Method::DELETE, &format!("/blog_categories/{category}"), Value::Null).await;
}

/// The server API is no part of the document.
async fn publications(bench: &mut Bench) {
    let channels: Vec<String> = (1..=1000).map(|k| made(2, k)).collect();
    for (what, method, body) in [
        ("publication of 1 MB", "publish", json!({ "channel": channels[0], "data": "x".repeat(1_000_000) })),
        ("broadcast to 1,000 channels", "broadcast", json!({ "channels": channels, "data": "x".repeat(16_000) })),
        ("broadcast of 1 MB", "broadcast", json!({ "channels": channels[..16], "data": "x".repeat(1_000_000) })),
    ] {
        bench.begin().await;
        let request = bench.api.http.post(format!("{}/api/{method}", bench.api.url)).header("x-api-key", KEY).json(&body);
        let answer: Value = serde_json::from_str(&request.send().await.unwrap().text().await.unwrap()).unwrap();
        assert!(!answer.to_string().contains("error"), "{what}: {answer}");
        bench.end(what).await;
    }
}
