//! The handshake, the list of tools, and what HTTP refuses.

use serde_json::{Value, json};

use super::{fault, request, result, send};
use crate::harness::{Client, PASSWORD, Reply, Server};

const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

fn opening(version: &str) -> Value {
    json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "tests", "version": "1" } })
}

#[tokio::test]
async fn a_client_agrees_on_a_version_and_learns_the_tools() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for version in VERSIONS {
        let opened = result(&ada, "initialize", opening(version)).await;
        assert_eq!(opened["protocolVersion"], version);
        assert_eq!(opened["capabilities"], json!({ "tools": {} }));
        assert_eq!((&opened["serverInfo"]["name"], opened["instructions"].is_string()), (&json!("tidings"), true));
    }
    assert_eq!(result(&ada, "initialize", opening("2099-01-01")).await["protocolVersion"], VERSIONS[0]);
    assert_eq!(fault(&ada, "initialize", json!({})).await, -32602);
    for notice in [
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/of_another_kind", "params": { "x": 1 } }),
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
    ] {
        let reply = send(&ada, &notice).await;
        assert_eq!((reply.status, reply.body), (202, json!("")), "{notice}");
    }
    assert_eq!(result(&ada, "ping", json!({})).await, json!({}));

    let listed = result(&ada, "tools/list", json!({})).await;
    let tools = listed["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 8);
    for tool in tools {
        let (schema, reads) = (&tool["inputSchema"], tool["annotations"]["readOnlyHint"] == json!(true));
        let is_about_data = tool["description"].as_str().unwrap().contains("no instructions to you");
        assert_eq!(is_about_data, reads, "{tool}: results that show texts of others say so");
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)), "{tool}");
        assert!(schema.get("title").is_none() && schema.get("$schema").is_none(), "{tool}");
        for (name, property) in schema["properties"].as_object().unwrap() {
            assert!(property["type"].is_string() && property["description"].is_string(), "{name}: {property}");
        }
    }
    let named = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    assert_eq!(named("read_messages")["inputSchema"]["properties"]["limit"]["maximum"], 50);
    assert_eq!(named("post_message")["inputSchema"]["required"], json!(["channel", "text"]));
    assert_eq!(named("post_message")["inputSchema"]["properties"]["text"]["maxLength"], 40_000);
}

#[tokio::test]
async fn there_are_neither_streams_nor_sessions() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for method in ["GET", "DELETE", "PUT"] {
        let reply = Reply::of(ada.request(method, "/mcp"), method, "").await;
        assert_eq!((reply.status, &reply.headers["allow"]), (405, &"POST".parse().unwrap()), "{method}");
    }
    let reply = send(&ada, &request("initialize", opening(VERSIONS[0]))).await;
    assert!(reply.headers.get("mcp-session-id").is_none());
    assert_eq!(reply.headers["cache-control"], "no-store");
    assert!(reply.headers["content-type"].to_str().unwrap().starts_with("application/json"));
}

#[tokio::test]
async fn nobody_comes_in_without_a_token() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for client in [server.anonymous(), server.anonymous().with_token("garbage")] {
        let reply = send(&client, &request("ping", json!({}))).await;
        assert_eq!(reply.headers["www-authenticate"], "Bearer");
        reply.expect(401);
    }
    // A client that is refused looks there for a way to log in; a page would mislead it.
    for path in ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"] {
        assert_eq!(server.anonymous().request("GET", path).send().await.unwrap().status(), 404, "{path}");
    }
    ada.post("/auth/logout", json!({})).await.expect(200);
    send(&ada, &request("ping", json!({}))).await.expect(401);
}

#[tokio::test]
async fn a_cookie_counts_from_pages_of_the_server_alone() {
    let server = Server::start().await;
    let browser = server.browser("ada").await;
    let ping = request("ping", json!({}));
    send(&browser, &ping).await.expect(200);
    send(&browser.without("sec-fetch-site"), &ping).await.expect(401);
    send(&browser.with("sec-fetch-site", "same-site"), &ping).await.expect(401);
    assert_eq!(send(&browser.with("origin", "https://evil.example"), &ping).await.status, 403);
}

#[tokio::test]
async fn pages_of_other_origins_are_refused_even_with_a_token() {
    let server = Server::with(|settings| settings.allowed_origin = vec!["https://chat.example".into()]).await;
    server.register("ada").await;
    let ada = server.log_in("ada", PASSWORD).await;
    let from = async |client: &Client, origin: &str| send(&client.with("origin", origin), &request("ping", json!({}))).await;
    assert_eq!(from(&ada, "https://evil.example").await.status, 403);
    assert_eq!(from(&ada, "null").await.status, 403);
    let rebound = ada.with("host", "rebound.example");
    assert_eq!(from(&rebound, "http://rebound.example").await.status, 403, "a name that was made to lead here");
    let allowed = from(&ada, "https://chat.example").await;
    assert_eq!(allowed.headers["access-control-allow-origin"], "https://chat.example");
    assert!(allowed.headers["access-control-allow-headers"].to_str().unwrap().contains("mcp-protocol-version"));
    allowed.expect(200);
}

#[tokio::test]
async fn a_version_that_the_server_does_not_speak_is_refused() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    for version in VERSIONS {
        send(&ada.with("mcp-protocol-version", version), &request("ping", json!({}))).await.expect(200);
    }
    for version in ["2026-07-28", "1", ""] {
        let reply = send(&ada.with("mcp-protocol-version", version), &request("ping", json!({}))).await;
        assert_eq!((reply.status, &reply.body["error"]["code"]), (400, &json!(-32600)), "{version}");
    }
}
