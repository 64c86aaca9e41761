//! The blocks of a message and the fields of an attachment as markup: <https://api.slack.com/reference/block-kit/blocks>. What a
//! message's blocks say goes the same way as its text from there on.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::value::RawValue;

use super::plain_text::escaped_for_markdown;
use crate::formats::bounded_lists::deserialize_bounded;

/// The deepest that items of a list are indented: Slack has nine levels.
const INDENT: usize = 8;

/// The text of blocks, a line for each. `None` for blocks in a form that Slack doesn't document.
pub fn text_of_blocks(blocks: &RawValue) -> Option<String> {
    let Blocks(blocks) = serde_json::from_str(blocks.get()).ok()?;
    Some(lines(blocks.iter().map(Block::lines)))
}

/// The text of an attachment's fields, a line for each. `None` for fields in a form that Slack doesn't document.
pub fn attachment_fields(fields: &RawValue) -> Option<String> {
    let Fields(fields) = serde_json::from_str(fields.get()).ok()?;
    Some(lines(fields.into_iter().map(|field| match (field.title.text(), field.value.text()) {
        (title, value) if title.is_empty() || value.is_empty() => title + &value,
        (title, value) => format!("{title}: {value}"),
    })))
}

fn lines(parts: impl Iterator<Item = String>) -> String {
    parts.filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

#[derive(Default, Deserialize)]
#[serde(transparent)]
struct Blocks(#[serde(deserialize_with = "deserialize_bounded::<_, _, 100>")] Vec<Block>);

#[derive(Default, Deserialize)]
#[serde(transparent)]
struct Fields(#[serde(deserialize_with = "deserialize_bounded::<_, _, 100>")] Vec<Field>);

#[derive(Default, Deserialize)]
#[serde(default)]
struct Field {
    title: Either<IgnoredAny>,
    value: Either<IgnoredAny>,
}

/// A block of the message itself.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Block {
    r#type: String,
    /// A text object; of a block of Markdown, the text itself.
    text: Either<Piece>,
    #[serde(deserialize_with = "deserialize_bounded::<_, _, 100>")]
    fields: Vec<Piece>,
    #[serde(deserialize_with = "deserialize_bounded::<_, _, 10_000>")]
    elements: Vec<Piece>,
}

impl Block {
    /// Dividers, pictures and buttons say nothing.
    fn lines(&self) -> String {
        let pieces = self.elements.iter();
        match self.r#type.as_str() {
            "section" | "header" | "markdown" => {
                let text = match &self.text {
                    Either::Text(text) => text.as_str(),
                    Either::Object(text) => text.markup.as_str(),
                    Either::Nothing => "",
                };
                lines([text].into_iter().chain(self.fields.iter().map(|field| field.markup.as_str())).map(str::to_owned))
            }
            "context" => pieces.map(|piece| piece.markup.as_str()).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" "),
            "rich_text" => lines(pieces.map(Piece::quoted)),
            _ => String::new(),
        }
    }
}

/// A text, a mention or a link; or a paragraph, quote or list of these.
#[derive(Default, Deserialize)]
#[serde(from = "Element")]
struct Piece {
    markup: String,
    is_quote: bool,
}

impl Piece {
    /// Only a block puts marks before the lines of a quote, so that quotes in quotes don't multiply them.
    fn quoted(&self) -> String {
        let text = self.markup.trim_end_matches('\n');
        if !self.is_quote {
            return text.to_owned();
        }
        text.split('\n').map(|line| format!("&gt; {line}")).collect::<Vec<_>>().join("\n")
    }
}

/// The fields of all pieces.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Element {
    r#type: String,
    text: Either<IgnoredAny>,
    /// A text's object, or a list's kind: whether its items are numbered.
    style: Either<Style>,
    #[serde(deserialize_with = "deserialize_bounded::<_, _, 10_000>")]
    elements: Vec<Piece>,
    url: Option<String>,
    user_id: Option<String>,
    channel_id: Option<String>,
    /// The name of an emoji.
    name: Option<String>,
    skin_tone: Option<u8>,
    /// Whom of the channel a mention is of.
    range: Option<String>,
    /// The text of a date.
    fallback: Option<String>,
    /// How deep a list is in others.
    indent: Option<u64>,
    /// The number of a list's first item, counted from 0.
    offset: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Style {
    bold: bool,
    italic: bool,
    strike: bool,
    code: bool,
}

impl From<Element> for Piece {
    fn from(element: Element) -> Piece {
        let text = match &element.text {
            Either::Text(text) => text.as_str(),
            _ => "",
        };
        let name = |name: &Option<String>| name.as_deref().unwrap_or_default().replace(['<', '>', '|'], "");
        let markup = match element.r#type.as_str() {
            "text" | "plain_text" => styled(escaped_for_markdown(text), &element.style),
            "mrkdwn" => text.to_owned(),
            "link" => match name(&element.url) {
                url if text.is_empty() => format!("<{}>", escaped_for_markdown(&url)),
                url => format!("<{}|{}>", escaped_for_markdown(&url), escaped_for_markdown(text)),
            },
            "user" => format!("<@{}>", name(&element.user_id)),
            "channel" => format!("<#{}>", name(&element.channel_id)),
            "broadcast" => format!("<!{}>", name(&element.range)),
            "emoji" => {
                let tone = element.skin_tone.map(|tone| format!("::skin-tone-{tone}")).unwrap_or_default();
                format!(":{}{tone}:", name(&element.name))
            }
            "date" => escaped_for_markdown(element.fallback.as_deref().unwrap_or_default()),
            "rich_text_list" => element.items(),
            "rich_text_preformatted" => format!("```{}```", element.joined().trim_end_matches('\n')),
            "rich_text_section" | "rich_text_quote" => element.joined(),
            _ => String::new(),
        };
        Piece { markup, is_quote: element.r#type == "rich_text_quote" }
    }
}

impl Element {
    fn joined(&self) -> String {
        self.elements.iter().map(|piece| piece.markup.as_str()).collect()
    }

    /// Items that say nothing are left out: with their signs, they would make a short body a long text.
    fn items(&self) -> String {
        let is_numbered = matches!(&self.style, Either::Text(style) if style == "ordered");
        let indent = self.indent.unwrap_or(0).min(INDENT as u64) as usize;
        let first = self.offset.unwrap_or(0);
        let said =
            self.elements.iter().map(|item| item.markup.trim_end_matches('\n')).zip(1..).filter(|(item, _)| !item.is_empty());
        let items = said.map(|(item, n)| {
            let sign = if is_numbered { number(first.saturating_add(n), indent) } else { "\u{2022}".into() };
            format!("{}{sign} {}", "    ".repeat(indent), item)
        });
        items.collect::<Vec<_>>().join("\n")
    }
}

/// The number of an item as Slack shows it: in figures, letters and small Roman numbers by turns.
fn number(n: u64, indent: usize) -> String {
    let other = match indent % 3 {
        1 => (b'a'..=b'z').zip(1..).find(|(_, of)| *of == n).map(|(letter, _)| char::from(letter).to_string()),
        2 => ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"]
            .iter()
            .zip(1..)
            .find(|(_, of)| *of == n)
            .map(|(roman, _)| (*roman).to_owned()),
        _ => None,
    };
    format!("{}.", other.unwrap_or_else(|| n.to_string()))
}

/// A text with the signs that Slack's markup has for its style.
fn styled(text: String, style: &Either<Style>) -> String {
    let Either::Object(style) = style else { return text };
    if text.trim() != text || text.is_empty() {
        return text; // a sign beside white space is no markup
    }
    let signs = [(style.code, '`'), (style.strike, '~'), (style.italic, '_'), (style.bold, '*')];
    signs.into_iter().filter(|(is_set, _)| *is_set).fold(text, |text, (_, sign)| format!("{sign}{text}{sign}"))
}

/// A text that some fields have plain, and others in an object.
#[derive(Default)]
enum Either<T> {
    #[default]
    Nothing,
    Text(String),
    Object(T),
}

impl<T> Either<T> {
    fn text(self) -> String {
        if let Either::Text(text) = self { text } else { String::new() }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Either<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Either<T>, D::Error> {
        deserializer.deserialize_any(Any(PhantomData))
    }
}

struct Any<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Any<T> {
    type Value = Either<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or an object")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Either<T>, E> {
        Ok(Either::Text(text.to_owned()))
    }

    fn visit_bool<E: Error>(self, is_set: bool) -> Result<Either<T>, E> {
        Ok(Either::Text(is_set.to_string()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Either<T>, E> {
        Ok(Either::Text(number.to_string()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Either<T>, E> {
        Ok(Either::Text(number.to_string()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Either<T>, E> {
        Ok(Either::Text(number.to_string()))
    }

    fn visit_unit<E: Error>(self) -> Result<Either<T>, E> {
        Ok(Either::Nothing)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Either<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Either::Object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Either<T>, A::Error> {
        while values.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Either::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json, value::to_raw_value};

    use super::{attachment_fields, text_of_blocks};

    fn said(blocks: Value) -> String {
        text_of_blocks(&to_raw_value(&blocks).unwrap()).unwrap()
    }

    #[test]
    fn sections_headers_and_contexts_say_their_texts() {
        let mrkdwn = |text: &str| json!({ "type": "mrkdwn", "text": text });
        let blocks = json!([
            { "type": "header", "text": { "type": "plain_text", "text": "Build <7>", "emoji": true } },
            { "type": "divider" },
            { "type": "section", "text": mrkdwn("by <@U1> &amp; others"), "fields": [mrkdwn("*Took*"), mrkdwn("3 min")],
              "accessory": { "type": "button", "text": { "type": "plain_text", "text": "Again" }, "value": 7 } },
            { "type": "context", "elements": [{ "type": "image", "image_url": "https://x.example", "alt_text": "a" }, mrkdwn("ci"), mrkdwn("main")] },
            { "type": "actions", "elements": [{ "type": "button", "text": { "type": "plain_text", "text": "Again" } }] },
            { "type": "of tomorrow", "text": [1, 2], "style": 7 },
        ]);
        assert_eq!(said(blocks), "Build &lt;7&gt;\nby <@U1> &amp; others\n*Took*\n3 min\nci main");
    }

    #[test]
    fn rich_text_is_markup() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        let section = |elements: Value| json!({ "type": "rich_text_section", "elements": elements });
        let list = |style: &str, indent: u64, elements: Value| json!({ "type": "rich_text_list", "style": style, "indent": indent, "border": 0, "elements": elements });
        let blocks = json!([{ "type": "rich_text", "block_id": "b", "elements": [
            section(json!([
                { "type": "user", "user_id": "U1" }, text(": see "), { "type": "channel", "channel_id": "C1" }, text(" and "),
                { "type": "link", "url": "https://x.example/?a=1&b=2", "text": "the <plan>" }, text(" "),
                { "type": "emoji", "name": "+1", "skin_tone": 3 }, text(" "),
                { "type": "text", "text": "now", "style": { "bold": true, "italic": true } }, text(", "),
                { "type": "broadcast", "range": "here" }, text(" "), { "type": "date", "timestamp": 1, "fallback": "Feb 18" },
                { "type": "link", "url": "https://y.example" },
            ])),
            list("bullet", 0, json!([section(json!([text("one")])), section(json!([text("two")]))])),
            list("ordered", 1, json!([section(json!([text("first")])), section(json!([text("second")]))])),
            { "type": "rich_text_quote", "elements": [text("a & b\nc")] },
            { "type": "rich_text_preformatted", "elements": [text("let x;\n")] },
        ] }]);
        let expected = [
            "<@U1>: see <#C1> and <https://x.example/?a=1&amp;b=2|the &lt;plan&gt;> :+1::skin-tone-3: *_now_*, <!here> Feb 18<https://y.example>",
            "\u{2022} one\n\u{2022} two",
            "    a. first\n    b. second",
            "&gt; a &amp; b\n&gt; c",
            "```let x;```",
        ];
        assert_eq!(said(blocks), expected.join("\n"));
    }

    #[test]
    fn items_that_say_nothing_make_no_text() {
        let items = |elements: Value| {
            said(
                json!([{ "type": "rich_text", "elements": [{ "type": "rich_text_list", "style": "ordered", "indent": 8, "elements": elements }] }]),
            )
        };
        let item = json!({ "type": "rich_text_section", "elements": [{ "type": "text", "text": "one" }] });
        assert_eq!(items(json!([{}, item, { "type": "rich_text_section", "elements": [] }])).trim_start(), "ii. one");
        assert_eq!(items(json!(vec![json!({}); 1000])), "");
    }

    #[test]
    fn fields_are_titles_with_values() {
        let list = json!([{ "title": "Took", "value": "3 min", "short": true }, { "title": "Only" }, { "value": 7 }, {}, { "title": null }]);
        assert_eq!(attachment_fields(&to_raw_value(&list).unwrap()).unwrap(), "Took: 3 min\nOnly\n7");
    }

    #[test]
    fn lists_past_their_bounds_are_no_blocks() {
        let section = json!({ "type": "section", "text": { "type": "mrkdwn", "text": "x" } });
        let blocks = |number| text_of_blocks(&to_raw_value(&vec![section.clone(); number]).unwrap());
        assert_eq!(blocks(100).unwrap().len(), 199);
        assert_eq!(blocks(101), None);
        let elements = |number| {
            text_of_blocks(&to_raw_value(&json!([{ "type": "rich_text", "elements": vec![json!({}); number] }])).unwrap())
        };
        assert_eq!(elements(10_000).unwrap(), "");
        assert_eq!(elements(10_001), None);
        let deep = |depth| format!("[{}{}]", r#"{"elements":["#.repeat(depth), "]}".repeat(depth));
        let raw = |text| serde_json::value::RawValue::from_string(text).unwrap();
        assert_eq!(text_of_blocks(&raw(deep(40))).unwrap(), "");
        assert_eq!(text_of_blocks(&raw(deep(70))), None, "nested deeper than the parser goes");
    }
}
