//! Flags, environment and file.

use serde_json::json;
use tidings::config::{Push, PushServer};

use crate::harness::{PASSWORD, Server, refused, run, tidings};

#[tokio::test]
async fn a_flag_beats_the_environment_and_the_environment_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    std::fs::write(&file, "base_url = \"http://file.example\"\nweb_url = \"http://file.example/api/v1\"\nallowed_origin = [\"http://a\", \"http://b\"]\n")
        .unwrap();
    let url_of = |flag: Option<&str>, variable: Option<&str>| {
        let mut command = tidings(&["serve", "--listen", "127.0.0.1:0", "--log", "error"]);
        command.arg("--config").arg(&file).arg("--data-dir").arg(folder.path().join("data"));
        command.args(flag.iter().flat_map(|url| ["--base-url", *url])).envs(variable.map(|url| ("TIDINGS_BASE_URL", url)));
        let server = Server::spawn(&mut command);
        server.url.clone()
    };
    assert_eq!(url_of(None, None), "http://file.example");
    assert_eq!(url_of(None, Some("http://variable.example")), "http://variable.example");
    assert_eq!(url_of(Some("http://flag.example"), Some("http://variable.example")), "http://flag.example");

    std::fs::write(&file, "colour = 1\n").unwrap();
    refused(&run(&["serve", "--config", file.to_str().unwrap()]), "colour: no such setting");
    refused(&run(&["serve", "--config", "/nowhere/at.all"]), "/nowhere/at.all");
}

#[test]
fn a_broken_settings_file_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    for (text, line) in [("log = \"info\"\nweb_url = \n", 2), ("\n\nlog = \"info", 3), ("log = 1\nlog = 2\n", 2)] {
        std::fs::write(&file, text).unwrap();
        let output = run(&["serve", "--config", file.to_str().unwrap()]);
        refused(&output, &format!("the settings file {}: line {line}: ", file.display()));
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "{output:?}");
    }
}

#[tokio::test]
async fn a_flag_undoes_the_files_switch() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    std::fs::write(&file, "require_verified_email = true\ntrusted_proxy = [\"10.0.0.0/8\", \"::1\"]\n").unwrap();
    for (name, settings, logs_in) in [
        ("unset", &[][..], false),
        ("undone", &["--require-verified-email=false"], true),
        ("bare", &["--require-verified-email"], false),
    ] {
        let settings = [settings, &["--config", file.to_str().unwrap()]].concat();
        let server = Server::start(&folder.path().join(name), &settings);
        server.post("/auth/register", "", json!({ "email": "ada@x.example", "password": PASSWORD })).await;
        assert_eq!(server.log_in("ada@x.example").await.is_some(), logs_in, "{name}");
    }
}

#[test]
fn a_key_that_can_be_guessed_is_refused_and_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let output =
        run(&["serve", "--data-dir", data.to_str().unwrap(), "--listen", "127.0.0.1:0", "--push-api-key", "much-too-short"]);
    refused(&output, "--push-api-key: it must have at least 16 characters");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("much-too"), "{output:?}");
    assert!(!data.exists(), "it leaves nothing behind");
}

#[test]
fn keys_of_a_centrifugo_that_are_too_short_are_refused() {
    let external = |api_key: usize, token_key: usize| {
        let push = Push {
            server: PushServer::Centrifugo,
            centrifugo_url: Some("https://push.example.org".into()),
            centrifugo_api_key: Some("a".repeat(api_key)),
            centrifugo_token_key: Some("t".repeat(token_key)),
        };
        push.external().map(|_| ()).map_err(|err| err.detail())
    };
    for (lengths, says) in [
        ((16, 31), "--centrifugo-token-key: it must have at least 32 characters"),
        ((15, 32), "--centrifugo-api-key: it must have at least 16 characters"),
    ] {
        let refusal = external(lengths.0, lengths.1).expect_err(says);
        assert!(refusal.contains(says) && !refusal.contains("aaaa") && !refusal.contains("tttt"), "{refusal}");
    }
    assert_eq!(external(16, 32), Ok(()));
}
