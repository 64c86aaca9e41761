//! The server from outside: HTTP and the push endpoint, as a client meets them.
//!
//! Each test has a server of its own (see [`harness`]), so nothing is shared and nothing waits for a
//! neighbour. What a test expects is the specification's word, never the server's.

#![allow(clippy::too_many_lines, reason = "a test may tell a long story")]

#[allow(dead_code)] // the tests of the binary use all of it
mod certificate;
mod harness;
mod mailbox;
mod names;
mod operations;
mod receiver;
mod scene;
mod shapes;
mod socket;
#[path = "../stand_in/centrifugo.rs"]
mod stand_in;
mod start;
mod tables;
mod target;
mod wire;

mod accounts;
mod architecture;
mod channels;
mod commands;
mod compatibility;
mod contract;
mod db;
mod documents;
mod existing_clients;
mod files;
mod http;
mod mcp;
mod messages;
mod model;
mod notifications;
mod organisations;
mod permissions;
mod public;
mod push;
mod refusals;
mod reminders;
mod screens;
mod webhooks;
