//! Where settings come from besides the command line and environment variables: the settings file, and files of secrets.

use std::{collections::BTreeMap, path::PathBuf};

use clap::{Arg, Command};

use crate::error::{Error, Result};

/// How the names of credentials begin; the id of the setting follows. The unit loads a folder of that name.
const CREDENTIAL: &str = "tidings_";

/// Makes the lines of the settings file, and the files of secrets, the defaults of their flags.
pub fn with_sources(command: Command) -> Result<Command> {
    with_secrets(with_file(without_empty(command))?)
}

/// Takes an empty environment variable for none, as in `TIDINGS_BASE_URL=` of a file that lists all of them.
#[expect(clippy::disallowed_methods, reason = "it only asks whether a flag's variable is empty")]
fn without_empty(command: Command) -> Command {
    let is_empty = |arg: &Arg| arg.get_env().and_then(std::env::var_os).is_some_and(|value| value.is_empty());
    let command = command.mut_args(|arg| if is_empty(&arg) { arg.env(None::<&str>) } else { arg });
    command.mut_subcommands(without_empty)
}

/// Environment variables that look like settings and are none, such as misspelled ones. Nothing reads them.
pub fn unknown_variables(settings: &Command) -> Vec<String> {
    let names = |arg: &Arg, name: &str| {
        arg.get_env().is_some_and(|own| own == name || arg.is_hide_env_values_set() && name.strip_suffix("_FILE") == own.to_str())
    };
    let set = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let alike = set.filter(|name| name.starts_with("TIDINGS_"));
    alike.filter(|name| !settings.get_arguments().any(|arg| names(arg, name))).collect()
}

/// Makes the lines of the settings file, if one is named, the defaults of the flags with the same names. An unknown
/// line is an error.
fn with_file(mut command: Command) -> Result<Command> {
    let asked = command.clone().ignore_errors(true).get_matches();
    let sub = asked.subcommand().map(|(_, matches)| matches);
    let file =
        [sub, Some(&asked)].into_iter().flatten().find_map(|matches| matches.try_get_one::<PathBuf>("config").ok().flatten());
    let Some(file) = file else { return Ok(command) };
    let named = |err: &dyn std::fmt::Display| Error::bad_request(format!("the settings file {}: {err}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|err| named(&err))?;
    let table: toml::Table = text.parse().map_err(|err| named(&broken(&text, &err)))?;
    for (key, value) in table {
        let known = |command: &Command| {
            command.get_arguments().any(|arg| arg.get_id() == key.as_str() && !["config", "json"].contains(&key.as_str()))
        };
        let value = as_text(&value).ok_or_else(|| named(&format!("{key}: expected a text, number, switch or list of texts")))?;
        if !known(&command) && !command.find_subcommand("serve").is_some_and(known) {
            return Err(named(&format!("{key}: no such setting")));
        }
        command = with_default(command, &key, &value);
    }
    Ok(command)
}

/// Sets the default of a flag in every command that has it.
fn with_default(command: Command, key: &str, value: &str) -> Command {
    let known = command.get_arguments().any(|arg| arg.get_id() == key);
    let command = if known { command.mut_arg(key, |arg| as_default(arg, value)) } else { command };
    command.mut_subcommands(|sub| with_default(sub, key, value))
}

/// The help shows defaults, but no secret.
fn as_default(arg: Arg, value: &str) -> Arg {
    let is_secret = arg.is_hide_env_values_set();
    let arg = arg.default_value(value.to_owned());
    if is_secret { arg.hide_default_value(true) } else { arg }
}

/// Describes a syntax error in one line; the parser's own message takes several.
fn broken(text: &str, err: &toml::de::Error) -> String {
    let before = err.span().and_then(|span| text.get(..span.start)).unwrap_or(text);
    format!("line {}: {}", before.matches('\n').count() + 1, err.message().replace('\n', ", "))
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

/// Makes the content of a secret's file its default. An error if the file can't be read, or the secret's variable is set, too.
#[expect(clippy::disallowed_methods, reason = "it only asks whether a flag's variable is set")]
fn with_secrets(mut command: Command) -> Result<Command> {
    let secrets = secrets(&command);
    require_known(&secrets.values().map(|id| format!("{CREDENTIAL}{id}")).collect::<Vec<_>>())?;
    for (name, id) in secrets {
        let Some((origin, path)) = file_of(&name, &id) else { continue };
        if std::env::var_os(&name).is_some_and(|value| !value.is_empty()) {
            return Err(Error::bad_request(format!("{name} and {origin} are both set: keep one of them")));
        }
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|err| Error::bad_request(format!("{origin} {}: {err}", path.display())))?;
        command = with_default(command, &id, text.trim_end_matches(['\r', '\n']));
    }
    Ok(command)
}

/// Refuses a credential for this server that names no secret setting: it would be ignored, and the server serve without it.
#[expect(clippy::disallowed_methods, reason = "the variable names a folder, which no flag does")]
fn require_known(known: &[String]) -> Result<()> {
    let Some(folder) = std::env::var_os("CREDENTIALS_DIRECTORY") else { return Ok(()) };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(CREDENTIAL) && !known.contains(&name) {
            return Err(Error::bad_request(format!(
                "the credential {name} is no secret setting: known are {}",
                known.join(", ")
            )));
        }
    }
    Ok(())
}

/// The file of a secret, and what names it: a variable `TIDINGS_…_FILE`, as for Docker's secrets, or the name of a credential of
/// systemd's unit.
#[expect(clippy::disallowed_methods, reason = "the variables name files, which no flag does")]
fn file_of(name: &str, id: &str) -> Option<(String, PathBuf)> {
    let variable = format!("{name}_FILE");
    if let Some(path) = std::env::var_os(&variable) {
        return Some((variable, path.into()));
    }
    let credential = format!("{CREDENTIAL}{id}");
    let path = PathBuf::from(std::env::var_os("CREDENTIALS_DIRECTORY")?).join(&credential);
    path.exists().then(|| (format!("the credential {credential}"), path))
}

/// The environment variable and the id of each setting whose value is secret.
fn secrets(command: &Command) -> BTreeMap<String, String> {
    let own = command.get_arguments().filter(|arg| arg.is_hide_env_values_set());
    let own = own.filter_map(|arg| Some((arg.get_env()?.to_str()?.to_owned(), arg.get_id().to_string())));
    own.chain(command.get_subcommands().flat_map(secrets)).collect()
}
