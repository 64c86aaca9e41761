//! How long each writing operation holds the writer, and with it everybody else, with the database filled to the bounds
//! that are documented: `cargo bench --bench writer`. The worst come first; 10 ms is the aim. An operation has a case here if
//! its work grows with what is stored; those that write and have none are named at the end.

#[path = "../api.rs"]
#[allow(dead_code, reason = "other benches open sockets, too")]
mod api;

mod accounts;
mod background;
mod bench;
mod channels;
mod messages;
mod organisations;
mod public;
mod webhooks;
mod world;

use std::cmp::Reverse;

use crate::{
    api::Api,
    bench::{Bench, Case},
    world::World,
};
use tidings::{
    clock::Clock,
    config::{Settings, Switch},
    wiring,
};
use tokio::net::TcpListener;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() {
    // The least of three: what other programs take from this machine meanwhile is not the operation's.
    let (mut took, missing) = round().await;
    for (again, _) in [round().await, round().await] {
        for (least, case) in took.iter_mut().zip(again) {
            least.own = least.own.min(case.own);
            least.later = least.later.min(case.later);
        }
    }
    took.sort_unstable_by_key(|case| Reverse(case.own.both().max(case.later.both())));
    println!("ms of the longest job and the longest commit: of the request, and in the background");
    for Case { own, later, what } in took {
        let [a, b, c, d] = [own.job, own.commit, later.job, later.commit].map(|time| time.as_secs_f64() * 1000.0);
        println!("{a:7.2} + {b:5.2} {c:10.2} + {d:5.2}  {what}");
    }
    if !missing.is_empty() {
        println!("without a case: {}", missing.join(", "));
    }
}

/// All cases, once each; and the operations without one.
async fn round() -> (Vec<Case>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = Settings::for_folder(folder.path());
    settings.rate_limit = Switch::Off;
    settings.allow_private_webhooks = vec!["127.0.0.0/8".parse().unwrap()];
    settings.push_api_key = Some(public::KEY.into());
    settings.log = "off".into();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = wiring::open(&settings, address, Clock::default()).unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(wiring::run(app.clone(), listener, async { _ = stopped.await }));
    let mut bench = Bench::new(app, Api::new(format!("http://{address}")), folder.path()).await;

    let world = World::make(&bench).await;
    messages::walk(&mut bench, &world).await;
    webhooks::walk(&mut bench, &world).await;
    channels::walk(&mut bench, &world).await;
    accounts::walk(&mut bench, &world).await;
    public::walk(&mut bench, &world).await;
    organisations::walk(&mut bench, &world).await;
    background::walk(&mut bench, &world).await;

    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
    let missing = bench.missing();
    (bench.took, missing)
}
