//! What strangers see and send: blog posts with categories, testimonials, the contact form.
//!
//! It belongs to the platform, not to an organisation; it uses the accounts and the outbox, and nothing uses it.

pub mod blogs;
pub mod categories;
pub mod contacts;
pub mod testimonials;
