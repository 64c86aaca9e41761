//! The flags of the command line as other sources name them.

use clap::{
    Arg, Command,
    error::{ContextKind, ContextValue},
};

/// Flags that are no settings, or not in a file.
const NONE: [&str; 2] = ["config", "json"];

/// The commands whose flags are settings: the whole command line and the server, or settings alone.
pub(super) fn commands_with_settings(command: &Command) -> impl Iterator<Item = &Command> {
    std::iter::once(command).chain(command.find_subcommand("serve"))
}

/// Whether a line of the settings file may have this name.
pub(super) fn is_setting(command: &Command, name: &str) -> bool {
    !NONE.contains(&name)
        && commands_with_settings(command).any(|command| command.get_arguments().any(|arg| arg.get_id() == name))
}

/// The setting that a misspelled name most likely means, as the command line would suggest its flag.
pub(super) fn nearest(command: &Command, name: &str) -> Option<String> {
    let name = name.to_lowercase().replace('-', "_");
    if is_setting(command, &name) {
        return Some(name);
    }
    let flag = format!("--{}", name.replace('_', "-"));
    let flags = Command::new("settings").args(commands_with_settings(command).flat_map(Command::get_arguments));
    match flags.try_get_matches_from(["settings", &flag]).err()?.get(ContextKind::SuggestedArg)? {
        ContextValue::String(flag) => {
            Some(flag.trim_start_matches("--").replace('-', "_")).filter(|name| is_setting(command, name))
        }
        _ => None,
    }
}

/// Sets the default of a flag in every command that has it.
pub(super) fn with_default(command: Command, name: &str, value: &str) -> Command {
    change(command, name, &|arg| {
        let is_secret = arg.is_hide_env_values_set();
        let arg = arg.default_value(value.to_owned());
        // The help shows defaults, but no secret.
        if is_secret { arg.hide_default_value(true) } else { arg }
    })
}

/// Changes a flag in every command that has it.
pub(super) fn change(command: Command, name: &str, to: &dyn Fn(Arg) -> Arg) -> Command {
    let known = command.get_arguments().any(|arg| arg.get_id() == name);
    let command = if known { command.mut_arg(name, to) } else { command };
    command.mut_subcommands(|sub| change(sub, name, to))
}
