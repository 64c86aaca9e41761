//! The server from outside: HTTP and the push endpoint, as a client meets them.
//!
//! Each test has a server of its own (see [`harness`]), so nothing is shared and nothing waits for a
//! neighbour. What a test expects is the specification's word, never the server's.

mod harness;
mod mailbox;
mod shapes;
mod socket;

mod accounts;
mod architecture;
mod archive;
mod channel_members;
mod channels;
mod clocks;
mod contract;
mod deleting;
mod direct_messages;
mod errors;
mod invitations;
mod limits;
mod members;
mod messages;
mod organisations;
mod passwords;
mod publications;
mod purging;
mod push;
mod push_rights;
mod races;
mod reactions;
mod reading;
mod restart;
mod search;
mod slow_reads;
mod threads;
mod tokens;
mod writer;
