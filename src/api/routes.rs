//! All operations, as one service.

use poem_openapi::{OpenApi, OpenApiService};

use super::{
    accounts, channels, commands, faces, features, files, first_screen, messages, notifications, organisations, public,
    push_tokens, reminders, webhooks,
};

pub fn openapi_service() -> OpenApiService<impl OpenApi, ()> {
    // One tuple for each area: the framework takes tuples of at most sixteen.
    let apis = (
        (
            accounts::Api,
            accounts::mailed_links::Api,
            accounts::own_account::Api,
            accounts::program_tokens::Api,
            accounts::link_purpose::Api,
            accounts::login_codes::Api,
        ),
        (
            organisations::Api,
            organisations::channels::Api,
            organisations::members::Api,
            organisations::bots::Api,
            organisations::roles::Api,
            organisations::role_rights::Api,
            organisations::invitations::Api,
            organisations::acceptance::Api,
            organisations::join_links::Api,
        ),
        (first_screen::Api, push_tokens::Api, features::Api, reminders::Api, notifications::Api),
        (channels::Api, channels::members::Api, channels::direct_messages::Api, channels::preferences::Api),
        (messages::Api, messages::reactions::Api, messages::search::Api, messages::linked_message::Api, messages::threads::Api),
        (files::Api, files::download::Api, files::links::Api, faces::Api),
        (commands::Api, commands::calling::Api),
        (webhooks::Api, webhooks::deliveries::Api, webhooks::incoming_posts::Api),
        (public::blog_posts::Api, public::blog_categories::Api, public::testimonials::Api, public::contacts::Api),
    );
    OpenApiService::new(apis, "Tidings", env!("CARGO_PKG_VERSION"))
        .description(include_str!("description.md"))
        .license(poem_openapi::LicenseObject::new("MIT OR Apache-2.0").url("https://spdx.org/licenses/"))
        .server("/api/v1")
}
