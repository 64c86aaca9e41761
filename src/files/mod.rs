//! The bytes of files, below `files` in the data folder: `incoming/<id>` while they arrive, and then
//! `<organisation>/<last two digits of the id>/<id>`. What lies in its place there is whole and on disk. The last digits are
//! random; the first of a version 7 UUID are the time, and the same for years.
//!
//! Beside a picture lie its copies, `<id>.small` and `<id>.large`, which can be made again.
//!
//! Knows no SQL: who may read a file, and whether there is one, the domain says.

mod content;
mod copies;
mod incoming;
mod reading;
mod store;
mod turns;

pub use self::{
    content::{is_decoded, of_file, recognise, shows_in_place},
    incoming::{Incoming, Stored},
    reading::Transferred,
    store::{BUFFER, INCOMING, Store},
    turns::Turn,
};
