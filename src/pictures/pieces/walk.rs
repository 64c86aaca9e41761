//! A way through a file.

use std::{
    io::{self, ErrorKind, Read, Seek, SeekFrom},
    ops::Range,
};

use image::metadata::Orientation;

use crate::pictures::picture::Piece;

/// Pieces of a file, and parts that are looked at, at most. Pictures have some twenty, and one of a camera's bursts a few hundred.
pub(super) const MOST: usize = 10_000;
/// Bytes of a note that are read for the orientation.
const MOST_OF_NOTE: u64 = 256 << 10;

/// A way through a file, and what is kept so far.
pub(super) struct Walk<'a, F> {
    pub file: &'a mut F,
    pub length: u64,
    pub pieces: Vec<Piece>,
}

impl<'a, F: Read + Seek> Walk<'a, F> {
    pub fn new(file: &'a mut F) -> io::Result<Walk<'a, F>> {
        let length = file.seek(SeekFrom::End(0))?;
        file.rewind()?;
        Ok(Walk { file, length, pieces: Vec::new() })
    }

    /// Bytes at a place.
    pub fn read<const N: usize>(&mut self, at: u64) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.file.seek(SeekFrom::Start(at))?;
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Which way up a picture is by a note in the form of Exif, as far as it tells.
    pub fn orientation(&mut self, note: Range<u64>) -> io::Result<Orientation> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(note.start))?;
        self.file.take((note.end - note.start).min(MOST_OF_NOTE)).read_to_end(&mut bytes)?;
        let note = bytes.strip_prefix(b"Exif\0\0").unwrap_or(&bytes); // the name of JPEG's segment, which some write everywhere
        Ok(Orientation::from_exif_chunk(note).unwrap_or(Orientation::NoTransforms))
    }

    pub fn keep(&mut self, range: Range<u64>) -> io::Result<()> {
        if range.start > range.end || range.end > self.length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        match self.pieces.last_mut() {
            Some(Piece::Kept(last)) if last.end == range.start => last.end = range.end,
            _ => self.add(Piece::Kept(range))?,
        }
        Ok(())
    }

    pub fn write(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        self.add(Piece::New(bytes))
    }

    fn add(&mut self, piece: Piece) -> io::Result<()> {
        if self.pieces.len() == MOST {
            return Err(io::Error::other("it is in too many pieces"));
        }
        self.pieces.push(piece);
        Ok(())
    }
}

/// A note in the form of Exif that says nothing but which way up the picture is (Exif 3.0, 4.6.2: big endian, one entry).
pub(super) fn note(orientation: Orientation) -> Vec<u8> {
    let mut note = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
    note.extend([orientation.to_exif(), 0, 0, 0, 0, 0, 0]);
    note
}
