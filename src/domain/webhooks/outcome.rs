//! How an attempt to deliver went.

use std::time::Duration;

/// A target that takes longer than this shares its slots with those that fail.
pub(super) const PROMPT: Duration = Duration::from_secs(2);

/// How an attempt went.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// 0 without an answer.
    pub status: u16,
    pub latency: Duration,
    /// Why it is no success; empty when it is one.
    pub error: String,
    /// The beginning of the answer's body.
    pub response: String,
    pub retry_after: Option<Duration>,
}

impl Outcome {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether it held up others for a short time only, and the next one can be expected to do the same.
    pub fn is_prompt(&self) -> bool {
        self.is_success() && self.latency < PROMPT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_prompt_that_answers_within_two_seconds_and_well() {
        let outcome =
            |status, latency| Outcome { status, latency, error: String::new(), response: String::new(), retry_after: None };
        let soon = PROMPT - Duration::from_millis(1);
        assert!(outcome(200, soon).is_prompt() && !outcome(200, PROMPT).is_prompt());
        assert!(!outcome(500, soon).is_prompt() && !outcome(0, soon).is_prompt());
        assert_eq!(PROMPT, Duration::from_secs(2));
    }
}
