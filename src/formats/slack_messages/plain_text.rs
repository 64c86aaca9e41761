//! Slack's markup as plain text: <https://api.slack.com/reference/surfaces/formatting>.

use std::borrow::Cow;

use emojis::SkinTone;

/// A mentioned person, channel or group, by Slack's identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mentioned {
    User(String),
    Everybody,
}

/// The names for a text's identifiers.
pub trait Names {
    fn user(&self, id: &str) -> Option<String>;
    fn channel(&self, id: &str) -> Option<String>;

    /// The markup that is converted in place of a text, for programs with another markup.
    fn markup<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(text)
    }

    /// What stands for somebody or something without a name here: a sign, and the label or the identifier.
    fn unknown(&self, sign: &str, shown: &str) -> String {
        format!("{sign}{shown}")
    }

    /// A link with a label other than its address.
    fn link(&self, label: &str, address: &str) -> String {
        format!("{label} ({address})")
    }
}

/// Converts a text. Returns it with those whom it mentions, in their order.
pub fn convert(text: &str, names: &dyn Names) -> (String, Vec<Mentioned>) {
    let text = names.markup(text);
    let (mut plain, mut mentioned, mut rest, mut is_code) = (String::new(), Vec::new(), &*text, false);
    while let Some((before, after)) = rest.split_once('<') {
        // Without a `>` behind it neither this nor a later `<` begins a mark: each would search to the end for its own.
        let Some((marked, after)) = after.split_once('>') else { break };
        literal(before, &mut plain, &mut is_code);
        mark(marked, names, &mut plain, &mut mentioned);
        rest = after;
    }
    literal(rest, &mut plain, &mut is_code);
    (plain, mentioned)
}

/// Adds what stands between `<` and `>`.
fn mark(marked: &str, names: &dyn Names, plain: &mut String, mentioned: &mut Vec<Mentioned>) {
    let (target, label) = marked.split_once('|').unwrap_or((marked, ""));
    let label = unescaped(label);
    let or_label = |other: &str| if label.is_empty() { other.to_owned() } else { label.clone() };
    if let Some(user) = target.strip_prefix('@') {
        match names.user(user) {
            Some(name) => {
                plain.push_str(&format!("@{name}"));
                mentioned.push(Mentioned::User(user.to_owned()));
            }
            None => plain.push_str(&names.unknown("@", &or_label(user))),
        }
    } else if let Some(channel) = target.strip_prefix('#') {
        match names.channel(channel) {
            Some(name) => plain.push_str(&format!("#{name}")),
            None => plain.push_str(&names.unknown("#", &or_label(channel))),
        }
    } else if let Some(command) = target.strip_prefix('!') {
        match command {
            "channel" | "here" | "everyone" => {
                plain.push_str(&format!("@{command}"));
                mentioned.push(Mentioned::Everybody);
            }
            // A user group, a date: the label is what people saw.
            other => plain.push_str(&names.unknown("", &or_label(other))),
        }
    } else {
        let target = unescaped(target);
        let address = target.strip_prefix("mailto:").unwrap_or(&target);
        let is_same = label.is_empty() || label == address || address.split_once("://").is_some_and(|(_, rest)| rest == label);
        plain.push_str(&if is_same { address.to_owned() } else { names.link(&label, address) });
    }
}

/// Adds text without marks: emoji names outside of code become emoji.
fn literal(text: &str, plain: &mut String, is_code: &mut bool) {
    for (n, piece) in text.split('`').enumerate() {
        if n > 0 {
            plain.push('`');
            *is_code = !*is_code;
        }
        let piece = unescaped(piece);
        if *is_code { plain.push_str(&piece) } else { with_emoji(&piece, plain) }
    }
}

/// Text as it stands between marks.
pub fn escaped_for_markdown(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

fn with_emoji(text: &str, plain: &mut String) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(':') {
        plain.push_str(before);
        // A skin tone is a part of the name: `:+1::skin-tone-3:`.
        let end = after.find(':').map(|end| match after[end..].strip_prefix("::skin-tone-") {
            Some(tone) if tone.get(1..2) == Some(":") => end + "::skin-tone-".len() + 1,
            _ => end,
        });
        match end.and_then(|end| Some((emoji(&after[..end])?, end))) {
            Some((emoji, end)) => {
                plain.push_str(&emoji);
                rest = &after[end + 1..];
            }
            None => {
                plain.push(':');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
}

/// The emoji of a name such as `+1` or `+1::skin-tone-3`; `None` for one that only the workspace has.
pub fn emoji(name: &str) -> Option<String> {
    let (name, tone) = name.split_once("::skin-tone-").unwrap_or((name, ""));
    let emoji = emojis::get_by_shortcode(name)?;
    let tone = match tone {
        "2" => Some(SkinTone::Light),
        "3" => Some(SkinTone::MediumLight),
        "4" => Some(SkinTone::Medium),
        "5" => Some(SkinTone::MediumDark),
        "6" => Some(SkinTone::Dark),
        _ => None,
    };
    Some(tone.and_then(|tone| emoji.with_skin_tone(tone)).unwrap_or(emoji).as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known;

    impl Names for Known {
        fn user(&self, id: &str) -> Option<String> {
            (id == "U1").then(|| "ada".into())
        }
        fn channel(&self, id: &str) -> Option<String> {
            (id == "C1").then(|| "dev".into())
        }
    }

    #[test]
    fn marks_become_text() {
        for (marked, plain) in [
            ("hello", "hello"),
            ("<@U1>: look", "@ada: look"),
            ("<@U2|bob> and <@U3>", "@bob and @U3"),
            ("in <#C1|old-name> and <#C2|other>", "in #dev and #other"),
            ("<!here> <!subteam^S1|@crew> <!date^1392734382^{date}|Feb 18>", "@here @crew Feb 18"),
            ("<https://a.example/?a=1&amp;b=2>", "https://a.example/?a=1&b=2"),
            ("<https://a.example|the plan>", "the plan (https://a.example)"),
            ("<http://a.example|a.example>", "http://a.example"),
            ("<mailto:ada@x.example|ada@x.example>", "ada@x.example"),
            ("1 &lt; 2 &amp;&amp; 3 &gt; 2 &amp;lt;", "1 < 2 && 3 > 2 &lt;"),
            ("done :tada: :+1::skin-tone-3: :party-parrot:", "done \u{1f389} \u{1f44d}\u{1f3fc} :party-parrot:"),
            ("at 10:30:45, `a :tada: b` :tada:", "at 10:30:45, `a :tada: b` \u{1f389}"),
            ("an open < end", "an open < end"),
        ] {
            assert_eq!(convert(marked, &Known).0, plain);
        }
    }

    #[test]
    fn mentions_are_people_who_are_known_and_everybody() {
        let (_, mentioned) = convert("<@U2> <@U1> <!channel> <@U1> `<@U1>`", &Known);
        let ada = Mentioned::User("U1".into());
        assert_eq!(mentioned, [ada.clone(), Mentioned::Everybody, ada.clone(), ada]);
    }

    #[test]
    fn an_emoji_has_its_skin_tone() {
        assert_eq!(emoji("thumbsup").unwrap(), "\u{1f44d}");
        assert_eq!(emoji("wave::skin-tone-6").unwrap(), "\u{1f44b}\u{1f3ff}");
        assert_eq!(emoji("party-parrot"), None);
    }

    /// With a time that grows with the square of the length, these would take hours.
    #[test]
    fn long_texts_take_a_time_that_grows_with_their_length() {
        for piece in ["<", ">", "<>", "<|", ":", "`", ":a", "<@U1>", "<@U2|", "&amp;", ":+1::skin-tone-", "`<:"] {
            let (plain, _) = convert(&piece.repeat(1_000_000), &Known);
            assert!(plain.len() <= 5_000_000 + piece.len() * 1_000_000, "{piece}");
        }
        assert_eq!(emoji(&"::skin-tone-".repeat(300_000)), None);
    }
}
