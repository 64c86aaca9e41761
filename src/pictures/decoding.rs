//! Decodes a picture, and makes its smaller copies.

use std::io::{BufRead, Seek};

use fast_image_resize::{ResizeOptions, Resizer};
use image::{
    AnimationDecoder, DynamicImage, ImageDecoder, ImageEncoder, ImageError, ImageFormat, ImageResult, Limits,
    codecs::{
        gif::GifDecoder,
        jpeg::{JpegDecoder, JpegEncoder},
        png::{PngDecoder, PngEncoder},
        webp::WebPDecoder,
    },
    error::{LimitError, LimitErrorKind, UnsupportedError, UnsupportedErrorKind},
    metadata::Orientation,
};

use super::picture::{Appearance, Color, CopySize, FACES, Picture, Purpose};

/// Pixels of a picture that is decoded: those of the largest cameras in phones.
const MOST_PIXELS: u64 = 50_000_000;
/// Bytes that a decoder may take together.
const MOST_BYTES: u64 = 448 << 20;
/// Of JPEG, in percent: text on a screen stays readable.
const QUALITY: u8 = 82;
/// Bytes of a colour profile that copies have with them.
const MOST_OF_PROFILE: usize = 64 << 10;

/// The picture in a file, which is at its beginning. Which way up it is, is noted here or in the file.
pub fn picture(mut file: impl BufRead + Seek, purpose: Purpose, noted: Option<Orientation>) -> ImageResult<Picture> {
    let format = image::guess_format(file.fill_buf()?)?;
    match format {
        ImageFormat::Jpeg => decoded(JpegDecoder::new(file)?, (purpose, noted)),
        ImageFormat::Png => {
            let decoder = PngDecoder::with_limits(file, limits())?;
            let is_animated = decoder.is_apng()?;
            decoded(decoder, (purpose, noted)).map(|found| moving(found, is_animated))
        }
        ImageFormat::WebP => {
            let decoder = WebPDecoder::new(file)?;
            let is_animated = decoder.has_animation();
            decoded(decoder, (purpose, noted)).map(|found| moving(found, is_animated))
        }
        ImageFormat::Gif => {
            let found = decoded(GifDecoder::new(&mut file)?, (purpose, noted))?;
            file.rewind()?;
            let mut frames = GifDecoder::new(file)?.into_frames();
            Ok(moving(found, frames.nth(1).is_some_and(|second| second.is_ok())))
        }
        other => Err(ImageError::Unsupported(UnsupportedError::from_format_and_kind(
            other.into(),
            UnsupportedErrorKind::GenericFeature("it is none of the four that browsers show".into()),
        ))),
    }
}

fn moving(mut picture: Picture, is_animated: bool) -> Picture {
    picture.appearance.is_animated = is_animated;
    picture
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_alloc = Some(MOST_BYTES);
    limits
}

fn decoded(mut decoder: impl ImageDecoder, (purpose, noted): (Purpose, Option<Orientation>)) -> ImageResult<Picture> {
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(ImageError::Limits(LimitError::from_kind(LimitErrorKind::DimensionError)));
    }
    decoder.set_limits(limits())?;
    let orientation = noted.map_or_else(|| decoder.orientation(), Ok)?;
    let profile = decoder.icc_profile()?.filter(|profile| is_of_rgb(profile));
    let mut image = DynamicImage::from_decoder(decoder)?;
    if purpose == Purpose::Face {
        image = middle(image);
    }
    let [small, large] = match purpose {
        Purpose::Preview => CopySize::ALL.map(CopySize::side),
        Purpose::Face => FACES,
    };
    // The smaller one from the larger one: the picture itself is looked at once.
    let large = upright(smaller(image, large)?, orientation);
    let small = smaller(large.clone(), small)?;
    let (width, height) = if lies_on_its_side(orientation) { (height, width) } else { (width, height) };
    let appearance = Appearance { width, height, color: mean_color(&small), is_animated: false };
    let copies = [encoded(small, profile.clone())?, encoded(large, profile)?];
    Ok(Picture { appearance, copies })
}

/// Whether a colour profile is one of red, green and blue (ICC.1:2022, 7.2.6): the copies have no other colours.
fn is_of_rgb(profile: &[u8]) -> bool {
    profile.len() <= MOST_OF_PROFILE && profile.get(16..20) == Some(b"RGB ")
}

fn lies_on_its_side(orientation: Orientation) -> bool {
    use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
    matches!(orientation, Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH)
}

/// The largest square in the middle.
fn middle(image: DynamicImage) -> DynamicImage {
    let (width, height) = (image.width(), image.height());
    let side = width.min(height);
    image.crop_imm((width - side) / 2, (height - side) / 2, side, side)
}

/// The image in eight bits, with no side longer than `side`.
fn smaller(image: DynamicImage, side: u32) -> ImageResult<DynamicImage> {
    let longer = image.width().max(image.height());
    let image = if longer <= side {
        image
    } else {
        let scaled = |length: u32| (u64::from(length) * u64::from(side) / u64::from(longer)).max(1) as u32;
        let mut copy = DynamicImage::new(scaled(image.width()), scaled(image.height()), image.color());
        Resizer::new()
            .resize(&image, &mut copy, &ResizeOptions::new())
            .map_err(|err| ImageError::IoError(std::io::Error::other(err)))?;
        copy
    };
    Ok(match image {
        image @ (DynamicImage::ImageRgb8(_) | DynamicImage::ImageRgba8(_)) => image,
        image if image.color().has_alpha() => image.into_rgba8().into(),
        image => image.into_rgb8().into(),
    })
}

fn upright(mut image: DynamicImage, orientation: Orientation) -> DynamicImage {
    image.apply_orientation(orientation);
    image
}

/// The mean of what is seen; grey where nothing is.
fn mean_color(image: &DynamicImage) -> Color {
    let (mut sums, mut weights) = ([0_u64; 3], 0);
    for pixel in image.to_rgba8().pixels() {
        let [red, green, blue, alpha] = pixel.0.map(u64::from);
        weights += alpha;
        sums = [sums[0] + red * alpha, sums[1] + green * alpha, sums[2] + blue * alpha];
    }
    let [red, green, blue] = sums.map(|sum| sum.checked_div(weights).map_or(128, |mean| mean as u8));
    Color { red, green, blue }
}

fn encoded(image: DynamicImage, profile: Option<Vec<u8>>) -> ImageResult<Vec<u8>> {
    let mut bytes = Vec::new();
    let shines_through = image.as_rgba8().is_some_and(|image| image.pixels().any(|pixel| pixel.0[3] != u8::MAX));
    if shines_through {
        write(PngEncoder::new(&mut bytes), &image, profile)?;
    } else {
        write(JpegEncoder::new_with_quality(&mut bytes, QUALITY), &image.into_rgb8().into(), profile)?;
    }
    Ok(bytes)
}

fn write(mut encoder: impl ImageEncoder, image: &DynamicImage, profile: Option<Vec<u8>>) -> ImageResult<()> {
    if let Some(profile) = profile {
        encoder.set_icc_profile(profile).map_err(ImageError::Unsupported)?;
    }
    encoder.write_image(image.as_bytes(), image.width(), image.height(), image.color().into())
}
