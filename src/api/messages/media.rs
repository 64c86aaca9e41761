//! Files of messages, of which the server takes none yet.

use poem_openapi::Object;

use crate::{
    api::http::body::List,
    error::{Code, Error, Result},
};

/// The files that a request sends with a message.
pub type Media = List<File, 0, 0>;

/// A file that was uploaded before.
#[derive(Object)]
pub struct File {
    /// The file's identifier.
    id: String,
}

/// Refuses a post with files, once nothing but its text can be at fault: 422. Without the files it would not be what was sent.
pub fn none<T>(media: &Option<Media>, made: Result<T>) -> Result<T> {
    let has_files = media.as_ref().is_some_and(|media| !media.0.is_empty());
    match made {
        Ok(_) | Err(Error::Invalid(_)) if has_files => Err(Error::Invalid(
            Code::TooManyItems.says("media must be empty: the server takes no files yet").at("media").with_limit(0_u64),
        )),
        made => made,
    }
}
