//! Who may send at once: bounds on what is under way, so that no target holds up another.

use std::collections::HashMap;

/// What is being sent, bounded in all and for one target. Webhooks that are not prompt hold on to a place the longest,
/// up to the whole time that an attempt may take: they get half of the places, and leave the other half to the prompt.
#[derive(Clone, Debug, Default)]
pub struct Room {
    all: Taken,
    by_target: HashMap<String, Taken>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    prompt: usize,
    others: usize,
}

impl Taken {
    fn has_place(self, bound: usize, is_prompt: bool) -> bool {
        self.prompt + self.others < bound && (is_prompt || self.others < bound / 2)
    }

    fn of(&mut self, is_prompt: bool) -> &mut usize {
        if is_prompt { &mut self.prompt } else { &mut self.others }
    }
}

impl Room {
    pub const ALL: usize = 64;
    pub const OF_A_TARGET: usize = 4;

    /// Whether any target has a place.
    pub fn has_any(&self, is_prompt: bool) -> bool {
        self.all.has_place(Room::ALL, is_prompt)
    }

    /// Takes a place, if there is one.
    pub fn enter(&mut self, target: &str, is_prompt: bool) -> bool {
        let taken = self.by_target.get(target).copied().unwrap_or_default();
        let has_place = self.has_any(is_prompt) && taken.has_place(Room::OF_A_TARGET, is_prompt);
        if has_place {
            *self.all.of(is_prompt) += 1;
            *self.by_target.entry(target.to_owned()).or_default().of(is_prompt) += 1;
        }
        has_place
    }

    pub fn leave(&mut self, target: &str, is_prompt: bool) {
        *self.all.of(is_prompt) -= 1;
        if let Some(taken) = self.by_target.get_mut(target) {
            *taken.of(is_prompt) -= 1;
            if taken.prompt + taken.others == 0 {
                self.by_target.remove(target);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_four_places_two_of_them_for_what_is_not_prompt() {
        let mut room = Room::default();
        assert!(room.enter("slow:80", false) && room.enter("slow:80", false));
        assert!(!room.enter("slow:80", false) && room.enter("other:80", false));
        assert!(room.enter("slow:80", true) && room.enter("slow:80", true));
        assert!(!room.enter("slow:80", true));
        room.leave("slow:80", false);
        assert!(room.enter("slow:80", false) && !room.enter("slow:80", true));
    }

    #[test]
    fn what_is_not_prompt_has_half_of_all_places() {
        let mut room = Room::default();
        assert!((0..Room::ALL / 2).all(|n| room.enter(&n.to_string(), false)));
        assert!(!room.has_any(false) && !room.enter("another", false));
        assert!((0..Room::ALL / 2).all(|n| room.enter(&n.to_string(), true)));
        assert!(!room.has_any(true) && !room.enter("another", true));
        room.leave("0", true);
        assert!(!room.enter("another", false) && room.enter("another", true));
    }
}
