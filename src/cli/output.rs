//! Output of commands: tables and sentences for people, JSON for programs.

use std::{
    io::{ErrorKind, Write},
    time::Duration,
};

use clap::Args;
use indexmap::IndexMap;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::Value;

use crate::{
    domain::text,
    error::{Error, Result},
};

/// Time between two redraws of a progress bar.
const REDRAW: Duration = Duration::from_millis(100);
/// Columns between two cells of a table.
const GAP: &str = "  ";

/// How a command answers.
#[derive(Args, Clone, Copy)]
pub struct Output {
    /// Print JSON instead of tables and sentences
    #[arg(long, global = true)]
    json: bool,
}

/// A column is padded to at most so many characters; more than this can't be written, and no terminal shows it.
const WIDEST: usize = 1000;

/// The fields of a row in their order.
type Fields = IndexMap<String, Value>;

impl Output {
    /// Prints a table with a row for each value, or a JSON list.
    pub fn rows<T: Serialize>(self, rows: &[T]) -> Result<()> {
        if self.json {
            return pretty(&rows);
        }
        let rows: Vec<Fields> = fields(&rows)?;
        let Some(first) = rows.first() else { return Ok(()) };
        let head: Vec<String> = first.keys().map(|name| name.replace('_', " ")).collect();
        let lines: Vec<Vec<String>> =
            std::iter::once(head).chain(rows.iter().map(|row| row.values().map(cell).collect())).collect();
        let widths: Vec<usize> = (0..lines[0].len())
            .map(|n| lines.iter().map(|line| line[n].chars().count()).max().unwrap_or(0).min(WIDEST))
            .collect();
        lines.iter().try_for_each(|line| {
            let cells: Vec<String> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            print(cells.join(GAP).trim_end())
        })
    }

    /// Prints one value, a line for each field, or as a JSON object.
    pub fn one<T: Serialize>(self, value: &T) -> Result<()> {
        if self.json {
            return pretty(value);
        }
        let fields: Fields = fields(value)?;
        let width = fields.keys().map(|name| name.chars().count()).max().unwrap_or(0);
        fields
            .iter()
            .try_for_each(|(name, value)| print(format!("{:width$}{GAP}{}", name.replace('_', " "), cell(value)).trim_end()))
    }

    /// Prints what `tables` prints, or the value behind it as a JSON object.
    pub fn tables_or_json<T: Serialize>(self, value: &T, tables: impl FnOnce(Output) -> Result<()>) -> Result<()> {
        if self.json { pretty(value) } else { tables(self) }
    }

    /// Prints each value in a form of its own, or a JSON list.
    pub fn blocks<T: Serialize>(self, values: &[T], form: impl Fn(&T) -> String) -> Result<()> {
        if self.json { pretty(&values) } else { values.iter().try_for_each(|value| print(&form(value))) }
    }

    /// Prints a sentence, or the value behind it as a JSON object.
    pub fn done<T: Serialize>(self, sentence: &str, value: &T) -> Result<()> {
        if self.json { pretty(value) } else { print(sentence) }
    }
}

fn fields<T: Serialize, F: serde::de::DeserializeOwned>(value: &T) -> Result<F> {
    let text = serde_json::to_string(value).map_err(Error::internal)?;
    serde_json::from_str(&text).map_err(Error::internal)
}

/// A value on one line, without what would steer the terminal: users choose names.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(is) => if *is { "yes" } else { "no" }.into(),
        Value::String(text) => text::printable(text).replace('\n', " "),
        Value::Array(values) => values.iter().map(cell).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn pretty(value: &impl Serialize) -> Result<()> {
    print(&serde_json::to_string_pretty(value).map_err(Error::internal)?)
}

/// Prints a line. A reader that went away (`| head`) is no failure.
pub(super) fn print(text: &str) -> Result<()> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(err) if err.kind() != ErrorKind::BrokenPipe => Err(Error::internal(err)),
        _ => Ok(()),
    }
}

/// A progress bar on standard error, if that is a terminal.
pub(super) fn bar() -> impl FnMut(&'static str, u64, u64) {
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{msg:12} {wide_bar} {percent:>3} %").expect("the template is right");
    bar.set_style(style);
    bar.enable_steady_tick(REDRAW);
    move |what, done, all| {
        bar.set_message(what);
        bar.set_length(all);
        bar.set_position(done);
    }
}
