//! The mails that a server has sent: the `.eml` files of its folder.

use std::{fs, time::Duration};

use crate::harness::Server;

pub struct Mail {
    pub to: String,
    pub subject: String,
    pub reply_to: String,
    pub text: String,
    /// The whole of it.
    pub raw: String,
}

impl Mail {
    /// The value of a parameter in the mail's link.
    #[track_caller]
    pub fn parameter(&self, name: &str) -> String {
        let marker = format!("{name}=");
        let (_, rest) = self.text.split_once(&marker).unwrap_or_else(|| panic!("no {marker} in {}", self.text));
        rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect()
    }
}

impl Server {
    /// Waits until `count` mails to the address have left; oldest first. A folder tells nobody that
    /// a file was added, so this looks again every few milliseconds.
    pub async fn mails(&self, to: &str, count: usize) -> Vec<Mail> {
        let mut look = tokio::time::interval(Duration::from_millis(5));
        let arrived = async {
            loop {
                look.tick().await;
                let mails: Vec<Mail> = self.all_mails().into_iter().filter(|mail| mail.to == to).collect();
                if mails.len() >= count {
                    return mails;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), arrived).await.unwrap_or_else(|_| panic!("no {count} mails to {to}"))
    }

    fn all_mails(&self) -> Vec<Mail> {
        let Ok(folder) = fs::read_dir(self.folder().join("mail")) else { return Vec::new() };
        let mut paths: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "eml"));
        paths.sort(); // named by time-ordered identifiers
        paths.iter().map(|path| parse(&fs::read_to_string(path).unwrap())).collect()
    }
}

fn parse(raw: &str) -> Mail {
    let (head, body) = raw.split_once("\r\n\r\n").expect("a head and a body");
    let header = |name: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_default().trim_matches(['<', '>']).to_owned()
    };
    let (_, part) = body.split_once("Content-Type: text/plain").expect("a plain part");
    let (part_head, text) = part.split_once("\r\n\r\n").expect("a part has a head");
    // A soft line break may stand before anything, also before what looks like the end of the part.
    let quoted = part_head.contains("quoted-printable");
    let text = if quoted { text.replace("=\r\n", "") } else { text.to_owned() };
    let text = text.split("\r\n--").next().unwrap_or_default();
    let text = if quoted { unquote(text) } else { text.to_owned() };
    Mail { to: header("To"), subject: header("Subject"), reply_to: header("Reply-To"), text, raw: raw.to_owned() }
}

/// Quoted-printable (RFC 2045) without soft line breaks, for ASCII.
fn unquote(text: &str) -> String {
    let mut pieces = text.split('=');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let byte = u8::from_str_radix(&piece[..2], 16).expect("two hexadecimal digits");
        plain.push(byte.into());
        plain.push_str(&piece[2..]);
    }
    plain
}
