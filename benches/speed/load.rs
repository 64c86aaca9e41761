//! One measurement of a request/answer load on a server or on a limit.

use std::{net::SocketAddr, time::Duration};

use super::{
    clients::Client,
    machine::{Watch, settle},
    measure::Run,
    requests::{Done, Plan},
};

/// Connections with prepared requests, and for how long.
pub struct Load {
    pub requests: Vec<String>,
    pub connections: usize,
    pub warm_up: Duration,
    pub measured: Duration,
    /// Whether the CPU of what the server does afterwards is part of the cost, as of the search index after posts.
    pub and_after: bool,
}

impl Load {
    pub fn plan(&self, address: SocketAddr) -> Plan {
        Plan { address, connections: self.connections, requests: self.requests.clone(), pause: 0, once: false }
    }

    /// Runs it in a client process.
    pub fn run(&self, process: u32, address: SocketAddr) -> (Run, Done) {
        let mut client = Client::start("requests", &self.plan(address));
        let before = Watch::new(process, &[client.id()]);
        client.tell("go");
        std::thread::sleep(self.warm_up);
        let watch = Watch::new(process, &[client.id()]);
        client.tell("count");
        std::thread::sleep(self.measured);
        let spent = watch.spent();
        client.tell("stop");
        let done: Done = serde_json::from_str(&client.line()).unwrap();
        assert_eq!(done.refused, 0, "answers that are no 2xx");
        drop(client);
        let cpu = if self.and_after {
            settle(process);
            before.spent().server / done.all as f64
        } else {
            spent.server / done.answers as f64
        };
        let run = Run {
            figure: done.answers as f64 / spent.seconds,
            p50: Some(done.p50),
            p99: Some(done.p99),
            cpu: Some(cpu * 1e6),
            foreign: spent.foreign,
            notes: vec![("bytes each", done.bytes_each())],
            ..Run::default()
        };
        (run, done)
    }
}
