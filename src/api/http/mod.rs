//! Code that all operations share: callers, bodies, answers and errors.

pub mod api_wrapper;
pub mod auth;
pub mod body;
pub mod compression;
pub mod cookies;
pub mod described;
pub mod envelope;
pub mod failure;
pub mod file_reader;
pub mod form;
pub mod framework_traits;
pub mod json;
pub mod listing;
pub mod login_browser;
pub mod number;
pub mod rows;
pub mod secret_text;
pub mod settings_key_guard;
pub mod visitor;

use poem::Request;

use crate::state::App;

/// The application that a request is for.
fn app(req: &Request) -> &App {
    req.data().expect("the application is installed in routes()")
}
