//! Pages of lists.

use crate::error::{Error, Result};

/// How far back the pages of endless lists go: what lies deeper is found by search, not by leafing.
const DEEPEST: i64 = 10_000;

/// A page of a list: numbered from 1.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    pub number: u32,
    pub size: u32,
}

impl Page {
    pub fn new(number: u32, size: u32) -> Result<Page> {
        if number == 0 { Err(Error::bad_request("pages start at 1")) } else { Ok(Page { number, size }) }
    }

    /// Rows before the page.
    pub fn offset(self) -> i64 {
        i64::from(self.number - 1) * i64::from(self.size)
    }

    /// The same of a list without end, which costs what lies before the page: 400 beyond 10,000 rows.
    pub fn shallow_offset(self) -> Result<i64> {
        let offset = self.offset();
        if offset < DEEPEST { Ok(offset) } else { Err(Error::bad_request(format!("pages end after {DEEPEST} rows"))) }
    }
}
