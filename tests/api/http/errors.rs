//! Failures: the envelope everywhere, the order of checks, addresses.

use serde_json::{Value, json};
use tidings::error::Code;

use crate::harness::{PASSWORD, Reply, Server, text, unknown_id};

#[tokio::test]
async fn an_unknown_route_is_404_with_and_without_a_token() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for path in ["/nothing", "/", "", "/auth", "/auth/nothing", "/organisations/x/y/z", "/channels/a/b/c/d", "/%F0%9F%8C%8D"] {
        for method in ["GET", "POST", "DELETE"] {
            for client in [&ada, &server.anonymous()] {
                client.call(method, path, None).await.expect(404);
            }
        }
    }
}

#[tokio::test]
async fn a_wrong_method_is_405_with_the_allowed_ones() {
    let server = Server::start().await;
    let id = unknown_id();
    let cases = [
        ("GET", "/auth/login".to_owned(), vec!["POST"]),
        ("POST", "/auth/change-password".to_owned(), vec!["PUT"]),
        ("DELETE", "/users/organisations".to_owned(), vec!["GET"]),
        ("PATCH", format!("/organisations/{id}"), vec!["DELETE", "GET", "PUT"]),
        ("DELETE", format!("/organisations/{id}/users"), vec!["GET", "POST"]),
        ("DELETE", format!("/threads/channels/{id}"), vec!["GET"]),
        ("PATCH", format!("/channels/{id}/messages"), vec!["GET", "POST", "PUT"]),
        ("POST", format!("/channels/{id}"), vec!["DELETE", "GET", "PATCH"]),
    ];
    for (method, path, expected) in cases {
        let reply = server.anonymous().call(method, &path, None).await;
        let allow =
            reply.headers.get("allow").unwrap_or_else(|| panic!("{method} {path}: no Allow")).to_str().unwrap().to_owned();
        reply.expect(405);
        let mut allowed: Vec<_> =
            allow.split(',').map(str::trim).filter(|method| !["HEAD", "OPTIONS"].contains(method)).collect();
        allowed.sort();
        assert_eq!(allowed, expected, "{method} {path}");
    }
}

#[tokio::test]
async fn a_failure_is_json() {
    let server = Server::start().await;
    for path in ["/nothing", "/users/organisations", "/auth/login"] {
        let reply = server.anonymous().get(path).await;
        assert!(reply.headers["content-type"].to_str().unwrap().starts_with("application/json"), "{path}");
        assert!((400..500).contains(&reply.status));
    }
}

#[tokio::test]
async fn errors_are_a_list_for_members_and_threads_and_a_string_elsewhere() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let id = unknown_id();
    let lists = [
        (401, ("GET", format!("/organisations/{id}/users")), false),
        (403, ("GET", format!("/organisations/{id}/users")), true),
        (400, ("GET", "/organisations/x/users".into()), true),
        (401, ("GET", format!("/threads/channels/{id}")), false),
        (404, ("GET", format!("/threads/channels/{id}")), true),
        (400, ("GET", "/threads/organisations/x".into()), true),
        (404, ("GET", format!("/threads/organisations/{id}")), true),
    ];
    for (status, (method, path), known) in lists {
        let client = if known { ada.clone() } else { server.anonymous() };
        let body = client.call(method, &path, None).await.expect(status);
        let fields = 5 + usize::from(status == 400); // those of bad input name the parameter
        assert_eq!(body.as_object().unwrap().len(), fields, "{body}");
        assert_eq!(body["errors"].as_array().unwrap().len(), 1, "{body}");
    }
    let body = ada.get(&format!("/organisations/{id}")).await.expect(404);
    assert_eq!(body.as_object().unwrap().len(), 5, "{body}");
    assert_eq!([&body["status"], &body["status_code"]], [&json!("error"), &json!(404)]);
    assert!(body["error"].is_string() && body["message"].is_string());
}

#[tokio::test]
async fn the_checks_come_in_the_documented_order() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let outsider = server.user("outsider").await;
    let anonymous = server.anonymous();
    // The bearer before what is unreadable.
    anonymous.get("/organisations/no-uuid").await.expect(401);
    anonymous.call_text("POST", "/organisations", "{").await.expect(401);
    anonymous.get(&format!("/organisations/{organisation}/users?page=x")).await.expect(401);
    // What is unreadable before the records.
    outsider.call_text("PUT", &format!("/organisations/{organisation}"), "{").await.expect(400);
    outsider.put(&format!("/organisations/{}", unknown_id()), json!({ "name": 7 })).await.expect(400);
    outsider.post(&format!("/channels/{}/messages", unknown_id()), json!({ "content": 7 })).await.expect(400);
    outsider.get(&format!("/organisations/{organisation}/users?page=x")).await.expect(400);
    // The records and the right before what the body asks for.
    outsider.post(&format!("/channels/{}/messages", unknown_id()), json!({ "content": "" })).await.expect(403);
    let general = ada.general(&organisation).await;
    outsider.patch(&format!("/channels/{general}"), json!({ "name": "" })).await.expect(403);
    outsider.post("/channels", json!({ "organisation_id": organisation, "name": "x".repeat(81) })).await.expect(403);
    // The method before the bearer.
    anonymous.delete("/users/organisations").await.expect(405);
}

#[tokio::test]
async fn a_body_of_another_content_type_than_json_is_400() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let body = json!({ "name": "Engines" }).to_string();
    let send = async |content_type: &str| {
        let request = ada.request("POST", "/api/v1/organisations").header("content-type", content_type).body(body.clone());
        Reply::of(request, "POST /organisations", content_type).await
    };
    for wrong in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", "json"]
    {
        send(wrong).await.expect(400);
    }
    for right in ["application/json", "application/json; charset=utf-8", "Application/JSON"] {
        send(right).await.expect(201);
    }
    let none = ada.request("POST", "/api/v1/organisations").body(body.clone());
    Reply::of(none, "POST /organisations", "no content type").await.expect(400);
}

#[tokio::test]
async fn broken_text_is_400() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for body in
        ["", " ", "{\"name\":\"a\"", "{\"name\":\"\\ud800\"}", "{'name':'a'}", "{\"name\":\"a\"} x", "\u{feff}[", "name=a"]
    {
        ada.call_text("POST", "/organisations", body).await.expect(400);
    }
    let bytes = [b"{\"name\":\"".as_slice(), &[0xff, 0xfe], b"\"}"].concat();
    let request = ada.request("POST", "/api/v1/organisations").header("content-type", "application/json").body(bytes);
    Reply::of(request, "POST /organisations", "no UTF-8").await.expect(400);
}

#[tokio::test]
async fn a_missing_body_is_400() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for (method, path) in
        [("POST", "/organisations"), ("POST", "/channels"), ("POST", "/invite"), ("PUT", "/auth/change-password")]
    {
        ada.call(method, path, None).await.expect(400);
    }
    for path in ["/auth/register", "/invite/verify"] {
        server.anonymous().call("POST", path, None).await.expect(400);
    }
}

#[tokio::test]
async fn a_malformed_path_is_400() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for id in ["x", "00000000-0000-0000-0000-00000000000", "%00", "%FF", "%E2%28%A1", "..%2F..", &"a".repeat(3000)] {
        for path in [format!("/organisations/{id}"), format!("/channels/{id}/messages"), format!("/threads/channels/{id}")] {
            ada.get(&path).await.expect(400);
            server.anonymous().get(&path).await.refused(401, Code::TokenMissing);
        }
    }
    let plain = uuid::Uuid::now_v7().simple().to_string();
    let status = ada.get(&format!("/organisations/{plain}")).await.status;
    assert!([400, 404].contains(&status), "{status}");
}

#[tokio::test]
async fn a_trailing_slash_is_accepted() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    ada.get("/users/organisations/").await.expect(200);
    ada.get(&format!("/organisations/{organisation}/")).await.expect(200);
    ada.get(&format!("/organisations/{organisation}/users/?page=1")).await.expect(200);
    ada.post("/organisations/", json!({ "name": "Looms" })).await.expect(201);
    let body = json!({ "email": ada.email, "password": PASSWORD });
    server.anonymous().post("/auth/login/", body).await.expect(200);
    ada.delete(&format!("/organisations/{organisation}/")).await.expect(204);
}

#[tokio::test]
async fn the_base_url_may_carry_the_apis_suffix() {
    let server = Server::with(|settings| settings.links.base_url = Some("https://chat.example/api/v1/".into())).await;
    server.register("ada").await;
    let mails = server.mails("ada@example.org", 1).await;
    assert!(mails[0].text.contains("https://chat.example/auth/verify-email?token="), "{}", mails[0].text);
}

#[tokio::test]
async fn pages_of_allowed_origins_may_call_the_api() {
    let server = Server::with(|settings| {
        settings.allowed_origin = vec!["https://chat.example".into()];
        settings.links.web_url = Some("https://web.example".into());
    });
    let server = server.await;
    let preflight = async |origin: &str| {
        let request = server.anonymous().request("OPTIONS", "/api/v1/organisations").header("origin", origin);
        let request = request.header("access-control-request-method", "POST");
        let request = request.header("access-control-request-headers", "authorization,content-type,x-notification-token");
        request.send().await.unwrap().headers().get("access-control-allow-origin").map(|value| value.to_str().unwrap().to_owned())
    };
    assert_eq!(preflight("https://chat.example").await.as_deref(), Some("https://chat.example"));
    assert_eq!(preflight("https://web.example").await.as_deref(), Some("https://web.example"));
    assert_eq!(preflight("https://evil.example").await, None);
}

#[tokio::test]
async fn success_messages_do_not_leak_into_failures() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let failure: Value = ada.post("/auth/register", json!({ "email": ada.email, "password": PASSWORD })).await.expect(422);
    assert!(!text(&failure["message"]).contains("success"), "{failure}");
    assert!(!failure.to_string().contains("SQL") && !failure.to_string().contains("UNIQUE"), "{failure}");
}
