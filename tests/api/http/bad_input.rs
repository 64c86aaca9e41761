//! Every operation against input that it must refuse: with the documented envelope, and never with a fault.

use serde_json::{Map, Value, json};
use tidings::error::Code;

use super::bounds::with_query;
use crate::{
    harness::{Client, Reply, Server, unknown_id},
    operations::{Operation, document, operations},
    scene::{OWNER, Scene, call},
    shapes::assert_failure,
};

const JSON: &str = "application/json; charset=utf-8";
/// More than any text may be long, and less than a body.
const TOO_LONG: usize = 300_000;

struct Setting {
    scene: Scene,
    server: Server,
    owner: Client,
    operations: Vec<Operation>,
    document: Value,
}

impl Setting {
    async fn new() -> Setting {
        let scene = Scene::make().await;
        let server = scene.server().await;
        let owner = Client { origin: server.origin.clone(), ..scene.callers[OWNER].clone() };
        let (operations, document) = (operations(&server).await, document(&server).await);
        Setting { scene, server, owner, operations, document }
    }

    /// The operations that take JSON, with its schema.
    fn with_body(&self) -> impl Iterator<Item = (&Operation, &Value)> {
        let takes_json =
            |operation: &&Operation| operation.has_body() && !operation.document["requestBody"]["content"][JSON].is_null();
        self.operations.iter().filter(takes_json).map(|operation| {
            let schema = &operation.document["requestBody"]["content"][JSON]["schema"];
            (operation, self.resolved(schema))
        })
    }

    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str() {
            Some(reference) => &self.document["components"]["schemas"][reference.rsplit('/').next().unwrap()],
            None => schema,
        }
    }

    async fn send(&self, operation: &Operation, body: Value) -> Reply {
        call(&self.owner, operation, &self.scene.path(&operation.method, &operation.path), Some(body)).await
    }
}

/// Log-in answers 422 to bodies of the wrong shape (its row).
fn unreadable(operation: &Operation) -> u16 {
    if operation.path == "/auth/login" { 422 } else { 400 }
}

fn properties(schema: &Value) -> Map<String, Value> {
    schema["properties"].as_object().cloned().unwrap_or_default()
}

/// A body that can be read, whatever becomes of it.
fn readable(operation: &Operation) -> Value {
    operation.document["requestBody"]["content"][JSON]["example"].clone()
}

#[tokio::test]
async fn broken_json_is_400_everywhere() {
    let setting = Setting::new().await;
    for (operation, _) in setting.with_body() {
        let path = setting.scene.path(&operation.method, &operation.path);
        for broken in ["{", "{\"a\":}", "nonsense", "{\"a\":1}}", &"[".repeat(100), "\u{feff}{}"] {
            let request = setting.owner.request(&operation.method, &format!("/api/v1{path}"));
            let request = request.header("content-type", "application/json").body(broken.to_owned());
            let request = request.header("X-Notification-Token", &setting.owner.notification_token);
            let reply = Reply::of(request, &operation.name(), broken).await;
            assert_eq!(reply.status, 400, "{} {broken}", operation.name());
            reply.expect(400);
        }
    }
}

#[tokio::test]
async fn another_content_type_and_a_body_that_is_no_object_are_400() {
    let setting = Setting::new().await;
    for (operation, _) in setting.with_body() {
        let path = setting.scene.path(&operation.method, &operation.path);
        let request = setting.owner.request(&operation.method, &format!("/api/v1{path}"));
        let request = request.header("content-type", "text/plain").body("{}");
        let request = request.header("X-Notification-Token", &setting.owner.notification_token);
        Reply::of(request, &operation.name(), "text").await.expect(400);
        for body in [json!([]), json!("text"), json!(5), json!(null), json!(true)] {
            setting.send(operation, body).await.expect(unreadable(operation));
        }
    }
}

#[tokio::test]
async fn a_missing_field_is_named() {
    let setting = Setting::new().await;
    let mut missing = 0;
    for (operation, schema) in setting.with_body() {
        for field in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            for gone in [None, Some(Value::Null)] {
                let mut body = readable(operation);
                body.as_object_mut().unwrap().remove(field);
                if let Some(null) = gone {
                    body[field] = null;
                }
                let is_empty = body == json!({});
                let reply = setting.send(operation, body).await.expect(unreadable(operation));
                let message = reply["message"].as_str().unwrap();
                // An empty body may not know the fields: they are listed.
                let first = message.split_once("; the fields are ").map_or(message, |(first, _)| first);
                assert_eq!(if is_empty { first } else { message }, format!("{field} is required"), "{}", operation.name());
                missing += 1;
            }
        }
    }
    assert!(missing > 50, "{missing}");
}

#[tokio::test]
async fn a_wrong_type_is_refused_field_by_field() {
    let setting = Setting::new().await;
    let mut wrong = 0;
    for (operation, schema) in setting.with_body() {
        for (field, property) in properties(schema) {
            let values = match property["type"].as_str() {
                Some("string") => vec![json!(5), json!(true), json!([]), json!({})],
                Some("boolean") => vec![json!("true"), json!(1), json!([])],
                Some("integer") => vec![json!("1"), json!(1.5), json!(true)],
                Some("array") => vec![json!("x"), json!({}), json!([{}]), json!([[]])],
                _ => vec![json!([]), json!(true)],
            };
            for value in values {
                let mut body = readable(operation);
                body[&field] = value;
                setting.send(operation, body).await.expect(unreadable(operation));
                wrong += 1;
            }
            if property["format"] == "uuid" {
                let mut body = readable(operation);
                body[&field] = json!("not-a-uuid");
                setting.send(operation, body).await.expect(unreadable(operation));
            }
        }
    }
    assert!(wrong > 200, "{wrong}");
}

#[tokio::test]
async fn a_text_that_is_too_long_is_refused_field_by_field() {
    let setting = Setting::new().await;
    for (operation, schema) in setting.with_body() {
        for (field, property) in properties(schema) {
            if property["type"] != "string" || property.get("format").is_some() {
                continue;
            }
            let mut body = readable(operation);
            body[&field] = "x".repeat(TOO_LONG).into();
            let reply = setting.send(operation, body).await;
            assert!((400..500).contains(&reply.status), "{} with a long {field}: {}", operation.name(), reply.status);
            assert_failure(&operation.name(), reply.status, &reply.body);
        }
    }
}

#[tokio::test]
async fn a_path_that_names_nothing_is_refused() {
    let setting = Setting::new().await;
    for operation in setting.operations.iter().filter(|operation| operation.path.contains('{')) {
        let body = operation.has_body().then(|| json!({}));
        for parameter in operation.document["parameters"].as_array().into_iter().flatten() {
            if parameter["in"] != "path" || parameter["schema"]["format"] != "uuid" {
                continue;
            }
            let placeholder = format!("{{{}}}", parameter["name"].as_str().unwrap());
            // The other parameters are the scene's.
            let filled = setting.scene.path(&operation.method, &operation.path.replace(&placeholder, "MARK"));
            for wrong in ["x", "00000000-0000-0000-0000-00000000000g", "%20", "1", "null", "..%2f..", "%00"] {
                let reply = call(&setting.owner, operation, &filled.replace("MARK", wrong), body.clone()).await;
                assert_eq!(reply.status, 400, "{} with {wrong} for {placeholder}: {}", operation.name(), reply.body);
                assert_failure(&operation.name(), 400, &reply.body);
            }
            let reply = call(&setting.owner, operation, &filled.replace("MARK", &unknown_id()), body.clone()).await;
            assert!((400..500).contains(&reply.status), "{}: {}", operation.name(), reply.status);
            assert_failure(&operation.name(), reply.status, &reply.body);
        }
    }
}

#[tokio::test]
async fn a_query_out_of_range_is_400() {
    let setting = Setting::new().await;
    let mut tried = 0;
    for operation in &setting.operations {
        for parameter in operation.document["parameters"].as_array().into_iter().flatten() {
            if parameter["in"] != "query" {
                continue;
            }
            let wrong: &[&str] = match (parameter["schema"]["type"].as_str(), parameter["schema"]["format"].as_str()) {
                (Some("integer"), _) => &["0", "-1", "x", "1.5", "99999999999999999999999", " "],
                (Some("string"), Some("uuid")) => &["x", "1", " "],
                _ => &[],
            };
            let name = parameter["name"].as_str().unwrap();
            // These count from 0; in lists of threads, so do the replies that are shown.
            let is_threads =
                ["/threads/organisations/{org_id}", "/threads/channels/{channel_id}"].contains(&operation.path.as_str());
            let counts_from_0 = ["offset", "preview", "users"].contains(&name) || (is_threads && name == "messages");
            for value in wrong.iter().filter(|value| !counts_from_0 || **value != "0") {
                let path = with_query(&setting.scene.path(&operation.method, &operation.path), name, value);
                // A body where one is wanted: the query is read first, and is what is refused.
                let body = operation.has_body().then(|| json!({}));
                let reply = call(&setting.owner, operation, &path, body).await;
                assert_eq!(reply.status, 400, "{} {path}: {}", operation.name(), reply.body);
                assert_failure(&operation.name(), 400, &reply.body);
                tried += 1;
            }
        }
    }
    assert!(tried > 80, "{tried}");
}

#[tokio::test]
async fn wrong_methods_and_unknown_routes_get_the_envelope() {
    let setting = Setting::new().await;
    for operation in &setting.operations {
        let path = setting.scene.path(&operation.method, &operation.path);
        let reply = setting.owner.call("TRACE", &path, None).await;
        assert!(reply.headers.contains_key("allow"), "{}", operation.name());
        let body = reply.refused(405, Code::MethodNotAllowed);
        assert_eq!(body["status"], "error");
        setting
            .owner
            .get(&format!("{}/nothing/here", operation.path.replace(['{', '}'], "")))
            .await
            .refused(404, Code::RouteNotFound);
    }
}

#[tokio::test]
async fn each_operation_answers_an_empty_call_with_the_envelope() {
    let setting = Setting::new().await;
    let anonymous = setting.server.anonymous();
    for operation in &setting.operations {
        let reply = call(&anonymous, operation, &setting.scene.path(&operation.method, &operation.path), None).await;
        if operation.needs_token() {
            assert_eq!(reply.status, 401, "{}", operation.name());
        }
        assert!(reply.status < 500, "{}: {}", operation.name(), reply.body);
        if reply.status >= 400 {
            assert_failure(&operation.name(), reply.status, &reply.body);
        }
    }
}
