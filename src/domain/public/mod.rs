//! Public content of the platform, outside of organisations: blog posts with categories, testimonials and the contact form.

pub mod blog_categories;
pub mod blog_posts;
pub mod contacts;
pub mod testimonials;
