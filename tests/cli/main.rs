//! Runs the real binary.

mod entitled;
mod harness;
mod mail_server;
#[allow(dead_code)] // the tests of the API use all of it
#[path = "../stand_in/centrifugo.rs"]
mod stand_in;
mod subscriber;
mod world;

mod administering;
mod backups;
mod binary;
mod commands;
mod cuts;
mod deliveries;
mod first_administrator;
mod fsyncs;
mod kills;
mod logging;
mod sdk;
mod serving;
mod settings;
