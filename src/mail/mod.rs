//! Mails: their texts, and how they are sent.

mod harmless_text;
pub mod transport;

use std::time::Duration;

use lettre::{
    Message,
    message::{Mailbox, MultiPart, header},
};
use serde::{Deserialize, Serialize};

pub use self::harmless_text::harmless;
use crate::{
    error::{Error, Result},
    id::{MailId, WebhookId},
    site::Site,
};

/// The kind of a mail. The limit of mails to a recipient counts each kind by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailKind {
    Verification,
    MagicLink,
    PasswordReset,
    Invitation,
    Webhook,
    /// A notice of a change to the account, or a mail to the server's operators. The limit of a recipient's mails doesn't
    /// apply to it and doesn't count it, so that strangers can't use the limit up.
    #[default]
    Notice,
}

impl MailKind {
    pub fn as_str(self) -> &'static str {
        match self {
            MailKind::Verification => "verification",
            MailKind::MagicLink => "magic_link",
            MailKind::PasswordReset => "password_reset",
            MailKind::Invitation => "invitation",
            MailKind::Webhook => "webhook",
            MailKind::Notice => "notice",
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mail {
    /// Missing in mails that were queued before kinds were told apart.
    #[serde(default)]
    pub kind: MailKind,
    pub to: String,
    pub subject: String,
    /// The text before the link.
    text: String,
    /// The label and the address of the link, if there is one.
    link: Option<(String, String)>,
    /// The address for replies, if it isn't the sender's.
    reply_to: Option<String>,
    /// The webhook that the mail is about. Mails about one webhook have a limit of their own, below the recipient's.
    #[serde(skip)]
    pub webhook: Option<WebhookId>,
    /// Whether another user than the recipient caused the mail. Its headers then say how to unsubscribe (RFC 2369).
    is_unasked: bool,
    /// The part that is still to be written.
    #[serde(default)]
    pub blank: Option<Blank>,
}

/// The content of a mail that is written when it is sent, for the account of its recipient.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blank {
    /// A new link, of the mail's kind.
    Link,
    /// A magic link with a code that works together with the secret of this request.
    LinkAndCode { request: String },
    /// That somebody guesses at the password, from about so many networks.
    Guesses { networks: u32 },
}

/// A mail that is written once it is due.
pub fn written_when_due(kind: MailKind, to: &str, blank: Blank) -> Mail {
    Mail { blank: Some(blank), ..mail(kind, to, "", "") }
}

fn mail(kind: MailKind, to: &str, subject: &str, text: &str) -> Mail {
    let (to, subject, text) = (to.into(), subject.into(), text.into());
    Mail { kind, to, subject, text, link: None, reply_to: None, webhook: None, is_unasked: false, blank: None }
}

fn with_link(kind: MailKind, to: &str, subject: &str, text: &str, button: &str, link: String) -> Mail {
    Mail { link: Some((button.into(), link)), ..mail(kind, to, subject, text) }
}

/// A mail with a link that verifies the address, after registration and on request.
pub fn verification(site: &Site, to: &str, token: &str) -> Mail {
    let text = "Somebody, probably you, made an account with this address. Open the link to verify it. If it was not you, ignore this mail.";
    let link = format!("{}/auth/verify-email?token={token}", site.web_url);
    with_link(MailKind::Verification, to, "Verify your e-mail address", text, "Verify e-mail address", link)
}

/// A mail with a link that logs in.
pub fn magic_link(site: &Site, to: &str, token: &str) -> Mail {
    let text = format!(
        "Open the link to log in. It works once, within {}. If you did not ask for it, ignore this mail.",
        span(site.magic_link_lifetime)
    );
    with_link(MailKind::MagicLink, to, "Your link to log in", &text, "Log in", magic_address(site, token))
}

/// A mail with a link that logs in, and a code that does so in the browser that asked.
pub fn magic_link_with_code(site: &Site, to: &str, token: &str, code: &str) -> Mail {
    let text = format!(
        "Your code is {code}. Enter it where you asked to log in, or open the link. One of them works once, within {}. Tell the code to nobody. If you did not ask for it, ignore this mail.",
        span(site.magic_link_lifetime)
    );
    with_link(MailKind::MagicLink, to, "Your code to log in", &text, "Log in", magic_address(site, token))
}

/// The mail in its place for an account with too many wrong codes.
pub fn magic_link_without_code(site: &Site, to: &str, token: &str) -> Mail {
    let text = format!(
        "Open the link to log in. It works once, within {}. There is no code in this mail, because too many wrong codes were entered for your account in the last 24 hours. If you did not ask for it, ignore this mail.",
        span(site.magic_link_lifetime)
    );
    with_link(MailKind::MagicLink, to, "Your link to log in", &text, "Log in", magic_address(site, token))
}

/// The link with which a token logs in.
fn magic_address(site: &Site, token: &str) -> String {
    format!("{}/auth/login/magic-link?token={token}", site.web_url)
}

/// A mail to the owner of an account whose password somebody guesses at, with a link that logs in.
pub fn guesses(site: &Site, to: &str, networks: u32, token: &str) -> Mail {
    let networks = if networks == 1 { "one network".to_owned() } else { format!("about {networks} networks") };
    let text = format!(
        "Somebody is guessing the password of your account on {}: many wrong passwords came from {networks}. A good password, which you use nowhere else, keeps your account safe, and you need not do anything.\n\nUntil the guesses stop, the server checks passwords for your account slowly. Devices and networks from which you logged in before are not affected. If you have to wait elsewhere, log in with a link by mail instead: ask for one where you log in, or open the one below, which works once, within {}.",
        site.base_url,
        span(site.magic_link_lifetime)
    );
    with_link(MailKind::Notice, to, "Somebody is guessing your password", &text, "Log in", magic_address(site, token))
}

/// A mail with a link that sets a new password.
pub fn password_reset(site: &Site, to: &str, token: &str) -> Mail {
    let text = format!(
        "Open the link to set a new password. It works once, within {}. If you did not ask for it, ignore this mail: your password stays as it is.",
        span(site.reset_lifetime)
    );
    let link = password_reset_url(site, token);
    with_link(MailKind::PasswordReset, to, "Set a new password", &text, "Set a new password", link)
}

/// The link with which a token sets a new password.
pub fn password_reset_url(site: &Site, token: &str) -> String {
    format!("{}/auth/reset-password?token={token}", site.web_url)
}

/// An invitation to an organisation.
pub fn invitation(site: &Site, to: &str, organisation: &str, inviter: &str, link: &str) -> Mail {
    let (organisation, inviter) = (harmless(organisation), harmless(inviter));
    let subject = format!("{inviter} invites you to {organisation}");
    let text = format!(
        "{inviter} invites you to join {organisation}. Open the link to accept. It works for {}.",
        span(site.invitation_lifetime)
    );
    Mail { is_unasked: true, ..with_link(MailKind::Invitation, to, &subject, &text, "Accept the invitation", link.into()) }
}

/// A length of time in words.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let (count, unit) = match seconds {
        _ if seconds.is_multiple_of(86_400) => (seconds / 86_400, "day"),
        _ if seconds.is_multiple_of(3600) => (seconds / 3600, "hour"),
        _ => (seconds.div_ceil(60), "minute"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// A notice after the password was changed in any way.
pub fn password_changed(to: &str) -> Mail {
    let text = "The password of your account was changed, and all other sessions were ended. If it was not you, reset your password at once: that ends all tokens of programs, too.";
    mail(MailKind::Notice, to, "Your password was changed", text)
}

/// A notice after a token was made for a program. It doesn't show the token's name, which whoever made it has chosen.
pub fn token_made(to: &str) -> Mail {
    let text = "A token was made with which a program can use your account. Your settings list your tokens, and end them. If it was not you, reset your password at once: that ends all tokens.";
    mail(MailKind::Notice, to, "A token was made for your account", text)
}

/// [`token_made`] for the owner of a bot.
pub fn bot_token_made(to: &str) -> Mail {
    let text = "A token was made with which a program can use a bot of yours. The settings of the bot's organisation list its tokens, and end them. If it was not you, reset your password at once: that ends all tokens, those of your bots included.";
    mail(MailKind::Notice, to, "A token was made for your bot", text)
}

/// A notice to an organisation's owner, who owns the bots of a member who has left. It shows no name that somebody has chosen.
pub fn bots_inherited(to: &str) -> Mail {
    let text = "Somebody who owned bots can't use your organisation any more, so these bots are yours now. Their tokens were ended, because their former owner knows them, and the programs that used them can't post until they get new ones. The settings of the organisation list the bots.";
    mail(MailKind::Notice, to, "Bots of your organisation are yours now", text)
}

/// A mail to the owner of a webhook that became `paused` or `inactive`. It is no [`MailKind::Notice`], because the owner chose the
/// names in it, may have registered with another person's address, and can make the webhook stop any number of times.
pub fn webhook_stopped(to: &str, webhook: &str, channel: &str, status: &str, reason: &str) -> Mail {
    let (webhook, channel, reason) = (harmless(webhook), harmless(channel), harmless(reason));
    let text = format!(
        "The webhook {webhook} of the channel {channel} is {status} now, and delivers nothing: {reason}. What it had still to deliver is kept for 30 days. Make it active again, and all of that is delivered."
    );
    mail(MailKind::Webhook, to, &format!("Your webhook {webhook} is {status} now"), &text)
}

/// A mail to the former owner of a webhook that another manager took over. It is no [`MailKind::Notice`], either.
pub fn webhook_taken_over(to: &str, webhook: &str, channel: &str, reason: &str) -> Mail {
    let (webhook, channel, reason) = (harmless(webhook), harmless(channel), harmless(reason));
    let text = format!(
        "The webhook {webhook} of the channel {channel} is no longer yours: {reason}. It goes on working as long as the new owner has access to the channel."
    );
    mail(MailKind::Webhook, to, &format!("Your webhook {webhook} has another owner now"), &text)
}

/// A mail with a message of the contact form, whose text is already cleaned.
pub fn contact(to: &str, sender: &str, reply_to: Option<String>, text: &str) -> Mail {
    let subject = format!("{} wrote to you", if sender.is_empty() { "Somebody".to_owned() } else { harmless(sender) });
    Mail { reply_to, ..mail(MailKind::Notice, to, &subject, text) }
}

/// A mail to the server's administrators after the first of several backups that failed.
pub fn backup_failed(site: &Site, to: &str, reason: &str) -> Mail {
    let text = format!(
        "The server {} could not make a backup: {reason}. It tries again every hour or so; there will be no other mail until a backup has been made.",
        site.base_url
    );
    mail(MailKind::Notice, to, "A backup failed", &text)
}

/// A mail by which an administrator tries the mail server.
pub fn test(to: &str) -> Mail {
    mail(
        MailKind::Notice,
        to,
        "A test of your mail server",
        "This mail was sent by `tidings mail test`. Your mail settings work.",
    )
}

/// The styles of a mail's page. The colours of text and background are the reader's own, light or dark.
const BODY: &str = "max-width:36em;margin:2em auto;padding:0 1em;font:16px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif";
const HEADING: &str = "font-size:1.4em;font-weight:600;line-height:1.3";
const LINK: &str =
    "display:inline-block;padding:.6em 1.2em;border-radius:.4em;background:#1f5fbf;color:#fff;text-decoration:none";

impl Mail {
    fn plain(&self) -> String {
        match &self.link {
            Some((_, link)) => format!("{}\n\n{link}\n", self.text),
            None => format!("{}\n", self.text),
        }
    }

    /// The page of [`Mail::text`]. Many mail programs know only styles that stand at the elements.
    fn html(&self) -> String {
        let button = match &self.link {
            Some((label, link)) => format!("<p><a href=\"{}\" style=\"{LINK}\">{}</a></p>", escape(link), escape(label)),
            None => String::new(),
        };
        format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
             content=\"width=device-width\"><meta name=\"color-scheme\" content=\"light dark\"></head><body style=\"{BODY}\">\
             <h1 style=\"{HEADING}\">{}</h1><p>{}</p>{button}</body></html>",
            escape(&self.subject),
            escape(&self.text).replace('\n', "<br>")
        )
    }

    fn message(&self, id: MailId, from: &Mailbox) -> Result<Message> {
        let domain = from.email.domain();
        let mut builder = Message::builder();
        if self.is_unasked {
            builder = builder.header(ListUnsubscribe(format!("<mailto:{}?subject=unsubscribe>", from.email)));
        }
        if let Some(address) = &self.reply_to {
            builder = builder.reply_to(Mailbox::new(None, address.parse().map_err(Error::internal)?));
        }
        builder
            .message_id(Some(format!("<{id}@{domain}>"))) // the same in every attempt, so that receivers can drop duplicates
            .date_now()
            .from(from.clone())
            .to(self.to.parse().map_err(Error::internal)?)
            .subject(&self.subject)
            .header(AutoSubmitted)
            .multipart(MultiPart::alternative_plain_html(self.plain(), self.html()))
            .map_err(Error::internal)
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Tells mail servers not to send automatic replies (RFC 3834).
#[derive(Clone)]
struct AutoSubmitted;

impl header::Header for AutoSubmitted {
    fn name() -> header::HeaderName {
        header::HeaderName::new_from_ascii_str("Auto-Submitted")
    }
    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(AutoSubmitted)
    }
    fn display(&self) -> header::HeaderValue {
        header::HeaderValue::new(Self::name(), "auto-generated".into())
    }
}

/// The address to write to in order to unsubscribe (RFC 2369).
#[derive(Clone)]
struct ListUnsubscribe(String);

impl header::Header for ListUnsubscribe {
    fn name() -> header::HeaderName {
        header::HeaderName::new_from_ascii_str("List-Unsubscribe")
    }
    fn parse(text: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(ListUnsubscribe(text.into()))
    }
    fn display(&self) -> header::HeaderValue {
        header::HeaderValue::new(Self::name(), self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_add_a_header() {
        let mail = with_link(MailKind::Invitation, "a@b.example", "Evil\r\nBcc: c@d.example", "", "Ada", "http://x/".into());
        let from = "Tidings <tidings@localhost>".parse().unwrap();
        let text = String::from_utf8(mail.message(MailId::new(), &from).unwrap().formatted()).unwrap();
        let mut headers = text.lines().take_while(|line| !line.is_empty());
        assert!(!headers.any(|line| line.starts_with("Bcc:")), "{text}");
    }

    #[test]
    fn the_page_of_a_mail_is_for_phones_and_dark_mode_and_escapes_its_texts() {
        let page =
            with_link(MailKind::Notice, "a@b.example", "a < b", "one\ntwo & \"three\"", "Go", "http://x/?a&b".into()).html();
        for part in ["name=\"viewport\"", "content=\"light dark\"", "a &lt; b</h1>", "one<br>two &amp; &quot;three&quot;</p>"] {
            assert!(page.contains(part), "no {part} in {page}");
        }
        assert!(page.contains("<a href=\"http://x/?a&amp;b\" style=\"") && page.contains(">Go</a>"), "{page}");
    }

    #[test]
    fn a_mail_that_was_queued_before_there_were_kinds_is_sent() {
        let queued =
            r#"{"to":"a@b.example","subject":"s","text":"t","link":null,"reply_to":null,"is_notice":false,"is_unasked":false}"#;
        assert_eq!(serde_json::from_str::<Mail>(queued).unwrap().kind, MailKind::Notice);
    }

    #[test]
    fn no_mail_shows_a_link_in_a_name() {
        let keys = crate::secret::Keys::derive(&[1; 32]);
        let folder = std::path::Path::new("/nowhere");
        let site = Site::new(&crate::config::Settings::for_folder(folder), keys, ("http://x".into(), "http://x".into()));
        let evil = "E\nhttps://evil.example www.evil.example evil.example";
        for mail in [
            invitation(&site, "a@b.example", evil, evil, ""),
            webhook_stopped("a@b.example", evil, evil, "paused", evil),
            webhook_taken_over("a@b.example", evil, evil, evil),
            contact("a@b.example", evil, None, ""),
        ] {
            for text in [&mail.subject, &mail.text] {
                assert!(!["://", "www.", "\n", ".example"].iter().any(|bad| text.contains(bad)), "{text}");
            }
        }
    }

    #[test]
    fn html_is_escaped() {
        let mail = with_link(MailKind::Invitation, "a@b.example", "<script>", "<b>", "Ada", "http://x/?a=1&b=\"2\"".into());
        assert!(!mail.html().contains("<script>") && !mail.html().contains("<b>"));
        assert!(mail.html().contains("a=1&amp;b=&quot;2&quot;"));
    }
}
