//! The event log: every change that a client can see, who may see it, and how somebody who was away gets it.
//!
//! Everything else of the domain writes to it. It uses the folders beside it only to look up who may see a stream and what
//! a message looks like by now.

pub mod events;
pub mod fan_out;
pub mod forwarding;
pub mod publications;
pub mod publishing;
pub mod recovery;
pub mod revocations;
pub mod streams;
