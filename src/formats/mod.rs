//! Bodies and files of other programs, as text: pure functions, which know nothing of this server.
//!
//! A program that posts to an incoming webhook is recognised by its header or by the shape of its body
//! ([`SendingProgram::recognise`]), and its body becomes a [`Post`]. Each program has a file, which reads only the fields that
//! it shows ([`lenient_fields`]).

mod address_likeness;
mod alerts;
pub mod bounded_lists;
mod discord;
mod git_push;
mod gitea;
mod github;
mod gitlab;
mod healthchecks;
mod honest_links;
mod lenient_fields;
mod markdown_pieces;
mod sending_program;
mod sentry;
pub mod slack_messages;
mod statuspage;
#[cfg(test)]
mod tests;
mod uptime_kuma;

pub use self::{
    honest_links::with_visible_links,
    markdown_pieces::{LONGEST_TEXT, cut},
    sending_program::{Program, SendingProgram},
    slack_messages::message::Dialect,
};

/// What a program tells, as Markdown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Post {
    /// The name shown; empty for the webhook's.
    pub author: String,
    /// The address of a picture; empty for none.
    pub picture: String,
    pub text: String,
    pub status: Status,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    #[default]
    Success,
    Error,
}

impl Status {
    /// The status that a color tells: red is for what is bad.
    fn of_color(rgb: u32) -> Status {
        let [_, red, green, blue] = rgb.to_be_bytes();
        Status::bad_if(red >= 0xa0 && green <= 0x70 && blue <= 0x70)
    }

    fn bad_if(is_bad: bool) -> Status {
        if is_bad { Status::Error } else { Status::Success }
    }
}
