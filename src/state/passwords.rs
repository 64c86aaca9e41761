//! Hashes and checks the passwords in requests, within the limits.

use std::net::IpAddr;

use super::Inner;
use crate::{
    domain::accounts::{User, known_devices, mailed_links, sessions},
    error::Result,
    limits::{Attempt, networks},
    secret,
};

impl Inner {
    /// [`secret::hash_password`] for a client's address. 503 if no slot becomes free in time.
    pub async fn hash_password(&self, from: IpAddr, password: String) -> Result<String> {
        let permit = self.hashing.permit(self.limits.hashes(from)).await?;
        self.hashing.run(permit, move || secret::hash_password(&password)).await?
    }

    /// [`secret::verify_password`] for a client that has proved by other means who it is. A client that may be guessing goes
    /// through [`Inner::verify_log_in`]. 503 if no slot becomes free in time.
    pub async fn verify(&self, from: IpAddr, password: String, hash: String) -> Result<bool> {
        let permit = self.hashing.permit(self.limits.hashes(from)).await?;
        self.hashing.run(permit, move || secret::verify_password(&password, &hash)).await
    }

    /// Whether the password is that of an account. `email` is what the client sent; `account` is that address's account, if
    /// there is one; `mark` is that of a known device, if the client sent one. With and without an account, it takes the same
    /// steps and the same time. A wrong password counts against the network and the account. 429 after too many of one network,
    /// or if an account that is being guessed at has no place in its queue or doesn't come to this attempt; 503 if no slot
    /// becomes free in time.
    pub async fn verify_log_in(
        &self,
        from: IpAddr,
        email: &str,
        account: Option<&User>,
        password: String,
        mark: Option<&str>,
    ) -> Result<bool> {
        let hash = account.map(|account| account.password_hash.clone()).unwrap_or_default();
        let Some(guesses) = self.limits.guesses() else { return self.verify(from, password, hash).await };
        // Before the attempt counts as failed, so that many right ones at once are not taken for failures.
        let mut permit = self.hashing.permit(self.limits.hashes(from)).await?;
        let device = mark.zip(account).and_then(|(mark, account)| self.known_device(mark, account));
        let mut attempt = guesses.begin(from, email, device.as_deref())?;
        let checked = async {
            if attempt.must_queue() {
                self.mail_owner(&attempt, email).await;
                if self.logged_in_from(from, account)? {
                    attempt.skip_queue();
                } else {
                    drop(permit); // an account's queue holds up no other account
                    attempt.wait_for_turn().await?;
                    permit = self.hashing.permit(self.limits.hashes(from)).await?;
                }
            }
            self.hashing.run(permit, move || secret::verify_password(&password, &hash)).await
        };
        let checked = checked.await;
        attempt.end(&checked);
        checked
    }

    /// Mails the owner of an account that is being guessed at, at most once a day. A write that fails is only logged: the mail
    /// must not cost the attempt.
    async fn mail_owner(&self, attempt: &Attempt<'_>, email: &str) {
        let Some(networks) = attempt.estimated_networks_to_report() else { return };
        let email = email.to_owned();
        if let Err(err) = self.db.write(move |tx| mailed_links::mail_about_guesses(tx, &email, networks)).await {
            tracing::warn!(err = err.log_text(), "the owner of an account was not told of guesses at its password");
        }
    }

    fn known_device(&self, mark: &str, account: &User) -> Option<String> {
        known_devices::recognise(&self.site.keys(), mark, account, self.clock.now())
    }

    /// Whether a session of the account was begun from this network.
    fn logged_in_from(&self, address: IpAddr, account: Option<&User>) -> Result<bool> {
        let Some(account) = account else { return Ok(false) };
        let begun = self.db.read(|conn| sessions::addresses(conn, account.id))?;
        let here = networks::network(address);
        Ok(begun.iter().any(|there| there.parse().is_ok_and(|there| networks::network(there) == here)))
    }
}
