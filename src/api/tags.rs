//! The groups of operations in the OpenAPI document.

use poem_openapi::Tags;

#[derive(Tags)]
pub enum Tag {
    /// Learn what this server offers before anybody has logged in.
    Server,
    /// Make an account, log in and out, and prove a mailbox or replace a password by mailed links.
    Accounts,
    /// Read and change the caller's own account, end sessions, and choose the current organisation.
    Profile,
    /// Make, read, change and delete organisations, and hand them over. Invite people with `POST /invite`, under Invitations.
    Organisations,
    /// List an organisation's members, add and remove them, and change their role or status.
    Members,
    /// Make members of an organisation that are programs, change and remove them.
    Bots,
    /// List the roles of an organisation, and make its own roles with the rights that they give.
    Roles,
    /// Invite people to an organisation by e-mail with `POST /invite`, see and cancel invitations, and accept one.
    Invitations,
    /// Make, find, change, archive and delete channels, and decide who is in them.
    Channels,
    /// Post, edit, delete, list and search messages, react to them and pin them.
    Messages,
    /// Upload files for messages, open them, list those of a channel and remove them. Large ones go in pieces that survive a cut, by
    /// [tus 1.0](https://tus.io/protocols/resumable-upload) at `/api/v1/files/uploads`.
    Files,
    /// Read top-level posts with their replies, and change their status.
    Threads,
    /// Choose what the caller is notified of.
    Notifications,
    /// Let programs answer what members call by a slash and a name, as in `/deploy production`.
    Commands,
    /// Have the server tell the caller something at a chosen time.
    Reminders,
    /// Deliver the messages of a channel to a program, and let programs post into it.
    Webhooks,
    /// Get the tokens with which a client connects and subscribes to live push.
    Realtime,
    /// Read blog posts and rate them; the server's superadmins write them and sort them into categories.
    Blogs,
    /// Read and write what users say of the server.
    Testimonials,
    /// Send a message to those who run the server.
    Contact,
}
