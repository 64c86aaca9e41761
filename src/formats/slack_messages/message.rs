//! What programs post to an incoming webhook of Slack or Mattermost.

use std::borrow::Cow;

use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

use super::{
    attachments::Attachment,
    blocks, emphasis,
    plain_text::{self, Names, escaped_for_markdown},
};
use crate::formats::{
    Post, Status, honest_links,
    lenient_fields::{Field, object},
    markdown_pieces::{LONGEST_TEXT, cut, one_per_line},
};

/// Blocks and attachments of a message; Slack has no more.
const MOST: usize = 100;

/// How a program marks its text. Mattermost takes Slack's bodies, but its texts are Markdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Mrkdwn,
    Markdown,
}

object! {
    struct Message { text: String, username: String, icon_url: String, icon_emoji: String }
    struct Colored { color: String }
    struct Block { kind "type": String, image_url: String, alt_text: String, title: Text, elements: Vec<Button>, accessory: Button }
    struct Button { kind "type": String, text: Text, url: String, image_url: String, alt_text: String }
    struct Text { text: String }
}

/// The post of a message. Its text is empty if the message says nothing.
pub fn post(body: &Value, dialect: Dialect) -> Post {
    let Message { text, username, icon_url, icon_emoji } = Message::read(body);
    let attached = body["attachments"].as_array().into_iter().flatten().take(MOST);
    // Beside blocks, Slack shows the text in notifications alone.
    let shown = blocks(&body["blocks"]);
    let text = if shown.is_empty() { plain_text::convert(&text, &dialect).0 } else { shown };
    let is_bad = attached.clone().any(|each| is_bad(&Colored::read(each).color));
    let attached = attached.flat_map(|each| {
        let lines = attachment(each).lines(blocks(&each["blocks"]), &dialect);
        lines.into_iter().chain([plain_text::convert(&link(&String::read(&each["image_url"]), ""), &dialect).0])
    });
    Post {
        author: with_icon_emoji(username, &icon_emoji),
        picture: icon_url,
        text: one_per_line([text].into_iter().chain(attached)),
        status: if is_bad { Status::Error } else { Status::Success },
    }
}

/// The name with the emoji that Slack shows as its picture.
fn with_icon_emoji(name: String, emoji: &str) -> String {
    match plain_text::emoji(emoji.trim_matches(':')) {
        Some(emoji) if !name.is_empty() => format!("{emoji} {name}"),
        _ => name,
    }
}

/// Whether a color tells of something bad: by its name, or because it is red.
fn is_bad(color: &str) -> bool {
    let hex = color.strip_prefix('#').and_then(|hex| u32::from_str_radix(hex, 16).ok());
    color == "danger" || hex.is_some_and(|color| Status::of_color(color) == Status::Error)
}

fn attachment(value: &Value) -> Attachment {
    let text = |field: &str| Some(String::read(&value[field])).filter(|text| !text.is_empty());
    Attachment {
        from_url: None,
        pretext: text("pretext"),
        author_name: text("author_name"),
        title: text("title"),
        title_link: text("title_link"),
        text: text("text"),
        fields: raw(&value["fields"]),
        blocks: None,
        footer: text("footer"),
        fallback: text("fallback"),
    }
}

fn raw(value: &Value) -> Option<Box<RawValue>> {
    to_raw_value(value).ok()
}

/// The text of blocks. One in a form that Slack doesn't document says nothing.
fn blocks(blocks: &Value) -> String {
    let blocks = blocks.as_array().into_iter().flatten().take(MOST);
    let markup = one_per_line(blocks.flat_map(|block| [block_markup(block), labels(block)]));
    plain_text::convert(&markup, &Dialect::Mrkdwn).0
}

fn block_markup(block: &Value) -> String {
    raw(&Value::from(vec![block.clone()])).and_then(|block| blocks::text_of_blocks(&block)).unwrap_or_default()
}

/// The labels of a block's buttons and pictures, with the addresses that they lead to.
fn labels(block: &Value) -> String {
    let Block { kind, image_url, alt_text, title, elements, accessory } = Block::read(block);
    let button = |Button { kind, text, url, image_url, alt_text }: &Button| match kind.as_str() {
        "button" => link(url, &text.text),
        "image" => link(image_url, alt_text),
        _ => String::new(),
    };
    match kind.as_str() {
        "image" => link(&image_url, if title.text.is_empty() { &alt_text } else { &title.text }),
        "actions" => elements.iter().map(button).filter(|label| !label.is_empty()).collect::<Vec<_>>().join(" \u{b7} "),
        _ => button(&accessory),
    }
}

fn link(address: &str, label: &str) -> String {
    let address = address.replace(['<', '>', '|'], "");
    if address.is_empty() {
        escaped_for_markdown(label)
    } else {
        format!("<{}|{}>", escaped_for_markdown(&address), escaped_for_markdown(label))
    }
}

/// Nobody here has a name of Slack's: who is named there is mentioned only if the text has the name behind an `@`.
impl Names for Dialect {
    fn user(&self, _: &str) -> Option<String> {
        None
    }

    fn channel(&self, _: &str) -> Option<String> {
        None
    }

    fn markup<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = cut(text, LONGEST_TEXT);
        match self {
            Dialect::Mrkdwn => emphasis::double_signs(&text).into(),
            Dialect::Markdown => only_marks(&text).into(),
        }
    }

    fn unknown(&self, sign: &str, shown: &str) -> String {
        format!("{sign}{shown}").replace('@', "")
    }

    fn link(&self, label: &str, address: &str) -> String {
        honest_links::link(label, address)
    }
}

/// Markdown as markup: a `<` that begins none of Slack's marks is a sign like others.
fn only_marks(markdown: &str) -> String {
    const MARKS: [&str; 6] = ["<!", "<@", "<#", "<http://", "<https://", "<mailto:"];
    let mut markup = String::with_capacity(markdown.len());
    for (at, c) in markdown.char_indices() {
        match c {
            '&' => markup.push_str("&amp;"),
            '<' if !MARKS.iter().any(|mark| markdown[at..].starts_with(mark)) => markup.push_str("&lt;"),
            other => markup.push(other),
        }
    }
    markup
}
