//! A mail server that takes every mail, from whoever logs in (RFC 5321, RFC 4954).

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};

pub struct MailServer {
    pub address: String,
    mails: UnboundedReceiver<String>,
}

impl MailServer {
    pub async fn start() -> MailServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (taken, mails) = unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, taken.clone()));
            }
        });
        MailServer { address, mails }
    }

    /// The next mail, with its long lines in one piece.
    pub async fn next(&mut self) -> String {
        self.mails.recv().await.unwrap().replace("=\r\n", "").replace("=3D", "=")
    }

    /// The token in the link of the next mail that has one.
    pub async fn token(&mut self) -> String {
        loop {
            if let Some(token) = token(&self.next().await) {
                return token;
            }
        }
    }
}

/// The token in a mail's link.
pub fn token(mail: &str) -> Option<String> {
    let (_, rest) = mail.split_once("token=")?;
    Some(rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect())
}

async fn serve(stream: TcpStream, taken: UnboundedSender<String>) {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 mail.example ESMTP\r\n").await.unwrap();
    loop {
        let mut line = String::new();
        if !matches!(stream.read_line(&mut line).await, Ok(1..)) {
            return;
        }
        let answer: &[u8] = match line.get(..4).unwrap_or_default() {
            "EHLO" => b"250-mail.example\r\n250 AUTH PLAIN\r\n",
            "AUTH" => b"235 you are in\r\n",
            "DATA" => b"354 go on\r\n",
            _ => b"250 fine\r\n",
        };
        stream.write_all(answer).await.unwrap();
        if line.starts_with("DATA") {
            let mut mail = String::new();
            while !mail.ends_with("\r\n.\r\n") {
                stream.read_line(&mut mail).await.unwrap();
            }
            stream.write_all(b"250 taken\r\n").await.unwrap();
            taken.send(mail).unwrap();
        }
    }
}
