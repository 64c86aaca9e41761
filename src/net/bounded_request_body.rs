//! Reads the body of a request, bounded in bytes and time.

use std::time::Duration;

use bytes::Bytes;
use poem::{Body, error::ReadBodyError};
use tokio::time::timeout;

use crate::error::{Code, Error, Result};

/// For all of a body to arrive.
const READ_WITHIN: Duration = Duration::from_secs(30);

/// All of a body, if it is within the bound and arrives within 30 seconds: 413 and 400 otherwise.
pub async fn read(body: Body, bound: usize) -> Result<Bytes> {
    match timeout(READ_WITHIN, body.into_bytes_limit(bound)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(ReadBodyError::PayloadTooLarge)) => Err(Error::TooLarge(bound)),
        Ok(Err(err)) => Err(Error::BadRequest(Code::BodyIncomplete.says(format!("The request body could not be read: {err}")))),
        Err(_) => Err(Error::BadRequest(Code::BodyIncomplete.says("The request body did not arrive in time"))),
    }
}
