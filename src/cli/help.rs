//! Help and errors of the command line. The first screen groups the commands; examples and paragraphs
//! are laid out for any width of a terminal. Errors are in clap's words, and the arguments that they
//! quote are shortened as in all messages.

use std::io::Write;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

use super::terminal;
use crate::printable::{self, excerpt, message};

/// Width that examples fit into.
const WIDTH: usize = 80;
/// Space between the columns of a list, and before its first one.
const GAP: usize = 2;

/// All commands of all builds, by purpose.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Labs in the virtual world", &["run", "explore", "swarm", "demo"]),
    ("Tests of a device", &["validate", "benchmark", "gen"]),
    ("Switch", &["switch", "ctl"]),
    ("Files, links and machine", &["check", "headroom", "doctor", "pics", "help"]),
];

/// The commands of `sluice ctl`, by purpose.
const CTL_GROUPS: [(&str, &[&str]); 4] = [
    (
        "What the switch and its links do",
        &["show", "drops", "about", "neighbours", "headroom", "measurements", "watch"],
    ),
    ("Changes until the switch stops", &["set-group", "set-ecn", "link", "macsec"]),
    ("Managed objects", &["objects", "get", "set", "create", "delete", "yang"]),
    ("Operation", &["measure", "clear", "flush-fdb", "save", "stop", "help"]),
];

/// Titles, each with its commands.
type Groups = [(&'static str, &'static [&'static str])];

/// Commands that need DPDK.
const NEED_DPDK: [&str; 3] = ["demo", "doctor", "switch"];

const EXAMPLES: &str = "\
EXAMPLES:
  sluice demo  PFC, without NIC or root
  sluice run configs/labs/incast.yaml  a lab at 100 Gb/s
  sluice check configs/switch/bump.yaml  the resolved configuration
  sluice switch configs/switch/bump.yaml  a switch, until Ctrl-C
  sluice ctl show  its counters, while it runs
  sluice gen configs/gen/pfc-storm.yaml  flows and a PFC storm
  sluice validate configs/validate/virtual.yaml  conformance of a device
  sluice benchmark rfc2544 configs/benchmark/rfc2544.yaml
  sluice headroom compare --rate 100G --length 100m

EXIT STATUS:
  0  PASS
  1  FAIL
  2  bad input: a file, a field, an argument
  3  the machine lacks something: memory, rights, DPDK
  4  INCONCLUSIVE (interrupted, CPU preempted) or not judged";

/// Adds the help of all commands.
pub(super) fn complete(command: Command) -> Command {
    let examples = examples_of_build(&command);
    let grouped = template(&command, &GROUPS);
    let command = command.after_help(examples).help_template(grouped);
    laid_out(command.mut_subcommands(|command| match command.get_name() {
        // Only this command has too many subcommands for one list.
        "ctl" => {
            let grouped = template(&command, &CTL_GROUPS);
            command.help_template(grouped)
        }
        _ => command,
    }))
}

/// Returns the examples of the commands that this build has.
fn examples_of_build(command: &Command) -> String {
    let is_here = |line: &&str| match line.trim_start().strip_prefix("sluice ") {
        // Lines without a command, such as those about the exit status, stay.
        Some(rest) => rest.split(' ').next().is_some_and(|verb| has(command, verb)),
        None => true,
    };
    EXAMPLES.lines().filter(is_here).collect::<Vec<_>>().join("\n")
}

fn has(command: &Command, verb: &str) -> bool {
    verb == "help" || command.get_subcommands().any(|known| known.get_name() == verb)
}

/// Template of a command's help: title, usage, its commands in their groups, options, examples.
fn template(command: &Command, groups: &Groups) -> StyledStr {
    let style = command.get_styles().get_header();
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    let width = groups.iter().flat_map(|(_, verbs)| *verbs).map(|verb| verb.len()).max();
    let width = width.unwrap_or(0);
    for (title, verbs) in groups {
        let here: Vec<_> = verbs.iter().filter(|verb| has(command, verb)).collect();
        // A build without some features may have no command of a group.
        if here.is_empty() {
            continue;
        }
        text += &format!("\n{style}{title}:{style:#}\n");
        for verb in here {
            let known = command.find_subcommand(verb).and_then(Command::get_about);
            let about = known.map_or("Print the help of a command".to_owned(), |a| a.to_string());
            text += &format!("  {verb:<width$}  {about}\n");
        }
    }
    text += &format!("\n{style}Options:{style:#}\n{{options}}{{after-help}}");
    text.into()
}

/// Lays out the text behind the options of a command and of its subcommands.
fn laid_out(command: Command) -> Command {
    let command = match command.get_after_help().map(|text| layout(&text.to_string())) {
        Some(text) => command.after_help(text),
        None => command,
    };
    command.mut_subcommands(laid_out)
}

/// Joins the lines of each paragraph, which clap then wraps to the terminal's width, and aligns lists
/// of indented lines: an entry, two spaces or more, and its description.
fn layout(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    let is_listed = |line: &str| line.starts_with(' ');
    let mut out: Vec<String> = Vec::new();
    let is_one = |a: &&str, b: &&str| {
        // A line that ends with a colon is the title of the list behind it.
        let is_text = !a.is_empty() && !b.is_empty() && !a.ends_with(':');
        is_text && is_listed(a) == is_listed(b)
    };
    for block in lines.chunk_by(is_one) {
        if block.iter().all(|line| is_listed(line)) {
            out.extend(list(block));
        } else {
            out.push(block.join(" "));
        }
    }
    out.join("\n")
}

/// Aligns the descriptions of as many entries as fit; the others have theirs on a separate line.
fn list(block: &[&str]) -> Vec<String> {
    let split = |line: &&str| {
        let line = line.trim();
        let (entry, about) = line.split_once("  ").unwrap_or((line, ""));
        (entry.to_owned(), about.trim().to_owned())
    };
    let entries: Vec<_> = block.iter().map(split).collect();
    let fits = |entry: &str, about: &str, width: usize| {
        entry.chars().count() <= width && GAP + width + GAP + about.chars().count() <= WIDTH
    };
    let described = || entries.iter().filter(|(_, about)| !about.is_empty());
    let fitting = |width: usize| described().filter(|(e, a)| fits(e, a, width)).count();
    let widths = described().map(|(entry, _)| entry.chars().count());
    // The width with which most entries have their description beside them; of equal ones the smallest.
    let width = widths.max_by_key(|width| (fitting(*width), WIDTH - (*width).min(WIDTH)));
    let width = width.unwrap_or(0);
    let mut lines = Vec::new();
    for (entry, about) in &entries {
        if about.is_empty() {
            lines.push(format!("  {entry}"));
        } else if fits(entry, about, width) {
            lines.push(format!("  {entry:<width$}  {about}"));
        } else {
            lines.extend([format!("  {entry}"), format!("      {about}")]);
        }
    }
    lines
}

/// Reason why this build has no such command, if another build has it.
pub(super) fn missing(command: &Command, verb: &str) -> Option<String> {
    let is_known = GROUPS.iter().any(|(_, verbs)| verbs.contains(&verb));
    // A word that no build has is left to clap, which suggests similar ones.
    if !is_known || has(command, verb) {
        return None;
    }
    let part = if NEED_DPDK.contains(&verb) && !cfg!(feature = "dpdk") {
        "DPDK"
    } else {
        "the feature `instruments`"
    };
    Some(format!("`{verb}` is not in this program, which was built without {part}"))
}

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
    // Collected first, because the context is borrowed while it is read.
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
    match missing(&command, verb) {
        Some(why) => command.error(ErrorKind::InvalidSubcommand, why),
        None => error,
    }
}

/// Lines of an error that is still too long: the message of one of our own value parsers.
fn beyond_shortening(error: &Error) -> Option<String> {
    let shown = error.render().to_string();
    let bounded = printable::lines(shown.lines().map(message));
    let is_refusal = error.use_stderr();
    // Help and version are no refusals, and are never shortened.
    (is_refusal && bounded.trim_end() != shown.trim_end()).then_some(bounded)
}

#[cfg(test)]
mod tests {
    use clap::{Arg, ArgAction};

    use super::*;
    use crate::cli::command;

    #[test]
    fn help_names_no_command_that_a_build_lacks() {
        let few = Command::new("sluice").subcommand(Command::new("run").about("Run a lab"));
        let text = examples_of_build(&few);
        let verbs: Vec<_> = text.lines().filter_map(|l| l.strip_prefix("  sluice ")).collect();
        assert!(verbs.len() == 1 && verbs[0].starts_with("run "), "{text}");
        assert!(text.contains("EXIT STATUS:"), "{text}");
        let screen = complete(few.clone()).render_help().to_string();
        assert!(screen.contains("run        Run a lab") && !screen.contains("Switch:"), "{screen}");
        let why = missing(&few, "doctor").expect("it is in no group");
        assert!(why.contains("built without"), "{why}");
        assert_eq!([missing(&few, "run"), missing(&few, "bogus")], [None, None]);
    }

    /// Asserts that each command is in one group and on one line.
    fn is_grouped(command: Command, groups: &Groups) {
        for known in command.get_subcommands().map(Command::get_name) {
            let of = groups.iter().filter(|(_, verbs)| verbs.contains(&known)).count();
            assert_eq!(of, 1, "{known}");
        }
        let screen = command.term_width(WIDTH).render_help().to_string();
        for (title, verbs) in groups {
            assert!(screen.contains(&format!("\n{title}:\n  {}", verbs[0])), "{screen}");
        }
        let long: Vec<_> = screen.lines().filter(|line| line.chars().count() > WIDTH).collect();
        assert!(long.is_empty(), "{long:#?}");
    }

    #[test]
    fn every_command_is_in_one_group_and_on_one_line() {
        is_grouped(super::super::command(), &GROUPS);
    }

    #[cfg(feature = "instruments")]
    #[test]
    fn commands_of_a_running_switch_are_grouped_too() {
        let command = super::super::command();
        let ctl = command.find_subcommand("ctl").expect("instruments have it").clone();
        is_grouped(ctl, &CTL_GROUPS);
    }

    fn lines_of_lists(command: &Command, all: &mut Vec<String>) {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        all.extend(text.lines().filter(|line| line.starts_with(' ')).map(str::to_owned));
        for sub in command.get_subcommands() {
            lines_of_lists(sub, all);
        }
    }

    #[test]
    fn examples_of_all_commands_fit() {
        let mut all = Vec::new();
        lines_of_lists(&super::super::command(), &mut all);
        let long: Vec<_> = all.iter().filter(|line| line.chars().count() > WIDTH).collect();
        assert!(all.len() > 20 && long.is_empty(), "{long:#?}");
    }

    #[test]
    fn paragraphs_are_joined_and_lists_aligned() {
        let text = "EXAMPLES:\n  a  first\n  bbb   second\n\nOne\ntwo.\nThree";
        assert_eq!(layout(text), "EXAMPLES:\n  a    first\n  bbb  second\n\nOne two. Three");
        let long = format!("  a  first\n  {}  second", "b".repeat(76));
        let out = layout(&long);
        assert_eq!(out.lines().nth(2), Some("      second"), "{out}");
        assert_eq!(out.lines().next(), Some("  a  first"), "{out}");
    }

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
