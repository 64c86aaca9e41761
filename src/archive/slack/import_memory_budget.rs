//! The memory that an import may hold from its beginning to its end: people and channels, to which messages refer.

use crate::error::{Error, Result};

/// Bytes of people, channels and memberships together: some 200,000 people, or ten million memberships.
const HELD_MAX: usize = 64 << 20;

/// The bytes that are left.
pub struct MemoryBudget(usize);

impl MemoryBudget {
    pub fn new() -> MemoryBudget {
        MemoryBudget(HELD_MAX)
    }

    /// Takes the bytes of what is about to be held. 400 if there are not so many left.
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.0 = self.0.checked_sub(bytes).ok_or_else(|| {
            Error::failed(format!(
                "the people and channels of the export take more than {} MiB of memory, the most that an import may use for them",
                HELD_MAX >> 20
            ))
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_held_than_is_allowed() {
        let mut held = MemoryBudget::new();
        held.reserve(HELD_MAX - 1).unwrap();
        held.reserve(1).unwrap();
        assert!(held.reserve(1).unwrap_err().to_string().contains("more than 64 MiB of memory"));
    }
}
