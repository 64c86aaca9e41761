//! Commits that were pushed, as GitHub, GitLab and Gitea tell of them.

use super::{
    honest_links::link,
    lenient_fields::object,
    markdown_pieces::{counted_noun, cut, first_line, one_per_line},
};

/// Commits that are listed.
const LISTED: usize = 10;
/// Characters of a commit's identifier.
const SHORT: usize = 7;

pub struct Push<'a> {
    /// Who has pushed.
    pub who: String,
    /// `refs/heads/main` or `refs/tags/v1`.
    pub reference: String,
    /// The repository, as a link.
    pub repository: String,
    /// The address that compares before and after; empty for none.
    pub compare: String,
    pub commits: &'a [Commit],
    /// The number of commits, of which a large push lists only some.
    pub total: usize,
    pub change: Change,
}

object! {
    pub struct Commit { id: String, message: String, url: String }
}

/// Whether an identifier is all zeros, which stand for no commit: before a branch was made, or after it was deleted.
pub fn is_no_commit(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte == b'0')
}

/// What a push does with its branch or tag.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Made,
    Moved,
    Forced,
    Deleted,
}

impl Push<'_> {
    pub fn text(&self) -> String {
        let (kind, name) = match self.reference.strip_prefix("refs/tags/") {
            Some(tag) => ("tag", tag),
            None => ("branch", self.reference.trim_start_matches("refs/heads/")),
        };
        let (who, name, total) = (first_line(&self.who), first_line(name), self.total.max(self.commits.len()));
        let address = match self.commits {
            [only] if total == 1 && self.compare.is_empty() => &only.url,
            _ => &self.compare,
        };
        let commits = link(&counted_noun(total, "commit", "commits"), address);
        let head = match self.change {
            Change::Deleted => format!("{who} deleted {kind} {name} of {}", self.repository),
            Change::Made if total == 0 && kind == "branch" => format!("{who} pushed new branch {name} to {}", self.repository),
            _ if total == 0 || kind == "tag" => format!("{who} pushed {kind} {name} to {}", self.repository),
            Change::Made => format!("{who} pushed new branch {name} with {commits} to {}", self.repository),
            Change::Forced => format!("{who} force-pushed {commits} to {name} of {}", self.repository),
            Change::Moved => format!("{who} pushed {commits} to {name} of {}", self.repository),
        };
        let listed = if kind == "tag" || self.change == Change::Deleted { 0 } else { LISTED };
        let more = total.saturating_sub(LISTED.min(self.commits.len()));
        let more = if listed > 0 && more > 0 { format!("- \u{2026} and {more} more") } else { String::new() };
        let commits = self.commits.iter().take(listed).map(Commit::text);
        one_per_line([head].into_iter().chain(commits).chain([more]))
    }
}

impl Commit {
    fn text(&self) -> String {
        let id: String = self.id.chars().take(SHORT).collect();
        format!("- {} {}", link(&id, &self.url), cut(&first_line(&self.message), 100))
    }
}
