//! WebP (RFC 9649): the chunks that the picture, its motion and its colours are made of. Two headers say how long the whole is and
//! which notes it has; these are written anew.

use std::{
    io::{self, ErrorKind, Read, Seek},
    ops::Range,
};

use image::metadata::Orientation;

use super::walk::{MOST, Walk, note};

/// The bits of the extended header that say that there is a note in the form of Exif, and one of XMP (section 2.7).
const NOTE_FLAGS: [u8; 2] = [0x08, 0x04];
const KEPT: [&[u8; 4]; 6] = [b"VP8 ", b"VP8L", b"ALPH", b"ANIM", b"ANMF", b"ICCP"];

/// Notes what is kept; tells which way up the picture is.
pub fn walk<F: Read + Seek>(walk: &mut Walk<F>) -> io::Result<Orientation> {
    let end = 8 + u64::from(u32::from_le_bytes(walk.read(4)?));
    if end > walk.length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let (chunks, orientation) = chunks(walk, end)?;
    let is_extended = chunks.first().is_some_and(|(name, _)| name == b"VP8X");
    let note = (is_extended && orientation != Orientation::NoTransforms).then(|| exif(orientation));
    let kept: Vec<_> = chunks.into_iter().filter(|(name, _)| name == b"VP8X" || KEPT.contains(&name)).collect();
    let length =
        4 + kept.iter().map(|(_, range)| range.end - range.start).sum::<u64>() + note.as_ref().map_or(0, Vec::len) as u64;
    walk.keep(0..4)?;
    set(walk, 4..8, (length as u32).to_le_bytes())?;
    walk.keep(8..12)?;
    for (name, range) in kept {
        if &name == b"VP8X" {
            let [flags] = walk.read(range.start + 8)?;
            let noted = if note.is_some() { NOTE_FLAGS[0] } else { 0 };
            walk.keep(range.start..range.start + 8)?;
            set(walk, range.start + 8..range.start + 9, [flags & !NOTE_FLAGS[0] & !NOTE_FLAGS[1] | noted])?;
            walk.keep(range.start + 9..range.end)?;
        } else {
            walk.keep(range)?;
        }
    }
    note.map_or(Ok(()), |note| walk.write(note))?;
    Ok(orientation)
}

type Chunk = ([u8; 4], Range<u64>);

/// All chunks up to the end, and which way up the picture is.
fn chunks<F: Read + Seek>(walk: &mut Walk<F>, end: u64) -> io::Result<(Vec<Chunk>, Orientation)> {
    let (mut at, mut chunks, mut orientation) = (12, Vec::new(), Orientation::NoTransforms);
    while at < end {
        let name = walk.read(at)?;
        let length = u64::from(u32::from_le_bytes(walk.read(at + 4)?));
        let next = at + 8 + length + length % 2;
        if next > end || chunks.len() == MOST || (&name == b"VP8X" && length < 10) {
            return Err(ErrorKind::InvalidData.into());
        }
        if &name == b"EXIF" && orientation == Orientation::NoTransforms {
            orientation = walk.orientation(at + 8..at + 8 + length)?;
        }
        chunks.push((name, at..next));
        at = next;
    }
    Ok((chunks, orientation))
}

/// Keeps bytes that are these already, and writes them otherwise.
fn set<F: Read + Seek, const N: usize>(walk: &mut Walk<F>, range: Range<u64>, bytes: [u8; N]) -> io::Result<()> {
    if walk.read::<N>(range.start)? == bytes { walk.keep(range) } else { walk.write(bytes.into()) }
}

fn exif(orientation: Orientation) -> Vec<u8> {
    let note = note(orientation);
    [b"EXIF", &(note.len() as u32).to_le_bytes()[..], &note].concat()
}
