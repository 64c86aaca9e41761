//! Live push: the Centrifugo client protocol v2, on the same port.
//!
//! [`hub`] fans out to each [`connection`], [`publisher`] is its only caller for what was committed. [`protocol`] holds
//! the messages, [`codes`] the numbers in them, [`encoding`] makes frames of them. [`connecting`], [`subscribing`] and
//! [`commands`] answer a client, whose [`tokens`] say who it is; [`socket`] runs one WebSocket after its [`handshake`],
//! [`listener`] a stream of server-sent events, each with a [`heartbeat`]. Other programs push through the [`server_api`].

pub mod embedded;
pub mod external;
pub mod server_api;
pub mod tokens;
