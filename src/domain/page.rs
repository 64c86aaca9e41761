//! Pages of lists.

use crate::error::{Code, Error, Result};

/// The offset from which endless lists have no more pages; callers find older rows by search.
pub const DEEPEST: u32 = 10_000;

/// A page of a list: up to `size` rows after the first `offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub offset: i64,
    pub size: u32,
}

impl Page {
    /// Makes a page from its number, counted from 1, and its size.
    pub fn new(number: u32, size: u32) -> Page {
        Page { offset: i64::from(number.saturating_sub(1)) * i64::from(size), size }
    }

    /// The page's number among pages of this size.
    pub fn number(self) -> u32 {
        u32::try_from(self.offset / i64::from(self.size) + 1).unwrap_or(u32::MAX)
    }

    /// The rows of the page, of a list that is in memory.
    pub fn slice_of<T>(self, rows: &[T]) -> &[T] {
        let from = usize::try_from(self.offset).unwrap_or(usize::MAX).min(rows.len());
        &rows[from..from.saturating_add(self.size as usize).min(rows.len())]
    }

    /// The page and the row after it, which tells whether there are more.
    pub fn and_one(self) -> Page {
        Page { size: self.size + 1, ..self }
    }

    /// Checks the depth of the page, for a list whose cost grows with the rows skipped: 400 from 10,000 rows on.
    pub fn shallow(self) -> Result<Page> {
        if self.offset < DEEPEST.into() {
            Ok(self)
        } else {
            Err(Error::BadRequest(Code::PageTooDeep.says(format!("pages end after {DEEPEST} rows")).with_limit(DEEPEST)))
        }
    }
}
