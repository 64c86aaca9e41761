//! Messages from the contact form, stored as they were sent and cleaned wherever they are shown.

use std::{collections::HashSet, sync::LazyLock};

use rusqlite::{Connection, Row};
use serde::Serialize;

use crate::{
    db::Tx,
    domain::{
        mail_queue,
        text::{self, Rule},
    },
    error::{Error, Result},
    id::ContactId,
    mail,
    time::Time,
};

text::rules! {
    pub Name: Rule::non_blank_text(200);
    pub PhoneNumber: Rule::text(50);
    pub Content: Rule::non_blank_text(10_000);
}

/// Characters of a text that are cleaned at once, at least.
const PIECE: usize = 500;

#[derive(Clone, Debug, Serialize)]
pub struct Contact {
    pub name: String,
    pub email: String,
    pub phone_number: String,
    pub message: String,
    pub created_at: Time,
}

impl Contact {
    /// Checks a message from the contact form. 422 for an empty name or message, texts that are too long, and an invalid
    /// e-mail address.
    pub fn new(name: String, email: String, phone_number: String, message: String, now: Time) -> Result<Contact> {
        Name::check(&name, "name").map_err(Error::Invalid)?;
        Content::check(&message, "message").map_err(Error::Invalid)?;
        PhoneNumber::check(&phone_number, "phone_number").map_err(Error::Invalid)?;
        text::email(&email, "email").map_err(Error::Invalid)?;
        Ok(Contact { name, email, phone_number, message, created_at: now })
    }

    /// The contact as it may be shown: plain text, with every field except the message on one line.
    pub fn to_plain_text(&self) -> Contact {
        let one_line = |text: &str| plain_text(text).split_whitespace().collect::<Vec<_>>().join(" ");
        Contact {
            name: one_line(&self.name),
            email: one_line(&self.email),
            phone_number: one_line(&self.phone_number),
            message: plain_text(&self.message).trim().to_owned(),
            created_at: self.created_at,
        }
    }

    /// The mail that reports this contact to the address `to`, which comes from the server's settings.
    pub fn mail(&self, to: &str) -> mail::Mail {
        let shown = self.to_plain_text();
        let (name, phone) = (mail::harmless(&shown.name), mail::harmless(&shown.phone_number));
        let phone = if phone.is_empty() { String::new() } else { format!("\nPhone: {phone}") };
        let text = format!("Name: {name}\nE-mail: {}{phone}\n\n{}", shown.email, shown.message);
        mail::contact(to, &shown.name, text::normalised_address(&self.email), &text)
    }
}

/// Stores a contact, and queues `mail` if the settings name an addressee; [`Contact::mail`] writes it. Anybody may call it.
pub fn create(tx: &mut Tx, contact: &Contact, mail: Option<mail::Mail>) -> Result<()> {
    tx.prepare_cached(
        "insert into contacts (id, name, email, phone_number, message, created_at) values (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((
        ContactId::new(),
        &contact.name,
        &contact.email,
        &contact.phone_number,
        &contact.message,
        contact.created_at,
    ))?;
    mail.map_or(Ok(()), |mail| mail_queue::add(tx, mail))
}

/// The newest contacts first, as they were sent: clean them before showing them.
pub fn list(conn: &Connection, limit: u32) -> Result<Vec<Contact>> {
    let mut found = conn.prepare_cached(
        "select name, email, phone_number, message, created_at from contacts order by created_at desc, id desc limit ?1",
    )?;
    Ok(found.query_map([limit], from_row)?.collect::<rusqlite::Result<_>>()?)
}

fn from_row(row: &Row) -> rusqlite::Result<Contact> {
    Ok(Contact {
        name: row.get("name")?,
        email: row.get("email")?,
        phone_number: row.get("phone_number")?,
        message: row.get("message")?,
        created_at: row.get("created_at")?,
    })
}

/// The text without markup, and without characters that control a terminal or the direction of writing.
fn plain_text(text: &str) -> String {
    static NO_TAGS: LazyLock<ammonia::Builder> = LazyLock::new(|| {
        let mut builder = ammonia::Builder::empty();
        builder.clean_content_tags(HashSet::from(["script", "style"]));
        builder
    });
    let html: String = pieces(text).map(|piece| NO_TAGS.clean(piece).to_string()).collect();
    let plain = html.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", " ").replace("&amp;", "&");
    // Filtered last, as `&#27;` becomes an escape character, too.
    text::printable(&plain)
}

/// The pieces in which a text is cleaned: each ends before a sign that may begin markup. A parser of HTML takes a time that grows with the
/// square of the elements that are open, and of the ampersands.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let begun = rest.char_indices().skip(PIECE).find(|(_, c)| matches!(c, '<' | '&'));
        let (piece, behind) = rest.split_at(begun.map_or(rest.len(), |(at, _)| at));
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::plain_text;

    #[test]
    fn markup_goes_and_text_stays() {
        assert_eq!(plain_text("<b>1 < 2</b> & <script>alert(1)</script>I <3 \"you\""), "1 < 2 & I <3 \"you\"");
        assert_eq!(plain_text("a\r\nb"), "a\nb");
        assert_eq!(plain_text("&amp;lt;"), "&lt;");
        assert_eq!(plain_text(&"<b>1 &lt; 2</b> ".repeat(1000)), "1 < 2 ".repeat(1000), "in pieces");
        assert_eq!(plain_text("<a href=\"javascript:x\">here</a><img src=x onerror=y>"), "here");
    }

    #[test]
    fn nothing_steers_a_terminal() {
        let sent = "\u{1b}[31mred &#27;[2J&#x9b;31m \u{9b}31m\u{7}\u{8}\u{202e}end\u{7f}";
        let shown = plain_text(sent);
        assert!(!shown.chars().any(|c| c.is_control() || c == '\u{202e}'), "{shown:?}");
        assert!(shown.contains("red") && shown.ends_with("end"), "{shown:?}");
    }
}
