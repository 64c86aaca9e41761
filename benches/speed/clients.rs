//! The processes of the clients and the limits: this executable again, in another [role](super::roles). Each gets its plan as a
//! line of JSON on its input, says `ready`, and then obeys one word after the other.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde::Serialize;

/// Answers the bench from within a client.
pub fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}").unwrap();
    output.flush().unwrap();
}

/// A client process as the bench holds it; it ends when it is dropped.
pub struct Client {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// What it said when it was ready.
    pub greeting: String,
}

impl Client {
    /// Starts one and waits until its connections are open.
    pub fn start(role: &str, plan: &impl Serialize) -> Client {
        let mut client = Client::begin(role, plan);
        client.greeting = client.line();
        client
    }

    fn begin(role: &str, plan: &impl Serialize) -> Client {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut process = command.arg(role).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut client = Client { process, input, output, greeting: String::new() };
        client.tell(&serde_json::to_string(plan).unwrap());
        client
    }

    /// Starts several at once.
    pub fn start_all<T: Serialize>(role: &str, plans: &[T]) -> Vec<Client> {
        let mut clients: Vec<Client> = plans.iter().map(|plan| Client::begin(role, plan)).collect();
        for client in &mut clients {
            client.greeting = client.line();
        }
        clients
    }

    pub fn tell(&mut self, word: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{word}").unwrap();
        input.flush().unwrap();
    }

    #[track_caller]
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "a client ended early");
        line.trim_end().to_owned()
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        _ = self.process.wait();
    }
}

pub fn ids(clients: &[Client]) -> Vec<u32> {
    clients.iter().map(Client::id).collect()
}
