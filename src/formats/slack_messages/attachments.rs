//! What is attached to a message, as lines of text.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    blocks,
    plain_text::{self, Names},
};

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Attachment {
    /// The link that this is a preview of.
    pub from_url: Option<String>,
    pub pretext: Option<String>,
    pub author_name: Option<String>,
    pub title: Option<String>,
    pub title_link: Option<String>,
    pub text: Option<String>,
    pub fields: Option<Box<RawValue>>,
    pub blocks: Option<Box<RawValue>>,
    pub footer: Option<String>,
    pub fallback: Option<String>,
}

impl Attachment {
    /// The lines of an attachment in their order; `blocks` is the text of its blocks. The fallback stands only for an attachment
    /// that says nothing else.
    pub fn lines(&self, blocks: String, names: &dyn Names) -> Vec<String> {
        let fields = self.fields.as_deref().and_then(blocks::attachment_fields);
        let text = |part: &Option<String>| {
            part.as_deref().map(|part| plain_text::convert(part, names).0).filter(|part| !part.is_empty())
        };
        let title = match (text(&self.title), &self.title_link) {
            (Some(title), Some(link)) => Some(names.link(&title, link)),
            (title, _) => title,
        };
        let (pretext, author) = (text(&self.pretext), text(&self.author_name));
        let said = [title, text(&self.text), text(&fields), Some(blocks), text(&self.footer)];
        let said: Vec<String> = said.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        let is_said = pretext.is_some() || !said.is_empty();
        let fallback = if is_said { None } else { text(&self.fallback) };
        pretext.into_iter().chain(author).chain(fallback).chain(said).collect()
    }
}
