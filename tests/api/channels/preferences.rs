//! Stars and mutes: what members set on channels for themselves.

use serde_json::{Value, json};

use crate::{
    harness::{Client, Reply, Server, text, unknown_id},
    shapes::{PUSHED, assert_shape},
    socket::Socket,
};

struct Preference {
    /// The last segment of its operations' path.
    path: &'static str,
    field: &'static str,
    kind: &'static str,
    says: [&'static str; 2],
}

const BOTH: [Preference; 2] = [
    Preference {
        path: "star",
        field: "is_starred",
        kind: "channel_star",
        says: ["Channel starred successfully", "Channel unstarred successfully"],
    },
    Preference {
        path: "mute",
        field: "is_muted",
        kind: "channel_mute",
        says: ["Channel muted successfully", "Channel unmuted successfully"],
    },
];

impl Preference {
    async fn set(&self, client: &Client, channel: &str) -> Reply {
        client.call("POST", &format!("/channels/{channel}/{}", self.path), None).await
    }

    async fn unset(&self, client: &Client, channel: &str) -> Reply {
        client.delete(&format!("/channels/{channel}/{}", self.path)).await
    }

    /// Whether it is shown set in one of the caller's lists, and where the channel is read alone.
    async fn is_shown(&self, client: &Client, organisation: &str, list: &str, channel: &str) -> bool {
        let data = client.get(&format!("/organisations/{organisation}/{list}")).await.expect(200)["data"].take();
        let listed = data.as_array().unwrap().iter().find(|listed| listed["id"] == channel).expect("it is listed");
        let alone = client.get(&format!("/channels/{channel}")).await.expect(200);
        assert_eq!(listed[self.field], alone["data"][self.field]);
        listed[self.field].as_bool().unwrap()
    }

    /// The changes that a client missed on its personal stream: the channel, and whether it is set now.
    async fn missed(&self, client: &Client, organisation: &str, start: &Value) -> Vec<(String, bool)> {
        let mut socket = Socket::connect(client).await;
        let result = socket.recover(&client.personal(organisation), &start["epoch"], &start["offset"]).await;
        assert_eq!(result["recovered"], true, "{result}");
        let publications = result["publications"].as_array().cloned().unwrap_or_default();
        let changes = publications.iter().map(|publication| &publication["data"]);
        let changes = changes.filter(|data| data["notification_type"] == self.kind).map(|data| &data["data"]);
        changes.map(|data| (text(&data["channels_id"]), data[self.field].as_bool().unwrap())).collect()
    }
}

#[tokio::test]
async fn a_preference_is_shown_to_its_member_alone_and_set_once() {
    for preference in BOTH {
        let server = Server::start().await;
        let (ada, grace, organisation) = server.ada_and_grace().await;
        let channel = ada.channel(&organisation, "news", &[&grace]).await;
        let general = ada.general(&organisation).await;
        let list = "user-channels";
        assert!(!preference.is_shown(&grace, &organisation, list, &channel).await);
        for _ in 0..2 {
            let data = preference.set(&grace, &channel).await.data(200, preference.says[0]);
            assert_eq!(data, json!({ "channels_id": channel, preference.field: true }));
            assert!(preference.is_shown(&grace, &organisation, list, &channel).await);
        }
        assert!(!preference.is_shown(&grace, &organisation, list, &general).await, "each channel for itself");
        assert!(!preference.is_shown(&ada, &organisation, list, &channel).await, "each member for themselves");
        ada.patch(&format!("/channels/{channel}"), json!({ "topic": "Engines" })).await.expect(200);
        assert!(preference.is_shown(&grace, &organisation, list, &channel).await, "changes of the channel leave it");
        for _ in 0..2 {
            let data = preference.unset(&grace, &channel).await.data(200, preference.says[1]);
            assert_eq!(data, json!({ "channels_id": channel, preference.field: false }));
            assert!(!preference.is_shown(&grace, &organisation, list, &channel).await);
        }
    }
}

#[tokio::test]
async fn guests_set_them_on_channels_and_everybody_direct_messages_and_archived_channels() {
    for preference in BOTH {
        let server = Server::start().await;
        let (ada, _, organisation) = server.ada_and_grace().await;
        let gus = server.member(&ada, &organisation, "gus", "guest").await;
        let channel = ada.channel(&organisation, "news", &[&gus]).await;
        preference.set(&gus, &channel).await.expect(200);
        assert!(preference.is_shown(&gus, &organisation, "user-channels", &channel).await);

        let body = json!({ "user_ids": [gus.user_id] });
        let direct = text(&ada.post(&format!("/organisations/{organisation}/dms"), body).await.expect(201)["data"]["id"]);
        preference.set(&gus, &direct).await.expect(200);
        assert!(preference.is_shown(&gus, &organisation, "dms", &direct).await);
        assert!(!preference.is_shown(&ada, &organisation, "dms", &direct).await);

        let archived = ada.put(&format!("/channels/{channel}/archive"), json!({ "archived": true })).await.expect(200);
        assert_eq!(archived["data"][preference.field], false, "as its reader sees it");
        preference.unset(&gus, &channel).await.expect(200);
        preference.set(&gus, &channel).await.expect(200);
        ada.put(&format!("/channels/{channel}/archive"), json!({ "archived": false })).await.expect(200);
        assert!(preference.is_shown(&gus, &organisation, "user-channels", &channel).await);
    }
}

#[tokio::test]
async fn only_the_members_own_devices_are_told_and_only_of_changes() {
    for preference in BOTH {
        let server = Server::start().await;
        let (ada, grace, organisation) = server.ada_and_grace().await;
        let channel = ada.channel(&organisation, "news", &[&grace]).await;
        let personal = grace.personal(&organisation);
        let mut own = Socket::listening(&grace, &[&personal]).await;
        let mut other = Socket::listening(&ada, &[&channel, &organisation, &ada.personal(&organisation)]).await;
        preference.set(&grace, &channel).await.expect(200);
        preference.set(&grace, &channel).await.expect(200);
        preference.unset(&grace, &channel).await.expect(200);
        preference.unset(&grace, &channel).await.expect(200);
        for is_set in [true, false] {
            let told = own.on(&personal).await;
            assert_shape(&told, PUSHED);
            assert_eq!([&told["notification_type"], &told["section"]], [preference.kind, "channels_section"]);
            let data = json!({ "channels_id": channel, "organisation_id": organisation, preference.field: is_set });
            assert_eq!(told["data"], data);
        }
        ada.say(&channel, "marker").await;
        assert_eq!(own.on(&personal).await["notification_type"], "unread_thread_change", "the same again tells nothing");
        assert_eq!(other.next().await.1["content"], "marker", "nobody else is told");
    }
}

#[tokio::test]
async fn a_device_that_was_away_learns_of_them_also_after_a_restart() {
    for preference in BOTH {
        let server = Server::start().await;
        let (ada, grace, organisation) = server.ada_and_grace().await;
        let (one, two) = (ada.channel(&organisation, "one", &[&grace]).await, ada.channel(&organisation, "two", &[&grace]).await);
        let start = Socket::connect(&grace).await.subscribe(&grace.personal(&organisation)).await;
        let hers = Socket::connect(&ada).await.subscribe(&ada.personal(&organisation)).await;
        preference.set(&grace, &one).await.expect(200);
        preference.set(&grace, &two).await.expect(200);
        preference.unset(&grace, &one).await.expect(200);
        let changes = vec![(one.clone(), true), (two.clone(), true), (one.clone(), false)];
        assert_eq!(preference.missed(&grace, &organisation, &start).await, changes);

        let server = server.restart().await;
        assert_eq!(preference.missed(&grace, &organisation, &start).await, changes);
        assert_eq!(preference.missed(&ada, &organisation, &hers).await, [], "they are not hers");
        assert!(preference.is_shown(&grace, &organisation, "user-channels", &two).await);
        assert!(!preference.is_shown(&grace, &organisation, "user-channels", &one).await);
        server.stop().await;
    }
}

#[tokio::test]
async fn a_preference_ends_with_the_membership() {
    for preference in BOTH {
        let server = Server::start().await;
        let (ada, grace, organisation) = server.ada_and_grace().await;
        let channel = ada.channel(&organisation, "news", &[&grace]).await;
        let start = Socket::connect(&grace).await.subscribe(&grace.personal(&organisation)).await;
        preference.set(&grace, &channel).await.expect(200);
        assert_eq!(preference.missed(&grace, &organisation, &start).await, [(channel.clone(), true)]);
        grace.call("POST", &format!("/channels/{channel}/leave"), None).await.expect(200);
        assert_eq!(preference.missed(&grace, &organisation, &start).await, [], "what she was told in a channel ends with it");
        let seen = grace.get(&format!("/channels/{channel}")).await.expect(200);
        assert_eq!(seen["data"][preference.field], false);
        ada.post(&format!("/channels/{channel}/users"), json!({ "user_ids": [grace.user_id] })).await.expect(200);
        assert!(!preference.is_shown(&grace, &organisation, "user-channels", &channel).await);

        preference.set(&grace, &channel).await.expect(200);
        ada.delete(&format!("/channels/{channel}/users/{}", grace.user_id)).await.expect(200);
        grace.call("POST", &format!("/channels/{channel}/join"), None).await.expect(200);
        assert!(!preference.is_shown(&grace, &organisation, "user-channels", &channel).await);
    }
}

#[tokio::test]
async fn setting_fails_as_documented_and_changes_nothing() {
    for preference in BOTH {
        let server = Server::start().await;
        let (ada, grace, organisation) = server.ada_and_grace().await;
        let outsider = server.user("outsider").await;
        let (public, private) =
            (ada.channel(&organisation, "public", &[]).await, ada.private_channel(&organisation, "private", &[]).await);
        preference.set(&ada, &private).await.expect(200);
        for method in ["POST", "DELETE"] {
            let call =
                async |client: &Client, id: &str| client.call(method, &format!("/channels/{id}/{}", preference.path), None).await;
            call(&grace, "no-uuid").await.expect(400);
            call(&grace, &public).await.expect(403);
            let unknown = call(&ada, &unknown_id()).await.expect(404);
            assert_eq!(unknown, call(&grace, &private).await.expect(404));
            assert_eq!(unknown, call(&outsider, &public).await.expect(404));
            call(&server.anonymous(), &public).await.expect(401);
        }
        assert!(preference.is_shown(&ada, &organisation, "user-channels", &private).await);
        let gone = ada.channel(&organisation, "gone", &[]).await;
        ada.delete(&format!("/channels/{gone}")).await.expect(204);
        preference.set(&ada, &gone).await.expect(404);
    }
}

#[tokio::test]
async fn an_organisation_counts_no_posts_of_muted_channels_but_mentions() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (quiet, loud) =
        (ada.channel(&organisation, "quiet", &[&grace]).await, ada.channel(&organisation, "loud", &[&grace]).await);
    ada.say(&loud, "Ship ahoy").await;
    ada.say(&quiet, "The tide is out").await;
    ada.say(&quiet, "@grace, it is in").await;
    let counts = async || {
        let start = grace.get("/start").await.expect(200);
        let of_organisation = &start["data"]["organisations"][0];
        let channels = start["data"]["channels"].as_array().unwrap();
        let muted = channels.iter().find(|channel| channel["id"] == *quiet).unwrap();
        assert_eq!([&muted["thread_count"], &muted["mention_count"]], [2, 1], "counted where they are");
        (muted.get("is_muted").cloned(), of_organisation["unread_count"].clone(), of_organisation["mention_count"].clone())
    };
    assert_eq!(counts().await, (None, json!(3), json!(1)));
    let [_, mute] = BOTH;
    mute.set(&grace, &quiet).await.expect(200);
    assert_eq!(counts().await, (Some(json!(true)), json!(1), json!(1)));
    mute.unset(&grace, &quiet).await.expect(200);
    assert_eq!(counts().await, (None, json!(3), json!(1)));
}

#[tokio::test]
async fn mentions_of_everybody_dont_count_in_a_muted_channel_and_count_again_after_it() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "quiet", &[&grace]).await;
    ada.say(&channel, "@channel the tide is out").await;
    ada.say(&channel, "@grace it is in").await;
    let personal = grace.personal(&organisation);
    let mut own = Socket::listening(&grace, &[&personal]).await;
    let [_, mute] = BOTH;
    let counted = async || {
        let channels = grace.get(&format!("/organisations/{organisation}/user-channels")).await.expect(200)["data"].take();
        let channel = channels.as_array().unwrap().iter().find(|one| one["id"] == *channel).unwrap().clone();
        (channel["thread_count"].clone(), channel["mention_count"].clone())
    };
    assert_eq!(counted().await, (json!(2), json!(2)));
    for (is_muted, mentions) in [(true, 1), (false, 2)] {
        if is_muted { mute.set(&grace, &channel).await } else { mute.unset(&grace, &channel).await }.expect(200);
        assert_eq!(own.on(&personal).await["data"]["is_muted"], is_muted);
        let told = own.on(&personal).await;
        assert_eq!(told["notification_type"], "unread_thread_change");
        assert_eq!(told["data"]["mention_count"], mentions);
        assert_eq!(counted().await, (json!(2), json!(mentions)));
    }
}
