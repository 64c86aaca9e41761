//! Public content, which people without an account read and write: blog posts, testimonials, the contact form.

pub mod blog_categories;
pub mod blog_posts;
pub mod contacts;
pub mod testimonials;
