//! The limit of log-ins: the same check of a password, on all cores and with nothing around it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use serde::{Deserialize, Serialize};
use tidings::secret::{hash_password, verify_password};

use crate::clients::say;

#[derive(Serialize, Deserialize)]
pub struct Plan {}

const PASSWORD: &str = "correct horse battery";

/// Says how many it has checked, when it is asked.
pub fn play() {
    let (hash, is_over, checked) = (hash_password(PASSWORD).unwrap(), AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    assert!(verify_password(PASSWORD, &hash));
                    checked.fetch_add(1, Relaxed);
                }
            });
        }
        say("ready");
        _ = std::io::stdin().read_line(&mut String::new());
        say(&checked.load(Relaxed).to_string());
        is_over.store(true, Relaxed);
    });
}
