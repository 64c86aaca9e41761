//! Runs the real binary.

mod harness;
#[allow(dead_code)] // the tests of the API use all of it
#[path = "../stand_in/centrifugo.rs"]
mod stand_in;

mod administering;
mod binary;
mod kills;
mod sdk;
mod serving;
mod settings;
