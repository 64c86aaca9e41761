//! A network that can go away from a client.

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

#[derive(Clone, Copy, PartialEq)]
enum Flow {
    Open,
    Closed,
    Cut,
}

/// A line to the server, under a port of its own.
pub struct Line {
    pub port: u16,
    flow: watch::Sender<Flow>,
}

impl Line {
    pub async fn to(server: u16) -> Line {
        let (flow, flows) = watch::channel(Flow::Open);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut flow = flows.clone();
                if *flow.borrow() != Flow::Open {
                    continue;
                }
                tokio::spawn(async move {
                    let Ok(mut far) = TcpStream::connect(("127.0.0.1", server)).await else { return };
                    tokio::select! {
                        _ = copy_bidirectional(&mut client, &mut far) => {}
                        _ = flow.wait_for(|flow| *flow == Flow::Cut) => {}
                    }
                });
            }
        });
        Line { port, flow }
    }

    /// Accepts no more connections; open ones stay.
    pub fn close(&self) {
        self.flow.send_replace(Flow::Closed);
    }

    /// Drops all connections silently, and accepts no more.
    pub fn cut(&self) {
        self.flow.send_replace(Flow::Cut);
    }

    pub fn mend(&self) {
        self.flow.send_replace(Flow::Open);
    }
}
