//! The server that is measured: the real binary in a process of its own.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use rustix::process::Signal;

use super::machine;

/// A binary, and what the table calls it.
#[derive(Clone)]
pub struct Build {
    pub label: String,
    pub path: PathBuf,
}

/// Ended when it is dropped.
pub struct Server {
    process: Child,
    pub address: SocketAddr,
}

impl Server {
    pub fn start(build: &Build, folder: &Path) -> Server {
        Server::with_rate_limit(build, folder, "off")
    }

    /// `on`, as in use, or `off`.
    pub fn with_rate_limit(build: &Build, folder: &Path, rate_limit: &str) -> Server {
        let mut process = Command::new(&build.path)
            .args(["serve", "--listen", "127.0.0.1:0", "--rate-limit", rate_limit, "--connections-per-address", "20000"])
            .args(["--push-token-seconds", "86400", "--allow-private-webhooks", "127.0.0.0/8", "--log", "error", "--data-dir"])
            .arg(folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let url = lines.find_map(|line| Some(line.trim().strip_prefix("API")?.trim().to_owned())).expect("the server starts");
        let address = url.trim_start_matches("http://").split('/').next().unwrap().parse().unwrap();
        Server { process, address }
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Stops it as an administrator does, so that everything is in the database file.
    pub fn stop(mut self) {
        machine::signal(self.id(), Signal::TERM);
        self.process.wait().unwrap();
    }

    /// Takes all CPU from it while others are measured.
    pub fn pause(&self) {
        machine::signal(self.id(), Signal::STOP);
    }

    pub fn resume(&self) {
        machine::signal(self.id(), Signal::CONT);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
