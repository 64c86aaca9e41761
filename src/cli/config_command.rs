//! `tidings config …`

use std::{collections::BTreeMap, path::Path};

use clap::{Arg, ArgMatches, Args, Command as Parser, Subcommand, parser::ValueSource};
use serde::Serialize;
use serde_json::json;

use super::{
    log_setup,
    output::{Output, print},
};
use crate::{
    config::{Folder, Settings, unknown_variables},
    db,
    error::{Faults, Result},
    wiring,
};

#[derive(Subcommand)]
pub enum Command {
    /// Show the value of each setting, and where it is from; secrets are masked
    Show(Box<Settings>),
    /// Check all settings as the server does at its start, and that the data folder has no database of an unknown schema
    Check(Box<Settings>),
    /// Print a settings file with the defaults, to be edited
    Default,
    /// Print the settings as environment variables, to be edited
    Env,
}

/// The text that is shown for a secret's value.
const MASK: &str = "********";

/// A setting with its value.
#[derive(Serialize)]
struct Setting {
    setting: String,
    value: String,
    from: &'static str,
}

/// `matches` are those of the whole command line, and `faults` what is wrong with variables and the settings file.
pub fn run(data: &Path, output: Output, command: Command, (matches, faults): (&ArgMatches, Faults)) -> Result<()> {
    match command {
        Command::Show(_) => {
            faults.into_result()?;
            output.rows(
                &all_settings_parser().get_arguments().map(|arg| setting(arg, innermost_command(matches))).collect::<Vec<_>>(),
            )
        }
        Command::Check(settings) => check(output, &Settings { data_dir: data.to_owned(), ..*settings }, faults),
        Command::Default => {
            // The file's own path stands in no file.
            let name = |arg: &Arg| (arg.get_id() != "config").then(|| arg.get_id().to_string());
            defaults(output, name, |name, value| match is_bare(value) {
                true => format!("{name} = {value}"),
                false => format!("{name} = {value:?}"),
            })
        }
        Command::Env => {
            let name = |arg: &Arg| arg.get_env().map(|name| name.to_string_lossy().into_owned());
            defaults(output, name, |name, value| format!("{name}={value}"))
        }
    }
}

/// Fails if something is wrong with the settings, and says all of it.
fn check(output: Output, settings: &Settings, mut faults: Faults) -> Result<()> {
    unknown_variables(&all_settings_parser()).into_iter().for_each(|fault| faults.add(fault));
    faults.ok_or_collect(log_setup::filter(&settings.log));
    wiring::check_settings(settings, &mut faults);
    faults.ok_or_collect(db::require_known_definitions(&settings.data_dir));
    faults.into_result()?;
    output.done("the settings are valid", &json!({ "valid": true }))
}

/// Prints the defaults of all settings that have a name, each on a line behind its help, or as a JSON object.
fn defaults(output: Output, name: fn(&Arg) -> Option<String>, line: fn(&str, &str) -> String) -> Result<()> {
    let settings = all_settings_parser();
    let named: Vec<_> = settings.get_arguments().filter_map(|arg| Some((name(arg)?, arg))).collect();
    let values: BTreeMap<_, _> = named.iter().map(|(name, arg)| (name, default(arg))).collect();
    output.tables_or_json(&values, |_| {
        named.iter().try_for_each(|(name, arg)| print(&format!("{}# {}\n", comment(arg), line(name, &default(arg)))))
    })
}

/// All settings, with their own defaults.
pub fn all_settings_parser() -> Parser {
    Settings::augment_args(Folder::augment_args(Parser::new("settings"))).mut_args(|arg| arg.global(false))
}

/// The innermost command of a command line.
pub fn innermost_command(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, below)| innermost_command(below))
}

fn setting(arg: &Arg, matches: &ArgMatches) -> Setting {
    let (id, value) = (arg.get_id().as_str(), value(arg, matches));
    let from = match matches.value_source(id) {
        Some(ValueSource::CommandLine) => "flag",
        Some(ValueSource::EnvVariable) => "environment",
        _ if value != default(arg) => "file", // its lines are defaults to the parser
        _ => "default",
    };
    let is_secret = arg.is_hide_env_values_set() && from != "default";
    Setting { setting: id.to_owned(), value: if is_secret { MASK.into() } else { value }, from }
}

fn value(arg: &Arg, matches: &ArgMatches) -> String {
    let values = matches.get_raw(arg.get_id().as_str());
    values.map_or_else(String::new, |values| values.map(|value| value.to_string_lossy()).collect::<Vec<_>>().join(","))
}

/// The settings that differ between two command lines of `tidings serve`.
pub fn settings_changed_between(before: &ArgMatches, after: &ArgMatches) -> Vec<String> {
    let (before, after) = (innermost_command(before), innermost_command(after));
    let settings = all_settings_parser();
    let changed = settings.get_arguments().filter(|arg| value(arg, before) != value(arg, after));
    changed.map(|arg| arg.get_id().to_string()).collect()
}

fn default(arg: &Arg) -> String {
    arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect::<Vec<_>>().join(",")
}

/// Whether TOML takes the value without quotes.
fn is_bare(value: &str) -> bool {
    value == "true" || value == "false" || value.parse::<i64>().is_ok()
}

/// The help of a setting as lines of comments.
fn comment(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    help.lines().filter(|line| !line.is_empty()).map(|line| format!("# {line}\n")).collect()
}
