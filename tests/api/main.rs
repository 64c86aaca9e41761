//! The server from outside: HTTP and the push endpoint, as a client meets them.
//!
//! Each test has a server of its own (see [`harness`]), so nothing is shared and nothing waits for a
//! neighbour. What a test expects is the specification's word, never the server's.

mod harness;
mod mailbox;
mod operations;
mod scene;
mod shapes;
mod socket;

mod acceptance;
mod accounts;
mod architecture;
mod bad_input;
mod blogs;
mod channel_members;
mod channels;
mod clocks;
mod contact;
mod contract;
mod errors;
mod feeds;
mod invitations;
mod leaving;
mod limits;
mod links;
mod members;
mod memberships;
mod messages;
mod organisations;
mod passwords;
mod permissions;
mod publications;
mod push;
mod push_rights;
mod races;
mod reading;
mod restart;
mod roles;
mod testimonials;
mod threads;
mod tokens;
mod webhooks;
mod writer;
