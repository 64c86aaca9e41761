//! The network below HTTP's handlers: the [`client_socket`], the [`client_address`] and the [`origins`] that count, the
//! [`bounded_request_body`], the [`encodings`] of an answer's, the machine's [`own_addresses`], and the [`trusted_authorities`] of connections to others.

pub mod bounded_request_body;
pub mod client_address;
pub mod client_socket;
pub mod encodings;
pub mod origins;
pub mod own_addresses;
pub mod trusted_authorities;
