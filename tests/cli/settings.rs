//! Flags, environment and file.

use serde_json::json;
use tidings::config::{Push, PushServer};

use crate::harness::{PASSWORD, Server, printed, refused, run, tidings};

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

#[test]
fn a_settings_file_of_any_size_and_depth_is_refused_with_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    let check = |text: &str| {
        std::fs::write(&file, text).unwrap();
        run(&["config", "check", "--config", file.to_str().unwrap()])
    };
    let most = format!("log = \"info\"\n{}", "#".repeat((64 << 10) - 13));
    printed(&check(&most));
    refused(&check(&(most + "#")), "it has more than 64 KiB");
    for (deep, says) in [
        ("[".repeat(60_000), "line 1: "),
        (format!("log = {}", "[".repeat(60_000)), "line 1: "),
        (format!("{}log = 1", "a.".repeat(30_000)), "line 1: "),
        (format!("[{}log]", "a.".repeat(30_000)), "line 1: "),
        (format!("log = {}", "{a=".repeat(20_000)), "line 1: "),
    ] {
        refused(&check(&deep), says);
    }
    refused(&run(&["config", "check", "--config", "/dev/zero"]), "it is not a regular file");
}

/// Nobody writes to the FIFO: whatever opens it to read waits without end.
#[test]
fn no_command_waits_for_a_file_that_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let fifo = path.to_str().unwrap();
    for words in [
        &["config", "check", "--config", fifo][..],
        &["config", "check", "--ca-file", fifo],
        &["config", "check", "--tls-cert", fifo, "--tls-key", fifo],
        &["invite", "send", "--organisation", "engines", "--file", fifo],
        &["restore", fifo],
        &["org", "import", fifo],
    ] {
        let data = folder.path().join("data");
        refused(&run(&[words, &["--data-dir", data.to_str().unwrap()]].concat()), "it is not a regular file");
    }
    let mut check = tidings(&["config", "check"]);
    refused(&check.env("TIDINGS_MAIL_URL_FILE", fifo).output().unwrap(), "it is not a regular file");
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
        push.external().map(|_| ()).map_err(|err| err.log_text())
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

/// The lines of what a command prints on standard error.
fn errors(output: &std::process::Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stderr).lines().map(str::to_owned).collect()
}

#[test]
fn an_unknown_variable_fails_the_check_with_the_nearest_name() {
    for (name, meant) in [
        ("TIDINGS_MAIL_FORM", "did you mean TIDINGS_MAIL_FROM? "),
        ("TIDINGS_BASEURL", "did you mean TIDINGS_BASE_URL? "),
        ("TIDINGS_mail_from", "did you mean TIDINGS_MAIL_FROM? "),
        ("TIDINGS_MAIL_FROM_FILE", "did you mean TIDINGS_MAIL_FROM? "), // no secret, so no file
        ("TIDINGS_XYZZY", ""),
    ] {
        let output = tidings(&["config", "check"]).env(name, "x").output().unwrap();
        refused(&output, &format!("the variable {name} is not a setting: {meant}`tidings config env` lists all\n"));
        assert_eq!(errors(&output).len(), 1, "{output:?}");
    }
    printed(&tidings(&["config", "check"]).env("TIDINGS_MAIL_URL", "log:").env("TIDING", "x").output().unwrap());
}

#[test]
fn one_check_tells_all_that_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let (file, taken) = (folder.path().join("settings.toml"), folder.path().join("taken"));
    std::fs::write(&taken, "").unwrap();
    let lines = "mail_fron = \"x\"\ncolour = 1\npurge_days = \"never\"\nsession_days = 1.5\nmail_from = \"nobody\"\n";
    std::fs::write(&file, lines).unwrap();
    let mut check = tidings(&["config", "check", "--log", "warning", "--base-url", "chat", "--mail-url", "pigeon:", "--config"]);
    check.arg(&file).arg("--backup-dir").arg(taken.join("backups"));
    check.env("TIDINGS_RATE_LIMIT", "maybe").env("TIDINGS_XYZZY", "1").env("TIDINGS_ALLOWED_ORIGIN", "nowhere");
    let output = check.env("TIDINGS_TLS_CERT", "/nowhere/cert.pem").env("TIDINGS_METRICS_TOKEN", "short").output().unwrap();
    let named = format!("the settings file {}", file.display());
    let wrong = [
        &format!("{named}: mail_fron: no such setting: did you mean mail_from?"),
        &format!("{named}: colour: no such setting: `tidings config default` lists all"),
        &format!("{named}: invalid value 'never' for '--purge-days"),
        &format!("{named}: session_days: expected a text"),
        "TIDINGS_RATE_LIMIT: invalid value 'maybe' for '--rate-limit <on|off>' [possible values: on, off]",
        "the variable TIDINGS_XYZZY is not a setting",
        "--mail-from nobody: expected an address such as Chat <chat@example.org>",
        "--log warning: expected",
        "--base-url chat: expected",
        "--mail-url: unknown scheme pigeon: expected an address such as smtps://",
        "--backup-dir",
        "--allowed-origin nowhere: expected",
        "--tls-cert and --tls-key: give both, or neither",
        "--metrics-token: it must have",
    ];
    let lines = errors(&output);
    for says in wrong {
        let told = lines.iter().filter(|line| line.starts_with(&format!("tidings: {says}"))).count();
        assert_eq!(told, 1, "{says} in {lines:#?}");
    }
    assert_eq!((lines.len(), output.status.code()), (wrong.len(), Some(1)), "{lines:#?}");
}

#[test]
fn a_check_finds_a_backup_folder_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("file"));
    std::fs::write(&file, "").unwrap();
    let check = |more: &[&str]| run(&[&["config", "check", "--data-dir", data.to_str().unwrap()], more].concat());
    // Nobody may write to /proc, not even root.
    for (to, at) in [(file.to_str().unwrap(), &file), ("/proc/backups", &"/proc".into())] {
        refused(&check(&["--backup-dir", to]), &format!("--backup-dir {to}: can't write to {}: ", at.display()));
    }
    for to in [folder.path().join("a/b"), folder.path().to_owned()] {
        printed(&check(&["--backup-every", "24h", "--backup-dir", to.to_str().unwrap()]));
    }
    printed(&check(&["--backup-every", "24h"]));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["file"], "a check changes nothing");
}

#[test]
fn a_text_without_quotes_is_named_and_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    for (line, key) in [
        ("listen = 127.0.0.1:8080", "listen"),
        ("base_url=https://chat.example.org # ours", "base_url"),
        ("log = info", "log"),
        ("mail_url = smtp://ada:s3cret@mail.example.org", "mail_url"),
    ] {
        std::fs::write(&file, format!("purge_days = 7\n{line}\n")).unwrap();
        let output = run(&["config", "check", "--config", file.to_str().unwrap()]);
        refused(&output, &format!("line 2: texts stand in quotes, as in {key} = \"…\"\n"));
        assert!(!String::from_utf8_lossy(&output.stderr).contains("s3cret"), "{output:?}");
    }
}

#[test]
fn the_defaults_are_printed_beside_a_settings_file_that_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    std::fs::write(&file, "colour = 1\n").unwrap();
    assert!(printed(&run(&["config", "default", "--config", file.to_str().unwrap()])).contains("session_days = 30"));
    refused(&run(&["config", "show", "--config", file.to_str().unwrap()]), "colour: no such setting");
}
