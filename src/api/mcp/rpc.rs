//! The messages of JSON-RPC 2.0.

use serde_json::{Map, Value, json};

use crate::error::{Code, Error};

/// A message of a client.
pub enum Message {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    /// A notification, or a response to a request. The server asks for nothing and has no use for either.
    Notice,
}

/// Why a request has no result: a code of JSON-RPC 2.0, section 5.1, and words.
pub struct Fault {
    code: i32,
    message: String,
}

impl Fault {
    /// For a body that is no JSON, or JSON past the bounds of bodies.
    pub fn unreadable(why: &Error) -> Fault {
        let code = if why.code() == Code::NotJson { -32700 } else { -32600 };
        Fault { code, message: why.to_string() }
    }

    pub fn invalid_request(message: impl Into<String>) -> Fault {
        Fault { code: -32600, message: message.into() }
    }

    pub fn unknown_method(method: &str) -> Fault {
        Fault { code: -32601, message: format!("there is no method {method:?}") }
    }

    pub fn internal() -> Fault {
        Fault { code: -32603, message: "the server failed".into() }
    }

    pub fn invalid_params(message: impl Into<String>) -> Fault {
        Fault { code: -32602, message: message.into() }
    }
}

/// Reads a message. A fault comes with the id of the request, null if none can be told.
pub fn read(message: Value) -> Result<Message, (Value, Fault)> {
    let Value::Object(mut message) = message else {
        return Err((Value::Null, Fault::invalid_request("a message is an object")));
    };
    let id = message.remove("id");
    // The Model Context Protocol allows no null and no fractions.
    let is_sound = id.as_ref().is_none_or(|id| id.is_string() || id.is_i64() || id.is_u64());
    let known = id.clone().filter(|_| is_sound).unwrap_or_default();
    parts(message, id).filter(|_| is_sound).ok_or_else(|| {
        let words = "a message has \"jsonrpc\": \"2.0\", and a request a method, an id that is a string or an integer, and an object of params";
        (known, Fault::invalid_request(words))
    })
}

fn parts(mut message: Map<String, Value>, id: Option<Value>) -> Option<Message> {
    if message.get("jsonrpc") != Some(&json!("2.0")) {
        return None;
    }
    let params = message.remove("params").unwrap_or_else(|| json!({}));
    match (message.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) if params.is_object() => Some(Message::Request { id, method, params }),
        (Some(Value::String(_)), None) => Some(Message::Notice),
        (None, Some(_)) if message.contains_key("result") || message.contains_key("error") => Some(Message::Notice),
        _ => None,
    }
}

/// The response to the request with this id.
pub fn reply(id: Value, answered: Result<Value, Fault>) -> Value {
    match answered {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(Fault { code, message }) => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }),
    }
}
