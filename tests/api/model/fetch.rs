//! The state that a client keeps, as the API answers it now: the organisations of its user, by identifier.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::harness::Client;

/// The kept fields of an organisation. Counts of channels and messages are statistics, which a client reads where it
/// shows them.
pub const ORGANISATION: &str = "name description email industry location country logo_url owner_id created_at updated_at";
pub const MEMBER: &str = "email phone_number name username full_name role_key role_id status is_verified custom_status";
pub const ROLE: &str = "uuid name description permission_list permissions created_at updated_at";
/// The kept fields of a channel. The address of its webhook is read where webhooks are managed.
pub const CHANNEL: &str =
    "name description topic organisation_id owner_id is_private is_dm archived user_count created_at updated_at";
pub const CHANNEL_MEMBER: &str = "username joined_at";
pub const UNREAD: &str = "thread_count mention_count last_read_id last_message_at";
/// The kept fields of a thread that the user takes part in.
pub const OWN: &str = "unread_count mention_count last_read_id message_count";
/// The kept fields of a message, which are the same in every answer and publication. Whom it shows besides, [`message`] keeps by
/// their ids: names are those of the present.
const MESSAGE: &str =
    "user_id user_type username full_name email avatar_url content media mentions created_at updated_at position
    type event_name action_type status current_status edited is_pinned message_count last_reply participant_count deleted_at";

/// An object with these fields only.
#[track_caller]
pub fn pick(from: &Value, fields: &str) -> Value {
    let one = |field: &str| (field.to_owned(), from.get(field).unwrap_or_else(|| panic!("no {field}: {from:#}")).clone());
    Value::Object(fields.split_whitespace().map(one).collect())
}

/// [`pick`] into an object that is there.
#[track_caller]
pub fn assign(to: &mut Value, from: &Value, fields: &str) {
    let Value::Object(picked) = pick(from, fields) else { unreachable!() };
    to.as_object_mut().expect("a record").extend(picked);
}

pub async fn data(client: &Client, path: &str) -> Value {
    client.get(path).await.expect(200)["data"].take()
}

/// Objects by one of their fields, each as `make` shows it.
pub fn by(list: &Value, key: &str, make: impl Fn(&Value) -> Value) -> Value {
    let name = |one: &Value| one[key].as_str().map_or_else(|| one[key].to_string(), str::to_owned);
    list.as_array().expect("a list").iter().map(|one| (name(one), make(one))).collect::<Map<_, _>>().into()
}

/// All organisations but one.
pub async fn all(client: &Client, but: &str) -> Value {
    let mut all = Map::new();
    for id in organisations(client, but).await {
        all.insert(id.clone(), organisation(client, &id).await);
    }
    all.into()
}

pub async fn organisations(client: &Client, but: &str) -> Vec<String> {
    let listed = data(client, "/users/organisations").await;
    let ids = listed.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned());
    ids.filter(|id| id != but).collect()
}

pub async fn organisation(client: &Client, id: &str) -> Value {
    let path = format!("/organisations/{id}");
    let members = data(client, &format!("{path}/users?limit=200")).await;
    let mut found = pick(&data(client, &path).await, &format!("{ORGANISATION} org_role"));
    found["members"] = by(&members, "id", |member| pick(member, MEMBER));
    found["roles"] = by(&data(client, &format!("{path}/roles")).await, "id", |role| pick(role, ROLE));
    found["channels"] = json!({});
    for (channel, unread) in unread(client, id).await {
        found["channels"][&channel] = self::channel(client, &channel, unread).await;
    }
    found
}

/// The channels that the user is in, with what is unread there; of archived ones that is not shown.
pub async fn unread(client: &Client, organisation: &str) -> BTreeMap<String, Value> {
    let (path, mut found) = (format!("/organisations/{organisation}"), BTreeMap::new());
    for list in ["user-channels", "dms", "channels/archived"] {
        for one in data(client, &format!("{path}/{list}")).await.as_array().unwrap() {
            let id = one.get("id").or(one.get("channels_id")).unwrap().as_str().unwrap().to_owned();
            let is_in = list != "channels/archived" || one["users"].as_array().unwrap().contains(&json!(client.user_id));
            let unread = if list == "channels/archived" { Value::Null } else { pick(one, UNREAD) };
            if is_in {
                found.insert(id, unread);
            }
        }
    }
    found
}

pub async fn channel(client: &Client, id: &str, unread: Value) -> Value {
    let mut found = pick(&data(client, &format!("/channels/{id}")).await, &format!("{CHANNEL} is_starred is_muted"));
    let members = client.get(&format!("/channels/{id}/users")).await.expect(200)["users"].take();
    found["members"] = by(&members, "user_id", |member| pick(member, CHANNEL_MEMBER));
    found["unread"] = unread;
    let threads = data(client, &format!("/threads/channels/{id}?limit=200&messages=200")).await;
    found["threads"] = by(&threads, "thread_id", thread);
    let own = format!("/threads/organisations/{}?mine=true&messages=0&limit=200", found["organisation_id"].as_str().unwrap());
    let mut own = data(client, &own).await;
    own.as_array_mut().unwrap().retain(|thread| thread["channels_id"] == id);
    found["own_threads"] = by(&own, "thread_id", |thread| pick(thread, OWN));
    let pins = data(client, &format!("/channels/{id}/pins")).await;
    found["pins"] = pins.as_array().unwrap().iter().map(|pin| pin["id"].clone()).collect();
    found
}

fn thread(listed: &Value) -> Value {
    let mut thread = message(listed);
    thread["replies"] = by(&listed["messages"], "id", message);
    thread
}

/// A message as it is kept.
#[track_caller]
pub fn message(shown: &Value) -> Value {
    let mut message = pick(shown, MESSAGE);
    message["reactions"] = reactions_of(shown);
    message["participants"] = participants_of(shown);
    let pin = &shown["pinned_details"];
    message["pin"] = if pin.is_null() { Value::Null } else { pick(pin, "user_id pinned_at") };
    message
}

/// Who gave each reaction of a message, in the order in which the emojis and the users came.
pub fn reactions_of(message: &Value) -> Value {
    message["reactions"].as_array().expect("reactions").iter().map(|one| pick(one, "emoji count users")).collect()
}

/// The first of those who have replied.
pub fn participants_of(thread: &Value) -> Value {
    thread["participants"].as_array().expect("participants").iter().map(|one| one["user_id"].clone()).collect()
}
