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
/// guess its other parts (BREACH). So an answer with a lasting secret stays as it is: [`Secret`](super::secret_text::Secret) tells the
/// text that holds it. [`PADDING`] hides the lengths of the others.
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
    "listVisibleDirectMessages",
    "searchMessages",
    "searchOrganisationMembers",
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
    let Some(encoding) = accepted.filter(|_| text.is_compressible() && text.plain.len() > SHORTEST) else { return Ok(response) };
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
    use serde_json::Value;

    use super::*;
    use crate::api::document;

    #[test]
    fn only_reads_are_compressed() {
        let document: Value = serde_json::from_str(&document::document()).unwrap();
        let operations: Vec<_> =
            document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap()).collect();
        for name in COMPRESSED {
            let (method, _) = operations.iter().find(|(_, operation)| operation["operationId"] == *name).expect(name);
            assert_eq!(*method, "get", "{name}");
        }
    }
}
