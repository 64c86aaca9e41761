//! What members have chosen to be notified of ([`preferences`]).

pub mod preferences;
