//! Who may send at once: bounds on what is under way, so that no target holds up another.

use std::{collections::HashMap, hash::Hash};

use crate::id::OrganisationId;

/// What is being sent, bounded in all, for an organisation and for one target. Webhooks that are not prompt hold on to a
/// place the longest, up to the whole time that an attempt may take: they get half of the places, and leave the other half
/// to the prompt. No organisation takes more places than it leaves free: an account may own many, and a few with targets
/// that hang would have all.
#[derive(Clone, Debug, Default)]
pub struct Room {
    all: Taken,
    by_organisation: HashMap<OrganisationId, Taken>,
    by_target: HashMap<String, Taken>,
}

/// A place that a webhook needs.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub organisation: OrganisationId,
    /// Host and port.
    pub target: String,
    /// Whether the attempt before was answered soon, and well.
    pub is_prompt: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    prompt: usize,
    others: usize,
}

impl Taken {
    /// Of so many places, those that another of its kind can still have.
    fn free(self, bound: usize, is_prompt: bool) -> usize {
        let free = bound - self.prompt - self.others;
        if is_prompt { free } else { free.min(bound / 2 - self.others) }
    }

    /// What stands in the way of another of its kind.
    fn count(self, is_prompt: bool) -> usize {
        if is_prompt { self.prompt + self.others } else { self.others }
    }

    fn of(&mut self, is_prompt: bool) -> &mut usize {
        if is_prompt { &mut self.prompt } else { &mut self.others }
    }
}

impl Room {
    pub const ALL: usize = 128;
    pub const OF_AN_ORGANISATION: usize = 32;
    pub const OF_A_TARGET: usize = 4;

    /// Whether there is a place for any organisation and target.
    pub fn has_any(&self, is_prompt: bool) -> bool {
        self.all.free(Room::ALL, is_prompt) > 0
    }

    /// Takes a place, if there is one.
    pub fn enter(&mut self, wanted: &Wanted) -> bool {
        let Wanted { organisation, target, is_prompt } = wanted;
        let by_organisation = self.by_organisation.get(organisation).copied().unwrap_or_default();
        let by_target = self.by_target.get(target).copied().unwrap_or_default();
        let has_place = by_organisation.count(*is_prompt) < self.all.free(Room::ALL, *is_prompt)
            && by_organisation.free(Room::OF_AN_ORGANISATION, *is_prompt) > 0
            && by_target.free(Room::OF_A_TARGET, *is_prompt) > 0;
        if has_place {
            *self.all.of(*is_prompt) += 1;
            *self.by_organisation.entry(*organisation).or_default().of(*is_prompt) += 1;
            *self.by_target.entry(target.clone()).or_default().of(*is_prompt) += 1;
        }
        has_place
    }

    /// Gives back what [`Room::enter`] took.
    pub fn leave(&mut self, Wanted { organisation, target, is_prompt }: &Wanted) {
        *self.all.of(*is_prompt) -= 1;
        give_back(&mut self.by_organisation, organisation, *is_prompt);
        give_back(&mut self.by_target, target, *is_prompt);
    }
}

fn give_back<K: Eq + Hash>(places: &mut HashMap<K, Taken>, of: &K, is_prompt: bool) {
    if let Some(taken) = places.get_mut(of) {
        *taken.of(is_prompt) -= 1;
        if taken.prompt + taken.others == 0 {
            places.remove(of);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(organisation: OrganisationId, target: impl ToString, is_prompt: bool) -> Wanted {
        Wanted { organisation, target: target.to_string(), is_prompt }
    }

    #[test]
    fn a_target_has_four_places_two_of_them_for_what_is_not_prompt() {
        let (mut room, of) = (Room::default(), OrganisationId::new());
        let (slow, prompt) = (wanted(of, "slow:80", false), wanted(of, "slow:80", true));
        assert!(room.enter(&slow) && room.enter(&slow));
        assert!(!room.enter(&slow) && room.enter(&wanted(of, "other:80", false)));
        assert!(room.enter(&prompt) && room.enter(&prompt));
        assert!(!room.enter(&prompt));
        room.leave(&slow);
        assert!(room.enter(&slow) && !room.enter(&prompt));
    }

    #[test]
    fn an_organisation_has_a_quarter_of_all_places_half_of_them_for_what_is_not_prompt() {
        let (mut room, of) = (Room::default(), OrganisationId::new());
        assert!((0..16).all(|n| room.enter(&wanted(of, n, false))) && !room.enter(&wanted(of, "one more", false)));
        assert!((0..16).all(|n| room.enter(&wanted(of, n, true))) && !room.enter(&wanted(of, "one more", true)));
        assert!(room.enter(&wanted(OrganisationId::new(), "one more", false)));
        room.leave(&wanted(of, 0, true));
        assert!(!room.enter(&wanted(of, "one more", false)) && room.enter(&wanted(of, "one more", true)));
    }

    #[test]
    fn organisations_that_take_all_they_can_leave_places_to_another() {
        for many in [4, 20, Room::ALL / 2 - 1] {
            let mut room = Room::default();
            let organisations: Vec<_> = (0..many).map(|_| OrganisationId::new()).collect();
            for (n, is_prompt) in (0..Room::ALL).flat_map(|n| [(n, false), (n, true)]) {
                for of in &organisations {
                    room.enter(&wanted(*of, format!("{of} {n}"), is_prompt));
                }
            }
            for is_prompt in [false, true] {
                assert!(room.clone().enter(&wanted(OrganisationId::new(), "another", is_prompt)), "{many}");
            }
        }
    }

    #[test]
    fn what_is_not_prompt_has_half_of_all_places() {
        let mut room = Room::default();
        let organisations: Vec<_> = (0..Room::ALL).map(|_| OrganisationId::new()).collect();
        let (prompt, others) = organisations.split_at(Room::ALL / 2);
        assert!(others.iter().all(|of| room.enter(&wanted(*of, of, false))));
        let another = OrganisationId::new();
        assert!(!room.has_any(false) && !room.enter(&wanted(another, "another", false)));
        assert!(prompt.iter().all(|of| room.enter(&wanted(*of, of, true))));
        assert!(!room.has_any(true) && !room.enter(&wanted(another, "another", true)));
        room.leave(&wanted(prompt[0], prompt[0], true));
        assert!(!room.enter(&wanted(another, "another", false)) && room.enter(&wanted(another, "another", true)));
    }
}
