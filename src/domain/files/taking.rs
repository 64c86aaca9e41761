//! The files that messages take: each is then read by whoever reads its message.

use std::collections::HashSet;

use super::{
    record::{self, File, Media},
    removal,
};
use crate::{
    db::Tx,
    domain::{
        access::Caller,
        text::{self, Rule},
    },
    error::{Code, Error, Result},
    id::{ChannelId, FileId, OrganisationId},
};

/// At most ten files of a message.
pub const MOST: usize = 10;

text::rules! {
    /// What a file shows, for those who can't see it.
    pub Description: Rule::line(1000);
}

/// A file that a message is to show.
#[derive(Clone)]
pub struct Wanted {
    pub id: FileId,
    /// What it shows; none leaves what was said before.
    pub description: Option<String>,
}

/// The media of a message of the caller's that is to show these files, in this order; none of `before` is lost by being named
/// again. The others must be files that the caller has uploaded to the organisation and that no message has taken. 422 for any
/// other, for more than [`MOST`], and for one that is named twice.
pub fn check(tx: &Tx, caller: Caller, organisation: OrganisationId, wanted: &[Wanted], before: &[Media]) -> Result<Vec<Media>> {
    if wanted.len() > MOST {
        return Err(Error::Invalid(
            Code::TooManyItems
                .says(format!("a message has at most {MOST} files, not {}", wanted.len()))
                .at("files")
                .with_limit(MOST),
        ));
    }
    let mut seen = HashSet::new();
    wanted
        .iter()
        .map(|wanted| {
            if !seen.insert(wanted.id) {
                return Err(unusable(wanted.id, "is named twice"));
            }
            let mut media = match before.iter().find(|media| media.id == wanted.id) {
                Some(media) => media.clone(),
                None => takeable(tx, caller, organisation, wanted.id)?.media,
            };
            if let Some(description) = &wanted.description {
                media.description = Description::check(description, "description").map_err(Error::Invalid)?.to_owned();
            }
            Ok(media)
        })
        .collect()
}

fn takeable(tx: &Tx, caller: Caller, organisation: OrganisationId, id: FileId) -> Result<File> {
    let file = record::find(tx, id)?.filter(|file| file.user == caller.user);
    let file = file.ok_or_else(|| unusable(id, "is no file that you have uploaded, or was kept for no more than a day"))?;
    if file.message.is_some() {
        return Err(unusable(id, "stands in another message already"));
    }
    if file.organisation != organisation {
        return Err(unusable(id, "was uploaded to another organisation"));
    }
    Ok(file)
}

fn unusable(id: FileId, why: &str) -> Error {
    Error::Invalid(Code::FileUnusable.says(format!("the file {id} {why}")).at("files"))
}

/// Gives files to a message of the channel, by its `n`, whose media [`check`] has made, and ends those of `before` that it no longer
/// has.
pub fn give(tx: &mut Tx, (channel, n): (ChannelId, i64), media: &[Media], before: &[Media]) -> Result<()> {
    for Media { id, description, .. } in media {
        tx.prepare_cached("update files set channel_id = ?2, message_n = ?3, description = ?4 where id = ?1")?.execute((
            id,
            channel,
            n,
            description,
        ))?;
    }
    for gone in before.iter().filter(|before| media.iter().all(|media| media.id != before.id)) {
        removal::end(tx, gone.id)?;
    }
    Ok(())
}
