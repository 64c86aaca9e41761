//! The Centrifugo client protocol v2, on the same port as the API.
//!
//! [`hub`] fans out to each [`connection`], [`publisher`] is its only caller for what was committed. [`protocol`] holds
//! the messages, [`codes`] the numbers in them, [`encoding`] makes frames of them. [`connecting`], [`subscribing`] and
//! [`commands`] answer a client, whose tokens say who it is; [`socket`] runs one WebSocket after its [`handshake`],
//! [`listener`] a stream of server-sent events, each with a [`heartbeat`].

pub mod codes;
pub mod commands;
pub mod connecting;
pub mod connection;
pub mod encoding;
pub mod handshake;
pub mod heartbeat;
pub mod hub;
pub mod listener;
pub mod protocol;
pub mod publisher;
pub mod socket;
pub mod subscribing;
