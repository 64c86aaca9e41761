//! What the server API keeps while the server runs.

use std::time::Instant;

use uuid::Uuid;

use super::repeats::Repeats;
use crate::{error::Result, secret::AccessKey};

/// What the API remembers while the server runs.
pub struct ServerApi {
    /// Whom it answers; none for nobody.
    pub key: Option<AccessKey>,
    pub(super) repeats: Repeats,
    /// Names this run of the server.
    pub(super) node: Uuid,
    pub(super) started: Instant,
}

impl ServerApi {
    pub fn new(key: Option<&str>) -> Result<ServerApi> {
        let key = key.map(|key| AccessKey::new("--push-api-key", key)).transpose()?;
        Ok(ServerApi { key, repeats: Repeats::default(), node: Uuid::new_v4(), started: Instant::now() })
    }
}
