//! The columns of a row by position.

use rusqlite::{Row, types::FromSql};

/// The columns of a row, taken one after the other in the order in which the query selects them. To find one by its name
/// takes longer than to read it, so lists read their rows in this way.
pub struct Columns<'a> {
    row: &'a Row<'a>,
    next: usize,
}

impl<'a> Columns<'a> {
    pub fn of_row(row: &'a Row<'a>) -> Columns<'a> {
        Columns { row, next: 0 }
    }

    pub fn take<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        self.next += 1;
        self.row.get(self.next - 1)
    }
}
