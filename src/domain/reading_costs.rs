//! What it costs to read texts of strangers: each reader gets the worst texts of its grammar, at their full length.
//!
//! A test that measures may not fail by chance, and chance may not let it pass. So it takes the CPU time of its own thread, in
//! which no other program counts, and compares lengths that it measures next to each other: a core is faster while the one beside
//! it rests, and that begins and ends at any time. A cost above a limit counts only if the median of many such pairs is above it.
//! A reader whose cost grows with the square of the length takes four times as long for twice the length, and 80 times as long for
//! each character of a long text as for one of a short text: no change of the core's speed hides both.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;

use crate::{
    domain::{
        messages::{indexing, mentions, search},
        organisations::slugs,
        public::{blog_posts, contacts::Contact},
        text::{self, Rule, format_characters},
        webhooks::{incoming_posts::Feed, trigger_words::TriggerWords},
    },
    formats::{
        Dialect, Post, SendingProgram,
        slack_messages::{
            attachments::Attachment,
            blocks,
            plain_text::{self, Names},
            said_once,
        },
        with_visible_links,
    },
    id::OrganisationId,
    mail,
    time::Time,
};

/// Bytes of a text at its full length.
const FULL: usize = 40_000;
/// What twice the length may cost.
const TWICE: f64 = 2.5;
/// What the full length may cost for each character, beside a text of an eightieth of it: a reader that looks ahead by a fixed
/// number of characters costs more there, though from then on twice the length costs twice as much.
const LONGER: f64 = 3.0;
const SHARE: usize = 80;
/// Most runs of each; then the cost is too high.
const RUNS: usize = 25;

/// The beginnings of texts, and what is repeated behind each.
type Texts = [(&'static str, &'static str)];

const MARKDOWN: &Texts = &[
    ("", "["),
    ("", "]"),
    ("", "[]()"),
    ("", "[a](b)"),
    ("", "]("),
    ("](", "("),
    ("", "\\"),
    ("", "\\["),
    ("", "[a."),
    ("", "`["),
    ("`[", "a]"),
    ("`[", "a.bc]"),
    ("`[", "a](b)"),
    ("`[", "/](b)"),
    ("`[", "x://](b)"),
    ("`[a](", "a](b"),
    ("", "\n- "),
    ("", "[a](b\n"),
];
const SLACK: &Texts = &[
    ("", "<"),
    ("", ">"),
    ("", "<>"),
    ("", "<|"),
    ("", ":"),
    ("", "`"),
    ("", ":a"),
    ("", "`<:"),
    ("", "<@U1>"),
    ("", "<@U2|"),
    ("", "](<#C|)"),
    ("", "<https://a.example|b"),
    ("", "<https://a.example|](b>"),
    ("", "&amp;"),
    ("", ":+1::skin-tone-"),
    ("", "*"),
    ("", "~a"),
    ("", "*a* "),
    ("<", "*a"),
];
const NAMES: &Texts =
    &[("", "@"), ("", "@a"), ("@", "a"), ("", "@."), ("@a", "."), ("", "a\u{200d}"), ("", "\u{200b}"), ("", "\u{301}")];
const WORDS: &Texts = &[("", "a"), ("", "a "), ("", " "), ("", "\u{df}"), ("", "\u{65e5}"), ("", "\0"), ("", "ab\u{301}")];
const HTML: &Texts = &[
    ("", "<"),
    ("", "<a"),
    ("", "<a>"),
    ("", "<b>"),
    ("", "<p>"),
    ("", "<!--"),
    ("", "&"),
    ("", "&amp"),
    ("", "<div>"),
    ("", "</p>"),
    ("", "<table>"),
    ("", "<script>"),
];
const HEADINGS: &Texts = &[("", "#"), ("", "# "), ("", "\n# #"), ("", " \n"), ("# ", "#")];
const VALUES: &Texts =
    &[("", "a"), ("", " "), ("", "."), ("", "0,"), ("https://", "a"), ("https://", "a."), ("/", "?"), ("", "a\u{200d}")];
const BODIES: &Texts = &[("", "]("), ("", "<"), ("", "<!--"), ("", ":"), ("", "](<#C|)")];

/// Those of an import of Slack: nothing is known, and the whole text is read.
struct Imported;

impl Names for Imported {
    fn user(&self, _: &str) -> Option<String> {
        None
    }

    fn channel(&self, _: &str) -> Option<String> {
        None
    }
}

fn feed(text: &str) -> Feed {
    Post { text: text.to_owned(), ..Post::default() }.into()
}

fn plain(text: &str) -> usize {
    plain_text::convert(text, &Imported).0.len()
}

/// An attachment whose title is a link.
fn attached(text: &str) -> usize {
    let text = || Some(text.to_owned());
    let attachment = Attachment { title: text(), title_link: text(), footer: text(), ..Attachment::default() };
    attachment.lines(String::new(), &Dialect::Mrkdwn).len()
}

fn rich_text(text: &str) -> usize {
    let element = serde_json::json!({ "type": "text", "text": text, "style": { "bold": true } });
    let quote = serde_json::json!([{ "type": "rich_text", "elements": [{ "type": "rich_text_quote", "elements": [element] }] }]);
    let raw = serde_json::value::to_raw_value(&quote).unwrap();
    blocks::text_of_blocks(&raw).unwrap().len()
}

/// The text beside blocks that say it with other words between.
fn said(text: &str) -> usize {
    said_once((text.replace('a', "a b"), Vec::new()), (text.to_owned(), Vec::new())).0.len()
}

fn contact(message: &str) -> usize {
    let none = String::new;
    let contact = Contact {
        name: none(),
        email: none(),
        phone_number: none(),
        message: message.to_owned(),
        created_at: Time::from_unix_seconds(0),
    };
    contact.to_plain_text().message.len()
}

/// Checks a text by each kind of rule.
fn ruled(text: &str) -> usize {
    let most = usize::MAX;
    let rules = [
        Rule::non_blank_text(most),
        Rule::line(most),
        Rule::name(most),
        Rule::username(most),
        Rule::not_a_number(most),
        Rule::stream(),
        Rule::emoji_or_name(most),
        Rule::web_address(most),
        Rule::own_path(most),
        Rule::email(most),
        Rule::shared_secret(most),
        Rule::query(most),
        Rule::identifier_list(),
    ];
    let is_kept = |rule: Rule| {
        let mut rule = rule;
        rule.max = most;
        rule.check(text, "text").is_ok()
    };
    rules.into_iter().filter(|rule| is_kept(*rule)).count()
}

fn found(query: &str, text: &str) -> usize {
    usize::from(search::Query::parse(query).unwrap().matches(text))
}

struct Reader {
    name: &'static str,
    read: fn(&str) -> usize,
    texts: &'static Texts,
    /// Bytes of the longest text.
    full: usize,
}

/// All readers of texts that strangers write, but those of whole bodies. What each returns is there to be made.
const READERS: &[Reader] = &[
    Reader { name: "links", read: |text| with_visible_links(text).len(), texts: MARKDOWN, full: FULL },
    Reader { name: "feed", read: |text| feed(text).message.len(), texts: MARKDOWN, full: FULL },
    Reader { name: "Slack's texts", read: |text| plain_text::convert(text, &Dialect::Mrkdwn).0.len(), texts: SLACK, full: FULL },
    Reader {
        name: "Mattermost's texts",
        read: |text| plain_text::convert(text, &Dialect::Markdown).0.len(),
        texts: SLACK,
        full: FULL,
    },
    Reader { name: "imported texts", read: plain, texts: SLACK, full: FULL },
    Reader { name: "imported Markdown", read: plain, texts: MARKDOWN, full: FULL },
    Reader { name: "attachments", read: attached, texts: SLACK, full: FULL / 4 },
    Reader { name: "rich text", read: rich_text, texts: SLACK, full: FULL },
    Reader { name: "text and blocks", read: said, texts: WORDS, full: FULL },
    Reader {
        name: "emoji",
        read: |text| plain_text::emoji(text).map_or(0, |emoji| emoji.len()),
        texts: &[("", "::skin-tone-"), ("", ":")],
        full: FULL,
    },
    Reader { name: "mentions", read: |text| mentions::names(text).count(), texts: NAMES, full: FULL },
    Reader { name: "printable", read: |text| text::printable(text).len(), texts: NAMES, full: FULL },
    Reader { name: "names", read: |text| format_characters::without_format_characters(text).len(), texts: NAMES, full: FULL / 4 },
    Reader {
        name: "symbols",
        read: |text| usize::from(format_characters::has_only_emoji_joiners(text)),
        texts: NAMES,
        full: FULL / 4,
    },
    Reader { name: "slugs", read: |text| slugs::spelled(text).len(), texts: NAMES, full: FULL },
    Reader {
        name: "mails",
        read: |text| mail::harmless(text).len(),
        texts: &[("", "www."), ("", "://"), ("", ".a"), ("", " ")],
        full: FULL,
    },
    Reader {
        name: "index",
        read: |text| indexing::terms(OrganisationId::new(), &indexing::comparable(text)).len(),
        texts: WORDS,
        full: FULL,
    },
    Reader {
        name: "search",
        read: |text| found("aaaaaaaab", text) + found("ab\u{301}ab\u{301}a", text),
        texts: WORDS,
        full: FULL,
    },
    Reader { name: "case", read: |text| text::folded(text).len(), texts: WORDS, full: FULL },
    Reader {
        name: "trigger words",
        read: |text| usize::from(TriggerWords::of(&["aaaa".into()]).unwrap().matches(text)),
        texts: WORDS,
        full: FULL,
    },
    Reader { name: "rules", read: ruled, texts: VALUES, full: FULL / 4 },
    Reader { name: "contact", read: contact, texts: HTML, full: 10_000 },
    Reader { name: "titles", read: |text| blog_posts::title_of(text).len(), texts: HEADINGS, full: FULL },
];

/// A text of as many bytes, or a few less: what is longer than a text may be is cut, which costs something of its own.
fn text_of((beginning, repeated): (&str, &str), bytes: usize) -> String {
    format!("{beginning}{}", repeated.repeat((bytes - beginning.len()) / repeated.len()))
}

/// The CPU time of this thread.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Seconds for each reading, when there are so many.
fn cost(read: &dyn Fn(), times: usize) -> f64 {
    let begun = cpu_time();
    (0..times).for_each(|_| read());
    (cpu_time() - begun).as_secs_f64() / times as f64
}

/// The medians of what all runs find, where one of them stays above its limit.
fn medians_above<const N: usize>(limits: [f64; N], run: impl Fn() -> [f64; N]) -> Option<[f64; N]> {
    let mut found: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    let mut medians = [0.0; N];
    for _ in 0..RUNS {
        found.iter_mut().zip(run()).for_each(|(all, one)| all.push(one));
        medians = found.each_mut().map(|all| {
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        });
        if medians.iter().zip(limits).all(|(median, limit)| *median <= limit) {
            return None;
        }
    }
    Some(medians)
}

/// What is wrong with the cost of something that is read in a given length. Each run reads as many bytes, so that all lengths are
/// measured for as long: a disturbance that comes every 20 ms would leave out each run of half the time.
fn excess(full: usize, at: &dyn Fn(usize) -> Box<dyn Fn()>) -> Option<String> {
    let [short, half, whole] = [full / SHARE, full / 2, full].map(at);
    let [twice, longer] = medians_above([TWICE, LONGER], || {
        let [short, half, whole] = [cost(&short, SHARE), cost(&half, 2), cost(&whole, 1)];
        [whole / half, whole / short / SHARE as f64]
    })?;
    Some(format!(
        "{full} bytes take {twice:.1} times the cost of half as many, and by character {longer:.1} times that of {}",
        full / SHARE
    ))
}

#[test]
fn reading_twice_the_length_costs_twice_as_much() {
    let mut wrong = Vec::new();
    for Reader { name, read, texts, full } in READERS {
        for text in *texts {
            let at = |bytes: usize| -> Box<dyn Fn()> {
                let text = text_of(*text, bytes);
                Box::new(move || _ = std::hint::black_box(read(&text)))
            };
            wrong.extend(excess(*full, &at).map(|excess| format!("{name}, {text:?}: {excess}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The first body of each program in the tests' data, with its headers.
fn bodies() -> BTreeMap<String, Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hooks");
    let of = |path: &Path| {
        let cases: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), cases[0].clone())
    };
    fs::read_dir(folder).unwrap().map(|file| of(&file.unwrap().path())).collect()
}

/// Puts a text in the place of each text of a body that is no address and no single word: by these, programs are recognised.
fn fill(value: &mut Value, text: &str) {
    match value {
        Value::String(own) if own.contains(' ') => *own = text.to_owned(),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, text)),
        Value::Object(fields) => fields.values_mut().for_each(|field| fill(field, text)),
        _ => {}
    }
}

/// Reads a body of a program as a feed.
fn read_body(program: &str, headers: &Value, body: &Value) -> usize {
    let dialect = if program == "mattermost" { Dialect::Markdown } else { Dialect::Mrkdwn };
    let sender = SendingProgram::recognise(|name| headers.get(name)?.as_str(), body, dialect).unwrap();
    sender.post(body).map_or(0, |post| Feed::from(post).message.len())
}

/// Reads the body of a program with texts of a length.
fn body_of(program: &str, case: &Value, text: (&str, &str), bytes: usize) -> Box<dyn Fn()> {
    let (program, headers, mut body) = (program.to_owned(), case["headers"].clone(), case["body"].clone());
    fill(&mut body, &text_of(text, bytes));
    Box::new(move || _ = std::hint::black_box(read_body(&program, &headers, &body)))
}

#[test]
fn reading_a_body_of_twice_the_length_costs_twice_as_much() {
    let mut wrong = Vec::new();
    for (program, case) in bodies() {
        for text in BODIES {
            let excess = excess(FULL / 4, &|bytes| body_of(&program, &case, *text, bytes));
            wrong.extend(excess.map(|excess| format!("{program}, {text:?}: {excess}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A text is cut before it is searched for marks: what no post could show costs only the look for the place of the cut.
#[test]
fn what_a_body_has_past_the_longest_text_costs_nothing() {
    let mut wrong = Vec::new();
    for text in [("", "]("), ("", "](<#C|)")] {
        for name in ["text/plain", "slack", "mattermost"] {
            let read = |bytes: usize| -> Box<dyn Fn()> {
                let text = text_of(text, bytes);
                if name == "text/plain" {
                    return Box::new(move || _ = std::hint::black_box(feed(&text)));
                }
                let body = serde_json::json!({ "text": text });
                Box::new(move || _ = std::hint::black_box(read_body(name, &Value::Null, &body)))
            };
            let (longest, long) = (read(2 * FULL), read(1_000_000));
            let ratio = medians_above([LONGER], || [cost(&long, 1) / cost(&longest, 1)]);
            wrong.extend(ratio.map(|[ratio]| format!("{name}, {text:?}: {ratio:.1} times the cost of the longest text")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
