//! The settings file.

use std::{
    io::{self, Read},
    path::Path,
};

use clap::Command;

use super::setting_names::{is_setting, nearest, with_default};
use crate::{
    error::{Error, Faults, Result},
    regular_file,
};

/// Bytes of a settings file, and of a file with a secret, at most.
const FILE_MAX: u64 = 64 << 10;

/// Makes the lines of the settings file the defaults of the flags with the same names. An unknown line is a fault.
pub(super) fn with_file(mut command: Command, file: &Path, faults: &mut Faults) -> Command {
    for (key, value) in faults.ok_or_collect(read(file)).unwrap_or_default() {
        let mut add = |says: &str| faults.add(format!("{}: {key}: {says}", named(file)));
        match as_text(&value) {
            _ if !is_setting(&command, &key) => {
                let meant = nearest(&command, &key).map_or_else(String::new, |name| format!("did you mean {name}? "));
                add(&format!("no such setting: {meant}`tidings config default` lists all"));
            }
            None => add("expected a text, number, switch or list of texts"),
            Some(value) => command = with_default(command, &key, &value),
        }
    }
    command
}

/// The secret settings of a file, if it can be read.
pub fn secrets_in(file: &Path, settings: &Command) -> Vec<String> {
    let is_secret =
        |key: &String| settings.get_arguments().any(|arg| arg.get_id() == key.as_str() && arg.is_hide_env_values_set());
    read(file).unwrap_or_default().into_iter().map(|(key, _)| key).filter(is_secret).collect()
}

/// How errors name a settings file.
pub(super) fn named(file: &Path) -> String {
    format!("the settings file {}", file.display())
}

/// The text of a settings file, or of a file with a secret.
pub(super) fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    regular_file::open(path)?.take(FILE_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_MAX {
        Err(io::Error::other(format!("it has more than {} KiB", FILE_MAX >> 10)))
    } else {
        Ok(text)
    }
}

fn read(file: &Path) -> Result<toml::Table> {
    let refused = |err: &dyn std::fmt::Display| Error::failed(format!("{}: {err}", named(file)));
    let text = text(file).map_err(|err| refused(&err))?;
    text.parse().map_err(|err| refused(&broken(&text, &err)))
}

/// Describes a syntax error in one line; the parser's own message takes several. A value without quotes is not shown, because it
/// may be secret.
fn broken(text: &str, err: &toml::de::Error) -> String {
    let before = err.span().and_then(|span| text.get(..span.start)).unwrap_or(text);
    let line = before.matches('\n').count();
    let unquoted = text.lines().nth(line).and_then(|line| line.split_once('=')).filter(|(_, value)| is_unquoted(value));
    let says = match unquoted {
        Some((key, _)) => format!("texts stand in quotes, as in {} = \"…\"", key.trim()),
        None => err.message().replace('\n', ", "),
    };
    format!("line {}: {says}", line + 1)
}

/// Whether what follows a `=` looks like a text without its quotes.
fn is_unquoted(value: &str) -> bool {
    let value = value.trim();
    let is_begun = value.starts_with(['"', '\'', '[', '{', '#']);
    !value.is_empty() && !is_begun && format!("value = {value}").parse::<toml::Table>().is_err()
}

fn as_text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(switch) => Some(switch.to_string()),
        toml::Value::Array(list) => list.iter().map(as_text).collect::<Option<Vec<_>>>().map(|list| list.join(",")),
        _ => None,
    }
}
