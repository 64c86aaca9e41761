//! Every bound of the OpenAPI document, at the bound and one past it: what the document allows is not refused for its form,
//! and what it forbids is refused, with the field and the bound in the message.

use regex::Regex;
use serde_json::{Value, json};

use crate::{
    harness::{Client, Reply, Server},
    operations::{Operation, document, operations},
    permissions::{Row, table},
    scene::{OWNER, Scene, call},
};

/// Fields that are checked only after a token of a mail or link, which the calls here don't have, for people without an account,
/// or for the author of a message.
const CHECKED_LATER: [(&str, &str); 14] = [
    ("POST /invite/verify", "first_name"),
    ("POST /invite/verify", "last_name"),
    ("POST /invite/verify", "username"),
    ("POST /invite/verify", "password"),
    // Their own tests try the six digits and the forms of a domain, which no bounds of a length tell.
    ("POST /auth/magic-link/code/verify", "code"),
    ("POST /organisations/{org_id}/join-links", "domain"),
    ("POST /join", "email"),
    ("POST /join", "first_name"),
    ("POST /join", "last_name"),
    ("POST /join", "username"),
    ("POST /join", "password"),
    ("POST /auth/password-reset/verify", "new_password"),
    ("POST /auth/email-request/verify", "password"),
    ("PUT /threads/{thread_id}/channels/{channel_id}", "content"),
];

/// Texts that patterns tell apart.
const TEXTS: [&str; 11] =
    ["", "a", "   ", " a ", "a\u{7}b", "a\nb", "a b c", "123", "-5", "ftp://x.example/a", "https://x.example/a"];

/// A call that differs from a good one in one value.
struct Case {
    value: Value,
    /// What the refusal says after the name; none where the document allows the value.
    refusal: Option<String>,
}

impl Case {
    fn good(value: impl Into<Value>) -> Case {
        Case { value: value.into(), refusal: None }
    }

    fn bad(value: impl Into<Value>, refusal: impl Into<String>) -> Case {
        Case { value: value.into(), refusal: Some(refusal.into()) }
    }
}

/// Values at the bounds of a schema, and past them.
fn cases(schema: &Value, good: &Value) -> Vec<Case> {
    if let Some(texts) = schema["enum"].as_array() {
        let mut cases: Vec<_> = texts.iter().cloned().map(Case::good).collect();
        // An optional field may also be null.
        let names: Vec<_> = texts.iter().filter_map(Value::as_str).collect();
        cases.extend(["", "on", "SUCCESS"].map(|text| Case::bad(text, format!("must be one of {}", names.join(", ")))));
        return cases;
    }
    match schema["type"].as_str() {
        Some("string") if schema["format"] != "uuid" => texts(schema),
        Some("array") => lists(schema, good),
        Some("integer") => integers(schema),
        _ => Vec::new(),
    }
}

fn texts(schema: &Value) -> Vec<Case> {
    let (least, most) = (schema["minLength"].as_u64().unwrap_or(0), schema["maxLength"].as_u64());
    let mut cases = Vec::new();
    if let Some(most) = most {
        cases.push(Case::good(of_length(schema, most as usize)));
        cases.push(Case::bad(of_length(schema, most as usize + 1), format!("at most {most}")));
    }
    if least > 1 {
        cases.push(Case::good(of_length(schema, least as usize)));
        cases.push(Case::bad(of_length(schema, least as usize - 1), format!("at least {least}")));
    }
    let pattern = schema["pattern"].as_str().map(|pattern| Regex::new(pattern).unwrap());
    let is_email = schema["format"] == "email" || schema.get("anyOf").is_some();
    for text in TEXTS.into_iter().filter(|text| text.len() as u64 >= least.min(2)) {
        let is_empty_email = text.is_empty() && schema.get("anyOf").is_some();
        let fits = text.len() as u64 >= least
            && pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
            && (!is_email || is_empty_email)
            && schema["format"] != "date-time";
        cases.push(if fits { Case::good(text) } else { Case::bad(text, "") });
    }
    cases
}

/// A text of this length that the schema's pattern and format allow.
fn of_length(schema: &Value, length: usize) -> String {
    let pattern = schema["pattern"].as_str().unwrap_or_default();
    let rest = |start: &str| format!("{start}{}", "a".repeat(length - start.len()));
    if schema["format"] == "email" || schema.get("anyOf").is_some() {
        let host = length - 65;
        let dot = |at: usize| if at % 50 == 49 && at + 1 < host { '.' } else { 'b' };
        return format!("{}@{}", "a".repeat(64), (0..host).map(dot).collect::<String>());
    }
    match pattern {
        _ if pattern.contains("://") => rest("https://x.example/"),
        _ if pattern.contains("]{2}") && length == 2 => "会議".into(),
        _ if pattern.contains("{0,99}") => ["01900000-0000-7000-8000-0000000000bb"; 101].join(",")[..length].into(),
        _ if pattern.contains("[0-9a-f]{8}") => rest("01900000-0000-7000-8000-0000000000bb/01900000-0000-7000-8000-0000000000a"),
        _ => rest(""),
    }
}

fn lists(schema: &Value, good: &Value) -> Vec<Case> {
    let item = good[0].clone();
    let list = |length: u64| Value::from(vec![item.clone(); length as usize]);
    let mut cases = Vec::new();
    if let Some(most) = schema["maxItems"].as_u64().filter(|_| !item.is_null()) {
        cases.extend([Case::good(list(most)), Case::bad(list(most + 1), format!("{most} "))]);
    }
    if schema["minItems"].as_u64().is_some() {
        cases.push(Case::bad(json!([]), ""));
    }
    cases
}

fn integers(schema: &Value) -> Vec<Case> {
    let bound = |name: &str| schema[name].as_f64().map(|bound| bound as i64);
    let [least, most] = ["minimum", "maximum"].map(|name| bound(name).expect("each integer has both bounds"));
    let says = format!("must be an integer from {least} to {most}");
    let good = [least, most].map(|number| Case::good(number.to_string()));
    let bad = [least - 1, most + 1].map(|number| Case::bad(number.to_string(), says.clone()));
    good.into_iter().chain(bad).collect()
}

/// In a body, an integer is no text, and what is no time is refused without the field's name.
fn of_a_body(schema: &Value, case: Case) -> Case {
    if schema["type"] == "integer" {
        let number: i64 = case.value.as_str().unwrap().parse().unwrap();
        return Case { value: number.into(), ..case };
    }
    let refusal = case.refusal.filter(|_| schema["format"] != "date-time");
    Case { refusal, ..case }
}

/// Checks an answer; returns what is wrong with it.
fn fault(reply: &Reply, name: &str, case: &Case) -> Option<String> {
    let message = reply.body["message"].as_str().unwrap_or_default();
    let of_its_form = [" must ", " are allowed", " are required"].iter().any(|words| message.contains(words));
    // `Username` is another name of `username`.
    let is_named = message.starts_with(name) || message.starts_with(&name.to_lowercase());
    let is_right = match &case.refusal {
        Some(refusal) => (400..500).contains(&reply.status) && is_named && message.contains(refusal),
        None => reply.status < 500 && !(is_named && of_its_form),
    };
    let value = case.value.to_string();
    let value: String = value.chars().take(80).collect();
    (!is_right).then(|| format!("{name} = {value} ({:?}): {} {message}", case.refusal, reply.status))
}

struct Setting {
    scene: Scene,
    server: Server,
    document: Value,
}

impl Setting {
    async fn new() -> Setting {
        let scene = Scene::make().await;
        let server = scene.server().await;
        let document = document(&server).await;
        Setting { scene, server, document }
    }

    /// A caller whom the table lets do it; otherwise the owner.
    fn caller(&self, row: &Row) -> Client {
        let able = [OWNER].into_iter().chain(0..row.expected.len()).find(|caller| row.expected[*caller] < 300);
        Client { origin: self.server.origin.clone(), ..self.scene.callers[able.unwrap_or(OWNER)].clone() }
    }

    /// The fields of a body's schema, of all its alternatives.
    fn fields(&self, schema: &Value) -> Vec<(String, Value)> {
        if let Some(reference) = schema["$ref"].as_str() {
            return self.fields(&self.document["components"]["schemas"][reference.rsplit('/').next().unwrap()]);
        }
        let own = schema["properties"].as_object().into_iter().flatten();
        let own = own.map(|(name, schema)| (name.clone(), schema.clone()));
        let parts = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|word| schema[word].as_array()).flatten();
        own.chain(parts.flat_map(|part| self.fields(part))).collect()
    }
}

/// A blank text is refused in a new message without files, which its schema can't say.
fn without_files(operation: &Operation, field: &str, schema: &Value, case: Case) -> Case {
    let is_blank = case.value.as_str().is_some_and(|text| text.trim().is_empty());
    let is_caption =
        operation.method == "POST" && field == "content" && schema["maxLength"] == 40_000 && schema.get("minLength").is_none();
    if is_caption && is_blank { Case::bad(case.value, "must not be empty") } else { case }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_is_refused_past_its_bounds_and_not_at_them() {
    let setting = Setting::new().await;
    let (operations, rows) = (operations(&setting.server).await, table());
    let mut calls = Vec::new();
    for operation in operations.iter().filter(|operation| operation.has_body()) {
        let row = rows.iter().find(|row| row.operation == operation.name()).expect("each has its row");
        let body = setting.scene.body(&row.body).unwrap_or_else(|| json!({}));
        let schema = &operation.document["requestBody"]["content"]["application/json; charset=utf-8"]["schema"];
        let fields = setting.fields(schema).into_iter();
        for (field, schema) in fields.filter(|(field, _)| !CHECKED_LATER.contains(&(operation.name().as_str(), field))) {
            let cases = cases(&schema, &body[&field]).into_iter().map(|case| of_a_body(&schema, case));
            let cases = cases.map(|case| without_files(operation, &field, &schema, case));
            calls.extend(cases.map(|case| (operation, row, field.clone(), case, body.clone())));
        }
    }
    assert!(calls.len() > 500, "{}", calls.len());
    // What is done changes the scene; what is refused does not.
    calls.sort_by_key(|(_, _, _, case, _)| case.refusal.is_none());
    let mut wrong = Vec::new();
    for (operation, row, field, case, mut body) in calls {
        body[&field] = case.value.clone();
        let reply =
            call(&setting.caller(row), operation, &setting.scene.path(&operation.method, &operation.path), Some(body)).await;
        wrong.extend(fault(&reply, &field, &case).map(|fault| format!("{}: {fault}", operation.name())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_parameter_of_a_query_is_refused_past_its_bounds_and_not_at_them() {
    let setting = Setting::new().await;
    let rows = table();
    let (mut tried, mut wrong) = (0, Vec::new());
    for operation in &operations(&setting.server).await {
        let row = rows.iter().find(|row| row.operation == operation.name()).expect("each has its row");
        for parameter in operation.document["parameters"].as_array().into_iter().flatten() {
            let (name, schema) = (parameter["name"].as_str().unwrap(), &parameter["schema"]);
            for case in cases(schema, &Value::Null).into_iter().filter(|_| parameter["in"] == "query") {
                let path =
                    with_query(&setting.scene.path(&operation.method, &operation.path), name, case.value.as_str().unwrap());
                let reply = ask(&setting, row, operation, &path).await;
                wrong.extend(fault(&reply, name, &case).map(|fault| format!("{}: {fault}", operation.name())));
                tried += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 200, "{tried}");
}

async fn ask(setting: &Setting, row: &Row, operation: &Operation, path: &str) -> Reply {
    call(&setting.caller(row), operation, path, operation.has_body().then(|| json!({}))).await
}

/// The path with another value for one parameter of its query.
pub fn with_query(path: &str, name: &str, value: &str) -> String {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let others = url::form_urlencoded::parse(query.as_bytes()).filter(|(other, _)| other != name);
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(others).append_pair(name, value).finish();
    format!("{path}?{query}")
}
