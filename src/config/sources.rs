//! Where settings come from besides the command line: environment variables, the settings file, and files of secrets.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgMatches, Command, parser::ValueSource};

use super::{
    file::{self, named, with_file},
    setting_names::{change, commands_with_settings, nearest, with_default},
};
use crate::error::{Error, Faults, Result};

/// How the names of credentials begin; the id of the setting follows. The unit loads a folder of that name.
const CREDENTIAL: &str = "tidings_";

/// Makes the lines of the settings file, and the files of secrets, the defaults of their flags. What is wrong with them, or with
/// a variable, is a fault, and its setting has its own default.
pub fn with_file_defaults(command: Command, faults: &mut Faults) -> Command {
    let own = command.clone();
    let command = without_empty(command);
    let asked = command.clone().ignore_errors(true).get_matches();
    let file = settings_file(&asked).cloned();
    let command = match &file {
        Some(file) => with_file(command, file, faults),
        None => command,
    };
    with_values(with_secrets(command, faults), &own, &asked, file.as_deref(), faults)
}

/// The settings file that the command line names, before or behind the command.
fn settings_file(asked: &ArgMatches) -> Option<&PathBuf> {
    let sub = asked.subcommand().map(|(_, matches)| matches);
    [sub, Some(asked)].into_iter().flatten().find_map(|matches| matches.try_get_one("config").ok().flatten())
}

/// Takes an empty environment variable for none, as in `TIDINGS_BASE_URL=` of a file that lists all of them.
fn without_empty(command: Command) -> Command {
    let is_empty = |arg: &Arg| variable(arg).is_some_and(|value| value.is_empty());
    let command = command.mut_args(|arg| if is_empty(&arg) { arg.env(None::<&str>) } else { arg });
    command.mut_subcommands(without_empty)
}

#[expect(clippy::disallowed_methods, reason = "it only asks for the variable of a flag")]
fn variable(arg: &Arg) -> Option<std::ffi::OsString> {
    arg.get_env().and_then(std::env::var_os)
}

/// Checks the values that variables and the settings file give to the flags of the command. The parser would stop at the first
/// that is wrong.
fn with_values(mut command: Command, own: &Command, asked: &ArgMatches, file: Option<&Path>, faults: &mut Faults) -> Command {
    let (mut of, mut own, mut asked) = (command.clone(), own, asked);
    while let Some((name, matches)) = asked.subcommand()
        && let (Some(sub), Some(own_sub)) = (of.find_subcommand(name).cloned(), own.find_subcommand(name))
    {
        (of, own, asked) = (sub, own_sub, matches);
    }
    let is_given = |arg: &Arg| asked.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let is_set = |arg: &Arg| variable(arg).is_some() || !arg.get_default_values().is_empty();
    for arg in of.get_arguments().filter(|arg| is_set(arg) && !is_given(arg)) {
        let alone = Command::new("alone").no_binary_name(true).arg(arg);
        let Err(err) = alone.try_get_matches_from([""; 0]) else { continue };
        let origin = match (variable(arg), file) {
            (None, Some(file)) => named(file),
            _ => arg.get_env().unwrap_or_default().to_string_lossy().into_owned(),
        };
        faults.add(format!("{origin}: {}", error_in_one_line(&err)));
        let without = own.get_arguments().find(|own| own.get_id() == arg.get_id()).cloned().map(|own| own.env(None::<&str>));
        command = change(command, arg.get_id().as_str(), &|arg| without.clone().unwrap_or(arg));
    }
    command
}

/// An error of the command line in one line, without the usage.
pub fn error_in_one_line(err: &clap::Error) -> String {
    let text = err.to_string();
    let lines = text.trim_start_matches("error: ").lines().take_while(|line| !line.is_empty());
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Errors for environment variables that look like settings and are none, such as misspelled ones. Nothing reads them.
pub fn unknown_variables(command: &Command) -> Vec<String> {
    const START: &str = "TIDINGS_";
    let names = |arg: &Arg, name: &str| {
        arg.get_env().is_some_and(|own| own == name || arg.is_hide_env_values_set() && name.strip_suffix("_FILE") == own.to_str())
    };
    let set = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let is_known =
        |name: &str| commands_with_settings(command).any(|command| command.get_arguments().any(|arg| names(arg, name)));
    let unknown = set.filter(|name| name.starts_with(START) && !is_known(name));
    let described = unknown.map(|name| {
        let meant = nearest(command, &name[START.len()..]);
        let meant = meant.map_or_else(String::new, |id| format!("did you mean {START}{}? ", id.to_uppercase()));
        format!("the variable {name} is not a setting: {meant}`tidings config env` lists all")
    });
    described.collect()
}

/// Makes the content of a secret's file its default. It is a fault if the file can't be read, or the secret's variable is set, too.
fn with_secrets(mut command: Command, faults: &mut Faults) -> Command {
    let secrets = secrets(&command);
    require_known(&secrets.values().map(|id| format!("{CREDENTIAL}{id}")).collect::<Vec<_>>(), faults);
    for (name, id) in secrets {
        if let Some(secret) = faults.ok_or_collect(secret(&name, &id)).flatten() {
            command = with_default(command, &id, &secret);
        }
    }
    command
}

/// The content of a secret's file, if there is one.
#[expect(clippy::disallowed_methods, reason = "it only asks whether a flag's variable is set")]
fn secret(name: &str, id: &str) -> Result<Option<String>> {
    let Some((origin, path)) = file_of(name, id) else { return Ok(None) };
    if std::env::var_os(name).is_some_and(|value| !value.is_empty()) {
        return Err(Error::failed(format!("{name} and {origin} are both set: keep one of them")));
    }
    let text = file::text(&path);
    let text = text.map_err(|err| Error::failed(format!("{origin} {}: {err}", path.display())))?;
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

/// Refuses a credential for this server that names no secret setting: it would be ignored, and the server serve without it.
#[expect(clippy::disallowed_methods, reason = "the variable names a folder, which no flag does")]
fn require_known(known: &[String], faults: &mut Faults) {
    let Some(folder) = std::env::var_os("CREDENTIALS_DIRECTORY") else { return };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(CREDENTIAL) && !known.contains(&name) {
            faults.add(format!("the credential {name} is no secret setting: known are {}", known.join(", ")));
        }
    }
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
