//! The groups of operations in the OpenAPI document.

use poem_openapi::Tags;

#[derive(Tags)]
pub enum Tag {
    /// Accounts, log-in, passwords
    Accounts,
    /// One's own account and sessions
    Profile,
    /// Organisations
    Organisations,
    /// Members of organisations
    Members,
    /// What members may do
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
    /// Tokens and the set-up of live push
    Realtime,
    /// Blog posts, their categories, feedback
    Blogs,
    /// What users say of their work with the server
    Testimonials,
    /// The contact form
    Contact,
}
