//! Calls of commands, clicks on the actions of messages, and the later answers of programs.

use poem::web::Data;
use poem_openapi::{Object, OpenApi, param::Path};

use super::answer_bodies::{CalledCommand, carry_out};
use crate::{
    api::{
        http::{
            auth::{AnsweringProgram, Bearer, IN_CHANNEL, POST},
            body::{Body, Text, into_string},
            envelope::{Done, Success, done, ok},
        },
        messages::posted_actions::{self, Actions},
        tags::Tag,
    },
    domain::{
        commands::{
            answers::{self, AnswerToken, Later},
            calling::{self, Call, Click},
            clicking::{self, Clicking},
        },
        webhooks::incoming_posts,
    },
    error::Result,
    id::{ActionId, CallbackId, ChannelId, MessageId},
    state::App,
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
        caller: Bearer<POST, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        body: Body<NewCall>,
    ) -> Result<Success<CalledCommand>> {
        let Body(NewCall { command, text: given, thread_id }, bytes) = body;
        let call = Call { command: command.0, text: into_string(given).unwrap_or_default(), thread: thread_id };
        let (caller, channel) = (caller.0, *channel_id);
        let prepared = app.db.write_sized(bytes, move |tx| calling::prepare(tx, caller, channel, &call)).await?;
        Ok(ok("Command called successfully", carry_out(&app, caller, prepared).await?.into()))
    }

    /// Click on an action of a message
    ///
    /// Sends the click to the program that has posted the message, which has three seconds to answer. It may replace the message, post in
    /// the channel or in the thread, or answer the caller alone: that is in `text`. Up to five later answers for the caller alone
    /// arrive as the event `command_answer`. Needs the right to post. With an `id` that the client made, a repeated request answers what
    /// the first one did, and calls nothing. 422 (`command_failed`) if the program does not answer as it should.
    #[oai(
        path = "/channels/:channel_id/messages/:message_id/actions/:action_id",
        method = "post",
        operation_id = "clickAction",
        tag = "Tag::Messages"
    )]
    async fn click(
        &self,
        caller: Bearer<POST, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        message_id: Path<MessageId>,
        action_id: Path<ActionId>,
        body: Body<NewClick>,
    ) -> Result<Success<CalledCommand>> {
        let click = Click { message: *message_id, action: *action_id, id: body.0.id };
        let reply = match app.db.write(move |tx| clicking::prepare(tx, caller.0, *channel_id, click)).await? {
            Clicking::Answered(reply) => reply,
            Clicking::Anew(call) => carry_out(&app, caller.0, call).await?,
        };
        Ok(ok("Action clicked successfully", reply.into()))
    }

    /// Answer a call of a command
    ///
    /// For the command's program: the address is the `response_url` of a call, which is the secret. Up to five answers within
    /// 30 minutes.
    /// Those with `response_type: in_channel` are posted; any other is shown to whoever has called. The address of a click takes
    /// `replace_original`, too: the answer then stands in place of the message.
    #[oai(path = "/commands/answers/:token", method = "post", operation_id = "answerCommand", tag = "Tag::Commands")]
    async fn answer(
        &self,
        program: AnsweringProgram,
        app: Data<&App>,
        token: Path<Text<AnswerToken>>,
        body: Body<LaterAnswer>,
    ) -> Result<Done> {
        let Body(LaterAnswer { text: given, response_type, replace_original, username, actions }, bytes) = body;
        let (audience, username) = (into_string(response_type), into_string(username).unwrap_or_default());
        let shown = (audience.as_deref(), replace_original.unwrap_or(false));
        let later = Later::new(&given, shown, &username, posted_actions::to_new_actions(actions))?;
        if !program.may_answer {
            return Err(answers::CLOSED);
        }
        let token = token.0.0;
        app.db.write_sized(bytes, move |tx| answers::answer_later(tx, &token, &later)).await?;
        Ok(done("Answer sent successfully"))
    }
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

#[derive(Object)]
struct NewClick {
    /// What the client calls the click: a UUID that it makes.
    id: Option<CallbackId>,
}

#[derive(Object)]
struct LaterAnswer {
    /// The answer, in Markdown; in Slack's markup if the command is called in Slack's form.
    text: Text<answers::AnswerText>,
    /// `in_channel` for everybody in the channel; `ephemeral`, the default, for whoever has called.
    response_type: Option<Text<answers::Audience>>,
    /// Whether the answer to a click stands in place of the message, and is seen by all.
    replace_original: Option<bool>,
    /// The name shown with a post; the command's, or that of the webhook, if omitted.
    username: Option<Text<incoming_posts::Username>>,
    /// What can be clicked in the post, or in the message that is replaced.
    actions: Option<Actions>,
}
