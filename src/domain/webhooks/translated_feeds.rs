//! What another program tells, as a feed.

use super::incoming_posts::{Feed, Username};
use crate::{
    domain::{
        messages::posting::Content,
        text::{self, Ruled, format_characters},
    },
    formats::{self, LONGEST_TEXT, Post, Status},
};

/// Characters of a name that are looked at: some are left out of it.
const NAME: usize = 4 * Username::RULE.max;
const _: () = assert!(LONGEST_TEXT >= Content::RULE.max, "nothing is cut off that a post could show");

/// The feed of what another program tells. The program can't change its texts to fit, so they are made to fit: a text that is
/// too long is cut, and a name or an address that no feed may have is left out or made one. No link in the text hides where it
/// leads.
impl From<Post> for Feed {
    fn from(post: Post) -> Feed {
        let author = text::printable(&formats::cut(&post.author, NAME));
        let author = format_characters::without_format_characters(&author).replace('\n', " ");
        let is_address = !post.picture.is_empty() && text::web_address(&post.picture, "").is_ok();
        // The text is cut before all else, and again when the addresses beside its links have made it longer. What isn't printable
        // could stand between the two parts of a link.
        let text = formats::cut(&post.text, Content::RULE.max).replace('\t', "    ");
        let message = formats::with_visible_links(&text::printable(&text));
        Feed {
            message: formats::cut(&message, Content::RULE.max),
            username: formats::cut(author.trim(), Username::RULE.max),
            avatar_url: if is_address { post.picture } else { String::new() },
            status: Some(if post.status == Status::Error { "error" } else { "success" }.into()),
            ..Feed::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_made_to_fit() {
        let post = Post {
            author: format!("A\u{200b}da\n{}", "x".repeat(100)),
            picture: "javascript:alert(1)".into(),
            text: "word ".repeat(10_000),
            status: Status::Error,
        };
        let feed = Feed::from(post);
        assert!(feed.username.starts_with("Ada xxx") && feed.username.chars().count() == 64, "{}", feed.username);
        assert!(feed.message.ends_with("word\u{2026}") && feed.message.chars().count() <= 40_000);
        assert_eq!((&*feed.avatar_url, feed.status.as_deref()), ("", Some("error")));
        let hidden = Post { text: "\ta[bank.example]\u{202e}(https://evil.example)".into(), ..Post::default() };
        assert_eq!(Feed::from(hidden).message, "    a[bank.example] (https://evil.example)");
        let feed = Feed::from(Post { picture: "https://x.example/a.png".into(), text: "done".into(), ..Post::default() });
        assert_eq!(
            (&*feed.avatar_url, &*feed.message, feed.status.as_deref()),
            ("https://x.example/a.png", "done", Some("success"))
        );
    }
}
