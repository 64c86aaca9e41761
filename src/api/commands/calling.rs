//! Calls of commands, and the answers of their programs.

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::Path,
    payload::{Json, Payload},
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    api::{
        http::{
            auth::Bearer,
            body::{Body, Text, json, text},
            envelope::{Done, Success, done, ok},
            types::Nullable,
        },
        tags::Tag,
    },
    db::Tx,
    domain::{
        commands::{
            Form,
            calling::{self, Answer, AnswerToken, Call, Shown},
        },
        webhooks::feeds,
    },
    error::{Code, Error, Result},
    formats::{Dialect, Post, slack},
    id::{ChannelId, MessageId},
    state::{App, delivery::sending},
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Call a command
    ///
    /// Sends the call to the command's program, which has three seconds to answer. What it answers for all is posted in the channel, or
    /// in the thread, under the command's name; anything else is in `text`, for the caller alone. Up to five later answers for the
    /// caller alone arrive as the event `command_answer`. Needs the right to post. 422 (`command_failed`) if the program does not answer
    /// as it should.
    #[oai(path = "/channels/:channel_id/commands", method = "post", operation_id = "callCommand", tag = "Tag::Commands")]
    async fn call(
        &self,
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        body: Body<NewCall>,
    ) -> Result<Success<CalledCommand>> {
        let Body(NewCall { command, text: given, thread_id }, bytes) = body;
        let call = Call { command: command.0, text: text(given).unwrap_or_default(), thread: thread_id };
        let (caller, channel) = (caller.0, *channel_id);
        let prepared = app.db.write_sized(bytes, move |tx| calling::prepare(tx, caller, channel, &call)).await?;
        let reply = sending::call(&app, &prepared).await?;
        let shown = match answer_of(reply.content_type.as_deref(), &reply.body, prepared.form)? {
            None => Shown::ToCaller(String::new()),
            Some(answer) => {
                let bytes = reply.body.len();
                app.db.write_sized(bytes, move |tx: &mut Tx| calling::answer(tx, &prepared, &answer)).await?
            }
        };
        let answered = match shown {
            Shown::ToCaller(text) => CalledCommand { text, message_id: Nullable(None) },
            Shown::Posted(id) => CalledCommand { text: String::new(), message_id: Nullable(Some(id)) },
        };
        Ok(ok("Command called successfully", answered))
    }

    /// Answer a call of a command
    ///
    /// For the command's program: the address is the `response_url` of a call, and the secret. Up to five answers within 30 minutes.
    /// Those with `response_type: in_channel` are posted; any other is shown to whoever has called.
    #[oai(path = "/commands/answers/:token", method = "post", operation_id = "answerCommand", tag = "Tag::Commands")]
    async fn answer(&self, app: Data<&App>, token: Path<Text<AnswerToken>>, body: Body<LaterAnswer>) -> Result<Done> {
        let Body(LaterAnswer { text: given, response_type, username }, bytes) = body;
        let (audience, username) = (text(response_type), text(username).unwrap_or_default());
        let answer = Answer::later(&given, audience.as_deref(), &username)?;
        let token = token.0.0;
        app.db.write_sized(bytes, move |tx| calling::answer_later(tx, &token, &answer)).await?;
        Ok(done("Answer sent successfully"))
    }
}

/// What a program answers; none if it says nothing. JSON has the fields of Slack, anything else is a text for the caller. 422 for JSON that
/// is none.
fn answer_of(content_type: Option<&str>, body: &[u8], form: Form) -> Result<Option<Answer>> {
    let is_json = content_type.is_some_and(Json::<Value>::check_content_type);
    let (post, is_for_all) = if is_json {
        let body = json::parse(body)
            .map_err(|_| Error::Invalid(Code::CommandFailed.says("The command's program failed: its answer is not JSON")))?;
        let dialect = if form == Form::Slack { Dialect::Mrkdwn } else { Dialect::Markdown };
        (slack::message::post(&body, dialect), body["response_type"] == "in_channel")
    } else {
        (Post { text: String::from_utf8_lossy(body).into_owned(), ..Post::default() }, false)
    };
    Ok((!post.text.trim().is_empty()).then(|| Answer { feed: post.into(), is_for_all }))
}

#[derive(Object)]
struct NewCall {
    /// The command's name, with its slash or without.
    command: Text<calling::Called>,
    /// What follows it.
    text: Option<Text<calling::Text>>,
    /// The post in whose thread it is called.
    thread_id: Option<MessageId>,
}

#[derive(Object, Serialize)]
struct CalledCommand {
    /// The answer for the caller alone, in Markdown; empty if there is none.
    text: String,
    /// The message that the answer for all has become; `null` if there is none.
    message_id: Nullable<MessageId>,
}

#[derive(Object)]
struct LaterAnswer {
    /// The answer, in Markdown.
    text: Text<calling::AnswerText>,
    /// `in_channel` for everybody in the channel; `ephemeral`, the default, for whoever has called.
    response_type: Option<Text<calling::Audience>>,
    /// The name shown with a post; the command's if omitted.
    username: Option<Text<feeds::Username>>,
}
