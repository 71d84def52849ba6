//! Detects the kind of a file by its fields, so that a file given to the wrong command is reported
//! with the right one.

use std::path::Path;

use anyhow::anyhow;

use super::{bad_input, quoted};
use crate::config;
use crate::config::tree::Node;
use crate::lab;
#[cfg(feature = "instruments")]
use ::benchmark::file::is_benchmark;
#[cfg(feature = "instruments")]
use ::validate::file::is_dut;
use tester::otg_file;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Switch,
    Lab,
    Generator,
    Dut,
    Benchmark,
}

impl Kind {
    /// Kind of a text, if its fields determine it.
    pub(super) fn of(text: &str) -> Option<Self> {
        #[cfg(feature = "instruments")]
        // The order matters: a file of one kind may have the fields of another one that is tested later.
        if is_dut(text) {
            return Some(Self::Dut);
        }
        #[cfg(feature = "instruments")]
        if is_benchmark(text) {
            return Some(Self::Benchmark);
        }
        if otg_file::is_test(text) {
            return Some(Self::Generator);
        }
        if lab::is_lab(text) {
            return Some(Self::Lab);
        }
        // Last, because other kinds have ports, too.
        let placed = |root: &Node| root.get("ports").is_some();
        config::tree::read(text, "").is_ok_and(|root| placed(&root)).then_some(Self::Switch)
    }

    /// Kind of a file; `None` also for one that cannot be read.
    pub(super) fn of_file(path: &Path) -> Option<Self> {
        let (_, text) = config::read_text(path, "file").ok()?;
        Self::of(&text)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Switch => "a switch file",
            Self::Lab => "a lab file",
            Self::Generator => "a generator file",
            Self::Dut => "a DUT file",
            Self::Benchmark => "a benchmark file",
        }
    }

    const fn verb(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Lab => "run",
            Self::Generator => "gen",
            Self::Dut => "validate",
            Self::Benchmark => "benchmark rfc2544",
        }
    }

    /// Refuses a file of another kind. A file of unknown kind, or that cannot be read, is left to
    /// the command's own errors.
    ///
    /// # Errors
    /// Bad input: names the command that takes the file.
    pub(super) fn expect(self, path: &Path) -> anyhow::Result<()> {
        match Self::of_file(path) {
            // Only a known kind is refused: a broken file gets better errors from its own command.
            Some(found) if found != self => Err(bad_input(anyhow!(
                "{} is {}, not {}; try: sluice {} {}",
                path.display(),
                found.name(),
                self.name(),
                found.verb(),
                quoted(path)
            ))),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_known_and_sent_to_its_command() {
        for (folder, kind) in [
            ("switch", Kind::Switch),
            ("labs", Kind::Lab),
            ("gen", Kind::Generator),
            ("validate", Kind::Dut),
            ("benchmark", Kind::Benchmark),
        ] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs").join(folder);
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.extension().is_none_or(|e| e != "yaml") {
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                assert_eq!(Kind::of(&text), Some(kind), "{}", path.display());
                let all = [Kind::Switch, Kind::Lab, Kind::Generator, Kind::Dut, Kind::Benchmark];
                for other in all {
                    let said = other.expect(&path).map_err(|error| format!("{error:#}"));
                    let remedy = format!("try: sluice {} {}", kind.verb(), quoted(&path));
                    match said {
                        Ok(()) => assert_eq!(other, kind),
                        Err(why) => assert!(other != kind && why.ends_with(&remedy), "{why}"),
                    }
                }
            }
        }
        assert_eq!(Kind::of("a: [b"), None);
        assert!(Kind::Lab.expect(Path::new("/nonexistent")).is_ok());
    }
}
