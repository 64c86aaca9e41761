//! Fields of a program's JSON. What is missing, null or of another type counts as empty, because programs add and change fields
//! from release to release, and a post without one of them is better than none.

use std::collections::BTreeMap;

use serde_json::Value;

use super::markdown_pieces::{LONGEST_TEXT, cut};

/// A type of fields.
pub trait Field: Default {
    fn read(value: &Value) -> Self;
}

impl Field for String {
    fn read(value: &Value) -> Self {
        match value {
            Value::String(text) => cut(text, LONGEST_TEXT),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => String::new(),
        }
    }
}

impl Field for u64 {
    fn read(value: &Value) -> Self {
        value.as_u64().unwrap_or_default()
    }
}

impl Field for bool {
    fn read(value: &Value) -> Self {
        value.as_bool().unwrap_or_default()
    }
}

impl<T: Field> Field for Vec<T> {
    fn read(value: &Value) -> Self {
        value.as_array().into_iter().flatten().map(T::read).collect()
    }
}

/// Names with their values, such as the labels of an alert.
impl Field for BTreeMap<String, String> {
    fn read(value: &Value) -> Self {
        value.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), String::read(value))).collect()
    }
}

/// Declares objects by the fields of them that are read, each under its own name or the one that is given:
/// `object! { struct Issue { title: String, url "html_url": String } }`
macro_rules! object {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    ($($(#[$doc:meta])* $visible:vis struct $object:ident { $($field:ident $($name:literal)?: $type:ty),* $(,)? })+) => {$(
        $(#[$doc])*
        #[derive(Default)]
        $visible struct $object { $($field: $type),* }

        impl $crate::formats::lenient_fields::Field for $object {
            fn read(value: &serde_json::Value) -> Self {
                $object { $($field: $crate::formats::lenient_fields::Field::read(&value[object!(@name $field $($name)?)])),* }
            }
        }
    )+};
}
pub(super) use object;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    object! {
        struct Outer { name: String, inner: Inner, list: Vec<Inner>, labels: BTreeMap<String, String> }
        struct Inner { count "the-count": u64, is_open "open": bool }
    }

    #[test]
    fn what_is_missing_or_of_another_type_is_empty() {
        let read = Outer::read(&json!({
            "name": 7, "inner": { "the-count": 3, "open": true }, "list": [{ "the-count": 1 }, "x", null], "labels": { "a": 1, "b": [] },
        }));
        assert_eq!((&*read.name, read.inner.count, read.inner.is_open), ("7", 3, true));
        assert_eq!(read.list.iter().map(|inner| inner.count).collect::<Vec<_>>(), [1, 0, 0]);
        assert_eq!(read.labels, BTreeMap::from([("a".into(), "1".into()), ("b".into(), String::new())]));
        for other in [json!(null), json!([]), json!("text"), json!({ "name": {}, "inner": 5, "list": {}, "labels": [] })] {
            let read = Outer::read(&other);
            assert_eq!((&*read.name, read.inner.count, read.list.len(), read.labels.len()), ("", 0, 0, 0), "{other}");
        }
    }
}
