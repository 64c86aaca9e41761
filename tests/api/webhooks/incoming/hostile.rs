//! Bodies of all programs, changed at random as bytes. None is a fault, all that is posted keeps the bounds of a post, and none
//! mentions more people than it may.

use super::*;

const BODIES: usize = 600;
const PIECES: [&[u8]; 15] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b"\0",
    b"\xff",
    b"null",
    b"<!channel>",
    b"\\ud800",
    b"{\"text\":\"x\"}",
    b" @grace ",
    b" @mallory ",
    b" @channel ",
];
/// Programs that quote strangers, and so mention nobody. All others may mention people of the channel.
const QUOTE_STRANGERS: [&str; 5] = ["GitHub", "GitLab", "Gitea", "Forgejo", "Sentry"];

/// Random choices, the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }

    fn mutate(&mut self, body: &mut Vec<u8>) {
        let at = self.below(body.len() + 1);
        let end = (at + self.below(30)).min(body.len());
        let piece = PIECES[self.below(PIECES.len())];
        match self.below(5) {
            0 => drop(body.splice(at..at, piece.iter().copied())),
            1 => drop(body.splice(at..end, piece.iter().copied())),
            2 => drop(body.drain(at..end)),
            3 => {
                let again = body[at..end].repeat(1 + self.below(2000));
                drop(body.splice(at..at, again));
            }
            _ => drop(body.splice(at..at, piece.repeat(1 + self.below(200)))),
        }
    }
}

#[tokio::test]
async fn hostile_bodies_are_no_faults_and_mention_nobody_beyond_their_right() {
    let (scene, hook) = fed().await;
    scene.member("mallory", "admin").await; // who is not in the channel
    let cases = cases();
    let mut chance = Chance(24);
    let (mut answered, mut mentioned, mut newest) = ([0; 6], 0, Value::Null);
    for n in 0..BODIES {
        let (_, case) = &cases[chance.below(cases.len())];
        let mut body = case["body"].to_string().into_bytes();
        (0..chance.below(3)).for_each(|_| chance.mutate(&mut body));
        let kind = [JSON, JSON, JSON, FORM, "text/plain", "x"][chance.below(6)];
        let headers = case["headers"].as_object().unwrap().iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap()));
        let headers: Vec<_> = headers.chain([("content-type", kind)]).collect();
        let path = if chance.below(2) == 0 { feed(&hook) } else { mattermosts(&hook) };
        let shown = body.escape_ascii().to_string();
        let status = send(&scene.anybody, &path, &headers, body).await.status;
        assert!(matches!(status, 200 | 204 | 400 | 413 | 422), "{n}: {status} for {shown}");
        answered[usize::from(status / 100)] += 1;
        let posts = scene.threads(&scene.grace).await;
        let Some(post) = posts.first().filter(|post| post["thread_id"] != newest) else { continue };
        newest = post["thread_id"].clone();
        let names: Vec<_> = post["mentions"].as_array().unwrap().iter().map(|each| text(&each["username"])).collect();
        let read_as = text(&hook.history(0).await[0]["read_as"]);
        let may_mention = !QUOTE_STRANGERS.iter().any(|program| read_as.starts_with(program));
        let is_right = |name: &String| may_mention && matches!(name.as_str(), "ada" | "grace" | "channel");
        assert!(names.iter().all(is_right), "{n}: {names:?} by {read_as}: {shown}");
        mentioned += names.len();
    }
    assert!(mentioned > 5, "{mentioned}");
    assert_eq!(scene.server.number("select count(*) from mentions join users on id = user_id where username = 'mallory'"), 0);
    assert!(answered[2] > 50 && answered[4] > 50, "{answered:?}");
    let history = hook.history(0).await;
    assert!(history.iter().filter(|record| record["status_code"] != "200").count() <= 20);
    let longest = scene.server.number("select max(length(content)) from messages");
    assert!(longest <= 40_000, "{longest}");
}
