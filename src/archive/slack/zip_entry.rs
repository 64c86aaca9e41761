//! An entry of a zip (APPNOTE 6.3, section 4.3): where it is, and how it is unpacked. The library that reads the zip's list of
//! entries keeps 600 bytes of each, which is too much for a million.

use std::io::{self, Read, Seek, SeekFrom};

use flate2::{Crc, read::DeflateDecoder};
use zip::{CompressionMethod, read::ZipFileEntry};

/// The header before the content of an entry: its signature, its length, and where in it the lengths of the name and of the extra
/// field are, which follow.
const SIGNATURE: [u8; 4] = *b"PK\x03\x04";
const HEADER: usize = 30;
const NAME: usize = 26;
const EXTRA: usize = 28;

/// Where an entry is.
#[derive(Clone, Copy)]
pub struct Entry {
    pub start: u64,
    /// Bytes of the content as it is in the zip, all of which there must be.
    packed: u64,
    sum: u32,
    form: Form,
}

#[derive(Clone, Copy)]
enum Form {
    Stored,
    Deflated,
    /// Encrypted, or compressed in a way that Slack does not use.
    Unknown,
}

impl Entry {
    pub fn of(entry: &ZipFileEntry) -> Entry {
        let form = match entry.compression() {
            _ if entry.encrypted() => Form::Unknown,
            CompressionMethod::Stored => Form::Stored,
            CompressionMethod::Deflated => Form::Deflated,
            _ => Form::Unknown,
        };
        Entry { start: entry.header_start(), packed: entry.compressed_size(), sum: entry.crc32(), form }
    }

    /// The unpacked content. Reading it fails at the end if it doesn't have the checksum of the list of entries.
    pub fn open<R: Read + Seek>(self, zip: &mut R) -> io::Result<Checked<Box<dyn Read + '_>>> {
        let mut header = [0; HEADER];
        zip.seek(SeekFrom::Start(self.start))?;
        zip.read_exact(&mut header)?;
        if header[..SIGNATURE.len()] != SIGNATURE {
            return Err(io::Error::other("the central directory names an offset where no entry begins"));
        }
        let length = |at: usize| i64::from(u16::from_le_bytes([header[at], header[at + 1]]));
        zip.seek_relative(length(NAME) + length(EXTRA))?;
        let packed = zip.take(self.packed);
        let content: Box<dyn Read> = match self.form {
            Form::Stored => Box::new(packed),
            Form::Deflated => Box::new(DeflateDecoder::new(packed)),
            Form::Unknown => return Err(io::Error::other("it is encrypted, or compressed otherwise than by deflate")),
        };
        Ok(Checked { content, crc: Crc::new(), sum: self.sum })
    }
}

/// A reader that compares the checksum at the end.
pub struct Checked<R> {
    content: R,
    crc: Crc,
    sum: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(into)?;
        self.crc.update(&into[..read]);
        match read == 0 && !into.is_empty() && self.crc.sum() != self.sum {
            true => Err(io::Error::other("it does not have the checksum of the zip")),
            false => Ok(read),
        }
    }
}
