//! An external Centrifugo that serves live push instead of this server: [`forwarder`] sends it what the event log holds,
//! in the log's order, by the requests of [`client`].

pub mod client;
pub mod forwarder;
