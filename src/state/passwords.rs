//! Hashes and checks the passwords in requests, within the limits.

use std::net::IpAddr;

use super::Inner;
use crate::{
    domain::accounts::{User, sessions},
    error::Result,
    limits::networks,
    secret,
};

impl Inner {
    /// [`secret::hash_password`] for a client's address. 503 if no slot becomes free in time.
    pub async fn hash(&self, from: IpAddr, password: String) -> Result<String> {
        let permit = self.hashing.permit(self.limits.hashes(from)).await?;
        self.hashing.run(permit, move || secret::hash_password(&password)).await?
    }

    /// [`secret::verify_password`] for a client that has proved by other means who it is. A client that may be guessing goes
    /// through [`Inner::verify_password`]. 503 if no slot becomes free in time.
    pub async fn verify(&self, from: IpAddr, password: String, hash: String) -> Result<bool> {
        let permit = self.hashing.permit(self.limits.hashes(from)).await?;
        self.hashing.run(permit, move || secret::verify_password(&password, &hash)).await
    }

    /// Whether the password is that of an account. `email` is what the client sent; `account` is that address's account, if
    /// there is one. Both cases take the same steps and the same time. A wrong password counts against the network and the
    /// account. 429 after too many of one network, or if the queue of an account that is being guessed at is full or too
    /// slow; 503 if no slot becomes free in time.
    pub async fn verify_password(&self, from: IpAddr, email: &str, account: Option<&User>, password: String) -> Result<bool> {
        let hash = account.map(|account| account.password_hash.clone()).unwrap_or_default();
        let Some(guesses) = self.limits.guesses() else { return self.verify(from, password, hash).await };
        // Before the attempt counts as failed, so that many right ones at once are not taken for failures.
        let permit = self.hashing.permit(self.limits.hashes(from)).await?;
        let must_wait = guesses.begin(from, email)?;
        let checked = async {
            let (turn, permit) = match must_wait && !self.logged_in_from(from, account)? {
                true => {
                    drop(permit); // an account's queue holds up no other account
                    let turn = guesses.permit(from, email).await?;
                    (Some(turn), self.hashing.permit(self.limits.hashes(from)).await?)
                }
                false => (None, permit),
            };
            let verify = move || {
                let _turn = turn;
                secret::verify_password(&password, &hash)
            };
            self.hashing.run(permit, verify).await
        };
        let checked = checked.await;
        guesses.end(from, email, &checked);
        checked
    }

    /// Whether a session of the account was begun from this network.
    fn logged_in_from(&self, address: IpAddr, account: Option<&User>) -> Result<bool> {
        let Some(account) = account else { return Ok(false) };
        let begun = self.db.read(|conn| sessions::addresses(conn, account.id))?;
        let here = networks::network(address);
        Ok(begun.iter().any(|there| there.parse().is_ok_and(|there| networks::network(there) == here)))
    }
}
