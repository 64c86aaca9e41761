use std::collections::BTreeSet;

use serde_json::Value;

use super::*;
use crate::{
    api::{
        document,
        http::{json::Written, rows::Rows},
    },
    net::encodings::Encoding,
};

/// Fields of answers that tell of a secret without being one.
const HARMLESS: [&str; 5] =
    ["ChannelFile.file_link", "LoggedIn.access_token_expires_in", "Media.file_link", "Start.push_url", "Start.streams"];

/// Collects the fields of a schema that are texts, as `Type.field`, each with its schema.
fn collect<'a>(
    document: &'a Value,
    schema: &'a Value,
    of: &'a str,
    seen: &mut BTreeSet<String>,
    fields: &mut Vec<(String, &'a Value)>,
) {
    match schema {
        Value::Object(parts) => {
            if let Some(reference) = parts.get("$ref").and_then(Value::as_str)
                && seen.insert(reference.to_owned())
            {
                let name = reference.rsplit('/').next().unwrap();
                collect(document, document.pointer(reference.trim_start_matches('#')).unwrap(), name, seen, fields);
            }
            for (name, field) in parts.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let text = if field["type"] == "array" { &field["items"] } else { field };
                if text["type"] == "string" && text.get("enum").is_none() {
                    fields.push((format!("{of}.{name}"), field));
                }
            }
            parts.values().for_each(|part| collect(document, part, of, seen, fields));
        }
        Value::Array(parts) => parts.iter().for_each(|part| collect(document, part, of, seen, fields)),
        _ => {}
    }
}

#[test]
fn each_secret_in_an_answer_is_marked_as_one() {
    const NAMES: [&str; 8] = ["token", "secret", "password", "_link", "feed_url", "webhook_url", "webhook_slug", "response_url"];
    const WORDS: [&str; 4] = ["secret", "token", "password", "feed address"];
    let document: Value = serde_json::from_str(&document::document()).unwrap();
    let (mut seen, mut fields) = (BTreeSet::new(), Vec::new());
    for operation in document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values()) {
        collect(&document, &operation["responses"], "", &mut seen, &mut fields);
    }
    let is_marked = |field: &Value| field["format"] == FORMAT;
    let looks_secret = |name: &str, field: &Value| {
        let field_name = name.rsplit('.').next().unwrap();
        let description = field["description"].as_str().unwrap_or_default().to_lowercase();
        // A time, an identifier or a number is no secret.
        let is_other = !is_marked(field) && field.get("format").is_some();
        !is_other && (NAMES.iter().any(|part| field_name.contains(part)) || WORDS.iter().any(|word| description.contains(word)))
    };
    let marked = fields.iter().filter(|(_, field)| is_marked(field)).count();
    assert!(marked > 25 && fields.len() > 300, "{marked} of {}", fields.len());
    let open: Vec<_> = fields.iter().filter(|(name, field)| looks_secret(name, field) && !is_marked(field)).collect();
    let names: BTreeSet<_> = open.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(HARMLESS), "{open:?}");
}

#[test]
fn an_answer_with_a_lasting_secret_has_no_compressed_form() {
    let compressible = |secret: &str| {
        let row = vec![Secret(secret.to_owned())];
        let alone = Written::new(&row).text.is_compressible();
        let mut rows = Rows::default();
        rows.push(&row);
        rows.push(&Vec::new());
        let mut copied = Rows::default();
        copied.extend(&rows.reversed());
        let texts = [Written::new(&rows).text, Written::new(&rows.clone()).text, Written::new(&copied).text];
        assert!(texts.iter().all(|text| text.is_compressible() == alone));
        alone
    };
    assert_eq!([compressible("whsec_1"), compressible(""), compressible("whsec_1")], [false, true, false]);
    let short_lived = Written::new(&vec![ShortLivedToken("token".into())]).text;
    assert!(short_lived.is_compressible() && !short_lived.encoded(Encoding::Zstd).is_empty());
}
