//! Where the server listens: several addresses, Unix sockets, and sockets that systemd has opened.

use std::{
    net::TcpListener,
    os::{
        fd::OwnedFd,
        unix::{
            fs::{FileTypeExt, PermissionsExt},
            net::UnixListener,
        },
    },
    path::Path,
    process::{Command, Stdio},
};

use reqwest::Client;
use serde_json::{Value, json};

use crate::harness::{BINARY, PASSWORD, Server, printed, refused, run, tidings};

fn over(socket: &Path) -> Client {
    Client::builder().unix_socket(socket).build().unwrap()
}

async fn is_healthy(client: &Client, url: &str) -> bool {
    client.get(format!("{url}/health")).send().await.is_ok_and(|answer| answer.status() == 200)
}

#[tokio::test]
async fn a_server_listens_on_several_addresses_and_on_a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let (data, socket) = (folder.path().join("data"), folder.path().join("http"));
    let mut command = tidings(&["serve", "--log", "error", "--data-dir", data.to_str().unwrap()]);
    let listen = format!("127.0.0.1:0,unix:{},127.0.0.2:0", socket.display());
    let mut server = Server::spawn(command.env("TIDINGS_LISTEN", listen));
    assert!(server.url.starts_with("http://127.0.0.1:"), "the first is the base URL: {}", server.url);
    let [first, unix, second] = &server.listening()[..] else { panic!("it prints all addresses") };
    assert_eq!((format!("http://{first}"), unix.as_str()), (server.url.clone(), &*format!("unix:{}", socket.display())));
    for address in [first, second] {
        assert!(is_healthy(&server.http, &format!("http://{address}")).await);
    }
    let file = std::fs::symlink_metadata(&socket).unwrap();
    assert!(file.file_type().is_socket() && file.permissions().mode() & 0o777 == 0o660, "{file:?}");
    assert_eq!(printed(&run(&["healthcheck", "--listen", unix])), "healthy\n");

    // A proxy on the socket tells the address of the client; one on a port is not believed.
    server.post("/auth/register", "", json!({ "email": "ada@x.example", "password": PASSWORD })).await;
    for (client, url) in [(over(&socket), "http://localhost"), (server.http.clone(), &*server.url)] {
        let request = client.post(format!("{url}/api/v1/auth/login")).header("x-forwarded-for", "198.51.100.1, 203.0.113.9");
        let answer = request.json(&json!({ "email": "ada@x.example", "password": PASSWORD })).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    let sessions = ["user", "sessions", "--email", "ada@x.example", "--json", "--data-dir", data.to_str().unwrap()];
    let sessions: Value = serde_json::from_str(&printed(&run(&sessions))).unwrap();
    let mut addresses: Vec<_> = sessions.as_array().unwrap().iter().map(|session| session["address"].as_str().unwrap()).collect();
    addresses.sort_unstable();
    assert_eq!(addresses, ["127.0.0.1", "203.0.113.9"]);

    server.signal("TERM");
    assert_eq!(server.end().code(), Some(0));
    assert!(!socket.exists(), "the socket is removed at the end");
}

#[tokio::test]
async fn a_server_that_listens_everywhere_prints_an_address_that_can_be_opened() {
    for listen in ["0.0.0.0:0", "[::]:0"].into_iter().filter(|listen| TcpListener::bind(listen).is_ok()) {
        let folder = tempfile::tempdir().unwrap();
        let mut command = tidings(&["serve", "--listen", listen, "--log", "error"]);
        let server = Server::spawn(command.arg("--data-dir").arg(folder.path()));
        let host = server.url.trim_start_matches("http://").rsplit_once(':').unwrap().0;
        assert!(!["0.0.0.0", "[::]"].contains(&host), "{listen}: {}", server.url);
        assert!(is_healthy(&server.http, &server.url).await, "{listen}: {}", server.url);
    }
}

#[tokio::test]
async fn a_socket_is_taken_over_from_a_dead_server_and_from_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("http");
    let listen = format!("unix:{}", socket.display());
    let start = |name: &str| {
        let mut command = tidings(&["serve", "--listen", &listen, "--base-url", "http://chat.test", "--log", "error"]);
        command.arg("--data-dir").arg(folder.path().join(name));
        command
    };
    let mut first = Server::spawn(&mut start("first"));
    refused(&start("second").output().unwrap(), &format!("can't listen on {listen}: Address already in use"));
    assert!(is_healthy(&over(&socket), "http://localhost").await, "the first one goes on");
    first.process.kill().unwrap();
    first.process.wait().unwrap();
    assert!(socket.exists(), "a killed server leaves its socket");
    let mut second = Server::spawn(&mut start("second"));
    assert!(is_healthy(&over(&socket), "http://localhost").await);
    second.signal("TERM");
    assert_eq!(second.end().code(), Some(0));

    std::fs::write(&socket, "somebody's file").unwrap();
    refused(&start("third").output().unwrap(), "Address already in use");
    assert_eq!(std::fs::read_to_string(&socket).unwrap(), "somebody's file");
    assert!(!folder.path().join("third").exists());
}

#[test]
fn an_address_that_leads_nowhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let serve = |listen: &str| run(&["serve", "--data-dir", data.to_str().unwrap(), "--listen", listen]);
    for address in ["chat", "unix:", "127.0.0.1", "127.0.0.1:0,nowhere"] {
        refused(&serve(address), "expected an address such as 127.0.0.1:8080, or a socket such as unix:/run/tidings/http");
    }
    refused(&serve(&format!("unix:{}", folder.path().join("http").display())), "needs --base-url");
    refused(&serve("unix:/nowhere/at/all"), "can't listen on unix:/nowhere/at/all: No such file");
    assert!(!data.exists() && !folder.path().join("http").exists(), "a failed start leaves nothing");
}

#[tokio::test]
async fn a_server_listens_on_the_sockets_that_systemd_has_opened() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("http");
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap();
    let unix = UnixListener::bind(&socket).unwrap();
    let mut command = Command::new("sh");
    // systemd passes them from the third file on; the flag is of no effect then.
    let script = r#"exec 3<&0 4<&2 2>/dev/null </dev/null
        LISTEN_PID=$$ LISTEN_FDS=2 exec "$0" serve --listen 192.0.2.1:1 --data-dir "$1""#;
    command.env_clear().args(["-c", script, BINARY]).arg(folder.path().join("data"));
    command.stdin(OwnedFd::from(tcp)).stdout(Stdio::piped());
    let mut server = Server::logging(&mut command, OwnedFd::from(unix).into());
    assert_eq!(server.url, format!("http://{address}"));
    assert!(is_healthy(&server.http, &server.url).await);
    assert!(is_healthy(&over(&socket), "http://localhost").await);
    server.signal("TERM");
    assert_eq!(server.end().code(), Some(0));
    assert!(socket.exists(), "the socket is systemd's");
}
