//! Pages of lists.

use crate::error::{Error, Result};

/// How far back the pages of endless lists go: what lies deeper is found by search, not by leafing.
const DEEPEST: i64 = 10_000;

/// Some rows of a list: up to `size` of them, after the first `offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub offset: i64,
    pub size: u32,
}

impl Page {
    /// Pages are numbered from 1.
    pub fn new(number: u32, size: u32) -> Result<Page> {
        if number == 0 {
            return Err(Error::bad_request("pages start at 1"));
        }
        Ok(Page { offset: i64::from(number - 1) * i64::from(size), size })
    }

    /// The page's number among pages of this size.
    pub fn number(self) -> u32 {
        u32::try_from(self.offset / i64::from(self.size) + 1).unwrap_or(u32::MAX)
    }

    /// The page itself, for a list whose cost grows with the rows skipped: 400 from 10,000 rows on.
    pub fn shallow(self) -> Result<Page> {
        if self.offset < DEEPEST { Ok(self) } else { Err(Error::bad_request(format!("pages end after {DEEPEST} rows"))) }
    }
}
