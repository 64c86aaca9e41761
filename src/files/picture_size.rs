//! The size of a picture as it is shown, so that a page keeps the room for it. Nothing is decoded: the beginning of the file tells.

use std::{
    fs::File,
    io::{BufReader, Seek},
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureSize {
    pub width: u32,
    pub height: u32,
}

impl PictureSize {
    /// The size of a picture; none if its beginning does not tell. Whoever made the file may have made it so that a reader fails.
    pub fn of(file: &File) -> Option<PictureSize> {
        catch_unwind(AssertUnwindSafe(|| read(BufReader::new(file)))).ok().flatten()
    }
}

fn read(mut file: BufReader<&File>) -> Option<PictureSize> {
    file.rewind().ok()?;
    let size = imagesize::reader_size(&mut file).ok()?;
    let (width, height) = (u32::try_from(size.width).ok()?, u32::try_from(size.height).ok()?);
    file.rewind().ok()?;
    Some(if lies_on_its_side(&mut file) { PictureSize { width: height, height: width } } else { PictureSize { width, height } })
}

/// Whether a camera has noted that it was turned by a quarter (Exif 3.0, tag Orientation: 5 to 8).
fn lies_on_its_side(file: &mut BufReader<&File>) -> bool {
    let Ok(noted) = exif::Reader::new().read_from_container(file) else { return false };
    let orientation = noted.get_field(exif::Tag::Orientation, exif::In::PRIMARY).and_then(|field| field.value.get_uint(0));
    matches!(orientation, Some(5..=8))
}
