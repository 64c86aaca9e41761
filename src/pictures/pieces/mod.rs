//! What of a picture's file is kept. Cameras and programs note beside a picture where it was taken, by whom and with which device;
//! nobody means to say that by showing it. Segments and chunks are left out as a whole and never changed, so that the picture stays
//! what it was to the last bit. The colours stay, and which way up it is, which is written anew.
//!
//! What is not known here is left out: a maker's own notes have any form.

mod jpeg;
mod png;
#[cfg(test)]
mod tests;
mod walk;
mod webp;

use std::io::{Read, Seek};

use self::walk::Walk;
use super::picture::Piece;

/// What is kept of a file, which is at its beginning; none if all of it is, and if it has no form that is known here.
pub fn kept(file: &mut (impl Read + Seek)) -> Option<Vec<Piece>> {
    let mut walk = Walk::new(file).ok()?;
    let mut head = [0; 12];
    walk.file.read_exact(&mut head).ok()?;
    let walked = match &head {
        [0xff, 0xd8, ..] => jpeg::walk(&mut walk),
        [0x89, b'P', b'N', b'G', ..] => png::walk(&mut walk),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P'] => webp::walk(&mut walk),
        _ => return None,
    };
    walked.ok().filter(|_| walk.pieces != [Piece::Kept(0..walk.length)]).map(|()| walk.pieces)
}
