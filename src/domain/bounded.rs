//! The bound in bytes of what one background write touches. Two hundred rows may be two hundred messages of the longest,
//! some 30 MB, and deleting them would hold the writer for as long as writing them.

use rusqlite::{Connection, Params, types::FromSql};

use crate::error::Result;

const SLICE_BYTES: i64 = 256 << 10;

/// The bytes that one write may still touch.
pub(super) struct Budget(i64);

impl Budget {
    pub fn new() -> Budget {
        Budget(SLICE_BYTES)
    }

    /// Whether a row of this size still fits. The first one always does, so that work in slices comes to its end.
    pub fn takes(&mut self, bytes: i64) -> bool {
        let fits = bytes <= self.0 || self.0 == SLICE_BYTES;
        self.0 -= bytes;
        fits
    }
}

/// The keys of the first rows of `select`, which gives each with its size in bytes: as many as fit.
pub(super) fn rows<K: FromSql>(conn: &Connection, select: &str, params: impl Params) -> Result<Vec<K>> {
    let (mut keys, mut budget) = (Vec::new(), Budget::new());
    for row in conn.prepare_cached(select)?.query_map(params, |row| Ok((row.get(0)?, row.get(1)?)))? {
        let (key, bytes) = row?;
        if !budget.takes(bytes) {
            break;
        }
        keys.push(key);
    }
    Ok(keys)
}
