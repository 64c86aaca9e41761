//! What of a picture's file is kept. Cameras and programs note beside a picture where it was taken, by whom and with which device;
//! nobody means to say that by showing it. Segments and chunks are left out as a whole, and none that the picture is made of is changed,
//! so that it stays what it was to the last bit. The colours stay, and which way up it is, which is written anew.
//!
//! What is not known here is left out: a maker's own notes have any form.

mod jpeg;
mod png;
#[cfg(test)]
mod tests;
mod walk;
mod webp;

use std::io::{Read, Seek};

use image::metadata::Orientation;

use self::walk::Walk;
use super::picture::Piece;

/// What a way through a file has found.
#[derive(Debug, Default, PartialEq)]
pub struct Walked {
    /// None if all of it is kept, and if it has no form that is known here.
    pub kept: Option<Vec<Piece>>,
    /// Which way up the picture is, if its form is known.
    pub orientation: Option<Orientation>,
}

/// Goes through a file, which is at its beginning.
pub fn walk(file: &mut (impl Read + Seek)) -> Walked {
    try_walk(file).unwrap_or_default()
}

fn try_walk(file: &mut (impl Read + Seek)) -> Option<Walked> {
    let mut walk = Walk::new(file).ok()?;
    let mut head = [0; 12];
    walk.file.read_exact(&mut head).ok()?;
    let walked = match &head {
        [0xff, 0xd8, ..] => jpeg::walk(&mut walk),
        [0x89, b'P', b'N', b'G', ..] => png::walk(&mut walk),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P'] => webp::walk(&mut walk),
        _ => return None,
    };
    let orientation = Some(walked.ok()?);
    let is_whole = walk.pieces == [Piece::Kept(0..walk.length)];
    Some(Walked { kept: (!is_whole).then_some(walk.pieces), orientation })
}
