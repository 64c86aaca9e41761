//! An external Centrifugo that serves live push instead of this server. [`forwarder`] sends it the event log in order, with
//! the requests of [`client`].

pub mod client;
pub mod forwarder;
