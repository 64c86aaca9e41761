//! One organisation, out of a server and into another: its records ([`records`]), how they are read ([`export`]) and how they
//! are written ([`import`]). Above all other areas.

pub mod export;
pub mod import;
pub mod notifications;
pub mod person;
pub mod records;
