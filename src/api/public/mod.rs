//! Public content, which people without an account read and write: blog posts, testimonials, the contact form.

pub mod blogs;
pub mod categories;
pub mod contacts;
pub mod testimonials;
