//! Compression of answers from which clients load much.

use std::sync::Arc;

use poem::{
    Endpoint, IntoResponse, Request, Response,
    http::{HeaderName, HeaderValue, header},
};
use poem_openapi::OperationId;

use crate::{
    error::Error,
    net::encodings::{Encoding, Encodings},
    secret,
};

/// The operations whose answers are compressed. Whoever chooses a part of a compressed text, and sees the length of many answers, can
/// guess its other parts (BREACH). So none of these answers holds a secret that stays the same from one answer to the next; a test
/// looks at their schemas. [`PADDING`] hides the lengths.
const COMPRESSED: &[&str] = &[
    "getChannel",
    "getChannelByName",
    "getThread",
    "listArchivedChannels",
    "listBlogs",
    "listBots",
    "listChannelMembers",
    "listChannelThreads",
    "listChannels",
    "listCommands",
    "listDirectMessages",
    "listMessages",
    "listOpenChannels",
    "listOrganisationChannels",
    "listOrganisationMembers",
    "listOrganisationThreads",
    "listOwnChannels",
    "listOwnOrganisations",
    "listPermissions",
    "listPinnedMessages",
    "listReminders",
    "listRoles",
    "listTestimonials",
    "listThreadReplies",
    "searchMessages",
    "start",
];

/// Shorter answers stay as they are: they fit into one packet.
const SHORTEST: usize = 1024;
/// Longer ones are compressed beside the tasks that serve connections, because it takes a while.
const QUICK: usize = 64 << 10;
/// A header of a random length below [`PADDED`] bytes, so that a guess shows only in the mean of a great many answers.
const PADDING: HeaderName = HeaderName::from_static("tidings-padding");
const PADDED: usize = 128;

/// Compresses answers for clients that accept it.
pub async fn layer<E: Endpoint>(next: Arc<E>, req: Request) -> poem::Result<Response> {
    let accepted = Encoding::accepted(req.headers());
    let mut response = next.call(req).await.map(IntoResponse::into_response)?;
    let is_listed = response.extensions().get().is_some_and(|OperationId(name)| COMPRESSED.contains(name));
    let Some(text) = response.extensions_mut().remove::<Arc<Encodings>>().filter(|_| is_listed) else { return Ok(response) };
    response.headers_mut().append(header::VARY, HeaderValue::from_static("accept-encoding"));
    let Some(encoding) = accepted.filter(|_| text.plain.len() > SHORTEST) else { return Ok(response) };
    if text.plain.len() <= QUICK {
        response.set_body(text.encoded(encoding).clone());
    } else {
        let encoded = tokio::task::spawn_blocking(move || text.encoded(encoding).clone()).await;
        response.set_body(encoded.map_err(Error::internal)?);
    }
    response.headers_mut().insert(header::CONTENT_ENCODING, encoding.header());
    let [random] = secret::random();
    let padding = &[b'0'; PADDED][..usize::from(random) % PADDED];
    response.headers_mut().insert(PADDING, HeaderValue::from_bytes(padding).map_err(Error::internal)?);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::Value;

    use super::*;
    use crate::api::document;

    /// The fields of secrets in the first screen: tokens for push, which another second makes other ones, and the password of an account
    /// that an acceptance made, which is empty everywhere else.
    const OF_THE_START: [&str; 4] = ["connection_token", "tokens", "token", "password"];

    /// No answer that is compressed has a field for a secret that lasts.
    #[test]
    fn no_secret_is_compressed_beside_what_somebody_else_chose() {
        const SECRETS: [&str; 6] = ["token", "secret", "password", "feed_url", "webhook_slug", "response_url"];
        let document: Value = serde_json::from_str(&document::document()).unwrap();
        let operations: Vec<_> =
            document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap()).collect();
        for name in COMPRESSED {
            let (method, operation) = operations.iter().find(|(_, operation)| operation["operationId"] == *name).expect(name);
            assert_eq!(*method, "get", "{name}");
            let mut fields = HashSet::new();
            collect(&document, &operation["responses"]["200"]["content"], &mut HashSet::new(), &mut fields);
            assert!(fields.len() > 1, "{name}: {fields:?}");
            let is_lasting = |field: &&String| *name != "start" || !OF_THE_START.contains(&field.as_str());
            let secret = fields.iter().filter(is_lasting).find(|field| SECRETS.iter().any(|secret| field.contains(secret)));
            assert_eq!(secret, None, "{name}");
        }
    }

    /// Collects the names of all fields of a schema.
    fn collect(document: &Value, schema: &Value, seen: &mut HashSet<String>, fields: &mut HashSet<String>) {
        match schema {
            Value::Object(parts) => {
                if let Some(reference) = parts.get("$ref").and_then(Value::as_str)
                    && seen.insert(reference.to_owned())
                {
                    collect(document, document.pointer(reference.trim_start_matches('#')).unwrap(), seen, fields);
                }
                if let Some(properties) = parts.get("properties").and_then(Value::as_object) {
                    fields.extend(properties.keys().cloned());
                }
                parts.values().for_each(|part| collect(document, part, seen, fields));
            }
            Value::Array(parts) => parts.iter().for_each(|part| collect(document, part, seen, fields)),
            _ => {}
        }
    }
}
