//! Pictures: what they look like, their copies, and what is left out of them.

use std::{fs, io::Cursor};

use image::{
    Delay, DynamicImage, Frame, GenericImageView, ImageDecoder, ImageFormat, ImageReader, Rgb, RgbImage, Rgba, RgbaImage,
};
use reqwest::Response;
use serde_json::{Value, json};
use tidings::{config::PictureDetails, error::Code};

use super::{on_disk, resumable::number};
use crate::harness::{Client, Server, text};

/// What a camera notes beside a picture.
const NOTE: &[u8] = b"51.5N 0.1W, camera 4711";
/// That it was turned by a quarter, in the form of Exif.
const TURNED: &[u8] = b"\xff\xe1\x00\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";

pub fn encoded(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    image.into().write_to(&mut file, format).unwrap();
    file.into_inner()
}

/// A photo as phones make them: it lies on its side, and tells where it was taken.
pub fn photo(width: u32, height: u32) -> Vec<u8> {
    let picture = RgbImage::from_fn(width, height, |x, y| Rgb([200, ((x / 7 + y / 5) % 60) as u8, 20]));
    let file = encoded(picture, ImageFormat::Jpeg);
    let comment = [&[0xff, 0xfe, 0, NOTE.len() as u8 + 2], NOTE].concat();
    [&file[..2], TURNED, &comment, &file[2..], NOTE].concat()
}

fn tells(file: &[u8]) -> bool {
    file.windows(NOTE.len()).any(|bytes| bytes == NOTE)
}

/// Uploads a picture; gives what is said of it.
async fn upload(client: &Client, name: &str, content: &[u8]) -> Value {
    client.upload(&[(name, content)]).await.data(200, "Files uploaded successfully")[0].take()
}

/// Opens the address that a link in an answer names.
async fn follow(client: &Client, link: &Value) -> Response {
    let path = link.as_str().unwrap().strip_prefix(&client.origin).unwrap();
    client.request("GET", path).send().await.unwrap()
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn a_photo_is_shown_upright_in_copies_and_tells_nothing_else() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let sent = photo(1600, 1000);
    let shown = upload(&ada, "harbour.jpg", &sent).await;
    assert_eq!([&shown["width"], &shown["height"], &shown["animated"]], [&json!(1000), &json!(1600), &json!(false)]);
    let color = shown["color"].as_str().unwrap();
    assert!(color.starts_with("#c") && color.len() == 7, "{color}");

    let whole = follow(&ada, &shown["file_link"]).await.bytes().await.unwrap();
    assert!(tells(&sent) && !tells(&whole));
    assert_eq!(shown["size"], whole.len());
    let [before, after] = [&sent, &whole.to_vec()].map(|file| {
        let mut decoder = ImageReader::new(Cursor::new(file)).with_guessed_format().unwrap().into_decoder().unwrap();
        (decoder.orientation().unwrap(), DynamicImage::from_decoder(decoder).unwrap())
    });
    assert!(before == after, "it is the same picture, the same way up");

    for (link, size, sides) in [("thumbnail_link", "small", (225, 360)), ("preview_link", "large", (750, 1200))] {
        assert_eq!(shown[link], format!("{}?size={size}", shown["file_link"].as_str().unwrap()));
        let copy = follow(&ada, &shown[link]).await;
        assert_eq!([header(&copy, "content-type"), header(&copy, "cache-control")], ["image/jpeg", "private, max-age=3600"]);
        assert!(header(&copy, "content-security-policy").starts_with("sandbox"));
        let copy = image::load_from_memory(&copy.bytes().await.unwrap()).unwrap();
        assert_eq!(copy.dimensions(), sides);
    }
    // By the rights of the file.
    let id = text(&shown["id"]);
    let copy = format!("/api/v1/files/{id}/harbour.jpg?size=small");
    assert_eq!(grace.request("GET", &copy).send().await.unwrap().status(), 404);
    let general = ada.general(&organisation).await;
    let posted = ada.post(&format!("/channels/{general}/messages"), json!({ "content": "", "files": [id] })).await.expect(201);
    for key in ["width", "height", "color", "animated", "thumbnail_link", "preview_link", "size"] {
        assert_eq!(posted["data"]["media"][0][key], shown[key], "{key}");
    }
    let copy = grace.request("GET", &copy);
    let tag = header(&copy.try_clone().unwrap().send().await.unwrap(), "etag").to_owned();
    assert_eq!(copy.header("if-none-match", &tag).send().await.unwrap().status(), 304);
    assert_ne!(tag, header(&grace.open(&id, &[]).await, "etag"));
    ada.get(&format!("/files/{id}/harbour.jpg?size=huge")).await.refused(400, Code::InvalidValue);
}

#[tokio::test]
async fn what_shines_through_and_what_moves_stay_so() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    let glass = RgbaImage::from_pixel(500, 400, Rgba([0, 0, 255, 100]));
    let glass = upload(&ada, "glass.png", &encoded(glass, ImageFormat::Png)).await;
    assert_eq!([&glass["color"], &glass["animated"]], [&json!("#0000ff"), &json!(false)]);
    let copy = follow(&ada, &glass["thumbnail_link"]).await;
    assert_eq!(header(&copy, "content-type"), "image/png");
    let copy = image::load_from_memory(&copy.bytes().await.unwrap()).unwrap();
    assert_eq!((copy.dimensions(), copy.get_pixel(9, 9).0[3]), ((360, 288), 100));

    let mut film = Vec::new();
    {
        let mut encoder = image::codecs::gif::GifEncoder::new(&mut film);
        for red in [200, 100] {
            let frame = RgbaImage::from_pixel(20, 10, Rgba([red, 0, 0, 255]));
            encoder.encode_frame(Frame::from_parts(frame, 0, 0, Delay::from_numer_denom_ms(100, 1))).unwrap();
        }
    }
    let film = upload(&ada, "film.gif", &film).await;
    assert_eq!([&film["animated"], &film["width"]], [&json!(true), &json!(20)]);
    assert_eq!(header(&follow(&ada, &film["thumbnail_link"]).await, "content-type"), "image/jpeg", "the copy stands still");
}

#[tokio::test]
async fn a_small_picture_is_its_own_copy_and_other_files_have_none() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    let [at, past] = [360, 361].map(|width| encoded(RgbImage::from_pixel(width, 10, Rgb([9, 9, 9])), ImageFormat::Png));
    let (at, past) = (upload(&ada, "at.png", &at).await, upload(&ada, "past.png", &past).await);
    assert_eq!(
        [&at["thumbnail_link"], &at["preview_link"], &past["preview_link"]],
        [&at["file_link"], &at["file_link"], &past["file_link"]]
    );
    assert!(past["thumbnail_link"].as_str().unwrap().ends_with("?size=small"));
    assert_eq!(on_disk(&server).0.len(), 3);
    let small = ada.request("GET", &format!("/api/v1/files/{}/at.png?size=small", text(&at["id"]))).send().await.unwrap();
    assert_eq!(header(&small, "content-type"), "image/png");

    let broken = &photo(900, 700)[..200];
    let large = encoded(RgbImage::new(7100, 7100), ImageFormat::Png);
    for (name, content) in [("notes.txt", &b"notes"[..]), ("broken.jpg", broken), ("large.png", &large)] {
        let file = upload(&ada, name, content).await;
        for key in ["width", "height", "color", "thumbnail_link", "preview_link"] {
            assert!(file[key].is_null(), "{name}: {key}");
        }
        assert_eq!(file["animated"], false);
        let path = format!("/files/{}/{name}?size=small", text(&file["id"]));
        ada.get(&path).await.refused(404, Code::FileNotFound);
        assert_eq!(follow(&ada, &file["file_link"]).await.bytes().await.unwrap(), content);
    }
}

#[tokio::test]
async fn copies_that_are_missing_are_made_again_and_go_with_the_picture() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    let shown = upload(&ada, "harbour.jpg", &photo(1600, 1000)).await;
    let (kept, arriving) = on_disk(&server);
    assert_eq!((kept.len(), arriving.len()), (3, 0));
    let copy = || async { follow(&ada, &shown["thumbnail_link"]).await.bytes().await.unwrap() };
    let before = copy().await;
    for path in kept.iter().filter(|path| path.extension().is_some()) {
        fs::remove_file(path).unwrap();
    }
    let (first, second) = tokio::join!(copy(), copy());
    assert!(before == first && before == second);
    let files = server.app().files.clone();
    let [organisation, id] = ["organisation_id", "id"].map(|key| text(&shown[key]).parse().unwrap());
    assert_eq!(on_disk(&server).0.len(), 3);
    files.remove(tidings::id::OrganisationId(organisation), tidings::id::FileId(id)).unwrap();
    assert_eq!(on_disk(&server).0.len(), 0);
}

#[tokio::test]
async fn a_setting_keeps_what_pictures_tell() {
    let server = Server::with(|settings| settings.files.picture_details = PictureDetails::Keep).await;
    let (ada, ..) = server.ada_and_grace().await;
    let sent = photo(800, 600);
    let shown = upload(&ada, "harbour.jpg", &sent).await;
    assert_eq!(shown["width"], 600);
    assert_eq!(follow(&ada, &shown["file_link"]).await.bytes().await.unwrap(), sent);
}

#[tokio::test]
async fn a_picture_whose_copies_are_large_has_them_all_the_same() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    let mut noise = 1_u32;
    let glass = RgbaImage::from_fn(1300, 1300, |_, _| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Rgba(noise.to_be_bytes())
    });
    let shown = upload(&ada, "glass.png", &encoded(glass, ImageFormat::Png)).await;
    let copy = follow(&ada, &shown["preview_link"]).await.bytes().await.unwrap();
    assert!(copy.len() > 4_000_000 && copy.starts_with(b"\x89PNG"), "{}", copy.len());
}

#[tokio::test]
async fn of_a_photo_in_pieces_less_is_kept_and_nobody_who_goes_on_is_confused() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    let sent = photo(800, 600);
    let id = ada.begin("harbour.jpg", sent.len()).await;
    ada.append(&id, 0, &sent).await.expect(204);
    // Whoever lost the answer asks, or sends the end again.
    let told = ada.tell(&id).await;
    assert_eq!([number(told.headers(), "upload-offset"), number(told.headers(), "upload-length")], [sent.len(); 2]);
    ada.append(&id, sent.len(), b"").await.expect(204);
    assert!(ada.open(&id, &[]).await.bytes().await.unwrap().len() < sent.len());
    let (kept, arriving) = on_disk(&server);
    assert_eq!((kept.len(), arriving.len()), (2, 0));
}

#[tokio::test]
async fn a_photo_in_pieces_whose_row_was_not_written_comes_again() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let sent = photo(800, 600);
    let id = ada.begin("harbour.jpg", sent.len()).await;
    ada.append(&id, 0, &sent[..100]).await.expect(204);
    // As a kill leaves it after the picture was put together, and before its row was written.
    let arrived = on_disk(&server).1.remove(0);
    let folder = server.folder().join("files").join(&organisation).join(&id[34..]);
    fs::create_dir_all(&folder).unwrap();
    fs::write(&arrived, &sent).unwrap();
    fs::write(folder.join(&id), b"put together").unwrap();
    fs::write(folder.join(format!("{id}.small")), b"a copy").unwrap();
    fs::write(format!("{}.kept", arrived.display()), b"half of it").unwrap();
    assert_eq!(ada.offset(&id).await, sent.len());
    let opened = ada.open(&id, &[]).await.bytes().await.unwrap();
    assert!(opened.starts_with(b"\xff\xd8") && opened.len() < sent.len());
    assert_eq!(on_disk(&server).1.len(), 0);
}
