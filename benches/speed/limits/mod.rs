//! What the machine must do at least for the same work: small programs in processes of their own, measured like a server.

pub mod constant;
pub mod frames;
pub mod hash;
pub mod insert;
pub mod select;

use std::{io::Read, net::SocketAddr};

use serde::Serialize;
use tokio::net::TcpListener;

use super::clients::{Client, say};

/// A limit that listens on a port.
pub struct Limit {
    client: Client,
    pub address: SocketAddr,
}

impl Limit {
    pub fn start(role: &str, plan: &impl Serialize) -> Limit {
        let client = Client::start(role, plan);
        let address = client.greeting.parse().unwrap();
        Limit { client, address }
    }

    pub fn id(&self) -> u32 {
        self.client.id()
    }
}

/// A runtime like the server's, and a port on which to listen.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap()
}

/// Says the address, and ends the process when the bench closes its input.
async fn listen() -> TcpListener {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(8192).unwrap();
    std::thread::spawn(|| {
        _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    say(&listener.local_addr().unwrap().to_string());
    listener
}
