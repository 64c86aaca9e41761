use std::time::Duration;

/// Why there is no answer, in words for the history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Nothing was connected to.
    #[error("refused: {0}")]
    Refused(String),
    #[error("no connection: {0}")]
    Unreachable(String),
    /// Connected, and then no HTTP or none to the end of the headers.
    #[error("no answer: {0}")]
    Broken(String),
    #[error("no answer within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
}
