//! Identifiers of what is imported. They follow from the export, so that a second import finds what the first has written.

use ring::digest::{SHA256, digest};
use uuid::{Builder, Uuid};

use crate::{id::OrganisationId, time::Time};

/// The identifier of a thing in an organisation: version 8, with the time where version 7 has it, so that they sort alike. Those
/// of different organisations differ, so no export can name another organisation's.
pub fn of(organisation: OrganisationId, kind: &str, name: &str, at: Time) -> Uuid {
    made(&format!("{organisation} {kind} {name}"), at)
}

/// The identifier of the organisation that is made from the file with this SHA-256. Another file makes another one.
pub fn organisation_of_file(source: &str, at: Time) -> OrganisationId {
    OrganisationId(made(&format!("slack {source}"), at))
}

fn made(from: &str, at: Time) -> Uuid {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest(&SHA256, from.as_bytes()).as_ref()[..16]);
    bytes[..6].copy_from_slice(&at.unix_milliseconds().to_be_bytes()[2..]);
    Builder::from_custom_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_sort_by_time_and_follow_from_what_they_name() {
        let organisation = OrganisationId::new();
        let (early, late) = (Time::from_unix_seconds(1_355_517_523), Time::from_unix_seconds(1_355_517_524));
        let id = |name, at| of(organisation, "message", name, at);
        assert!(id("b", early) < id("a", late));
        assert_eq!(id("a", early), id("a", early));
        assert_ne!(id("a", early), id("b", early));
        assert_ne!(id("a", early), of(OrganisationId::new(), "message", "a", early));
        assert_eq!(id("a", early).get_version_num(), 8);
        assert_eq!(id("a", early).as_bytes()[..6], [0x01, 0x3b, 0x9b, 0x23, 0xf4, 0x38][..]);
    }
}
