//! Runs the real binary.

mod entitled;
mod harness;
mod subscriber;
mod world;

mod administering;
mod binary;
mod cuts;
mod kills;
mod sdk;
mod serving;
mod settings;
