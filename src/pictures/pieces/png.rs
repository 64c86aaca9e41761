//! PNG (third edition, section 4.7 and 11): the chunks that the picture, its motion and its colours are made of.

use std::io::{self, Read, Seek};

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
    while let Some((name, end)) = chunk(walk, at)? {
        if KEPT.contains(&&name) {
            walk.keep(at..end)?;
        }
        match &name {
            b"IHDR" if orientation != Orientation::NoTransforms => walk.write(exif(orientation))?,
            b"IEND" => break, // what follows is left out
            _ => {}
        }
        at = end;
    }
    Ok(orientation)
}

/// The name of the chunk at a place, and where it ends; none where none begins. Readers show a picture that was cut as well, so that its
/// last chunk may end with the file.
fn chunk<F: Read + Seek>(walk: &mut Walk<F>, at: u64) -> io::Result<Option<([u8; 4], u64)>> {
    if walk.length - at < 8 {
        return Ok(None);
    }
    let length = u32::from_be_bytes(walk.read(at)?);
    Ok(Some((walk.read(at + 4)?, (at + 12 + u64::from(length)).min(walk.length))))
}

fn orientation<F: Read + Seek>(walk: &mut Walk<F>) -> io::Result<Orientation> {
    let mut at = SIGNATURE;
    for _ in 0..MOST {
        let Some((name, end)) = chunk(walk, at)? else { return Ok(Orientation::NoTransforms) };
        match &name {
            b"eXIf" if end - at > 12 => return walk.orientation(at + 8..end - 4),
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
