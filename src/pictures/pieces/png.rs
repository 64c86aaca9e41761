//! PNG (third edition, section 4.7 and 11): the chunks that the picture, its motion and its colours are made of.

use std::io::{self, ErrorKind, Read, Seek};

use image::metadata::Orientation;

use super::walk::{MOST, Walk, note};

const SIGNATURE: u64 = 8;
const KEPT: [&[u8; 4]; 19] = [
    b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"acTL", b"fcTL", b"fdAT", b"cHRM", b"cICP", b"gAMA", b"iCCP", b"mDCV", b"cLLI",
    b"sBIT", b"sRGB", b"bKGD", b"hIST", b"pHYs",
];

/// Notes what is kept; tells which way up the picture is.
pub fn walk<F: Read + Seek>(walk: &mut Walk<F>) -> io::Result<Orientation> {
    walk.keep(0..SIGNATURE)?;
    let orientation = orientation(walk)?;
    let mut at = SIGNATURE;
    loop {
        let (name, end) = chunk(walk, at)?;
        if KEPT.contains(&&name) {
            walk.keep(at..end)?;
        }
        match &name {
            b"IHDR" if orientation != Orientation::NoTransforms => walk.write(exif(orientation))?,
            b"IEND" => return Ok(orientation), // what follows is left out
            _ => {}
        }
        at = end;
    }
}

/// The name of the chunk at a place, and where it ends.
fn chunk<F: Read + Seek>(walk: &mut Walk<F>, at: u64) -> io::Result<([u8; 4], u64)> {
    let length = u32::from_be_bytes(walk.read(at)?);
    let end = at + 12 + u64::from(length);
    if end > walk.length { Err(ErrorKind::UnexpectedEof.into()) } else { Ok((walk.read(at + 4)?, end)) }
}

fn orientation<F: Read + Seek>(walk: &mut Walk<F>) -> io::Result<Orientation> {
    let mut at = SIGNATURE;
    for _ in 0..MOST {
        let (name, end) = chunk(walk, at)?;
        match &name {
            b"eXIf" => return walk.orientation(at + 8..end - 4),
            b"IEND" => return Ok(Orientation::NoTransforms),
            _ => at = end,
        }
    }
    Err(io::Error::other("it has too many chunks"))
}

fn exif(orientation: Orientation) -> Vec<u8> {
    let note = note(orientation);
    let named = [b"eXIf", &note[..]].concat();
    [&(note.len() as u32).to_be_bytes()[..], &named, &crc32fast::hash(&named).to_be_bytes()].concat()
}
