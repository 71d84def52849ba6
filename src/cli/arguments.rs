//! Errors of the command line, in clap's words, with quoted arguments shortened like in all
//! messages.

use std::io::Write;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{help, terminal};
use crate::printable::{self, excerpt, message};

/// Returns the arguments, or prints the error and exits.
pub(super) fn read<T>(parsed: Result<T, Error>) -> T {
    parsed.unwrap_or_else(|error| {
        let error = explained(shortened(error));
        match beyond_shortening(&error) {
            None => error.exit(),
            Some(lines) => {
                let _ = terminal::stderr().write_all(lines.as_bytes());
                std::process::exit(error.exit_code())
            }
        }
    })
}

/// Shortens every argument and value that the error quotes.
fn shortened(mut error: Error) -> Error {
    let short = |text: &String| excerpt(text).into_owned();
    let bounded = |value: &ContextValue| match value {
        ContextValue::String(text) => Some(ContextValue::String(short(text))),
        ContextValue::Strings(all) => Some(ContextValue::Strings(all.iter().map(short).collect())),
        ContextValue::StyledStrs(all) => {
            let all = all.iter().map(|text| short(&text.to_string()).into());
            Some(ContextValue::StyledStrs(all.collect()))
        }
        _ => None,
    };
    let is_long = |value: &ContextValue| value.to_string().len() > printable::SHOWN_MAX;
    let long = error.context().filter(|(_, value)| is_long(value));
    let all: Vec<_> = long.filter_map(|(kind, value)| Some((kind, bounded(value)?))).collect();
    for (kind, value) in all {
        error.insert(kind, value);
    }
    error
}

/// Says of a command that only other builds have what this build lacks.
fn explained(error: Error) -> Error {
    let Some(ContextValue::String(verb)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let mut command = super::command();
    match help::missing(&command, verb) {
        Some(why) => command.error(ErrorKind::InvalidSubcommand, why),
        None => error,
    }
}

/// Lines of an error that is still too long: the message of one of our own value parsers.
fn beyond_shortening(error: &Error) -> Option<String> {
    let shown = error.render().to_string();
    let bounded = printable::lines(shown.lines().map(message));
    let is_refusal = error.use_stderr();
    (is_refusal && bounded.trim_end() != shown.trim_end()).then_some(bounded)
}

#[cfg(test)]
mod tests {
    use clap::{Arg, ArgAction, Command};

    use super::*;
    use crate::cli::command;

    /// The error of a command line as it is printed, if there is one.
    fn refusal(line: &[String]) -> Option<String> {
        let error = shortened(command().try_get_matches_from(line).err()?);
        let lines = || error.render().to_string();
        error.use_stderr().then(|| beyond_shortening(&error).unwrap_or_else(lines))
    }

    /// Collects every command with its parents.
    fn commands(all: &mut Vec<(Vec<String>, Command)>, above: &[String], command: &Command) {
        let line = [above, &[command.get_name().to_owned()]].concat();
        for sub in command.get_subcommands() {
            commands(all, &line, sub);
        }
        all.push((line, command.clone()));
    }

    #[test]
    fn no_argument_comes_back_longer_than_a_message_quotes() {
        let fillers = ["\u{416}".repeat(5_000), "\u{416} ".repeat(2_500), "9".repeat(5_000)];
        let mut all = Vec::new();
        commands(&mut all, &[], &command());
        let mut refused = 0;
        for (line, command) in &all {
            let option = |arg: &Arg| arg.get_long().map(|name| format!("--{name}="));
            let takes = |arg: &&Arg| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
            let options = command.get_arguments().filter(takes).filter_map(option);
            for given in options.chain(["".into(), "--".into(), "-".into(), "--x=".into()]) {
                for filler in &fillers {
                    let line = [&line[..], &[format!("{given}{filler}")]].concat();
                    let Some(text) = refusal(&line) else { continue };
                    refused += 1;
                    let given = filler.chars().next().unwrap();
                    for said in text.lines() {
                        let quoted = said.chars().filter(|c| *c == given).count();
                        assert!(quoted <= 2 * printable::SHOWN_MAX, "{line:?}: {said}");
                    }
                }
            }
        }
        assert!(refused > 300, "{refused}");
    }
}
