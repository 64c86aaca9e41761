//! Public content of the platform, outside of organisations: blog posts with categories, testimonials and the contact form.
//!
//! Uses access, accounts, mail_queue, page and text; no other area of the domain uses it.

pub mod blog_categories;
pub mod blog_posts;
pub mod contacts;
pub mod testimonials;
