//! A picture, and what is said of it.

use std::{
    num::ParseIntError,
    ops::{Not, Range},
};

use serde::{Deserialize, Serialize};

/// What a picture is looked at for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be shown with a message: smaller copies in the sizes of [`CopySize`].
    Preview,
    /// As a face or a logo: squares of [`FACES`], cut from the middle.
    Face,
}

/// The size of a smaller copy of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopySize {
    Small,
    Large,
}

impl CopySize {
    pub const ALL: [CopySize; 2] = [CopySize::Small, CopySize::Large];

    pub fn name(self) -> &'static str {
        match self {
            CopySize::Small => "small",
            CopySize::Large => "large",
        }
    }

    /// Pixels of the longer side of what is shown with a message, at most.
    pub const fn side(self) -> u32 {
        match self {
            CopySize::Small => 360,
            CopySize::Large => 1200,
        }
    }

    /// Whether there is such a copy of a picture with so many bytes. A light one that is small enough is shown as it is, unless it moves:
    /// copies stand still.
    pub fn exists_for(self, picture: &Appearance, bytes: u64) -> bool {
        const LIGHT: u64 = 100_000;
        picture.is_animated || bytes > LIGHT || picture.width.max(picture.height) > self.side()
    }
}

/// Pixels of each side of a face, the smaller one first.
pub(super) const FACES: [u32; 2] = [64, 256];

impl Purpose {
    pub(super) const ALL: [Purpose; 2] = [Purpose::Preview, Purpose::Face];

    pub(super) fn name(self) -> &'static str {
        match self {
            Purpose::Preview => "preview",
            Purpose::Face => "face",
        }
    }
}

/// What the child has found, as far as it came.
#[derive(Debug, Default)]
pub struct Look {
    /// What the file is put together from again, so that it tells nothing but the picture. None where all of it stays.
    pub kept: Option<Vec<Piece>>,
    /// None if it could not be decoded, and for more pixels than a preview is made of.
    pub picture: Option<Picture>,
}

/// A piece of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// Bytes of the file that was looked at.
    Kept(Range<u64>),
    /// Others, which say what the ones left out did: which way up it is, and how long the whole is.
    New(Vec<u8>),
}

/// A picture that was decoded.
#[derive(Debug, PartialEq, Eq)]
pub struct Picture {
    pub appearance: Appearance,
    /// The copies, the smaller one first: JPEG, and PNG where something shines through.
    pub copies: [Vec<u8>; 2],
}

/// What a picture looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appearance {
    /// Width and height as it is shown, in pixels.
    pub width: u32,
    pub height: u32,
    /// Its mean colour.
    pub color: Color,
    /// Whether it moves.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_animated: bool,
}

/// A colour, written as in `#a0b1c2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Color {
    pub red: u8,
    pub green: u8,
    pub blue: u8,
}

impl From<Color> for String {
    fn from(Color { red, green, blue }: Color) -> String {
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}

impl TryFrom<String> for Color {
    type Error = ParseIntError;

    fn try_from(text: String) -> Result<Color, ParseIntError> {
        let [_, red, green, blue] = u32::from_str_radix(text.trim_start_matches('#'), 16)?.to_be_bytes();
        Ok(Color { red, green, blue })
    }
}

/// The line of the child about a picture. The copies follow it.
#[derive(Serialize, Deserialize)]
pub(super) struct PictureLine {
    pub appearance: Appearance,
    pub lengths: [usize; 2],
}
