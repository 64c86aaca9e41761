//! Where clicks on the actions of a bot's messages go, and what signs them.

use crate::{
    db::Tx,
    domain::{
        access::Caller,
        messages::action_buttons::{self, Program},
        program_urls,
        text::{self, Rule},
    },
    error::{Error, Result},
    id::UserId,
    secret,
};

text::rules! {
    /// The address for clicks; empty for none.
    pub Address: Rule::web_address(2000);
}

/// Sets the address for clicks, for which the caller answers from now on, and makes a secret if one is wanted or there is none.
/// Returns the secret if it is new. All checks of rights were made; 422 for a bad address.
pub(super) fn set(tx: &mut Tx, caller: Caller, bot: UserId, url: Option<&str>, is_new_secret: bool) -> Result<Option<String>> {
    if let Some(url) = url {
        let url = Address::check(url, "url").map_err(Error::Invalid)?;
        let (url, target) = if url.is_empty() { ("", String::new()) } else { program_urls::check(tx.site(), url, "url")? };
        let by = (!url.is_empty()).then_some(caller.user);
        tx.prepare_cached("update bots set url = ?2, url_by = ?3, target = ?4 where user_id = ?1")?
            .execute((bot, url, by, target))?;
        action_buttons::end_calls(tx, Program::Bot(bot))?;
    }
    let lacks_secret =
        tx.prepare_cached("select 1 from bots where user_id = ?1 and url <> '' and secret is null")?.exists([bot])?;
    if !is_new_secret && !lacks_secret {
        return Ok(None);
    }
    let secret = secret::signing_secret();
    let sealed = tx.site().keys().seal(&secret);
    tx.prepare_cached("update bots set secret = ?2 where user_id = ?1")?.execute((bot, sealed))?;
    Ok(Some(secret))
}
