//! The messages of the Centrifugo client protocol v2. Each is one structure for both encodings, JSON and Protobuf, with the
//! field numbers of the protocol's schema; [`super::encoding`] reads and writes them. Fields for what this server doesn't
//! support (deltas, tag filters, maps) are left out: both encodings skip unknown fields.

pub mod replies;
pub mod requests;
