//! The outcome of an attempt to deliver.

use std::time::Duration;

/// Latency from which a target counts as slow, and shares its slots with targets that fail.
pub const PROMPT: Duration = Duration::from_secs(2);

/// The outcome of an attempt.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// HTTP status of the answer; 0 without an answer.
    pub status: u16,
    pub latency: Duration,
    /// Reason for the failure; empty on success.
    pub error: String,
    /// The beginning of the answer's body.
    pub response: String,
    pub retry_after: Option<Duration>,
}

impl Outcome {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the attempt held its slot only for a short time, as the next one can be expected to do.
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
