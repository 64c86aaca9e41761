//! Pictures with all that cameras and programs note in them.

use std::io::Cursor;

use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, RgbaImage, metadata::Orientation};

use super::{
    walk::{MOST, note},
    *,
};

const SECRET: &[u8] = b"51.5N 0.1W, camera 4711";

/// A picture with a pixel of each colour, as a file of a format.
fn file(format: ImageFormat) -> Vec<u8> {
    let image = RgbaImage::from_fn(40, 30, |x, y| image::Rgba([x as u8 * 6, y as u8 * 8, (x * y) as u8, 255]));
    let image = DynamicImage::from(image);
    let image = if format == ImageFormat::Jpeg { image.into_rgb8().into() } else { image };
    let mut file = Cursor::new(Vec::new());
    image.write_to(&mut file, format).unwrap();
    file.into_inner()
}

/// A note that says which way up the picture is, with a place behind it.
fn noted(orientation: Orientation) -> Vec<u8> {
    [&note(orientation), SECRET].concat()
}

fn jpeg_segment(marker: u8, content: &[u8]) -> Vec<u8> {
    [&[0xff, marker][..], &(content.len() as u16 + 2).to_be_bytes(), content].concat()
}

fn png_chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let named = [name, content].concat();
    [&(content.len() as u32).to_be_bytes()[..], &named, &crc32fast::hash(&named).to_be_bytes()].concat()
}

fn webp_chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let padding = if content.len() % 2 == 1 { &[0][..] } else { &[] };
    [name, &(content.len() as u32).to_le_bytes()[..], content, padding].concat()
}

fn jpeg(orientation: Orientation) -> Vec<u8> {
    let file = file(ImageFormat::Jpeg);
    let jfif_end = 4 + usize::from(u16::from_be_bytes([file[4], file[5]]));
    let exif = jpeg_segment(0xe1, &[b"Exif\0\0", &noted(orientation)[..]].concat());
    let before = [
        exif,
        jpeg_segment(0xe1, &[b"http://ns.adobe.com/xap/1.0/\0", SECRET].concat()),
        jpeg_segment(0xe2, &[b"MPF\0", SECRET].concat()),
        jpeg_segment(0xe2, &[b"ICC_PROFILE\0\x01\x01", &[0; 40][..]].concat()),
        jpeg_segment(0xe4, SECRET),
        jpeg_segment(0xed, &[b"Photoshop 3.0\0", SECRET].concat()),
        jpeg_segment(0xfe, SECRET),
    ];
    [&file[..jfif_end], &before.concat(), &file[jfif_end..], SECRET].concat()
}

fn png(orientation: Orientation) -> Vec<u8> {
    let file = file(ImageFormat::Png);
    let before = [
        png_chunk(b"gAMA", &45455_u32.to_be_bytes()),
        png_chunk(b"tEXt", SECRET),
        png_chunk(b"eXIf", &noted(orientation)),
        png_chunk(b"iTXt", SECRET),
        png_chunk(b"prIv", SECRET),
    ];
    [&file[..33], &before.concat(), &file[33..], SECRET].concat()
}

fn webp(orientation: Orientation) -> Vec<u8> {
    let file = file(ImageFormat::WebP);
    let extended = webp_chunk(b"VP8X", &[0x0c, 0, 0, 0, 39, 0, 0, 29, 0, 0]);
    let chunks = [&extended, &file[12..], &webp_chunk(b"EXIF", &noted(orientation)), &webp_chunk(b"XMP ", SECRET)].concat();
    [b"RIFF", &(chunks.len() as u32 + 4).to_le_bytes()[..], b"WEBP", &chunks, SECRET].concat()
}

fn kept_of(file: &mut Cursor<impl AsRef<[u8]>>) -> Option<Vec<Piece>> {
    walk(file).kept
}

/// What is kept of a file.
fn rewritten(file: &[u8]) -> Vec<u8> {
    let Some(pieces) = kept_of(&mut Cursor::new(file)) else { return file.to_vec() };
    let bytes = |piece| match piece {
        Piece::Kept(range) => file[range.start as usize..range.end as usize].to_vec(),
        Piece::New(bytes) => bytes,
    };
    pieces.into_iter().flat_map(bytes).collect()
}

fn seen(file: &[u8]) -> (Orientation, DynamicImage) {
    let mut decoder = ImageReader::new(Cursor::new(file)).with_guessed_format().unwrap().into_decoder().unwrap();
    (decoder.orientation().unwrap(), DynamicImage::from_decoder(decoder).unwrap())
}

fn tells(file: &[u8]) -> bool {
    file.windows(SECRET.len()).any(|bytes| bytes == SECRET)
}

#[test]
fn nothing_is_told_but_the_picture_and_which_way_up_it_is() {
    for make in [jpeg, png, webp] {
        for orientation in [Orientation::NoTransforms, Orientation::Rotate90, Orientation::FlipHorizontal] {
            let before = make(orientation);
            let after = rewritten(&before);
            assert!(tells(&before) && !tells(&after), "{:?}", after.escape_ascii().to_string());
            assert_eq!(seen(&before).0, orientation);
            assert!(seen(&after) == seen(&before), "{orientation:?}: it is another picture");
            assert!(rewritten(&after) == after, "the second time nothing is left out");
        }
    }
}

#[test]
fn the_colours_of_a_picture_stay() {
    assert!(rewritten(&jpeg(Orientation::NoTransforms)).windows(11).any(|name| name == b"ICC_PROFILE"));
    assert!(rewritten(&png(Orientation::NoTransforms)).windows(4).any(|name| name == b"gAMA"));
}

#[test]
fn a_picture_without_notes_and_other_files_are_kept_as_they_are() {
    for format in [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP, ImageFormat::Gif] {
        assert_eq!(kept_of(&mut Cursor::new(file(format))), None, "{format:?}");
    }
    for other in [&b""[..], b"plain words, and no picture", b"\xff\xd8", b"\x89PNG\r\n\x1a\n"] {
        assert_eq!(kept_of(&mut Cursor::new(other)), None);
    }
}

#[test]
fn a_picture_that_was_cut_or_damaged_tells_no_more_than_a_whole_one() {
    for (make, first, end) in [(jpeg as fn(_) -> _, &b"\xff\xda"[..], 0), (png, b"IDAT", 12)] {
        let whole = make(Orientation::Rotate90);
        let first = whole.windows(first.len()).position(|bytes| bytes == first).unwrap();
        for length in first + 20..whole.len() - SECRET.len() - end {
            let kept = rewritten(&whole[..length]);
            assert!(!tells(&kept) && kept.ends_with(&whole[length - 4..length]), "{length}");
        }
    }
    let mut damaged = jpeg(Orientation::Rotate90);
    let scan = damaged.windows(2).position(|bytes| bytes == b"\xff\xda").unwrap();
    damaged[scan + 30..scan + 36].copy_from_slice(b"\xff\x37\xff\xff\x02\xff");
    let kept = rewritten(&damaged);
    assert!(!tells(&kept) && kept.ends_with(&damaged[scan..damaged.len() - SECRET.len()]));
    assert_eq!(seen(&kept).0, Orientation::Rotate90);
}

#[test]
fn a_file_that_ends_before_its_picture_or_lies_about_its_lengths_is_kept_as_it_is() {
    for (make, first) in [(jpeg as fn(_) -> _, &b"\xff\xda"[..]), (webp, SECRET)] {
        let whole = make(Orientation::Rotate90);
        let end = whole.windows(first.len()).position(|bytes| bytes == first).unwrap();
        for length in 0..end {
            assert_eq!(kept_of(&mut Cursor::new(&whole[..length])), None, "{length}");
        }
    }
    for make in [jpeg, png, webp] {
        let whole = make(Orientation::Rotate90);
        for (at, byte) in (0..whole.len()).zip((0..=u8::MAX).cycle()) {
            let mut changed = whole.clone();
            changed[at] = byte;
            rewritten(&changed); // it ends, and names no byte that there is not
        }
    }
}

#[test]
fn a_file_in_too_many_pieces_is_kept_as_it_is() {
    let pieces = |count| {
        let file = file(ImageFormat::Png);
        let note = [png_chunk(b"tEXt", SECRET), png_chunk(b"pHYs", &[0; 9])].concat();
        [&file[..33], &note.repeat(count), &file[33..]].concat()
    };
    assert!(!tells(&rewritten(&pieces(MOST / 2 - 2))));
    assert_eq!(kept_of(&mut Cursor::new(pieces(MOST / 2))), None);
}
