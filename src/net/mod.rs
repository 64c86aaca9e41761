//! The network below HTTP's handlers: clients' [`socket`]s, the [`client_address`] and the [`origins`] that count, the
//! [`request_body`], and the [`trusted_authorities`] of connections to others.

pub mod client_address;
pub mod origins;
pub mod request_body;
pub mod socket;
pub mod trusted_authorities;
