//! The Centrifugo client protocol v2, on the same port as the API.
//!
//! [`publisher`] hands committed events to the [`hub`], which fans them out to each [`connection`] and its [`outbox`], and
//! [`flushing`] sends what they have queued. [`protocol`] defines the messages, [`codes`] the numbers in them, and [`encoding`]
//! turns them into frames. [`connecting`], [`subscribing`] and [`commands`] answer a client, whom its tokens identify. [`socket`]
//! runs a WebSocket after its [`handshake`], and [`event_stream`] a stream of server-sent events, each with a [`heartbeat`].
//! [`abuse_bounds`] bounds what a client sends for nothing, and [`unsent`] what all clients together don't read.

pub mod abuse_bounds;
pub mod codes;
pub mod commands;
pub mod connecting;
pub mod connection;
pub mod encoding;
pub mod event_stream;
pub mod flushing;
pub mod handshake;
pub mod heartbeat;
pub mod hub;
pub mod outbox;
pub mod protocol;
pub mod publisher;
pub mod socket;
pub mod subscribing;
pub mod unsent;
pub mod upgrade;
mod websocket_io;
