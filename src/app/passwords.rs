//! Hashing passwords, which takes long, off the runtime's threads.

use super::Inner;
use crate::{
    error::{Error, Result},
    secret,
};

impl Inner {
    /// [`secret::hash_password`] off the runtime's threads.
    pub async fn hash(&self, password: String) -> Result<String> {
        self.hashing(move || secret::hash_password(&password)).await?
    }

    /// [`secret::verify_password`] off the runtime's threads.
    pub async fn verify(&self, password: String, hash: String) -> Result<bool> {
        self.hashing(move || secret::verify_password(&password, &hash)).await
    }

    async fn hashing<T: Send + 'static>(&self, f: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let _permit = self.hashing.acquire().await.map_err(Error::internal)?;
        tokio::task::spawn_blocking(f).await.map_err(Error::internal)
    }
}
