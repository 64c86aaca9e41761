//! `src/api/document/recorded.txt`: what the document says, and of each operation an example of its request and success, and the
//! codes of its refusals, from runs of the permissions, the refusals, and of what needs another state than the scene's.

mod recording;
mod states;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tidings::document_with;
use url::form_urlencoded;

use super::{generated::agree, root};
use crate::{
    harness::Server,
    names::Names,
    operations::{Operation, document, operations, without},
    permissions, refusals,
    scene::{Answered, CALLERS},
};

/// Rows of a list that an example shows.
const SHOWN: usize = 2;

#[derive(Default)]
struct Example {
    parameters: BTreeMap<String, Value>,
    request: Option<Value>,
    answers: BTreeMap<String, Value>,
    refusals: BTreeMap<String, BTreeSet<String>>,
}

/// The document changes only on purpose. It shows the recorded examples itself, so they are not part of what it says.
#[tokio::test(flavor = "multi_thread")]
async fn the_document_and_its_examples_equal_their_recording() {
    let mut examples = Examples::default();
    let run = permissions::Run::get().await;
    for answers in run.answers() {
        let mut answers: Vec<_> = CALLERS.iter().zip(answers).collect();
        // The example is what an ordinary caller gets who may do it.
        answers
            .sort_by_key(|(caller, _)| ["owner", "insider", "superadmin"].iter().position(|first| first == *caller).unwrap_or(3));
        answers.iter().for_each(|(_, answered)| examples.take(&run.names, answered));
    }
    let run = refusals::Run::get().await;
    run.answers().for_each(|answered| examples.take(&run.names, answered));
    examples.of_mailed_tokens().await;
    examples.of_federated_log_in().await;
    examples.of_closed_doors().await;
    examples.of_webhooks_without_an_address().await;
    examples.of_channels().await;
    examples.of_commands().await;

    let server = Server::start().await;
    for operation in operations(&server).await {
        let name = operation.name();
        let example = examples.0.get(&name).unwrap_or_else(|| panic!("{name} was not called"));
        assert!(!example.answers.is_empty(), "{name} never succeeded");
        assert_eq!(example.request.is_some(), operation.has_body(), "{name}: a request");
    }
    let lines = |mut document: Value| {
        document["info"]["version"] = "of the release".into();
        recording::lines(without(document, &["example", "examples"]), &examples.0)
    };
    // Which failures the document has depends on the recorded refusals, and the server may have an older recording.
    let with_this_run = document_with(&lines(document(&server).await));
    let text = lines(serde_json::from_str(&with_this_run).unwrap());
    let fault = "records another document than the server's, or other examples than a run's";
    agree(&root().join("src/api/document/recorded.txt"), &text, fault);
}

#[derive(Default)]
pub struct Examples(BTreeMap<String, Example>);

impl Examples {
    /// Notes an answer: the first success of each status, and the codes of all refusals.
    pub fn take(&mut self, names: &Names, answered: &Answered) {
        let (operation, mut names) = (&answered.operation, names.clone());
        let example = self.0.entry(operation.clone()).or_default();
        if answered.status >= 300 {
            let code = answered.answer["code"].as_str().expect("a failure has a code");
            example.refusals.entry(answered.status.to_string()).or_default().insert(code.to_owned());
            return;
        }
        if example.answers.is_empty() {
            example.request = answered.request.clone().map(|request| names.replace(request, operation));
            let template = Operation::named(operation).path;
            let parameters = parameters(&template, &answered.path).map(|(name, value)| {
                let value = names.replace(value, &format!("{operation} {name}"));
                (name, value)
            });
            example.parameters = parameters.collect();
        }
        let answer = match answered.status {
            204 => Value::Null,
            _ => names.replace(shortened(answered.answer.clone()), operation),
        };
        example.answers.entry(answered.status.to_string()).or_insert(answer);
    }
}

/// The parameters of a call by name, from the template of its path, its path and its query.
fn parameters(template: &str, path: &str) -> impl Iterator<Item = (String, Value)> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let segments = template.split('/').zip(path.split('/'));
    let of_path = segments.filter_map(|(name, value)| Some((name.strip_prefix('{')?.strip_suffix('}')?, value)));
    let of_query = form_urlencoded::parse(query.as_bytes()).map(|(name, value)| (name.into_owned(), value.into_owned().into()));
    of_path.map(|(name, value)| (name.to_owned(), value.into())).chain(of_query)
}

/// The value with only the first rows of its lists.
fn shortened(value: Value) -> Value {
    match value {
        Value::Array(rows) => rows.into_iter().take(SHOWN).map(shortened).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, shortened(value))).collect(),
        other => other,
    }
}
