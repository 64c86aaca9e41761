//! The documented shape of every body: `field:type`, in the specification's words.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use tidings::{
    domain::{event_schemas, webhooks::delivery::kind::DeliveryKind},
    error::Code,
};
use uuid::Uuid;

pub const ORGANISATION: &str = "id:uuid name:text organisation_slug:text description:text email:text country:text industry:text type:text
    location:text logo_url:text owner_id:uuid channels_count:int total_messages_count:int org_role:text role_name:text role:text user_role:object created_at:time
    updated_at:time";
pub const USER_ROLE: &str = "role_id:int role_name:text";
pub const OWN_ORGANISATION: &str =
    "id:uuid name:text organisation_slug:text logo_url:text org_role:text role_name:text channels_count:int pinned:bool";
pub const MEMBER: &str =
    "id:uuid email:text phone_number:text name:text role:text role_key:text role_id:int role_name:text status:text
    entity_type:text is_verified:bool created_at:time profile_url:text username:text full_name:text";
pub const PAGINATION: &str = "current_page:int page_size:int total_items:int total_pages:int";
pub const MEMBERSHIP: &str = "user_id:uuid organisation_id:uuid status:text role_id:int created_at:time deleted_at:time?";
pub const METRICS: &str = "active_count:int inactive_count:int total_members:int";
pub const ROLE: &str = "id:int uuid:uuid organisation_id:uuid? name:text key:text description:text permission_list:object
    permissions:object created_at:time updated_at:time";
pub const PERMISSION: &str = "key:text other_keys:array right:text name:text category:text description:text";
/// An invitation in the organisation's list.
pub const SENT_INVITATION: &str = "id:uuid email:text token:text status:text role:text role_name:text organisation_id:uuid
    is_platform_user:bool is_verified:bool Organisation:object created_at:time expires_at:time";
pub const INVITING_ORGANISATION: &str = "id:uuid name:text organisation_slug:text description:text email:text type:text
    location:text country:text owner_id:uuid channels_count:int total_messages_count:int org_roles:array Users:array created_at:time updated_at:time";
pub const INVITATION_PAGINATION: &str = "current_page:int page_count:int total_pages_count:int";
pub const INVITATION: &str = "id:uuid email:text org_id:uuid status:text invite_token:text is_platform_user:bool is_verified:bool
    invitation_link:text sent_at:time expires_at:time";

pub const SESSION: &str = "user:object access_token:text access_token_expires_in:seconds notification_token:text
    device_token:text";
pub const USER: &str = "id:uuid user_id:uuid email:text username:text first_name:text last_name:text fullname:text phone:text
    avatar_url:text is_verified:bool is_onboarded:bool is_active:bool role:text current_org:uuid?
    current_organisation_slug:text created_at:seconds updated_at:seconds expires_in:seconds";
/// What choosing an organisation answers, beside [`USER`].
pub const SWITCHED: &str = "access_token:text current_organisation_slug:text organisation:object";
pub const INVITATION_PREVIEW: &str = "organisation_name:text users_photos:array is_new_user:bool user_email:text
    inviter_name:text role:text role_name:text domain:text expires_at:time";

pub const NEW_CHANNEL: &str =
    "id:uuid channels_id:uuid name:text description:text is_private:bool is_dm:bool organisation_id:uuid
    created_by:uuid created_at:time updated_at:time";
pub const CHANNEL: &str =
    "channels_id:uuid name:text description:text organisation_id:uuid owner_id:uuid users:uuids created_at:time
    access:bool members_count:int";
/// What one channel has besides.
pub const CHANNEL_DETAILS: &str = "owner_name:text participants:array members:array";
pub const PARTICIPANT: &str = "user_id:uuid username:text full_name:text avatar_url:text";
/// A channel in the list of the caller's channels.
pub const LISTED_CHANNEL: &str = "channels_id:uuid name:text description:text organisation_id:uuid owner_id:uuid users:uuids
    created_at:time user_count:int message_count:int webhook_url:text deleted_at:never messages:array";
pub const ARCHIVED_CHANNEL: &str = "channels_id:uuid name:text description:text organisation_id:uuid owner_id:uuid users:uuids
    user_count:int message_count:int archived:bool group_id:text? created_at:time deleted_at:never threads:array?";
pub const OPEN_CHANNEL: &str = "id:uuid name:text description:text created_at:time";
pub const SHORT_CHANNEL: &str = "id:uuid name:text description:text created_at:time thread_count:int mention_count:int
    is_starred:bool is_muted:bool channels_id:uuid preview_thread:array access:bool archived:bool topic:text owner_id:uuid is_default:bool
    user_count:int last_message_at:time";
pub const JOINED: &str =
    "name:text description:text userId:uuid channel_id:uuid organisation_id:uuid owner_id:uuid created_at:time";
pub const CHANNEL_MEMBER: &str = "user_id:uuid username:text full_name:text avatar_url:text role_id:int? joined_at:time";

/// The message object, the same wherever a message is.
pub const MESSAGE: &str =
    "id:uuid thread_id:uuid channel_id:uuid channels_id:uuid org_id:uuid position:int user_id:uuid user_type:text
    username:text full_name:text email:text avatar_url:text content:text message:text media:array mentions:array type:text
    event_name:text action_type:text status:text current_status:text message_count:int last_reply:time edited:bool pinned:bool
    is_pinned:bool pinned_details:object? reactions:array created_at:time updated_at:time deleted_at:time";
pub const REACTION: &str = "emoji:text count:int users:uuids reaction:text reaction_count:int reaction_id:text";
/// What a thread has besides the message object of its post.
pub const THREAD: &str = "channel_name:text messages:array";
/// What a thread in the list of an organisation has besides.
pub const ORGANISATION_THREAD: &str = "channel_type:text thread_messages:array";
pub const WEBHOOK: &str = "id:uuid event_name:text webhook_name:text status:text owner_id:uuid webhook_url:text webhook_slug:text
    channel_id:uuid created_at:time updated_at:time deleted_at:time? feed_url:text";
pub const ATTEMPT: &str = "id:uuid webhook_id:uuid callback_id:uuid status_code:text action_type:text retries:text attempted:time
    direction:text latency_ms:int error:text response:text next_attempt:time? received:text? read_as:text";
pub const BLOG: &str = "id:uuid title:text content:text category_id:uuid image_url:text author_id:uuid created_at:time
    updated_at:time";
pub const CATEGORY: &str = "id:uuid name:text created_at:time updated_at:time";
pub const TESTIMONIAL: &str = "id:uuid user_id:uuid company_name:text image_url:text name:text content:text created_at:time";

pub const PINNED_DETAILS: &str = "user_id:uuid username:text email:text pinned_by:uuid pinned_at:time";
pub const UPDATE_CHANGE: &str = "thread_count:int message_count:int last_reply:time";
/// The envelope of all other publications.
pub const PUSHED: &str = "notification_type:text section:text data:object notification_id:uuid";
pub const UNREAD: &str = "name:text description:text channels_id:uuid organisation_id:uuid owner_id:uuid topic:text archived:bool
    is_private:bool access:bool created_at:time deleted_at:never last_thread_id:text thread_count:int mention_count:int";
pub const MODIFICATION_IDS: &str = "thread_id:uuid message_id:uuid channel_id:uuid user_id:uuid org_id:uuid";

const NEVER: &str = "0001-01-01T00:00:00Z";

/// Every field of the shape is there with its type; more fields are allowed.
#[track_caller]
pub fn assert_shape(value: &Value, shape: &str) {
    for (field, kind) in shape.split_whitespace().map(|field| field.split_once(':').unwrap()) {
        let found = value.get(field).unwrap_or_else(|| panic!("{field} is missing: {value:#}"));
        assert!(is(found, kind), "{field} is not a {kind}: {found} in {value:#}");
    }
}

fn is(value: &Value, kind: &str) -> bool {
    if let Some(kind) = kind.strip_suffix('?') {
        return value.is_null() || is(value, kind);
    }
    let text = |rule: fn(&str) -> bool| value.as_str().is_some_and(rule);
    match kind {
        "text" => value.is_string(),
        "uuid" => text(is_uuid),
        "uuids" => value.as_array().is_some_and(|ids| ids.iter().all(|id| is(id, "uuid"))),
        "time" => text(is_time),
        "never" => text(|text| text == NEVER),
        "seconds" => text(|text| text.parse::<u64>().is_ok()),
        "int" => value.is_u64(),
        "bool" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no such type: {other}"),
    }
}

fn is_uuid(text: &str) -> bool {
    Uuid::parse_str(text).is_ok_and(|uuid| uuid.to_string() == text)
}

/// RFC 3339, UTC, `Z`, six digits; or the time that never was.
fn is_time(text: &str) -> bool {
    let six_digits = text.rsplit_once('.').is_some_and(|(_, fraction)| fraction.len() == 7 && fraction.ends_with('Z'));
    text == NEVER || (six_digits && text.parse::<jiff::Timestamp>().is_ok())
}

/// The documented envelope of a failure; `what` is method and path.
#[track_caller]
pub fn assert_failure(what: &str, status: u16, body: &Value) {
    let has = |field: &str| body.get(field).is_some();
    assert_eq!(body["status"], "error", "{what}: {body:#}");
    if what.contains(" /testimonials") {
        assert!(!has("status_code"), "{what}: {body:#}");
    } else {
        assert_eq!(body["status_code"], status, "{what}: {body:#}");
    }
    assert!(body["message"].as_str().is_some_and(|message| !message.is_empty()), "{what}: {body:#}");
    if lists_errors(what) {
        let errors = body["errors"].as_array().unwrap_or_else(|| panic!("{what}: no list of errors: {body:#}"));
        assert!(!errors.is_empty() && errors.iter().all(Value::is_string) && !has("error"), "{what}: {body:#}");
    } else {
        assert!(body["error"].is_string() && !has("errors"), "{what}: {body:#}");
    }
    let named = |named: &Value| Code::all().find(|code| *named == code.name());
    let code = named(&body["code"]).unwrap_or_else(|| panic!("{what}: no code: {body:#}"));
    assert!(code.statuses().contains(&status), "{what}: the code has another status: {body:#}");
    assert_eq!(has("limit"), code.meaning().0.contains("`limit`"), "{what}: {body:#}");
    assert_eq!(has("retry_after"), [429, 503].contains(&status), "{what}: {body:#}");
    let fields = body["fields"].as_array().into_iter().flatten();
    for field in fields {
        assert!(field["field"].is_string() && named(&field["code"]).is_some(), "{what}: {body:#}");
    }
}

/// The groups whose failures carry `errors`.
fn lists_errors(what: &str) -> bool {
    let path = what.split_whitespace().nth(1).unwrap_or_default().split('?').next().unwrap_or_default();
    match path.split('/').collect::<Vec<_>>()[..] {
        ["", "threads", _, ..] => true,
        ["", "organisations", _, group, ..] => ["users", "metrics", "invites"].contains(&group),
        _ => false,
    }
}

/// The body of a delivery conforms to the schema of its kind.
#[track_caller]
pub fn assert_delivered(body: &Value) {
    let mut schemas = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let kind = DeliveryKind::ALL.into_iter().find(|kind| body["type"] == kind.name()).expect("a kind of deliveries");
    let schema = event_schemas::delivery_schema(kind, &mut schemas).to_value();
    assert_conforms(body, &schema, schemas.definitions());
}

/// The value has exactly the fields that its JSON schema (of `domain::event_schemas`) describes, each of its type. References lead
/// to the definitions.
#[track_caller]
pub fn assert_conforms(value: &Value, schema: &Value, definitions: &Map<String, Value>) {
    if let Some(name) = schema["$ref"].as_str() {
        let definition = name.rsplit('/').next().and_then(|name| definitions.get(name));
        return assert_conforms(value, definition.unwrap_or_else(|| panic!("{name} is not defined")), definitions);
    }
    if let Some(parts) = schema["allOf"].as_array() {
        return parts.iter().for_each(|part| assert_conforms(value, part, definitions));
    }
    if schema["anyOf"][1]["type"] == "null" {
        if !value.is_null() {
            assert_conforms(value, &schema["anyOf"][0], definitions);
        }
        return;
    }
    if schema["type"][1] == "null" {
        let one = |(name, rule): (&String, &Value)| (name.clone(), if name == "type" { rule[0].clone() } else { rule.clone() });
        let schema = schema.as_object().into_iter().flatten().map(one).collect();
        if !value.is_null() {
            assert_conforms(value, &Value::Object(schema), definitions);
        }
        return;
    }
    // Any value conforms to a schema without rules.
    if schema.as_object().is_some_and(|rules| rules.keys().all(|rule| rule == "description")) {
        return;
    }
    for (rule, allowed) in [("const", &schema["const"]), ("enum", &schema["enum"])] {
        let fits = allowed.is_null() || allowed == value || allowed.as_array().is_some_and(|values| values.contains(value));
        assert!(fits, "{value} is not of the {rule} {allowed}");
    }
    let kind = schema["type"].as_str().unwrap_or_else(|| panic!("no type: {schema:#}"));
    let is_of_kind = match (kind, schema["format"].as_str()) {
        ("string", Some("uuid")) => is(value, "uuid"),
        ("string", Some("date-time")) => is(value, "time"),
        ("string", None) => value.is_string(),
        ("integer", _) => value.is_i64(),
        ("boolean", _) => value.is_boolean(),
        ("array", _) => value.is_array(),
        ("object", _) => value.is_object(),
        other => panic!("what is {other:?}?"),
    };
    assert!(is_of_kind, "{value} is no {kind}: {schema}");
    for item in value.as_array().into_iter().flatten() {
        assert_conforms(item, &schema["items"], definitions);
    }
    let Some(fields) = value.as_object().filter(|_| schema["additionalProperties"].is_null()) else { return };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    required.for_each(|name| assert!(fields.contains_key(name), "{name} is missing: {value:#}"));
    for (name, value) in fields {
        let property = schema["properties"].get(name).unwrap_or_else(|| panic!("{name} is not described: {schema:#}"));
        assert_conforms(value, property, definitions);
    }
}
