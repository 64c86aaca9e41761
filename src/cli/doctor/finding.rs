//! What the doctor says.

use serde::Serialize;

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Good,
    /// It was bad, and `--fix` has mended it.
    Mended,
    /// It works, and may not for long.
    Warning,
    Bad,
}

#[derive(Serialize)]
pub struct Finding {
    pub outcome: Outcome,
    pub check: &'static str,
    pub finding: String,
}

pub fn found(outcome: Outcome, check: &'static str, finding: String) -> Finding {
    Finding { outcome, check, finding }
}
