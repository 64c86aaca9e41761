//! The groups of operations in the OpenAPI document.

use poem_openapi::Tags;

#[derive(Tags)]
pub enum Tag {
    /// Accounts, log-in, passwords
    Accounts,
    /// The caller's account and sessions
    Profile,
    /// Organisations
    Organisations,
    /// Members of organisations
    Members,
    /// Roles and their rights
    Roles,
    /// Invitations by e-mail
    Invitations,
    /// Channels and who is in them
    Channels,
    /// Posting, editing, listing and reading messages
    Messages,
    /// Top-level posts with their replies
    Threads,
    /// Webhooks of channels, and feeding posts
    Webhooks,
    /// Tokens for live push
    Realtime,
    /// Blog posts, their categories, feedback
    Blogs,
    /// Testimonials of users
    Testimonials,
    /// The contact form
    Contact,
}
