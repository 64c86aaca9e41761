//! Whether a message notifies a person, and why: one function of values, which every way of notifying asks.
//! `docs/notifications.md` lists what it answers.

use schemars::JsonSchema;
use serde::Serialize;

use super::preferences::NotifyAbout;

/// Why a message notifies a person: the first that is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Reason {
    // It mentions them by name.
    Mention,
    // It mentions everybody in its channel.
    ChannelMention,
    // It is a direct message.
    Direct,
    // It is a reply in a thread that they follow.
    Reply,
    // They want to know of each post in its channel.
    Post,
}

/// What the rule needs to know of a message and of one member who may read it.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub is_own: bool,
    /// Whether they have read it meanwhile, on any device.
    pub is_read: bool,
    /// Whether it was written in a direct message.
    pub is_direct: bool,
    pub is_reply: bool,
    /// Whether it mentions them by name.
    pub is_to_them: bool,
    /// Whether it mentions everybody in its channel.
    pub is_to_all: bool,
    /// Whether they follow its thread, or have left it; none if neither.
    pub follows: Option<bool>,
}

/// What a person has chosen, where the message was written.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    pub in_channel: Option<NotifyAbout>,
    pub in_organisation: NotifyAbout,
    pub at_channel: bool,
    pub is_muted: bool,
}

/// Why the message notifies them; none if it does not. The nearer choice counts; that of the organisation is not for direct messages,
/// which notify. In a muted channel only mentions by name do, and in a thread that was left only mentions.
pub fn reason(facts: Facts, chosen: Chosen) -> Option<Reason> {
    let of_all = if facts.is_direct { NotifyAbout::AllNewMessages } else { chosen.in_organisation };
    let about = chosen.in_channel.unwrap_or(of_all);
    if facts.is_own || facts.is_read || about == NotifyAbout::Nothing {
        return None;
    }
    if facts.is_to_them {
        return Some(Reason::Mention);
    }
    if chosen.is_muted {
        return None;
    }
    if facts.is_to_all && chosen.at_channel {
        return Some(Reason::ChannelMention);
    }
    if facts.is_reply && facts.follows == Some(false) {
        return None;
    }
    let is_about_all = about == NotifyAbout::AllNewMessages;
    if facts.is_direct && is_about_all {
        Some(Reason::Direct)
    } else if facts.is_reply {
        (facts.follows == Some(true)).then_some(Reason::Reply)
    } else {
        is_about_all.then_some(Reason::Post)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES: [&str; 2] = ["a channel", "a direct message"];
    /// The name of a message, whether it is a reply, to them, to all, and whether they follow its thread.
    const KINDS: [(&str, bool, bool, bool, Option<bool>); 10] = [
        ("a post", false, false, false, None),
        ("a post to them", false, true, false, None),
        ("a post to all", false, false, true, None),
        ("a reply", true, false, false, None),
        ("a reply where they follow", true, false, false, Some(true)),
        ("a reply where they have left", true, false, false, Some(false)),
        ("a reply to them", true, true, false, Some(true)),
        ("a reply to all", true, false, true, None),
        ("a reply to all where they follow", true, false, true, Some(true)),
        ("a reply to all where they have left", true, false, true, Some(false)),
    ];
    /// What counts in the channel, and whether the channel is muted and `@channel` tells.
    const CHOICES: [(NotifyAbout, bool, bool); 8] = [
        (NotifyAbout::AllNewMessages, false, true),
        (NotifyAbout::AllNewMessages, false, false),
        (NotifyAbout::AllNewMessages, true, true),
        (NotifyAbout::Mentions, false, true),
        (NotifyAbout::Mentions, false, false),
        (NotifyAbout::Mentions, true, true),
        (NotifyAbout::Nothing, false, true),
        (NotifyAbout::Nothing, true, true),
    ];

    fn word(reason: Option<Reason>) -> String {
        let word = reason.map_or("-".into(), |reason| serde_json::to_value(reason).unwrap());
        word.as_str().unwrap().replace('_', " ")
    }

    /// Everything that can be seen and chosen.
    fn all() -> impl Iterator<Item = (Facts, Chosen)> {
        let abouts = [NotifyAbout::AllNewMessages, NotifyAbout::Mentions, NotifyAbout::Nothing];
        let nearer = abouts.map(Some).into_iter().chain([None]);
        let cases = nearer.flat_map(move |in_channel| abouts.map(|in_organisation| (in_channel, in_organisation)));
        cases.flat_map(|(in_channel, in_organisation)| {
            (0..3 << 8).map(move |n| {
                let flag = |bit: u32| n >> bit & 1 == 1;
                let follows = [None, Some(true), Some(false)][n >> 8];
                let (is_own, is_read, is_direct, is_reply, is_to_them, is_to_all) =
                    (flag(0), flag(1), flag(2), flag(3), flag(4), flag(5));
                (
                    Facts { is_own, is_read, is_direct, is_reply, is_to_them, is_to_all, follows },
                    Chosen { in_channel, in_organisation, at_channel: flag(6), is_muted: flag(7) },
                )
            })
        })
    }

    fn table() -> String {
        let mut table = String::new();
        for (place, is_direct) in MESSAGES.iter().zip([false, true]) {
            table += &format!(
                "\n## In {place}\n\n| Written | All | All, not @channel | All, muted | Mentions | Mentions, not @channel | Mentions, muted | \
                 Nothing | Nothing, muted |\n|---|---|---|---|---|---|---|---|---|\n"
            );
            for (name, is_reply, is_to_them, is_to_all, follows) in KINDS {
                let facts = Facts { is_own: false, is_read: false, is_direct, is_reply, is_to_them, is_to_all, follows };
                let cells = CHOICES.map(|(about, is_muted, at_channel)| {
                    let in_organisation = NotifyAbout::Mentions;
                    word(reason(facts, Chosen { in_channel: Some(about), in_organisation, at_channel, is_muted }))
                });
                table += &format!("| {name} | {} |\n", cells.join(" | "));
            }
        }
        table
    }

    #[test]
    fn the_table_of_who_is_told_is_as_it_was_read() {
        let read = include_str!("../../../docs/notifications.md");
        let listed = read.find("\n## ").map_or("", |head| &read[head..]);
        assert!(
            listed == table(),
            "the rule answers another table: read it, and put it into docs/notifications.md:\n{}",
            table()
        );
    }

    #[test]
    fn the_nearer_choice_counts_and_that_of_the_organisation_is_not_for_direct_messages() {
        for (facts, chosen) in all() {
            let nearer = chosen.in_channel.or(facts.is_direct.then_some(NotifyAbout::AllNewMessages));
            let same = Chosen { in_channel: Some(nearer.unwrap_or(chosen.in_organisation)), ..chosen };
            assert_eq!(reason(facts, chosen), reason(facts, same), "{facts:?} {chosen:?}");
        }
    }

    #[test]
    fn nobody_is_told_of_their_own_of_what_they_have_read_or_where_they_want_nothing() {
        for (facts, chosen) in all() {
            let told = reason(facts, chosen);
            if facts.is_own || facts.is_read || chosen.in_channel == Some(NotifyAbout::Nothing) {
                assert_eq!(told, None, "{facts:?} {chosen:?}");
            } else if facts.is_to_them && (facts.is_direct || chosen.in_organisation != NotifyAbout::Nothing) {
                assert_eq!(told, Some(Reason::Mention), "{facts:?} {chosen:?}");
            }
            if chosen.is_muted || (facts.is_reply && facts.follows == Some(false) && !(facts.is_to_all && chosen.at_channel)) {
                assert!(matches!(told, None | Some(Reason::Mention)), "{facts:?} {chosen:?}");
            }
        }
    }

    #[test]
    fn a_wider_choice_tells_of_no_less() {
        for (facts, chosen) in all() {
            let at = |about| reason(facts, Chosen { in_channel: Some(about), ..chosen }).is_some();
            let [all, mentions, nothing] = [at(NotifyAbout::AllNewMessages), at(NotifyAbout::Mentions), at(NotifyAbout::Nothing)];
            assert!(nothing <= mentions && mentions <= all, "{facts:?} {chosen:?}");
            let with = |is_muted| reason(facts, Chosen { is_muted, ..chosen }).is_some();
            assert!(with(true) <= with(false), "{facts:?} {chosen:?}");
        }
    }
}
