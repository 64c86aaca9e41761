//! The kinds of events that a webhook wants delivered.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use crate::{
    domain::{
        text::{self, Rule},
        webhooks::delivery::kind::DeliveryKind,
    },
    error::{Code, Error, Result},
};

text::rules! {
    /// The name of a kind.
    pub EventKind: Rule::one_of(&NAMES);
}

/// The names of the kinds that a webhook chooses from.
const NAMES: [&str; DeliveryKind::CHOSEN.len()] = {
    let mut names = [""; DeliveryKind::CHOSEN.len()];
    let mut n = 0;
    while n < names.len() {
        names[n] = DeliveryKind::CHOSEN[n].name();
        n += 1;
    }
    names
};

/// A set of kinds, stored as the sum of their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subscription(i64);

impl Subscription {
    /// New posts and replies alone.
    pub const DEFAULT: Subscription = Subscription(DeliveryKind::MessageCreated.bit());

    /// The kinds of these names. 422 for an unknown name, and for none.
    pub fn from_names(names: &[String]) -> Result<Subscription> {
        if names.is_empty() {
            return Err(Error::Invalid(Code::Empty.says("events: name at least one").at("events")));
        }
        if names.len() > NAMES.len() {
            let most = NAMES.len();
            return Err(Error::Invalid(
                Code::TooManyItems.says(format!("events has at most {most} names")).at("events").with_limit(most),
            ));
        }
        let mut bits = 0;
        for name in names {
            let name = EventKind::check(name, "events: each").map_err(|refusal| Error::Invalid(refusal.at("events")))?;
            bits |= DeliveryKind::CHOSEN.iter().filter(|kind| kind.name() == name).map(|kind| kind.bit()).sum::<i64>();
        }
        Ok(Subscription(bits))
    }

    pub fn includes(self, kind: DeliveryKind) -> bool {
        self.0 & kind.bit() != 0
    }

    pub fn kind_names(self) -> Vec<&'static str> {
        DeliveryKind::CHOSEN.iter().filter(|kind| self.0 & kind.bit() != 0).map(|kind| kind.name()).collect()
    }
}

impl ToSql for Subscription {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.into())
    }
}

impl FromSql for Subscription {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Subscription> {
        value.as_i64().map(Subscription)
    }
}
