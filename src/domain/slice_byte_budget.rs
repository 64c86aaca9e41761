//! The byte budget of one background write. Without it, deleting two hundred of the longest messages, some 30 MB, would hold
//! the writer for as long as writing them.

use rusqlite::{Connection, Params, types::FromSql};

use crate::error::Result;

const SLICE_BYTES: i64 = 256 << 10;

/// The bytes that one write may still touch.
pub(super) struct Budget(i64);

impl Budget {
    pub fn new() -> Budget {
        Budget(SLICE_BYTES)
    }

    /// Takes a row's size from the budget; false if the row does not fit. The first row always fits, so that each slice
    /// advances.
    pub fn try_take(&mut self, bytes: i64) -> bool {
        let fits = bytes <= self.0 || self.0 == SLICE_BYTES;
        self.0 -= bytes;
        fits
    }
}

/// The keys of the first rows of `select` that fit the budget. `select` returns each row's key and size in bytes.
pub(super) fn keys_within<K: FromSql>(conn: &Connection, select: &str, params: impl Params) -> Result<Vec<K>> {
    let (mut keys, mut budget) = (Vec::new(), Budget::new());
    for row in conn.prepare_cached(select)?.query_map(params, |row| Ok((row.get(0)?, row.get(1)?)))? {
        let (key, bytes) = row?;
        if !budget.try_take(bytes) {
            break;
        }
        keys.push(key);
    }
    Ok(keys)
}
