mod blogs;
mod contacts;
mod testimonials;
