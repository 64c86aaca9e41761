//! The limit of an answer: a constant text of its size, through the same framework.

use std::sync::Arc;

use poem::{EndpointExt, listener::TcpAcceptor, web::Data};
use poem_openapi::{OpenApi, OpenApiService, payload::PlainText};
use serde::{Deserialize, Serialize};

use super::{listen, runtime};

#[derive(Serialize, Deserialize)]
pub struct Plan {
    /// Of the answer's body.
    pub bytes: usize,
}

struct Api;

#[OpenApi]
impl Api {
    #[oai(path = "/constant", method = "get")]
    async fn constant(&self, text: Data<&Arc<String>>) -> PlainText<String> {
        PlainText(text.to_string())
    }
}

pub fn play(plan: &Plan) {
    let text = Arc::new("x".repeat(plan.bytes));
    runtime().block_on(async {
        let acceptor = TcpAcceptor::from_tokio(listen().await).unwrap();
        let service = OpenApiService::new(Api, "constant", "1").data(text);
        poem::Server::new_with_acceptor(acceptor).run(service).await.unwrap();
    });
}
