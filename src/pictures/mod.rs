//! What pictures look like, and what of them is kept. Decoders are where pictures attack, so none runs in the server's process: each
//! picture is looked at by a child, the same program with hardly any rights, which says what it found on standard output and ends.
//!
//! Knows neither SQL nor HTTP, and no path of a file.

mod child;
mod decoding;
mod parent;
mod picture;
mod pieces;

pub use self::{
    child::{COMMAND, run},
    parent::{look, run_by},
    picture::{Appearance, Color, CopySize, Look, Picture, Piece, Purpose},
};
