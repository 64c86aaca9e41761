//! The state of the server API in memory.

use std::time::Instant;

use uuid::Uuid;

use super::repeats::Repeats;
use crate::{error::Result, secret::AccessKey};

/// The state of the server API.
pub struct ServerApi {
    /// The key of `--push-api-key`; `None` switches the API off.
    pub key: Option<AccessKey>,
    pub(super) repeats: Repeats,
    /// Identifies this run of the server.
    pub(super) node: Uuid,
    pub(super) started: Instant,
}

impl ServerApi {
    pub fn new(key: Option<&str>) -> Result<ServerApi> {
        let key = key.map(|key| AccessKey::new("--push-api-key", key)).transpose()?;
        Ok(ServerApi { key, repeats: Repeats::default(), node: Uuid::new_v4(), started: Instant::now() })
    }
}
