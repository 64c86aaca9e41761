//! Live push: the Centrifugo client protocol v2 over WebSocket, on the same port.
//!
//! [`hub`] fans out, [`publisher`] is its only caller for what was committed, [`protocol`] holds the
//! frames, [`commands`] answers a client's commands, [`socket`] runs one connection.

pub mod commands;
pub mod hub;
pub mod protocol;
pub mod publisher;
pub mod socket;
