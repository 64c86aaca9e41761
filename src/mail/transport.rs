//! The ways that mails are sent: SMTP, files, the log.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use lettre::{
    AsyncSmtpTransport, AsyncTransport, Tokio1Executor,
    message::Mailbox,
    transport::smtp::{self, SMTP_PORT, SUBMISSION_PORT, SUBMISSIONS_PORT, authentication::Credentials, client::Tls},
};
use percent_encoding::percent_decode_str;
use tokio::{io::AsyncWriteExt, sync::Mutex, time::timeout};
use url::Url;

use super::Mail;
use crate::{
    error::{Error, Faults, Result},
    id::MailId,
    net::trusted_authorities::Authorities,
};

/// Deadline of one command of SMTP.
const STEP_WITHIN: Duration = Duration::from_secs(10);
/// Deadline of a check. It covers the greeting, which the deadline of a command does not.
const CHECK_WITHIN: Duration = Duration::from_secs(10);
/// Deadline of a mail. It is shorter than the lease, so that no mail is sent twice at the same time.
const SEND_WITHIN: Duration = Duration::from_secs(60);
/// How long the result of a check of the mail server is reused.
const REACHED_FOR: Duration = Duration::from_secs(10);

/// The expected form of the mail server's address.
const EXPECTED: &str = "expected an address such as smtps://USER:PASSWORD@mail.example.org, smtp:, file: or log:";

/// Sends mails.
pub struct Mailer {
    from: Mailbox,
    transport: Transport,
    reached: Mutex<Option<(Instant, bool)>>,
}

enum Transport {
    /// Writes the text with its link to the log, for trials and for servers without mail.
    Log,
    /// Writes each mail to a file in a folder, `<identifier>.eml`.
    Files(PathBuf),
    Smtp(Box<AsyncSmtpTransport<Tokio1Executor>>),
}

impl Transport {
    fn new(url: &str, authorities: &Authorities) -> Result<Transport> {
        let bad = |err: &dyn std::fmt::Display| Error::failed(format!("--mail-url: {err}"));
        let parsed = Url::parse(url).map_err(|_| bad(&EXPECTED))?;
        match parsed.scheme() {
            "log" => Ok(Transport::Log),
            "file" => match parsed.to_file_path() {
                Ok(folder) => Ok(Transport::Files(folder)),
                Err(()) => Err(bad(&"expected an absolute path such as file:///var/mail")),
            },
            "smtp" | "smtps" => match relay(&parsed, authorities) {
                Ok(smtp) => Ok(Transport::Smtp(Box::new(smtp))),
                Err(err) => Err(bad(&err.admin_detail())),
            },
            other => Err(bad(&format!("unknown scheme {other}: {EXPECTED}"))),
        }
    }
}

impl Mailer {
    /// `url`: `log:`, `file:///DIR`, `smtp://[user:password@]host[:port][?tls=opportunistic|none]` or `smtps://…`.
    pub fn new(url: &str, from: &str, authorities: &Authorities) -> Result<Mailer> {
        let from = from
            .parse()
            .map_err(|_| Error::failed(format!("--mail-from {from}: expected an address such as Chat <chat@example.org>")));
        let transport = Transport::new(url, authorities);
        let mut faults = Faults::default();
        faults.note(&from);
        faults.note(&transport);
        faults.into_result()?;
        Ok(Mailer { from: from?, transport: transport?, reached: Mutex::default() })
    }

    /// Makes the folder of a transport that writes files.
    pub fn create_folder(&self) -> Result<()> {
        let Transport::Files(folder) = &self.transport else { return Ok(()) };
        std::fs::create_dir_all(folder).map_err(|err| Error::failed(format!("--mail-url {}: {err}", folder.display())))
    }

    /// Whether mails go to the server's log, where every reader of the log sees their links.
    pub fn writes_to_log(&self) -> bool {
        matches!(self.transport, Transport::Log)
    }

    /// Whether the transport works, as far as can be checked without sending a mail. It checks at most once in ten seconds.
    pub async fn is_reachable(&self) -> bool {
        // Held during the check, so that concurrent callers wait for its result.
        let mut reached = self.reached.lock().await;
        if let Some((at, known)) = *reached
            && at.elapsed() < REACHED_FOR
        {
            return known;
        }
        let now = self.connect().await;
        if let Err(err) = &now {
            tracing::warn!(err = err.log_text(), "the mail server can't be reached");
        }
        *reached = Some((Instant::now(), now.is_ok()));
        now.is_ok()
    }

    /// Connects to the mail server and logs in, without sending a mail. The error says what it answers.
    pub async fn connect(&self) -> Result<()> {
        match &self.transport {
            Transport::Log => Ok(()),
            Transport::Files(folder) if folder.is_dir() => Ok(()),
            Transport::Files(folder) => Err(Error::failed(format!("there is no folder {}", folder.display()))),
            Transport::Smtp(smtp) => match within(CHECK_WITHIN, smtp.test_connection()).await? {
                true => Ok(()),
                false => Err(Error::failed("the mail server does not answer as it should")),
            },
        }
    }

    /// Sends a mail. The error says why it could not be sent.
    pub async fn send(&self, id: MailId, mail: &Mail) -> Result<()> {
        match &self.transport {
            Transport::Log => {
                tracing::info!(to = mail.to, subject = mail.subject, "mail\n{}", mail.plain());
                Ok(())
            }
            Transport::Files(folder) => {
                // Renamed when complete, so that a program that watches the folder never reads a partial mail. A second attempt may
                // begin while the first is under way, if the clock was set, so each has a draft of its own.
                let (draft, path) = (folder.join(format!(".{}", MailId::new())), folder.join(format!("{id}.eml")));
                let bytes = mail.message(id, &self.from)?.formatted();
                let mut file = tokio::fs::OpenOptions::new();
                let mut file =
                    file.create(true).truncate(true).write(true).mode(0o600).open(&draft).await.map_err(Error::internal)?;
                file.write_all(&bytes).await.map_err(Error::internal)?;
                file.flush().await.map_err(Error::internal)?;
                tokio::fs::rename(draft, path).await.map_err(Error::internal)
            }
            Transport::Smtp(smtp) => {
                within(SEND_WITHIN, smtp.send(mail.message(id, &self.from)?)).await?;
                Ok(())
            }
        }
    }
}

/// Waits for the mail server at most until the deadline.
async fn within<T>(deadline: Duration, answer: impl Future<Output = Result<T, smtp::Error>>) -> Result<T> {
    let silent = |_| Error::failed(format!("the mail server has not answered within {} s", deadline.as_secs()));
    timeout(deadline, answer).await.map_err(silent)?.map_err(|err| Error::failed(err.to_string()))
}

/// TLS is required unless the address says otherwise: by STARTTLS for `smtp:`, and from the first byte for `smtps:`.
fn relay(url: &Url, authorities: &Authorities) -> Result<AsyncSmtpTransport<Tokio1Executor>> {
    let missing = || Error::failed("the host is missing: expected an address such as smtp://mail.example.org");
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(missing)?;
    let wanted = url.query_pairs().find(|(key, _)| key == "tls").map(|(_, value)| value.into_owned());
    let parameters = || authorities.mail(host);
    let (tls, port) = match (url.scheme(), wanted.as_deref()) {
        ("smtps", None) => (Tls::Wrapper(parameters()?), SUBMISSIONS_PORT),
        ("smtp", None | Some("required")) => (Tls::Required(parameters()?), SUBMISSION_PORT),
        ("smtp", Some("opportunistic")) => (Tls::Opportunistic(parameters()?), SUBMISSION_PORT),
        ("smtp", Some("none")) => (Tls::None, SMTP_PORT),
        _ => return Err(Error::failed("expected ?tls=required, ?tls=opportunistic or ?tls=none, and only with smtp:")),
    };
    let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host)
        .tls(tls)
        .port(url.port().unwrap_or(port))
        .timeout(Some(STEP_WITHIN));
    if !url.username().is_empty() {
        let plain = |text: &str| percent_decode_str(text).decode_utf8().map(Into::into).map_err(Error::internal);
        let (user, password): (String, String) = (plain(url.username())?, plain(url.password().unwrap_or_default())?);
        builder = builder.credentials(Credentials::new(user, password));
    }
    Ok(builder.build())
}
