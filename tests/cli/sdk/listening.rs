//! The official SDK, and what happens to it.

use std::time::Duration;

use centrifuge::{
    Client, ClientBuilder, ClientEvent, Publication, StreamPosition, SubscribedEvent, Subscription, SubscriptionBuilder,
    SubscriptionEvent,
};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A handler that passes an event on.
fn to<S: 'static, E: 'static, K: Send + 'static>(
    sender: &UnboundedSender<K>,
    kind: fn(E) -> K,
) -> impl FnMut(&S, E) + Send + use<S, E, K> + 'static {
    let sender = sender.clone();
    move |_, event| _ = sender.send(kind(event))
}

async fn soon<T>(events: &mut UnboundedReceiver<T>) -> T {
    tokio::time::timeout(Duration::from_secs(15), events.recv()).await.expect("nothing happens").unwrap()
}

/// A connected client, and what has happened to it since.
pub struct Connection {
    pub client: Client,
    pub id: String,
    pub events: UnboundedReceiver<ClientEvent>,
}

impl Connection {
    pub async fn open(builder: ClientBuilder) -> Connection {
        let (sender, mut events) = unbounded_channel();
        let client = builder
            .on_connecting(to(&sender, ClientEvent::Connecting))
            .on_connected(to(&sender, ClientEvent::Connected))
            .on_disconnected(to(&sender, ClientEvent::Disconnected))
            .build()
            .unwrap();
        client.connect().unwrap();
        let id = loop {
            match soon(&mut events).await {
                ClientEvent::Connecting(_) => {}
                ClientEvent::Connected(event) => break event.client_id,
                event => panic!("{event:?}"),
            }
        };
        Connection { client, id, events }
    }

    /// The code with which it was disconnected, or began to connect again.
    pub async fn lost(&mut self) -> u32 {
        match soon(&mut self.events).await {
            ClientEvent::Connecting(event) => event.code,
            ClientEvent::Disconnected(event) => event.code,
            event => panic!("{event:?}"),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        drop(self.client.close());
    }
}

/// A subscription, and what has happened to it since.
pub struct Listener {
    pub subscription: Subscription,
    pub events: UnboundedReceiver<SubscriptionEvent>,
    heard: Vec<String>,
}

impl Listener {
    pub fn begin(builder: SubscriptionBuilder) -> Listener {
        let (sender, events) = unbounded_channel();
        let subscription = builder
            .on_subscribing(to(&sender, SubscriptionEvent::Subscribing))
            .on_subscribed(to(&sender, SubscriptionEvent::Subscribed))
            .on_unsubscribed(to(&sender, SubscriptionEvent::Unsubscribed))
            .on_publication(to(&sender, SubscriptionEvent::Publication))
            .on_join(to(&sender, SubscriptionEvent::Join))
            .on_leave(to(&sender, SubscriptionEvent::Leave))
            .build()
            .unwrap();
        subscription.subscribe();
        Listener { subscription, events, heard: Vec::new() }
    }

    /// A subscription that is live, and where it begins.
    pub async fn open(builder: SubscriptionBuilder) -> (Listener, StreamPosition) {
        let mut listener = Listener::begin(builder);
        let event = listener.subscribed().await;
        assert!(event.recoverable && event.positioned, "{event:?}");
        (listener, event.stream_position.unwrap())
    }

    pub async fn next(&mut self) -> SubscriptionEvent {
        soon(&mut self.events).await
    }

    /// Awaited before another client subscribes, as the joins of two that subscribe at once have no order.
    pub async fn sees_join_of(&mut self, client: &str) {
        let event = self.next().await;
        assert!(matches!(&event, SubscriptionEvent::Join(event) if event.client == client), "{event:?}");
    }

    pub async fn subscribed(&mut self) -> SubscribedEvent {
        loop {
            match self.next().await {
                SubscriptionEvent::Subscribing(_) => {}
                SubscriptionEvent::Publication(event) => self.heard.push(content(&event)),
                SubscriptionEvent::Subscribed(event) => return event,
                event => panic!("{event:?}"),
            }
        }
    }

    pub async fn unsubscribed(&mut self) -> u32 {
        loop {
            match self.next().await {
                SubscriptionEvent::Subscribing(_) => {}
                SubscriptionEvent::Unsubscribed(event) => return event.code,
                event => panic!("{event:?}"),
            }
        }
    }

    /// What comes must be these texts, each once and in order.
    pub async fn hears(&mut self, texts: &[&str]) {
        while self.heard.len() < texts.len() {
            match self.next().await {
                SubscriptionEvent::Publication(event) => self.heard.push(content(&event)),
                event => panic!("{event:?} after {:?}", self.heard),
            }
        }
        let heard: Vec<_> = self.heard.drain(..texts.len()).collect();
        assert_eq!(heard, texts);
    }
}

pub fn content(publication: &Publication) -> String {
    let message: Value = serde_json::from_slice(&publication.data).unwrap();
    message["content"].as_str().unwrap().to_owned()
}
