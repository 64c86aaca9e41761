//! What programs answer to calls of commands and to clicks.

use poem_openapi::{
    Object,
    payload::{Json, Payload},
    types::ParseFromJSON,
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    api::{
        http::{body::json, framework_traits::Nullable},
        messages::posted_actions::{Actions, to_new_actions},
    },
    db,
    domain::{
        access::Caller,
        commands::{
            Form,
            answers::{self, Answer, Reply, Shown},
            calling::{self, Prepared},
        },
        messages::action_buttons::New,
        webhooks::incoming_posts::Feed,
    },
    error::{Code, Error, Result},
    formats::{Dialect, Post, slack_messages},
    id::MessageId,
    state::{App, delivery::webhook_sender},
};

/// Sends a call, and shows what the program answers, even if whoever calls disconnects. 422 without an answer of success, and for an
/// invalid one.
pub(super) async fn carry_out(app: &App, caller: Caller, call: Prepared) -> Result<Reply> {
    let app = app.clone();
    let run = async move {
        let answered = send(&app, caller, call.clone()).await;
        if let Err(err) = &answered {
            let is_called = !matches!(err, Error::TooMany(_));
            if let Err(err) = app.db.write(move |tx| calling::settle_failed(tx, &call, is_called)).await {
                tracing::warn!(err = err.log_text(), "a call that has failed could not be marked so");
            }
        }
        answered
    };
    tokio::spawn(db::for_request(run)).await.map_err(Error::internal)?
}

async fn send(app: &App, caller: Caller, call: Prepared) -> Result<Reply> {
    let reply = webhook_sender::call_program(app, &call).await?;
    let answer = of(reply.content_type.as_deref(), &reply.body, call.target.form)?;
    app.write_throttled(caller.share(), reply.body.len(), move |tx| answers::answer(tx, &call, answer.as_ref())).await
}

/// What a program answers; none if it says nothing. JSON has the fields of Slack, and `actions`; anything else is a text for the caller. 422
/// for JSON that is none.
fn of(content_type: Option<&str>, body: &[u8], form: Form) -> Result<Option<Answer>> {
    let failed = |why: &str| Error::Invalid(Code::CommandFailed.says(format!("The program failed: {why}")));
    if !content_type.is_some_and(Json::<Value>::check_content_type) {
        let post = Post { text: String::from_utf8_lossy(body).into_owned(), ..Post::default() };
        return Ok(given(post, Shown::ToCaller, Vec::new()));
    }
    let body = json::parse(body).map_err(|_| failed("its answer is not JSON"))?;
    let dialect = if form == Form::Slack { Dialect::Mrkdwn } else { Dialect::Markdown };
    let actions = Option::<Actions>::parse_from_json(Some(body["actions"].clone()))
        .map_err(|_| failed("actions are a list of objects with a label, and a style and a value if wanted"))?;
    let shown = Shown::from_response_type(body["response_type"].as_str(), body["replace_original"] == true);
    Ok(given(slack_messages::message::post(&body, dialect), shown, to_new_actions(actions)))
}

fn given(post: Post, shown: Shown, actions: Vec<New>) -> Option<Answer> {
    let feed = Feed { actions, ..post.into() };
    (!feed.message.trim().is_empty()).then_some(Answer { feed, shown })
}

#[derive(Object, Serialize)]
pub(super) struct CalledCommand {
    /// The answer for the caller alone, in Markdown; empty if there is none.
    text: String,
    /// The message that the answer for all has become, or that it has replaced; `null` if there is none.
    message_id: Nullable<MessageId>,
}

impl From<Reply> for CalledCommand {
    fn from(Reply { text, message }: Reply) -> Self {
        CalledCommand { text, message_id: Nullable(message) }
    }
}
