//! Resolves names for connections that must stay on the public internet.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{addresses, failure::Failure};

/// Most addresses of a name that are tried. More would not fit into the time that a connection has.
const ADDRESSES: usize = 8;

/// A resolver: returns all addresses of a name.
pub type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// The system's resolver.
pub fn system() -> Lookup {
    Arc::new(|name| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

/// A resolver that returns only addresses that may be reached. The connection uses them without a further look-up.
pub struct Guard {
    pub opened: Arc<[IpNet]>,
    pub lookup: Lookup,
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let (name, opened) = (name.as_str().to_owned(), self.opened.clone());
        let looking_up = (self.lookup)(name.clone());
        Box::pin(async move {
            let found = looking_up.await.unwrap_or_else(|err| {
                tracing::debug!(name, %err, "a name could not be looked up");
                Vec::new()
            });
            let mut good = found.into_iter().filter(|address| addresses::objection(*address, &opened).is_none()).peekable();
            if good.peek().is_none() {
                // The message hides the name's addresses, and whether it has any: they would reveal the internal network.
                return Err(Failure::Refused(format!("{name} has no address on the public internet")).into());
            }
            let good: Vec<_> = good.take(ADDRESSES).map(|address| SocketAddr::new(address.to_canonical(), 0)).collect();
            Ok(Box::new(good.into_iter()) as Addrs)
        })
    }
}
