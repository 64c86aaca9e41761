//! Lists of what comes from a file, bounded while they are read: an empty value takes a hundred times its text in memory, so a
//! bound on the text is not enough.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, SeqAccess, Visitor},
};

/// Reads a list of at most `MOST` values: `#[serde(deserialize_with = "deserialize_bounded::<_, _, 20>")]`.
pub fn deserialize_bounded<'de, D: Deserializer<'de>, T: Deserialize<'de>, const MOST: usize>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let mut list = Vec::new();
    each(deserializer, MOST, |value| {
        list.push(value);
        Ok(())
    })?;
    Ok(list)
}

/// Hands each value of a list to `take` when it is read, at most `most` of them. Stops with the text of an error of `take`.
pub fn each<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    most: usize,
    take: impl FnMut(T) -> Result<(), String>,
) -> Result<(), D::Error> {
    deserializer.deserialize_seq(Values { most, take, value: PhantomData })
}

struct Values<T, F> {
    most: usize,
    take: F,
    value: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), String>> Visitor<'de> for Values<T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut values: A) -> Result<(), A::Error> {
        for _ in 0..self.most {
            match values.next_element()? {
                Some(value) => (self.take)(value).map_err(A::Error::custom)?,
                None => return Ok(()),
            }
        }
        match values.next_element::<serde::de::IgnoredAny>()? {
            Some(_) => {
                Err(A::Error::custom(format_args!("more than {} values in a list, the most that an import takes", self.most)))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::deserialize_bounded;

    #[derive(Deserialize)]
    struct Bounded {
        #[serde(deserialize_with = "deserialize_bounded::<_, _, 3>")]
        list: Vec<u8>,
    }

    #[test]
    fn a_list_past_its_bound_is_refused() {
        let read = |text: &str| serde_json::from_str::<Bounded>(text).map(|read| read.list).map_err(|err| err.to_string());
        assert_eq!(read(r#"{"list":[1,2,3]}"#).unwrap(), [1, 2, 3]);
        assert_eq!(read(r#"{"list":[]}"#).unwrap(), [0; 0]);
        assert!(
            read(r#"{"list":[1,2,3,4]}"#).unwrap_err().starts_with("more than 3 values in a list, the most that an import takes")
        );
        assert!(read(r#"{"list":7}"#).unwrap_err().contains("expected a list"));
    }
}
