//! The limit of a post: one row in a durable group commit, behind the same HTTP.

use std::{
    path::PathBuf,
    sync::{Arc, mpsc},
};

use poem::{EndpointExt, IntoResponse, Response, Route, handler, http::StatusCode, listener::TcpAcceptor, web::Data};
use rusqlite::{Connection, TransactionBehavior};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::{listen, runtime};

#[derive(Serialize, Deserialize)]
pub struct Plan {
    pub database: PathBuf,
}

/// A text, and who waits until it is on disk.
type Job = (String, oneshot::Sender<()>);

pub fn play(plan: &Plan) {
    let (queue, jobs) = mpsc::channel();
    let database = open(plan);
    std::thread::spawn(move || write(database, &jobs));
    runtime().block_on(async {
        let acceptor = TcpAcceptor::from_tokio(listen().await).unwrap();
        let route = Route::new().at("/*path", poem::post(post)).data(Arc::new(queue));
        poem::Server::new_with_acceptor(acceptor).run(route).await.unwrap();
    });
}

#[handler]
async fn post(text: String, queue: Data<&Arc<mpsc::Sender<Job>>>) -> Response {
    let (done, on_disk) = oneshot::channel();
    queue.send((text.clone(), done)).unwrap();
    on_disk.await.unwrap();
    text.with_status(StatusCode::CREATED).into_response()
}

fn open(plan: &Plan) -> Connection {
    let database = Connection::open(&plan.database).unwrap();
    database
        .execute_batch(
            "pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 16000;
             create table if not exists posts (n integer primary key, id blob not null, text text not null) strict;",
        )
        .unwrap();
    database
}

/// Commits all that wait together.
fn write(mut database: Connection, jobs: &mpsc::Receiver<Job>) {
    while let Ok(first) = jobs.recv() {
        let tx = database.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        let mut waiting = Vec::new();
        for (text, done) in std::iter::once(first).chain(jobs.try_iter()) {
            let mut insert = tx.prepare_cached("insert into posts (id, text) values (?1, ?2)").unwrap();
            insert.execute((Uuid::now_v7().as_bytes(), text)).unwrap();
            waiting.push(done);
        }
        tx.commit().unwrap();
        waiting.into_iter().for_each(|done| _ = done.send(()));
    }
}
