//! Runs the real binary.

mod harness;

mod administering;
mod binary;
mod kills;
mod sdk;
mod serving;
mod settings;
