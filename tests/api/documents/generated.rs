//! The documents that are generated: docs/settings.md and docs/commands.md from the command line, docs/limits.md from the
//! constants and the defaults of settings, docs/errors.md from the codes, docs/tokens.md from the scopes. Each is made from a template of the same name in this folder.

use std::{fs, path::Path};

use clap::{Arg, Args, Command};
use tidings::{
    cli,
    config::{Folder, Settings},
    domain::scopes::Scope,
    error::Code,
};

use super::{
    constants::{Constants, separated},
    root,
};

const RENEW: &str = "make record";

#[test]
fn the_settings_page_agrees_with_the_flags() {
    let table = settings().get_arguments().map(row).collect::<Vec<_>>().join("\n");
    let template = include_str!("settings.md");
    assert!(template.contains("{settings}"));
    check("settings", &template.replace("{settings}", &table));
}

#[test]
fn the_commands_page_agrees_with_the_command_line() {
    let mut text = String::new();
    describe(&cli::command(), "tidings", &mut text);
    check("commands", &include_str!("commands.md").replace("{commands}", text.trim()));
}

/// A section for each command that has none below it.
fn describe(command: &Command, name: &str, text: &mut String) {
    for below in command.get_subcommands() {
        describe(below, &format!("{name} {}", below.get_name()), text);
    }
    if command.has_subcommands() {
        return;
    }
    let about = command.get_long_about().or(command.get_about()).expect("every command has a help text");
    *text += &format!("## {name}\n\n{}.\n\n", about.to_string().replace("\n\n", ". ").replace('\n', " "));
    let flags: Vec<_> = command.get_arguments().map(row).collect();
    if name == "tidings serve" {
        *text += "Its flags are the [settings](settings.md).\n\n";
    } else if !flags.is_empty() {
        *text += &format!("| Flag | Default | Meaning |\n|---|---|---|\n{}\n\n", flags.join("\n"));
    }
}

#[test]
fn the_limits_page_agrees_with_the_constants_and_defaults() {
    let (constants, settings) = (Constants::read(), settings());
    let mut text = String::new();
    let mut parts = include_str!("limits.md").split('{');
    text.push_str(parts.next().unwrap());
    for part in parts {
        let (name, rest) = part.split_once('}').expect("a brace opens a name");
        let value = match name.strip_prefix("--") {
            Some(flag) => default_of(&settings, flag),
            None => constants.show(name),
        };
        text.push_str(&value);
        text.push_str(rest);
    }
    check("limits", &text);
}

#[test]
fn the_errors_page_agrees_with_the_codes() {
    let mut text = String::new();
    for (title, codes) in Code::SECTIONS {
        let row = |code: &Code| {
            let statuses = code.statuses().iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
            let (meaning, advice) = code.meaning();
            format!("| `{}` | {statuses} | {meaning}. | {advice} |", code.name())
        };
        let rows = codes.iter().map(row).collect::<Vec<_>>().join("\n");
        text += &format!("## {title}\n\n| Code | Status | What it means | What a program does |\n|---|---|---|---|\n{rows}\n\n");
    }
    check("errors", &include_str!("errors.md").replace("{codes}", text.trim_end()));
}

#[test]
fn the_tokens_page_agrees_with_the_scopes() {
    let row = |scope: Scope| format!("| `{}` | {} |", scope.as_str(), scope.description());
    check("tokens", &include_str!("tokens.md").replace("{scopes}", &Scope::ALL.map(row).join("\n")));
}

fn settings() -> Command {
    Settings::augment_args(Folder::augment_args(Command::new("serve")))
}

#[track_caller]
fn default_of(settings: &Command, flag: &str) -> String {
    let setting = settings.get_arguments().find(|setting| setting.get_long() == Some(flag));
    let setting = setting.unwrap_or_else(|| panic!("limits.md names --{flag}, which is no setting"));
    let [default] = setting.get_default_values() else { panic!("--{flag} has no default") };
    let default = default.to_str().unwrap();
    default.parse().map_or_else(|_| default.to_owned(), separated)
}

/// A row of a table: the flag with its variable, the default, and the help in one paragraph.
fn row(setting: &Arg) -> String {
    let help = setting.get_long_help().or(setting.get_help()).expect("every setting has a help text").to_string();
    let help = help.replace("\n\n", ". ").replace('\n', " ").replace("|", "\\|");
    // What a default that is computed is, the help says at its end.
    let (help, computed) = match help.rsplit_once(" [default: ") {
        Some((help, computed)) => (help.to_owned(), computed.trim_end_matches(']').to_owned()),
        None => (help, "none".into()),
    };
    let default = match setting.get_default_values() {
        [default] => format!("`{}`", default.to_str().unwrap()),
        _ if setting.is_required_set() => "required".into(),
        _ if !setting.get_action().takes_values() => "off".into(),
        _ => computed,
    };
    let name = setting.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    let values: Vec<_> = name.split('|').map(|value| format!("`{value}`")).collect();
    let values = if values.len() > 1 { format!(". Values: {}", values.join(", ")) } else { String::new() };
    let variable = setting.get_env().map(|name| format!(" `{}`", name.to_str().unwrap())).unwrap_or_default();
    let flag = setting.get_long().map_or_else(|| name.to_owned(), |long| format!("--{long}"));
    format!("| `{flag}`{variable} | {default} | {help}{values} |")
}

/// Compares the document with what it should be; renews it when asked to.
#[track_caller]
pub fn check(name: &str, wanted: &str) {
    let note = format!("<!-- Generated from tests/api/documents/{name}.md. Renew with: {RENEW} -->\n\n");
    let path = root().join(format!("docs/{name}.md"));
    agree(&path, &(note + wanted), &format!("is stale: edit tests/api/documents/{name}.md"));
}

/// Compares a generated file with what it should be; renews it when asked to.
#[track_caller]
pub fn agree(path: &Path, wanted: &str, fault: &str) {
    if is_renewing() {
        fs::write(path, wanted).unwrap();
    }
    let is = fs::read_to_string(path).unwrap_or_default();
    let difference = first_difference(&is, wanted);
    assert!(is == wanted, "{} {fault}; then run `{RENEW}` and commit the result\n{difference}", path.display());
}

/// The first line in which a text is not what it should be.
fn first_difference(is: &str, wanted: &str) -> String {
    let same = is.lines().zip(wanted.lines()).take_while(|(is, wanted)| is == wanted).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or_default().to_owned();
    format!("line {}: {}\nshould be: {}", same + 1, line(is), line(wanted))
}

/// Whether this run renews generated files instead of checking them.
#[allow(clippy::disallowed_methods, reason = "the variable is a setting of the tests, not of the server")]
pub fn is_renewing() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}
