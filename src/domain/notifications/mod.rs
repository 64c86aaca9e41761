//! Who is told of a message: what members have chosen ([`preferences`]), the rule ([`decision`]), and the messages that it is asked about
//! ([`following`]).

pub mod decision;
pub mod following;
pub mod preferences;
