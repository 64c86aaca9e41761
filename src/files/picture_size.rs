//! The size of a picture as it is shown, so that a page keeps the room for it. Nothing is decoded: the beginning of the file tells.

use std::{
    fs::File,
    io::{Cursor, Read, Seek},
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Bytes from the beginning that are looked at. Readers keep all of what a file calls its notes, and many times as much to read them.
const HEAD: u64 = 256 << 10;

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureSize {
    pub width: u32,
    pub height: u32,
}

impl PictureSize {
    /// The size of a picture; none if its beginning does not tell. Whoever made the file may have made it so that a reader fails.
    pub fn of(mut file: &File) -> Option<PictureSize> {
        let mut head = Vec::new();
        file.rewind().ok()?;
        file.take(HEAD).read_to_end(&mut head).ok()?;
        catch_unwind(AssertUnwindSafe(|| read(&head))).ok().flatten()
    }
}

fn read(head: &[u8]) -> Option<PictureSize> {
    let size = imagesize::blob_size(head).ok()?;
    let (width, height) = (u32::try_from(size.width).ok()?, u32::try_from(size.height).ok()?);
    Some(if lies_on_its_side(head) { PictureSize { width: height, height: width } } else { PictureSize { width, height } })
}

/// Whether a camera has noted that it was turned by a quarter (Exif 3.0, tag Orientation: 5 to 8).
fn lies_on_its_side(head: &[u8]) -> bool {
    let Ok(noted) = exif::Reader::new().read_from_container(&mut Cursor::new(head)) else { return false };
    let orientation = noted.get_field(exif::Tag::Orientation, exif::In::PRIMARY).and_then(|field| field.value.get_uint(0));
    matches!(orientation, Some(5..=8))
}
