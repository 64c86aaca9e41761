//! What a file is, by its content: neither its name nor its sender is believed.

use std::{fs::File, io, os::unix::fs::FileExt};

/// Bytes from the beginning of a file that tell what it is.
const HEAD: usize = 8 << 10;

/// What nothing is known of.
const UNKNOWN: &str = "application/octet-stream";
/// Text in UTF-8 that is no markup.
const TEXT: &str = "text/plain";

const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// What browsers show besides pictures, and what can run nothing there. Everything else they save.
const SHOWN: [&str; 2] = [TEXT, "application/pdf"];

/// The media type of a file with this beginning (RFC 6838).
pub fn recognise(head: &[u8]) -> &'static str {
    match infer::get(head) {
        Some(found) => found.mime_type(),
        None if is_text(head) => TEXT,
        None => UNKNOWN,
    }
}

/// The media type of a file, by its beginning.
pub fn of_file(file: &File) -> io::Result<&'static str> {
    let mut head = vec![0; HEAD];
    let mut length = 0;
    while let read @ 1.. = file.read_at(&mut head[length..], length as u64)? {
        length += read;
    }
    Ok(recognise(&head[..length]))
}

/// Whether a picture of this type is decoded, in a process of its own.
pub fn is_decoded(mime_type: &str) -> bool {
    PICTURES.contains(&mime_type)
}

/// Whether a browser may show a file of this type in a page or a tab of its own.
pub fn shows_in_place(mime_type: &str) -> bool {
    is_decoded(mime_type) || SHOWN.contains(&mime_type)
}

/// Whether the beginning of a file is text in UTF-8, of which the last character may be cut.
fn is_text(head: &[u8]) -> bool {
    let is_whole = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(err) => err.error_len().is_none() && head.len() == HEAD,
    };
    is_whole && !head.iter().any(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_content_says() {
        for (content, expected) in [
            (&b"\x89PNG\r\n\x1a\n...."[..], "image/png"),
            (b"\xff\xd8\xff\xe0....", "image/jpeg"),
            (b"GIF89a=1;alert(1)//", "image/gif"),
            (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
            (b"%PDF-1.7\n", "application/pdf"),
            (b"plain words, and \xc3\xa4\n", TEXT),
            (b"", TEXT),
            (b"\0\x01\x02", UNKNOWN),
            (b"latin 1: \xe4", UNKNOWN),
            (b"\x1b[31mcoloured\x1b[0m\n", TEXT),
        ] {
            assert_eq!(recognise(content), expected, "{content:?}");
        }
    }

    #[test]
    fn markup_is_no_text_that_is_shown() {
        for content in [
            "<html><script>",
            "<!DOCTYPE html>",
            "<?xml version=\"1.0\"?><svg>",
            "<svg xmlns=\"http://www.w3.org/2000/svg\">",
            " <script>alert(1)</script>",
        ] {
            let found = recognise(content.as_bytes());
            assert!(!found.starts_with("image/") && (found == TEXT || !shows_in_place(found)), "{content}: {found}");
        }
    }

    #[test]
    fn a_long_text_may_be_cut_inside_a_character() {
        let long = "ä".repeat(HEAD);
        assert_eq!(recognise(&long.as_bytes()[1..=HEAD]), UNKNOWN, "it begins inside one");
        let long = format!("x{long}");
        assert_eq!(recognise(&long.as_bytes()[..HEAD]), TEXT);
        assert_eq!(recognise(&long.as_bytes()[..HEAD - 2]), UNKNOWN, "a short one ends where it ends");
    }
}
