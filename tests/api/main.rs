//! The server from outside: HTTP and the push endpoint, as a client meets them.
//!
//! Each test has a server of its own (see [`harness`]), so nothing is shared and nothing waits for a
//! neighbour. What a test expects is the specification's word, never the server's.

mod certificate;
mod harness;
mod mailbox;
mod operations;
mod receiver;
mod scene;
mod shapes;
mod socket;
#[path = "../stand_in/centrifugo.rs"]
mod stand_in;
mod target;
mod wire;

mod acceptance;
mod accounts;
mod architecture;
mod archive;
mod attempts;
mod bad_input;
mod bad_targets;
mod blogs;
mod centrifugo;
mod channel_members;
mod channels;
mod clocks;
mod contact;
mod contract;
mod deleting;
mod deliveries;
mod direct_messages;
mod errors;
mod expiry;
mod feeds;
mod half_open;
mod invitations;
mod large_recoveries;
mod leaving;
mod limits;
mod links;
mod listening;
mod members;
mod memberships;
mod messages;
mod metrics;
mod model;
mod organisations;
mod outgoing;
mod outgoing_addresses;
mod passwords;
mod permissions;
mod presence;
mod publications;
mod purging;
mod push;
mod push_rights;
mod races;
mod reactions;
mod reading;
mod recovery;
mod rejoining;
mod replaying;
mod restart;
mod revoking;
mod roles;
mod search;
mod server_api;
mod slow_reads;
mod testimonials;
mod threads;
mod tokens;
mod unrecovered;
mod webhooks;
mod writer;
