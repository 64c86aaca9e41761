//! What programs post to a webhook of Discord: <https://discord.com/developers/docs/resources/webhook#execute-webhook>.

use serde_json::Value;

use super::{
    Post, Status,
    honest_links::link,
    lenient_fields::{Field, object},
    markdown_pieces::{bold, one_per_line},
};

/// Embeds of a message, and fields of an embed; Discord has no more.
const EMBEDS: usize = 10;
const FIELDS: usize = 25;
/// Bytes between the `<` and `>` of a mark.
const MARK: usize = 64;

object! {
    struct Message { content: String, username: String, avatar_url: String, embeds: Vec<Embed> }
    struct Embed {
        title: String, url: String, description: String, color: u64,
        fields: Vec<EmbedField>, author: Author, footer: Footer, image: Image,
    }
    struct EmbedField { name: String, value: String }
    struct Author { name: String, url: String }
    struct Footer { text: String }
    struct Image { url: String }
}

/// The post of a message. Its text is empty if the message says nothing.
pub fn post(body: &Value) -> Post {
    let Message { content, username, avatar_url, mut embeds } = Message::read(body);
    embeds.truncate(EMBEDS);
    let is_bad = embeds.iter().any(|embed| Status::of_color(embed.color as u32) == Status::Error);
    Post {
        author: username,
        picture: avatar_url,
        text: one_per_line([plain(&content)].into_iter().chain(embeds.iter().map(Embed::text))),
        status: Status::bad_if(is_bad),
    }
}

impl Embed {
    fn text(&self) -> String {
        let fields = self.fields.iter().take(FIELDS).map(|field| match (bold(&field.name), plain(&field.value)) {
            (name, value) if name.is_empty() || value.is_empty() => name + &value,
            (name, value) => format!("{name}: {value}"),
        });
        let title = if self.url.is_empty() { bold(&self.title) } else { link(&self.title, &self.url) };
        let said = [link(&self.author.name, &self.author.url), title, plain(&self.description), one_per_line(fields)];
        one_per_line(said.into_iter().chain([self.image.url.clone(), plain(&self.footer.text)]))
    }
}

/// The text without Discord's own marks: `<@1>`, `<@&1>` and `<#1>` are identifiers that mean nobody here, and `<:name:1>` is
/// an emoji that only Discord has.
fn plain(text: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once('<') {
        plain.push_str(before);
        let end = after.bytes().take(MARK).position(|byte| byte == b'>');
        match end.and_then(|end| Some((shown(&after[..end])?, end))) {
            Some((shown, end)) => {
                plain.push_str(&shown);
                rest = &after[end + 1..];
            }
            None => {
                plain.push('<');
                rest = after;
            }
        }
    }
    plain + rest
}

fn shown(mark: &str) -> Option<String> {
    let is_id = |id: &str| !id.is_empty() && id.len() <= 20 && id.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(id) = mark.strip_prefix('@').map(|id| id.trim_start_matches(['!', '&'])) {
        return is_id(id).then(|| id.to_owned());
    }
    if let Some(id) = mark.strip_prefix('#') {
        return is_id(id).then(|| mark.to_owned());
    }
    let (name, id) = mark.trim_start_matches('a').strip_prefix(':')?.split_once(':')?;
    (is_id(id) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')).then(|| format!(":{name}:"))
}
