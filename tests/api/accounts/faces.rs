//! Faces of people and bots, and logos of organisations.

use image::{GenericImageView, ImageFormat, Rgb, RgbImage};
use reqwest::Response;
use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    files::{on_disk, pictures::encoded},
    harness::{Client, Server, text},
};

/// A banner, green in the middle and red at both ends.
fn banner() -> Vec<u8> {
    let color = |x, _| if (200..500).contains(&x) { Rgb([0, 255, 0]) } else { Rgb([255, 0, 0]) };
    encoded(RgbImage::from_fn(700, 300, color), ImageFormat::Png)
}

async fn set(client: &Client, path: &str, picture: Vec<u8>) -> Value {
    let request = client.request("PUT", &format!("/api/v1{path}")).header("content-type", "image/png").body(picture);
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.json::<Value>().await.unwrap()["data"].take()
}

/// Opens the address of a face, as somebody whom the server does not know.
async fn open(server: &Server, address: &Value) -> Response {
    let path = address.as_str().unwrap().strip_prefix(&server.origin).unwrap();
    server.anonymous().request("GET", path).send().await.unwrap()
}

#[tokio::test]
async fn a_face_is_a_square_that_everybody_with_its_address_opens() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let face = set(&ada, "/profile/avatar", banner()).await["avatar_url"].take();
    assert!(face.as_str().unwrap().starts_with(&format!("{}/api/v1/faces/", server.origin)));
    assert_eq!(ada.get("/profile").await.expect(200)["data"]["avatar_url"], face);
    let members = grace.get(&format!("/organisations/{organisation}/users")).await.expect(200);
    assert!(members.to_string().contains(face.as_str().unwrap()), "{members:#}");
    for (query, side) in [("", 256), ("?size=large", 256), ("?size=small", 64)] {
        let shown = open(&server, &json!(format!("{}{query}", face.as_str().unwrap()))).await;
        let header = |name: &str| shown.headers()[name].to_str().unwrap();
        assert_eq!([header("content-type"), header("cache-control")], ["image/jpeg", "public, max-age=31536000, immutable"]);
        assert_eq!([header("cross-origin-resource-policy"), header("x-content-type-options")], ["cross-origin", "nosniff"]);
        let shown = image::load_from_memory(&shown.bytes().await.unwrap()).unwrap();
        assert_eq!(shown.dimensions(), (side, side));
        assert!(shown.pixels().all(|(.., color)| color.0[1] > 240 && color.0[0] < 15), "the middle alone");
    }
    assert_eq!(on_disk(&server), (vec![], vec![]), "it is no file");
}

#[tokio::test]
async fn another_face_has_another_address_and_the_former_one_is_gone() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    let first = set(&ada, "/profile/avatar", banner()).await["avatar_url"].take();
    let second = set(&ada, "/profile/avatar", banner()).await["avatar_url"].take();
    assert_ne!(first, second);
    assert_eq!([open(&server, &first).await.status(), open(&server, &second).await.status()], [404, 200]);
    ada.patch("/profile", json!({ "first_name": "Augusta" })).await.expect(200);
    assert_eq!(open(&server, &second).await.status(), 200);
    ada.patch("/profile", json!({ "avatar_url": "https://example.org/ada.png" })).await.expect(200);
    assert_eq!(open(&server, &second).await.status(), 404, "whoever shows another picture has taken this one away");
    let third = set(&ada, "/profile/avatar", banner()).await["avatar_url"].take();
    assert_eq!(ada.delete("/profile/avatar").await.expect(200)["data"]["avatar_url"], "");
    assert_eq!(open(&server, &third).await.status(), 404);
    assert_eq!(server.count("faces"), 0);
}

#[tokio::test]
async fn bots_have_faces_and_organisations_logos() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let at = format!("/organisations/{organisation}");
    let logo = set(&ada, &format!("{at}/logo"), banner()).await["logo_url"].take();
    assert_eq!(open(&server, &logo).await.status(), 200);
    ada.put(&at, json!({ "description": "Engines" })).await.expect(200);
    assert_eq!(ada.get(&at).await.expect(200)["data"]["logo_url"], logo);
    ada.put(&at, json!({ "remove_logo": true })).await.expect(200);
    assert_eq!(open(&server, &logo).await.status(), 404);

    let logo = set(&ada, &format!("{at}/logo"), banner()).await["logo_url"].take();
    let bot = text(&ada.post(&format!("{at}/bots"), json!({ "name": "Build" })).await.expect(201)["data"]["id"]);
    let face = set(&ada, &format!("{at}/bots/{bot}/avatar"), banner()).await["avatar_url"].take();
    assert_eq!(open(&server, &face).await.status(), 200);
    let removed = ada.delete(&format!("{at}/bots/{bot}/avatar")).await.expect(200)["data"].take();
    assert_eq!((&removed["avatar_url"], open(&server, &face).await.status().as_u16()), (&json!(""), 404));
    ada.delete(&at).await.expect(204);
    assert_eq!(open(&server, &logo).await.status(), 404, "it goes with the organisation");
}

#[tokio::test]
async fn what_is_no_picture_and_what_is_too_large_becomes_no_face() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    let face = set(&ada, "/profile/avatar", banner()).await["avatar_url"].take();
    let put = async |body: Vec<u8>| {
        let request = ada.request("PUT", "/api/v1/profile/avatar").body(body);
        crate::harness::Reply::of(request, "a face", "").await
    };
    let at = |bytes: usize| [banner(), vec![0; bytes - banner().len()]].concat();
    put(at(10_000_000)).await.expect(200);
    put(at(10_000_001)).await.refused(413, Code::BodyTooLarge);
    for body in
        [vec![], b"no picture".to_vec(), banner()[..100].to_vec(), b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec()]
    {
        put(body).await.refused(422, Code::PictureUnusable);
    }
    assert_eq!(open(&server, &face).await.status(), 404);
    assert_eq!((server.count("faces"), on_disk(&server)), (1, (vec![], vec![])));
}

#[tokio::test]
async fn faces_follow_the_address_of_the_server() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let face = text(&set(&ada, "/profile/avatar", banner()).await["avatar_url"]);
    let logo = text(&set(&ada, &format!("/organisations/{organisation}/logo"), banner()).await["logo_url"]);
    // As it was when the server had another address.
    for (table, column) in [("users", "avatar_url"), ("organisations", "logo_url")] {
        server.sql(&format!(
            "update {table} set {column} = replace({column}, '{}', 'https://old.example.org') where {column} <> ''",
            server.origin
        ));
    }
    server.sql("update meta set value = 'https://old.example.org' where key = 'base_url'");
    let server = server.restart().await;
    let ada = ada.at(&server.origin);
    assert_eq!(ada.get("/profile").await.expect(200)["data"]["avatar_url"], face);
    assert_eq!(ada.get(&format!("/organisations/{organisation}")).await.expect(200)["data"]["logo_url"], logo);
}
