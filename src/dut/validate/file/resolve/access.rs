//! Validation of the access to a device beside its ports.

use core::time::Duration as StdDuration;

use super::super::{Access, raw};
use super::span;
use crate::adapter::{Commands, TIMEOUT, has};
use crate::setup::Setup;
use config::{Cx, Place};
use ground::time::Duration;

/// Default of the time until counters are current: switches poll those of their chip each second.
const SETTLE: Duration = Duration::from_secs(2);

/// Characters of a port's name beside letters and digits: none has a meaning to a shell at the far end of
/// `ssh`.
const PLAIN: &str = "_-./:";

/// Returns the access that a file describes.
pub(super) fn resolve(
    cx: &mut Cx,
    at: &Place<'_>,
    raw: &raw::Adapter,
    (is_virtual, setup): (bool, &Setup),
) -> Option<Access> {
    if is_virtual {
        cx.error(at, "a virtual device needs none: its counters are read without; leave it out");
        return None;
    }
    match (&raw.ctl, &raw.command) {
        (Some(path), None) => Some(Access::Ctl(path.clone())),
        (None, Some(raw)) => Some(Access::Command(commands(cx, &at.key("command"), raw, setup))),
        _ => {
            cx.error(at, "an adapter is exactly one of `ctl` and `command`");
            None
        }
    }
}

fn commands(cx: &mut Cx, at: &Place<'_>, raw: &raw::Commands, setup: &Setup) -> Commands {
    let others = !raw.resets.is_empty() || raw.version.is_some() || raw.memory.is_some();
    if raw.counters.is_none() && raw.numbers.is_empty() && !others {
        cx.error(at, "it reads no counters; add `counters` or `numbers`");
    }
    let numbers = raw.numbers.iter().map(|(counter, line)| {
        let mut needed = vec!["port"];
        needed.extend(counter.is_of_priority().then_some("priority"));
        (at.key("numbers").key(counter.name()), line, needed)
    });
    let lines = [
        (at.key("counters"), raw.counters.as_ref(), vec![]),
        (at.key("clear"), raw.clear.as_ref(), vec![]),
        (at.key("version"), raw.version.as_ref(), vec![]),
        (at.key("memory"), raw.memory.as_ref(), vec![]),
        (at.key("set"), raw.set.as_ref(), vec!["port", "name", "value"]),
    ];
    let lines = lines.into_iter().filter_map(|(at, line, needed)| Some((at, line?, needed)));
    let resets = raw.resets.iter();
    let resets = resets.map(|(kind, line)| (at.key("resets").key(kind.name()), line, vec![]));
    for (at, line, needed) in lines.chain(numbers).chain(resets) {
        if line.first().is_none_or(String::is_empty) {
            cx.error(&at, "the command is empty; give a program and its arguments");
        }
        for name in needed.into_iter().filter(|name| !has(line, name)) {
            cx.error(&at, format!("`{{{name}}}` is in no argument; add it"));
        }
        if has(line, "port") {
            names(cx, &at, setup);
        }
    }
    let timeout = span(raw.timeout, Duration::from_nanos(TIMEOUT.as_nanos() as u64));
    Commands {
        counters: raw.counters.clone(),
        numbers: raw.numbers.clone(),
        clear: raw.clear.clone(),
        set: raw.set.clone(),
        resets: raw.resets.clone(),
        version: raw.version.clone(),
        memory: raw.memory.clone(),
        timeout: StdDuration::from_nanos(timeout.as_nanos()),
        settle: span(raw.settle, SETTLE),
        priorities: setup.lossless,
    }
}

/// Checks the names that replace `{port}`.
fn names(cx: &mut Cx, at: &Place<'_>, setup: &Setup) {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c);
    for port in &setup.ports {
        let is_option = port.dut.starts_with('-');
        if is_option || port.dut.is_empty() || !port.dut.chars().all(is_plain) {
            let what = format!(
                "port `{}` replaces `{{port}}`; give it a `dut` of letters, digits and {PLAIN}, not \
                 beginning with -",
                port.dut
            );
            cx.error(at, what);
        }
    }
}
