//! Compressed answers.

use std::{collections::HashSet, io::Read};

use flate2::read::GzDecoder;
use serde_json::json;

use crate::harness::{Client, Server};

/// The body of an answer, its encoding, and its `Vary`.
async fn asked(client: &Client, path: &str, accepted: &str) -> (Vec<u8>, String, String) {
    let answer = client.request("GET", &format!("/api/v1{path}")).header("accept-encoding", accepted).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let header = |name: &str| answer.headers().get(name).map_or_else(String::new, |value| value.to_str().unwrap().to_owned());
    let (encoding, vary) = (header("content-encoding"), header("vary"));
    (answer.bytes().await.unwrap().into(), encoding, vary)
}

#[tokio::test]
async fn compressed_answers_have_no_length_that_tells_their_text() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    ada.organisation("Engines").await;
    let padding = async |accepted: &str| {
        let answer = ada.request("GET", "/api/v1/start").header("accept-encoding", accepted).send().await.unwrap();
        answer.headers().get("tidings-padding").map(|zeros| zeros.len())
    };
    let mut lengths = HashSet::new();
    for _ in 0..20 {
        lengths.insert(padding("zstd").await.expect("it is compressed"));
    }
    assert!(lengths.len() > 5 && lengths.iter().all(|length| *length <= 127), "{lengths:?}");
    assert_eq!(padding("identity").await, None);
}

#[tokio::test]
async fn a_long_list_is_compressed_as_the_client_accepts() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "engines", &[]).await;
    let path = format!("/channels/{channel}/messages");
    let (short, encoding, vary) = asked(&ada, &path, "gzip, zstd").await;
    assert_eq!((encoding.as_str(), vary.as_str()), ("", "accept-encoding"), "{} bytes fit into a packet", short.len());
    for n in 0..250 {
        ada.post(&path, json!({ "content": format!("{n}: The tide is high at noon") })).await.expect(201);
    }
    // The newest page is kept, and its compressed forms with it; 200 messages are more than a task compresses by itself.
    for query in ["", "", "?limit=20", "?limit=200"] {
        let path = format!("{path}{query}");
        let (plain, encoding, vary) = asked(&ada, &path, "br").await;
        assert_eq!((encoding.as_str(), vary.as_str()), ("", "accept-encoding"));
        let (zstd, encoding, vary) = asked(&ada, &path, "gzip, zstd").await;
        assert_eq!((encoding.as_str(), vary.as_str()), ("zstd", "accept-encoding"));
        assert_eq!(zstd::bulk::decompress(&zstd, plain.len()).unwrap(), plain);
        let (gzip, encoding, _) = asked(&ada, &path, "gzip, zstd;q=0").await;
        assert_eq!(encoding, "gzip");
        let mut unpacked = Vec::new();
        GzDecoder::new(&gzip[..]).read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == plain && 2 * gzip.len() < plain.len() && 2 * zstd.len() < plain.len(), "{query}");
    }
}

#[tokio::test]
async fn lists_with_a_feeds_address_are_not_compressed_and_others_are() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    for n in 0..12 {
        let channel = ada.channel(&organisation, &format!("engines-{n}"), &[&grace]).await;
        if n == 0 {
            ada.webhook(&channel, "builds").await;
        }
    }
    let name = "engines-0";
    let lists = ["/channels".to_owned(), format!("/organisations/{organisation}/channels"), format!("/channels/name/{name}")];
    for path in lists {
        // Ada manages the webhook, and Grace sees no address.
        for (client, is_shown) in [(&ada, true), (&grace, false)] {
            let (plain, encoding, vary) = asked(client, &path, "br").await;
            assert_eq!((encoding.as_str(), vary.as_str()), ("", "accept-encoding"), "{path}");
            let text = String::from_utf8(plain.clone()).unwrap();
            assert_eq!(text.contains("/api/v1/webhooks/feed/"), is_shown, "{path}");
            assert!(plain.len() > 1024, "{path}: an answer that is short is not compressed anyway");
            let (answered, encoding, vary) = asked(client, &path, "gzip, zstd").await;
            assert_eq!((encoding.as_str(), vary.as_str()), (if is_shown { "" } else { "zstd" }, "accept-encoding"), "{path}");
            assert!(is_shown == (answered == plain) && (is_shown || 2 * answered.len() < plain.len()), "{path}");
        }
    }
}
