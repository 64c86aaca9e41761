//! The roles that this executable plays in processes of its own: clients, and the limits beside the server.

use serde::de::DeserializeOwned;

use super::{limits, receiver, requests, sockets};

/// Plays a role in this process; false if there is none of that name.
pub fn play(role: &str) -> bool {
    match role {
        "requests" => requests::play(&plan()),
        "sockets" => sockets::play(plan()),
        "receiver" => {
            plan::<receiver::Plan>();
            receiver::play();
        }
        "hash" => {
            plan::<limits::hash::Plan>();
            limits::hash::play();
        }
        "insert" => limits::insert::play(&plan()),
        "constant" => limits::constant::play(&plan()),
        "select" => limits::select::play(&plan()),
        "frames" => limits::frames::play(&plan()),
        _ => return false,
    }
    true
}

fn plan<T: DeserializeOwned>() -> T {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}
