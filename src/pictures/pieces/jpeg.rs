//! JPEG (ITU-T T.81, annex B): the segments that the picture is made of, the colour profile and the two notes without which its
//! colours are others. What follows the end is left out: another picture, of phones, or a video.

use std::{
    io::{self, ErrorKind, Read, Seek},
    ops::Range,
};

use image::metadata::Orientation;

use super::walk::{MOST, Walk, note};

const TABLES: u8 = 0xc4;
const CODES: u8 = 0xcc;
const END: u8 = 0xd9;
const SCAN: u8 = 0xda;
/// The last of those that may stand between scans.
const RESTARTS: u8 = 0xdd;
const JFIF: u8 = 0xe0;
const EXIF: u8 = 0xe1;
const COLORS: u8 = 0xe2;
const ADOBE: u8 = 0xee;
const COMMENT: u8 = 0xfe;

/// Notes what is kept; tells which way up the picture is.
pub fn walk<F: Read + Seek>(walk: &mut Walk<F>) -> io::Result<Orientation> {
    let (segments, orientation) = segments(walk)?;
    walk.keep(0..2)?;
    // Behind JFIF, which must be the first; readers look no further than to the first scan.
    let has_jfif = segments.first().is_some_and(|(marker, range)| *marker == JFIF && is_picture(walk, JFIF, range));
    let noted_at = if has_jfif { segments[0].1.end } else { 2 };
    let is_turned = orientation != Orientation::NoTransforms;
    for (marker, range) in segments {
        if is_turned && range.start == noted_at {
            walk.write(segment(orientation))?;
        }
        if is_picture(walk, marker, &range) {
            walk.keep(range)?;
        }
    }
    Ok(orientation)
}

type Segment = (u8, Range<u64>);

/// All segments up to the end, those of scans with their coded data, and which way up the picture is, by the first note.
fn segments<F: Read + Seek>(walk: &mut Walk<F>) -> io::Result<(Vec<Segment>, Orientation)> {
    let (mut at, mut segments, mut orientation) = (2, Vec::new(), None);
    loop {
        let [prefix, marker] = walk.read(at)?;
        if prefix != 0xff || segments.len() == MOST {
            return Err(ErrorKind::InvalidData.into());
        }
        let end = match marker {
            0xff => at + 1, // a fill byte
            0x01 | 0xd0..=0xd7 | END => at + 2,
            _ => at + 2 + u64::from(u16::from_be_bytes(walk.read(at + 2)?)).max(2),
        };
        if end > walk.length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if marker == EXIF && orientation.is_none() && is_named(walk, at, b"Exif\0\0") {
            orientation = Some(walk.orientation(at + 10..end)?);
        }
        let end = if marker == SCAN { end_of_scan(walk, end)? } else { end };
        segments.push((marker, at..end));
        // Readers show a picture that was cut as well.
        if marker == END || (marker == SCAN && end == walk.length) {
            return Ok((segments, orientation.unwrap_or(Orientation::NoTransforms)));
        }
        at = end;
    }
}

/// Whether the segment at a place begins with a name.
fn is_named<F: Read + Seek, const N: usize>(walk: &mut Walk<F>, at: u64, name: &[u8; N]) -> bool {
    walk.read(at + 4).is_ok_and(|found: [u8; N]| &found == name)
}

/// Whether a segment is a part of the picture.
fn is_picture<F: Read + Seek>(walk: &mut Walk<F>, marker: u8, range: &Range<u64>) -> bool {
    let (at, length) = (range.start, range.end - range.start);
    match marker {
        // Longer ones have a small picture, of what was there before something was cut off.
        JFIF => length == 18 && is_named(walk, at, b"JFIF\0"),
        COLORS => is_named(walk, at, b"ICC_PROFILE\0"),
        ADOBE => length == 16 && is_named(walk, at, b"Adobe"),
        0xe1..=0xef | COMMENT => false,
        _ => true,
    }
}

/// Where the coded data of a scan ends: at the next segment, or with the file. Readers go on behind damage in it, which may look like
/// a marker of another kind.
fn end_of_scan<F: Read + Seek>(walk: &mut Walk<F>, from: u64) -> io::Result<u64> {
    let mut buffer = vec![0; 64 << 10];
    let (mut at, mut after_prefix) = (from, false);
    walk.file.seek(io::SeekFrom::Start(from))?;
    loop {
        let read = walk.file.read(&mut buffer)?;
        if read == 0 {
            return Ok(at);
        }
        for byte in &buffer[..read] {
            if after_prefix && matches!(*byte, TABLES | CODES | END..=RESTARTS | JFIF..=0xef | COMMENT) {
                return Ok(at - 1);
            }
            after_prefix = *byte == 0xff;
            at += 1;
        }
    }
}

fn segment(orientation: Orientation) -> Vec<u8> {
    let note = note(orientation);
    let length = (2 + 6 + note.len()) as u16;
    [&[0xff, EXIF][..], &length.to_be_bytes(), b"Exif\0\0", &note].concat()
}
