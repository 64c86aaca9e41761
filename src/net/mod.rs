//! The network below HTTP's handlers: clients' [`socket`]s with their [`tls`], whose [`client_address`] and
//! [`origins`] count, and the [`request_body`].

pub mod client_address;
pub mod origins;
pub mod request_body;
pub mod socket;
pub mod trusted_authorities;
