use std::time::Duration;

/// Why there is no answer. The history of a webhook shows the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The client refused to connect.
    #[error("refused: {0}")]
    Refused(String),
    #[error("no connection: {0}")]
    Unreachable(String),
    /// The target was connected, but sent no complete HTTP head.
    #[error("no answer: {0}")]
    Broken(String),
    #[error("no answer within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
}
