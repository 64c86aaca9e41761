//! A receiver of webhooks: a small server of its own for each, which keeps what it was sent.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use poem::{Endpoint, Request, Response, endpoint::make, http::HeaderMap, listener::TcpAcceptor};
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use tokio::{
    net::TcpListener,
    sync::{
        Notify,
        mpsc::{UnboundedReceiver, unbounded_channel},
    },
    task::JoinHandle,
    time::timeout,
};

use crate::harness::{Client, Reply, Server, blob, text};

/// A server whose webhooks may reach the tests' receivers.
pub async fn server() -> Server {
    Server::with(|settings| settings.allow_private_webhooks = vec!["127.0.0.0/8".parse().unwrap()]).await
}

pub struct Receiver {
    pub url: String,
    received: UnboundedReceiver<Received>,
    serving: JoinHandle<()>,
}

#[derive(Clone, Debug)]
pub struct Received {
    pub path: String,
    pub headers: HeaderMap,
    pub body: String,
}

impl Received {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The text of the message in it.
    pub fn content(&self) -> String {
        text(&self.json()["data"]["content"])
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }

    pub fn id(&self) -> &str {
        self.header("webhook-id")
    }

    /// Whether the library of the Standard Webhooks specification takes it.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        Webhook::new(secret).unwrap().verify(self.body.as_bytes(), &self.headers).is_ok()
    }
}

impl Receiver {
    /// Answers with these statuses in turn, and with the last from then on.
    pub async fn start(statuses: &'static [u16]) -> Receiver {
        Receiver::answering(move |n| {
            let status = statuses[n.min(statuses.len() - 1)];
            async move { Response::builder().status(status.try_into().unwrap()).body(format!("answer {}", n + 1)) }
        })
        .await
    }

    /// Never answers.
    pub async fn hanging() -> Receiver {
        Receiver::answering(|_| std::future::pending()).await
    }

    /// Answers with these statuses in turn, and with the last from then on; gives the answers that are held only when notified.
    pub async fn holding(
        statuses: &'static [u16],
        is_held: impl Fn(usize) -> bool + Send + Sync + 'static,
    ) -> (Receiver, Arc<Notify>) {
        let answer = Arc::new(Notify::new());
        let notified = answer.clone();
        let hold = move |n: usize| {
            let status = statuses[n.min(statuses.len() - 1)];
            let held = is_held(n).then(|| notified.clone());
            async move {
                if let Some(held) = held {
                    held.notified().await;
                }
                Response::builder().status(status.try_into().unwrap()).finish()
            }
        };
        (Receiver::answering(hold).await, answer)
    }

    /// Answers the nth request, from 0.
    pub async fn answering<F: Future<Output = Response> + Send + 'static>(
        answer: impl Fn(usize) -> F + Send + Sync + 'static,
    ) -> Receiver {
        let (keep, received) = unbounded_channel();
        let (count, answer) = (Arc::new(AtomicUsize::new(0)), Arc::new(answer));
        let endpoint = make(move |mut request: Request| {
            let (keep, count, answer) = (keep.clone(), count.clone(), answer.clone());
            async move {
                let body = request.take_body().into_string().await?;
                let (path, headers) = (request.uri().path().to_owned(), request.headers().clone());
                _ = keep.send(Received { path, headers, body });
                Ok::<_, poem::Error>(answer(count.fetch_add(1, SeqCst)).await)
            }
        });
        let (url, serving) = serve(endpoint).await;
        Receiver { url, received, serving }
    }

    pub async fn next(&mut self) -> Received {
        timeout(Duration::from_secs(30), self.received.recv()).await.expect("nothing came").expect("it goes on")
    }

    /// The texts of the next messages, in no order: several are on their way at once.
    pub async fn contents(&mut self, count: usize) -> Vec<String> {
        let mut contents = Vec::new();
        for _ in 0..count {
            contents.push(self.next().await.content());
        }
        contents.sort();
        contents
    }

    /// Whether all that came was taken.
    pub fn is_empty(&self) -> bool {
        self.received.is_empty()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(endpoint: impl Endpoint + 'static) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let acceptor = TcpAcceptor::from_tokio(listener).unwrap();
    let serving = tokio::spawn(async move { _ = poem::Server::new_with_acceptor(acceptor).run(endpoint).await });
    (url, serving)
}

/// A webhook of a channel, as its manager handles it.
pub struct Hook {
    manager: Client,
    channel: String,
    pub id: String,
    pub secret: String,
    /// The path of its feed, below `/api/v1`.
    pub feed: String,
}

impl Client {
    pub async fn hook(&self, channel: &str, url: &str) -> Hook {
        self.hook_with(channel, json!({ "webhook_name": "out", "webhook_url": url })).await
    }

    pub async fn hook_with(&self, channel: &str, body: Value) -> Hook {
        let made = self.post(&format!("/webhooks/{channel}"), body).await.expect(201)["data"].take();
        let (id, secret) = (text(&made["id"]), text(&made["webhook_secret"]));
        let feed = format!("/webhooks/feed/{}", text(&made["webhook_slug"]));
        Hook { manager: self.clone(), channel: channel.to_owned(), id, secret, feed }
    }
}

impl Hook {
    pub fn path(&self, rest: &str) -> String {
        format!("/webhooks/{}/{}{rest}", self.channel, self.id)
    }

    /// The same webhook, handled by another manager.
    pub fn managed_by(self, manager: &Client) -> Hook {
        Hook { manager: manager.clone(), ..self }
    }

    /// The manager posts to one of its paths.
    pub async fn post(&self, rest: &str, body: Value) -> Reply {
        self.manager.post(&self.path(rest), body).await
    }

    pub async fn set(&self, status: &str) {
        self.manager.put(&self.path("/change-status"), json!({ "webhook_status": status })).await.expect(200);
    }

    pub async fn status(&self) -> String {
        let listed = self.manager.get(&format!("/webhooks/{}/all?limit=100", self.channel)).await.expect(200);
        let listed = listed["data"]["webhooks"].as_array().unwrap().clone();
        text(&listed.iter().find(|webhook| webhook["id"] == self.id).unwrap()["status"])
    }

    /// Waits until the history has so many records; newest first. Nobody is told of a new one, so this looks again
    /// every few milliseconds.
    pub async fn history(&self, count: usize) -> Vec<Value> {
        let path = format!("/webhooks/{}/history/{}?limit=100", self.channel, self.id);
        let mut look = tokio::time::interval(Duration::from_millis(5));
        let recorded = async {
            loop {
                look.tick().await;
                let records = self.manager.get(&path).await.expect(200)["data"]["webhooks_history"].take();
                let records = records.as_array().unwrap().clone();
                if records.len() >= count {
                    return records;
                }
            }
        };
        timeout(Duration::from_secs(30), recorded).await.unwrap_or_else(|_| panic!("no {count} records"))
    }
}

impl Server {
    /// Makes due at once what is to be sent later.
    pub fn hurry(&self) {
        self.sql("update deliveries set due_at = 1 where due_at is not null and is_leased = 0");
    }

    /// Waits until webhooks have followed the log: all that was posted is queued, and all that is to pause has.
    pub async fn followed(&self) {
        let ahead = "events e where e.seq > (select cast(value as integer) from meta where key = 'webhooks_seq')
          and (e.type in ('departed', 'reclaimed')
            or e.type = 'deleted' and exists (select 1 from webhook_events k where k.message_n = e.message_n)
            or e.type in ('', 'updated', 'deleted', 'reaction_event', 'channel_update') and exists (select 1 from webhooks w
              where (w.channel_id = e.channel_id or w.organisation_id =
                (select c.organisation_id from channels c where c.id = e.channel_id and c.is_private = 0 and c.is_dm = 0))
              and w.deleted_at is null
              and w.url <> '' and w.status <> 'inactive' and w.from_seq < e.seq
              and w.events & case e.type when '' then 1 when 'updated' then 2 when 'deleted' then 4 when 'channel_update' then 6080 else 24 end))";
        let until = Instant::now() + Duration::from_secs(30);
        while self.count(ahead) > 0 {
            assert!(Instant::now() < until, "webhooks do not follow the log");
            self.anonymous().get("/blogs").await.expect(200);
        }
    }

    /// Whether a webhook has begun to deliver the message of this text.
    pub fn has_begun(&self, webhook: &str, content: &str) -> bool {
        let begun = format!(
            "deliveries d join webhook_events e on e.n = d.event_n
             where d.webhook_id = {} and d.first_at is not null and e.payload ->> '$.data.content' = '{content}'",
            blob(webhook)
        );
        self.count(&begun) > 0
    }
}
