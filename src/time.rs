//! Points in time: microseconds since 1970 in UTC, shown as RFC 3339 with six digits and `Z`.

use std::{fmt, time::Duration};

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

/// The shown form of a time that never was.
const NEVER: &str = "0001-01-01T00:00:00Z";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(i64);

impl Time {
    /// Shown as `0001-01-01T00:00:00Z`: the field is documented as a string, but there is no such time.
    pub const NEVER: Time = Time(i64::MIN);

    pub fn now() -> Time {
        Time(jiff::Timestamp::now().as_microsecond())
    }

    pub const fn from_unix_seconds(seconds: i64) -> Time {
        Time(seconds.saturating_mul(1_000_000))
    }

    pub fn unix_seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    pub fn unix_milliseconds(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// The time in UTC, in a form as of C's `strftime`.
    pub fn strftime(self, form: &str) -> String {
        jiff::Timestamp::from_microsecond(self.0).map_or_else(|_| NEVER.to_owned(), |time| time.strftime(form).to_string())
    }

    /// Reads what [`Time::strftime`] has written; `None` for any other text.
    pub fn strptime(form: &str, text: &str) -> Option<Time> {
        let time = jiff::civil::DateTime::strptime(form, text).ok()?;
        Some(Time(jiff::tz::TimeZone::UTC.to_timestamp(time).ok()?.as_microsecond()))
    }

    /// How long after `earlier` this is; zero when it is not.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0).try_into().unwrap_or(0))
    }
}

impl std::ops::Add<Duration> for Time {
    type Output = Time;
    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl std::ops::Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, span: Duration) -> Time {
        Time(self.0.saturating_sub(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(timestamp) => write!(f, "{timestamp:.6}"),
            Err(_) => f.write_str(NEVER),
        }
    }
}

impl serde::Serialize for Time {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "date-time" })
    }
}

impl ToSql for Time {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.into())
    }
}

impl FromSql for Time {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_i64().map(Time)
    }
}

impl std::str::FromStr for Time {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Time, jiff::Error> {
        text.parse().map(|timestamp: jiff::Timestamp| Time(timestamp.as_microsecond()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_with_six_digits_and_a_z() {
        assert_eq!(Time(0).to_string(), "1970-01-01T00:00:00.000000Z");
        assert_eq!(Time(1_700_000_000_123_400).to_string(), "2023-11-14T22:13:20.123400Z");
        assert_eq!(Time::NEVER.to_string(), "0001-01-01T00:00:00Z");
    }

    #[test]
    fn a_time_in_a_name_is_read_back() {
        let (form, time) = ("tidings-%Y-%m-%dT%H%M%SZ.x", Time(1_700_000_000_000_000));
        assert_eq!(time.strftime(form), "tidings-2023-11-14T221320Z.x");
        assert_eq!(Time::strptime(form, "tidings-2023-11-14T221320Z.x"), Some(time));
        for other in ["tidings-2023-11-14T221320Z.x.y", "tidings-2023-13-14T221320Z.x", "tidings.x", ""] {
            assert_eq!(Time::strptime(form, other), None, "{other}");
        }
    }
}
