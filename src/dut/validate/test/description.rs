//! The description of a test, which is also its page in the manual.

use super::{Context, Topology};
use crate::bench::TrialError;
use crate::setup::{Setup, Tolerances};
use ground::named;

/// A test: its description and its procedure.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// Identifier, `V-R01`.
    pub id: &'static str,
    /// Identifiers of the same test in sonic-mgmt and SAI.
    pub aliases: &'static [&'static str],
    /// A line of a table.
    pub title: &'static str,
    /// Requirement that it checks.
    pub purpose: &'static str,
    /// Clause of the standard.
    pub clause: &'static str,
    pub topology: Topology,
    /// Traffic and steps.
    pub procedure: &'static str,
    /// Criterion. `{rate}`, `{share}` and `{pause}` stand for the tolerances: see [`Test::criterion`].
    pub pass: &'static str,
    /// Source of its uncertainty.
    pub uncertainty: &'static str,
    /// Origin of procedure and criterion.
    pub source: &'static str,
    pub level: Level,
    pub kind: Kind,
    pub scope: Scope,
    /// True if the file says what a test of an optional protocol or of a ring expects of the device: such a test is
    /// run without being named, at every level.
    pub described: fn(&Setup) -> bool,
    pub run: fn(&mut Context<'_>) -> Result<(), TrialError>,
    /// File of its description, from the root of the sources on, and the line there.
    pub file: &'static str,
    pub line: u32,
}

impl Test {
    /// What most tests have in common: flows from A to B at level full, with each port in its roles.
    pub const DEFAULT: Self = Self {
        id: "",
        aliases: &[],
        title: "",
        purpose: "",
        clause: "",
        topology: Topology::T2,
        procedure: "",
        pass: "",
        uncertainty: "Time stamps of the tester.",
        source: "",
        level: Level::Full,
        kind: Kind::Pfc,
        scope: Scope::Port,
        described: |_| false,
        run: |_| Ok(()),
        file: "",
        line: 0,
    };

    /// Returns the criterion with the tolerances of a file, or with the default ones.
    pub fn criterion(&self, limits: Option<&Tolerances>) -> String {
        let of = |limit: fn(&Tolerances) -> f64, default| limits.map_or(default, limit);
        let percent = |ratio: f64| format!("{} %", (ratio * 1e6).round() / 1e4);
        let rate = of(|limits| limits.rate, Tolerances::RATE);
        let share = of(|limits| limits.share, Tolerances::SHARE);
        let pause = of(|limits| limits.pause, Tolerances::PAUSE);
        let named = [("{rate}", rate), ("{share}", share), ("{pause}", pause)];
        named
            .iter()
            .fold(self.pass.to_owned(), |text, (name, limit)| text.replace(name, &percent(*limit)))
    }
}

/// Devices that a test is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Switches with PFC.
    Pfc,
    /// Switches with 802.3x flow control.
    Pause,
    /// Switches with either flow control.
    Either,
    /// Rings of switches with PFC.
    Ring,
    Nic,
}

/// Property that a test is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// One of single ports: which pauses they obey and for how long, whether, when and how they pause and resume, how
    /// they serve queues, mark and drop. At level full it is run with each port in each of its roles.
    Port,
    /// One of all ports, which the test tries by itself, or one that ports have in common.
    Device,
}

named! {
    /// Extent of a run.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum Level {
        /// The most important tests, with one priority each.
        Quick = "quick",
        /// All tests, with all priorities and values.
        Full = "full",
    }
}

impl core::fmt::Display for Level {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}
