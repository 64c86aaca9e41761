//! The codes of refusals: what programs go by, whatever language the words are in.

use serde::{Deserialize, Serialize};

/// Declares the codes: what each means and what a program does about it, its name, and the statuses of answers that have it.
macro_rules! codes {
    ($([$section:literal] $($(#[doc = $doc:literal])+ $code:ident = $name:literal, $($status:literal)|+;)+)+) => {
        /// Why a request is refused. A code keeps its name and its meaning from release to release; a release may add codes.
        /// Each has a status that tells the kind of refusal to programs that don't know the code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Code {
            $($($(#[doc = $doc])+ #[serde(rename = $name)] $code,)+)+
        }

        impl Code {
            /// All codes, in sections with a heading each.
            pub const SECTIONS: &'static [(&'static str, &'static [Code])] = &[$(($section, &[$(Code::$code),+])),+];

            pub fn all() -> impl Iterator<Item = Code> {
                Code::SECTIONS.iter().flat_map(|(_, codes)| codes.iter().copied())
            }

            /// The name in answers.
            pub const fn name(self) -> &'static str {
                match self { $($(Code::$code => $name,)+)+ }
            }

            /// The statuses of the answers that have it.
            pub const fn statuses(self) -> &'static [u16] {
                match self { $($(Code::$code => &[$($status),+],)+)+ }
            }

            /// What it means, and what a program does about it: a sentence, and the rest.
            pub fn meaning(self) -> (&'static str, &'static str) {
                let text = match self { $($(Code::$code => concat!($($doc),+).trim_start(),)+)+ };
                text.split_once(". ").unwrap_or((text, ""))
            }
        }
    };
}

codes! {
    ["The request"]

    /// The request breaks the rules of HTTP, or a part that no other code covers can't be read. Correct the program.
    BadRequest = "bad_request", 400;
    /// The body isn't JSON, or its content type isn't `application/json`. Correct the program.
    NotJson = "not_json", 400;
    /// The body's JSON is nested too deeply or has too many values. Send less in one request.
    TooComplex = "too_complex", 400;
    /// The body didn't arrive completely, or not in time. Send the request again.
    BodyIncomplete = "body_incomplete", 400;
    /// The body has more than `limit` bytes. Send less in one request, or ask for a shorter text.
    BodyTooLarge = "body_too_large", 413;
    /// The API has no such path. Correct the program, or tell its user that the server is of another version.
    RouteNotFound = "route_not_found", 404;
    /// The path has no such method; the header `Allow` lists those that it has. Correct the program.
    MethodNotAllowed = "method_not_allowed", 405;

    ["Fields and parameters"]

    /// A field or parameter is missing. Send it, or ask the person for it.
    Required = "required", 400 | 422;
    /// A value hasn't the type, the form or the range that the API's document states. Correct the program.
    InvalidValue = "invalid_value", 400 | 422;
    /// A text or list is empty, or a text is only white space. Ask the person for something.
    Empty = "empty", 400 | 422;
    /// A text has fewer than `limit` characters. Ask for a longer one.
    TooShort = "too_short", 400 | 422;
    /// A text has more than `limit` characters. Ask for a shorter one.
    TooLong = "too_long", 400 | 422;
    /// A list has more than `limit` items. Send several requests, or ask the person to choose fewer.
    TooManyItems = "too_many_items", 400 | 422;
    /// A text has characters that aren't allowed there, such as control characters. Ask for another text.
    InvalidCharacters = "invalid_characters", 400 | 422;
    /// A text isn't an e-mail address. Ask the person to check it.
    InvalidEmail = "invalid_email", 400 | 422;
    /// A text isn't a domain of e-mail addresses. Ask for one such as `example.org`.
    InvalidDomain = "invalid_domain", 422;
    /// A text isn't an http or https address, or it is one that may not be used here. Ask for another.
    InvalidUrl = "invalid_url", 400 | 422;
    /// The server calls no addresses of this network. Ask for another; an administrator allows private networks with
    /// `--allow-private-webhooks`.
    UrlNotAllowed = "url_not_allowed", 422;
    /// The name is reserved by the server. Ask for another.
    Reserved = "reserved", 400 | 422;
    /// Two fields or parameters exclude each other. Send one of them.
    ConflictingFields = "conflicting_fields", 400 | 422;
    /// The page begins after row `limit`, where pages end. Offer to narrow the search instead.
    PageTooDeep = "page_too_deep", 400;
    /// A range of time begins after its end. Ask the person to exchange the two.
    InvertedRange = "inverted_range", 422;
    /// A range of time holds more than `limit` events. Ask for a shorter range, or send several requests.
    RangeTooLarge = "range_too_large", 422;
    /// The password is one of the most common ones. Ask for another.
    PasswordTooCommon = "password_too_common", 400 | 422;
    /// The password is the e-mail address or the username. Ask for another.
    PasswordTooSimilar = "password_too_similar", 400 | 422;
    /// The new password is the old one. Ask for another.
    PasswordUnchanged = "password_unchanged", 422;

    ["Who asks"]

    /// The request has no access token. Show the log-in.
    TokenMissing = "token_missing", 401;
    /// The access token is unknown, has expired, or its session has ended. Forget the token and show the log-in.
    TokenInvalid = "token_invalid", 401;
    /// The request has no notification token. Send the one that the log-in answered, in the header `X-Notification-Token`.
    NotificationTokenMissing = "notification_token_missing", 401;
    /// The notification token is unknown, or its session has ended. Forget the token and show the log-in.
    NotificationTokenInvalid = "notification_token_invalid", 401;
    /// The session isn't of the user that `Tidings-User` names: another tab has logged in. Drop what is shown, and start again.
    OtherUser = "other_user", 409;
    /// The page that asks for a session by cookie isn't one of this server. Log in without `cookie`.
    ForeignPage = "foreign_page", 403;
    /// No account has this address with this password. Ask for both again, or offer a link by mail.
    WrongCredentials = "wrong_credentials", 401;
    /// The body is not signed with the `sender_secret` of the webhook. Give its program the same secret.
    SenderUnproved = "sender_unproved", 401;
    /// The given password isn't the account's. Ask for it again.
    WrongPassword = "wrong_password", 401;
    /// The code isn't the one in the mail, or has expired. Ask for it again, or offer another mail.
    WrongCode = "wrong_code", 422;
    /// Too many wrong codes were tried for one mail. Offer to send another.
    TooManyCodes = "too_many_codes", 422;
    /// The account is disabled. Say that only an administrator can change that.
    AccountDisabled = "account_disabled", 403;
    /// The e-mail address must be verified first. Offer to send the mail with the link again, or to register if there is no
    /// account.
    EmailUnverified = "email_unverified", 403;
    /// The e-mail address is verified already. Go on as if the request had succeeded.
    EmailAlreadyVerified = "email_already_verified", 422;
    /// The server makes accounts by invitation only. Say so, and offer to log in.
    RegistrationClosed = "registration_closed", 403;
    /// The server has no identity provider. Offer the other ways to log in that `GET /features` lists.
    ProviderMissing = "provider_missing", 401;
    /// The identity provider can't be reached. Try again after `retry_after` seconds, or offer other ways to log in.
    ProviderUnreachable = "provider_unreachable", 503;
    /// The identity provider hasn't verified the e-mail address. Say that it must be, or offer other ways to log in.
    ProviderEmailUnverified = "provider_email_unverified", 401;
    /// The id token, or the identity provider's answer, isn't valid or was used before. Begin the log-in again.
    IdTokenInvalid = "id_token_invalid", 401;
    /// The person has an account, so that none is made. Offer to log in to it by password or by mail, and send no names and no
    /// password of a new account.
    AccountExists = "account_exists", 401 | 422;
    /// The link, or the request that a code belongs to, is unknown or no longer valid. Offer another mail, or say who can invite.
    LinkInvalid = "link_invalid", 400 | 422;
    /// The link was used as often as it may be, or newer ones were mailed. Offer another mail, or to log in.
    LinkUsed = "link_used", 422;
    /// The link has expired. Offer another mail, or say who can invite.
    LinkExpired = "link_expired", 422;
    /// Nobody can become the first administrator by this link any more. Offer to log in, or tell the administrator to restart the
    /// server for a new link.
    SetupOver = "setup_over", 403 | 422;

    ["What is there"]

    /// There is no such person, or the caller may not see them. Remove them from the view.
    UserNotFound = "user_not_found", 404;
    /// There is no such session, or it has ended. Load the list again.
    SessionNotFound = "session_not_found", 404;
    /// There is no such token, or it has ended. Load the list again.
    TokenNotFound = "token_not_found", 404;
    /// There is no such command. Load the list again.
    CommandNotFound = "command_not_found", 404;
    /// The caller has no such reminder. Load the list again.
    ReminderNotFound = "reminder_not_found", 404;
    /// The message has no such action, or has it no more. Load the message again.
    ActionNotFound = "action_not_found", 404;
    /// There was no such call of a command, or it can't be answered any more. Don't send the answer again.
    CallNotFound = "call_not_found", 404;
    /// There is no such bot in the organisation, or it was removed. Load the list again.
    BotNotFound = "bot_not_found", 404;
    /// There is no such organisation, or the caller isn't a member. Show the organisations that the caller has.
    OrganisationNotFound = "organisation_not_found", 404;
    /// There is no such member. Load the list again.
    MemberNotFound = "member_not_found", 404;
    /// There is no such role. Load the list again.
    RoleNotFound = "role_not_found", 400 | 404;
    /// There is no right of this name. Take the names that `GET /permissions` lists.
    RightNotFound = "right_not_found", 400;
    /// There is no such invitation, or it was used or withdrawn. Load the list again; who holds the link asks for a new one.
    InvitationNotFound = "invitation_not_found", 404;
    /// There is no such join link, or the caller may not see it. Load the list again.
    JoinLinkNotFound = "join_link_not_found", 404;
    /// No link has this token. Say that the link is incomplete or too old, and offer another mail.
    LinkNotFound = "link_not_found", 404;
    /// There is no such channel, or the caller may not see it. Remove it from the view.
    ChannelNotFound = "channel_not_found", 404;
    /// There is no such message, or it was deleted, or the caller may not see it. Remove it from the view.
    MessageNotFound = "message_not_found", 404;
    /// There is no such file, or the caller may not read it. Remove it from the view.
    FileNotFound = "file_not_found", 404;
    /// There is no such thread, or the caller may not see it. Remove it from the view.
    ThreadNotFound = "thread_not_found", 404;
    /// The message isn't pinned. Go on as if the request had succeeded.
    PinNotFound = "pin_not_found", 404;
    /// The message has no such reaction of the caller. Go on as if the request had succeeded.
    ReactionNotFound = "reaction_not_found", 404;
    /// There is no such webhook. Load the list again; a program that feeds it asks its owner for the new address.
    WebhookNotFound = "webhook_not_found", 404;
    /// The webhook's history has no such attempt. Load the history again.
    AttemptNotFound = "attempt_not_found", 404;
    /// There is no such blog. Load the list again.
    BlogNotFound = "blog_not_found", 404;
    /// There is no such category of blogs. Load the list again.
    CategoryNotFound = "category_not_found", 400 | 404;

    ["Who may"]

    /// The caller's role lacks the right. Say so, and don't offer this to them.
    PermissionDenied = "permission_denied", 403;
    /// The token lacks the scope that the message names. Make another token with that scope.
    ScopeMissing = "scope_missing", 403;
    /// No token of a program can be used for this. Log in, and do it with the session.
    SessionRequired = "session_required", 403;
    /// The token is for some channels only, and the operation shows or changes more than one. Make a token without channels.
    TokenLimited = "token_limited", 403;
    /// The role has rights that the caller can't give, or that a join link never gives. Ask for a role with fewer.
    RightsExceeded = "rights_exceeded", 403 | 422;
    /// There is no such organisation, or the caller isn't a member. Show the organisations that the caller has.
    NotAMember = "not_a_member", 403;
    /// The caller isn't a member of the channel. Offer to join it.
    NotInChannel = "not_in_channel", 403 | 422;
    /// There is no such channel, or the caller may not see it. Remove it from the view.
    ChannelHidden = "channel_hidden", 403;
    /// The caller may not create organisations: `GET /features` says who may, and who registered by a join link joins by it first. Don't
    /// offer it; offer to open an invitation or a join link.
    FoundingRestricted = "founding_restricted", 403;
    /// Only the owner of the organisation may do this. Say so, and don't offer it to others.
    OwnerOnly = "owner_only", 403;
    /// The owner of the organisation can't be removed, deactivated or given another role. Say that the organisation must get
    /// another owner first.
    OwnerProtected = "owner_protected", 403;
    /// Only its author may edit a message. Don't offer it to others.
    AuthorOnly = "author_only", 403;
    /// The invitation or join link is for another address or domain than the caller's. Offer to log in with that address.
    InvitationForAnother = "invitation_for_another", 403;
    /// The invited address has an account. Offer to log in to it, and accept then.
    LoginRequired = "login_required", 401;
    /// The server lets in verified addresses only, and this link wasn't mailed. Ask the person to open the link in the mail.
    MailedLinkRequired = "mailed_link_required", 403;
    /// The webhook's owner may not post in the channel any more. Ask a manager of the channel to take the webhook over.
    WebhookOwnerBarred = "webhook_owner_barred", 403;
    /// Whoever answers for the command may not manage commands any more. Ask somebody who may to change it, and so take it over.
    CommandOwnerBarred = "command_owner_barred", 403;
    /// The program has no address for clicks, or may not answer them any more. Give the bot or the webhook an address; a webhook also chooses `action.clicked`.
    ProgramUnavailable = "program_unavailable", 403 | 422;

    ["The state of things"]

    /// The channel is archived, so that it can only be read. Say so; offer to restore it to those who may.
    ChannelArchived = "channel_archived", 403;
    /// The default channel can't be deleted or archived. Say so, and don't offer it.
    ChannelIsDefault = "channel_is_default", 403;
    /// This can't be done with a direct message. Don't offer it there.
    ChannelIsDirect = "channel_is_direct", 403;
    /// A built-in role can't be changed. Offer to make a role of one's own.
    RoleBuiltIn = "role_built_in", 403;
    /// Something else has the name already. Ask for another.
    NameTaken = "name_taken", 400 | 422;
    /// Somebody else has the username already. Ask for another.
    UsernameTaken = "username_taken", 422;
    /// The address has an account already. Offer to log in to it.
    EmailTaken = "email_taken", 422;
    /// Another message, or a stream, has this id already. Send the message with another id; a retry of one's own is never refused.
    IdTaken = "id_taken", 422;
    /// The person is a member already. Load the members again.
    AlreadyAMember = "already_a_member", 400 | 422;
    /// A person that the request names isn't a member of the organisation. Offer to invite them.
    UserNotAMember = "user_not_a_member", 422;
    /// The member is deactivated. Activate them first.
    MemberDeactivated = "member_deactivated", 422;
    /// A message can't take a file that it names; `message` says why. Upload the file again, or leave it out.
    FileUnusable = "file_unusable", 422;
    /// What was sent is no picture that can be shown; `message` says which can. Choose another one.
    PictureUnusable = "picture_unusable", 422;
    /// An upload in pieces has another length than the request takes it to have, or a newer request goes on with it; `message` says which. Ask for its length with `HEAD`, and go on from there.
    UploadConflict = "upload_conflict", 409;
    /// The request is of another version of tus than 1.0.0. Correct the program.
    TusVersion = "tus_version", 412;
    /// The files of the organisation have as many bytes together as they may, `limit`. Ask for files to be deleted.
    FilesFull = "files_full", 422;
    /// The program of the command or the action did not answer as it should; `message` says how. Try again later.
    CommandFailed = "command_failed", 422;
    /// The program has not answered the same click yet. Wait for its answer.
    ClickUnderWay = "click_under_way", 422;
    /// The member is a bot, which can't own an organisation. Choose a person.
    MemberIsBot = "member_is_bot", 422;
    /// There are `limit` of these already, which is the most. Ask the person to remove one first.
    LimitReached = "limit_reached", 422;
    /// The account has `limit` of these already, which is the most for one account. Say so; others may still make some.
    OwnLimitReached = "own_limit_reached", 400 | 422;
    /// The address has an open invitation already. Offer to send it again.
    AlreadyInvited = "already_invited", 201;
    /// The address has no open invitation that the caller may see. Offer to make one.
    NotInvited = "not_invited", 422;
    /// The invitation was accepted already. Load the list again.
    InvitationAccepted = "invitation_accepted", 400;
    /// The category has blogs. Ask the person to move them to another one first.
    CategoryInUse = "category_in_use", 400;
    /// The webhook is inactive. Ask its owner to make it active.
    WebhookInactive = "webhook_inactive", 403 | 422;
    /// The webhook has no `webhook_url` to deliver to. Ask for one first.
    WebhookWithoutUrl = "webhook_without_url", 422;
    /// The delivery is more than `limit` days old, or delivered nothing. Say that it can't be sent again.
    TooOld = "too_old", 422;
    /// The server's key doesn't open the webhook's secret. Make a new secret.
    SecretUnreadable = "secret_unreadable", 422;

    ["Rates and load"]

    /// There were too many requests. Try again after `retry_after` seconds.
    RateLimited = "rate_limited", 429;
    /// An account with an unverified address may invite fewer people a day. Offer to verify the address.
    RateLimitedUnverified = "rate_limited_unverified", 429;
    /// As many mails were sent for this network as may be. Try again after `retry_after` seconds.
    MailsUsedUp = "mails_used_up", 429;
    /// An account, or an organisation, has written as many bytes as it may for now. Try again after `retry_after` seconds.
    BytesUsedUp = "bytes_used_up", 429;
    /// There were too many wrong passwords. Offer a link by mail, or try again after `retry_after` seconds.
    TooManyPasswords = "too_many_passwords", 429;
    /// The server has too much to do. Try again after `retry_after` seconds.
    Overloaded = "overloaded", 503;
    /// The read would take too long. Ask for less: a shorter list, a rarer word, a shorter time.
    TooSlow = "too_slow", 503;
    /// What an earlier change left to do isn't finished. Try again after `retry_after` seconds.
    StillInProgress = "still_in_progress", 503;
    /// The server's disk is full or nearly so, and at most deletions and log-outs are done. Try again later; an administrator must free some space.
    DiskFull = "disk_full", 503;
    /// The disk has no more room for files, and everything else goes on. Say so, and try again later; an administrator must free some space.
    FilesDiskFull = "files_disk_full", 507;
    /// The write may have been carried out or not. Look before writing again; a post with its own `id` can be sent again safely.
    OutcomeUnknown = "outcome_unknown", 503;
    /// A part of the server doesn't work as it should, and the message names it. Tell the administrator.
    NotReady = "not_ready", 503;
    /// The server failed. Try again later; the header `X-Request-Id` names the request in the server's log.
    InternalError = "internal_error", 500;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Code;

    #[test]
    fn each_code_has_a_meaning_and_says_what_a_program_does() {
        for code in Code::all() {
            let (meaning, advice) = code.meaning();
            assert!(!meaning.ends_with('.') && advice.ends_with('.'), "{code:?}: two sentences");
        }
    }

    #[test]
    fn each_code_has_a_name_of_its_own_in_lower_case_words() {
        let names: BTreeSet<_> = Code::all().map(Code::name).collect();
        assert_eq!(names.len(), Code::all().count());
        for name in names {
            assert!(name.split('_').all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase())), "{name}");
        }
    }
}
