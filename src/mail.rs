//! Mails: their words, and the transport (SMTP, files, the log).

use std::path::PathBuf;

use lettre::{
    AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor,
    message::{Mailbox, MultiPart, header},
};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;

use crate::{
    error::{Error, Result},
    id::MailId,
    site::Site,
};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mail {
    pub to: String,
    pub subject: String,
    /// Before the link.
    text: String,
    /// The one link, and the words on its button.
    link: Option<(String, String)>,
    /// Tells of a change to the account: never dropped by a limit.
    pub is_notice: bool,
}

/// After registration: proves the mailbox.
pub fn verification(site: &Site, to: &str, token: &str) -> Mail {
    Mail {
        to: to.into(),
        subject: "Verify your e-mail address".into(),
        text: "Somebody, probably you, made an account with this address. Open the link to verify it. If it was not you, ignore this mail.".into(),
        link: Some(("Verify e-mail address".into(), format!("{}/auth/verify-email?token={token}", site.web_url))),
        is_notice: false,
    }
}

/// An invitation to an organisation.
pub fn invitation(to: &str, organisation: &str, inviter: &str, link: &str) -> Mail {
    Mail {
        to: to.into(),
        subject: format!("{inviter} invites you to {organisation}"),
        text: format!("{inviter} invites you to join {organisation}. Open the link to accept. It works for seven days."),
        link: Some(("Accept the invitation".into(), link.into())),
        is_notice: false,
    }
}

pub fn password_changed(to: &str) -> Mail {
    Mail {
        to: to.into(),
        subject: "Your password was changed".into(),
        text: "The password of your account was changed, and all other sessions were ended. If it was not you, reset your password at once."
            .into(),
        link: None,
        is_notice: true,
    }
}

impl Mail {
    fn plain(&self) -> String {
        match &self.link {
            Some((_, link)) => format!("{}\n\n{link}\n", self.text),
            None => format!("{}\n", self.text),
        }
    }

    fn html(&self) -> String {
        let button = match &self.link {
            Some((label, link)) => format!("<p><a href=\"{}\">{}</a></p>", escape(link), escape(label)),
            None => String::new(),
        };
        format!(
            "<!doctype html><html lang=\"en\"><body><h1>{}</h1><p>{}</p>{button}</body></html>",
            escape(&self.subject),
            escape(&self.text)
        )
    }

    fn message(&self, id: MailId, from: &Mailbox) -> Result<Message> {
        let domain = from.email.domain();
        Message::builder()
            .message_id(Some(format!("<{id}@{domain}>"))) // the same at a second attempt: receivers drop the double
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

/// RFC 3834: no out-of-office answers to these.
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

/// Takes mails out of the house.
pub struct Mailer {
    from: Mailbox,
    transport: Transport,
}

enum Transport {
    /// Writes the text with its link to the log: for trying out, and for servers without mail.
    Log,
    /// One `.eml` a mail, named by its identifier.
    Files(PathBuf),
    Smtp(Box<AsyncSmtpTransport<Tokio1Executor>>),
}

impl Mailer {
    /// `url`: `log:`, `file:///DIR`, `smtp://[user:password@]host[:port][?tls=required]` or `smtps://…`.
    pub fn new(url: &str, from: &str) -> Result<Mailer> {
        let from = from.parse().map_err(|err| Error::bad_request(format!("--mail-from {from}: {err}")))?;
        let bad = |err: &dyn std::fmt::Display| Error::bad_request(format!("--mail-url: {err}"));
        let parsed = url::Url::parse(url).map_err(|err| bad(&err))?;
        let transport = match parsed.scheme() {
            "log" => Transport::Log,
            "file" => {
                let folder = parsed.to_file_path().map_err(|()| bad(&"file: wants an absolute path, as in file:///var/mail"))?;
                std::fs::create_dir_all(&folder).map_err(|err| bad(&format!("{}: {err}", folder.display())))?;
                Transport::Files(folder)
            }
            "smtp" | "smtps" => {
                let builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(url).map_err(|err| bad(&err))?;
                Transport::Smtp(Box::new(builder.build()))
            }
            other => return Err(bad(&format!("unknown scheme {other}: use log:, file:, smtp: or smtps:"))),
        };
        Ok(Mailer { from, transport })
    }

    /// Sends one mail, or says why it could not.
    pub async fn send(&self, id: MailId, mail: &Mail) -> Result<()> {
        match &self.transport {
            Transport::Log => {
                tracing::info!(to = mail.to, subject = mail.subject, "mail\n{}", mail.plain());
                Ok(())
            }
            Transport::Files(folder) => {
                let (draft, path) = (folder.join(format!(".{id}")), folder.join(format!("{id}.eml")));
                let bytes = mail.message(id, &self.from)?.formatted();
                // Named when whole: whoever watches the folder never reads half a mail.
                let mut file = tokio::fs::OpenOptions::new();
                let mut file =
                    file.create(true).truncate(true).write(true).mode(0o600).open(&draft).await.map_err(Error::internal)?;
                file.write_all(&bytes).await.map_err(Error::internal)?;
                file.flush().await.map_err(Error::internal)?;
                tokio::fs::rename(draft, path).await.map_err(Error::internal)
            }
            Transport::Smtp(smtp) => {
                smtp.send(mail.message(id, &self.from)?).await.map_err(Error::internal)?;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_add_a_header() {
        let mail = invitation("a@b.example", "Evil\r\nBcc: c@d.example", "Ada", "http://x/");
        let from = "Tidings <tidings@localhost>".parse().unwrap();
        let text = String::from_utf8(mail.message(MailId::new(), &from).unwrap().formatted()).unwrap();
        let mut headers = text.lines().take_while(|line| !line.is_empty());
        assert!(!headers.any(|line| line.starts_with("Bcc:")), "{text}");
    }

    #[test]
    fn html_is_escaped() {
        let mail = invitation("a@b.example", "<script>", "Ada", "http://x/?a=1&b=\"2\"");
        assert!(!mail.html().contains("<script>"));
        assert!(mail.html().contains("a=1&amp;b=&quot;2&quot;"));
    }
}
