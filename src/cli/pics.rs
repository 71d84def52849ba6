//! `sluice pics`: each statement of the source documents on a feature, with yes or no, and the tests
//! that prove it (a protocol implementation conformance statement, as 802.1Q's annexes A and B).
//!
//! A statement is a line of `pics/*.txt`. A test of this module fails if a named test does not exist.

mod readings;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::{Format, terminal};
use ::text::{Align, Table};

const EXAMPLES: &str = "\
EXAMPLES:
  sluice pics pfc                              statements on PFC, and the tests that prove them
  sluice pics qdt --format json | jq '.[] | select(.supported | not)'
  sluice pics readings                         every ambiguous text, with its readings and the default";

/// Show the statements of the source documents, and their tests.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct PicsArgs {
    /// Feature, or `readings` for the ambiguous texts.
    #[arg(value_enum)]
    feature: Feature,
    /// Format of the result on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Features with statements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Feature {
    /// Source flow control.
    Sfc,
    /// Headroom measurement and protected PFC (P802.1Qdt).
    Qdt,
    /// Priority-based flow control.
    Pfc,
    /// Congestion isolation.
    Ci,
    /// Enhanced transmission selection.
    Ets,
    /// DCBX and LLDP.
    Dcbx,
    /// MACsec.
    Macsec,
    /// Ambiguous texts and their readings.
    Readings,
}

/// A statement of a source document.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct Statement {
    item: &'static str,
    /// `shall` or `may`.
    status: &'static str,
    /// Clause or document.
    clause: &'static str,
    statement: &'static str,
    supported: bool,
    /// Tests, `file::name` or a test of `sluice validate`; empty if not supported.
    tests: Vec<&'static str>,
    /// Reason why it is not supported.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl Feature {
    /// Lines of the statements, `item | status | clause | statement | yes or no | tests or reason`.
    const fn lines(self) -> &'static str {
        match self {
            Self::Sfc => include_str!("pics/sfc.txt"),
            Self::Qdt => include_str!("pics/qdt.txt"),
            Self::Pfc => include_str!("pics/pfc.txt"),
            Self::Ci => include_str!("pics/ci.txt"),
            Self::Ets => include_str!("pics/ets.txt"),
            Self::Dcbx => include_str!("pics/dcbx.txt"),
            Self::Macsec => include_str!("pics/macsec.txt"),
            Self::Readings => "",
        }
    }
}

/// Prints the statements of a feature, or the readings.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(args: &PicsArgs) -> Result<ExitCode> {
    if args.feature == Feature::Readings {
        let readings = readings::all();
        match args.format {
            Format::Json => terminal::print_json(&readings)?,
            Format::Table => terminal::print(readings::table(&readings))?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let statements = parse(args.feature.lines());
    match args.format {
        Format::Json => terminal::print_json(&statements)?,
        Format::Table => terminal::print(table(&statements))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Parses the lines of a feature; `#` begins a comment.
fn parse(lines: &'static str) -> Vec<Statement> {
    let statement = |line: &'static str| {
        let mut parts = line.split(" | ").map(str::trim);
        let mut next = || parts.next().unwrap_or_else(|| panic!("six parts: {line}"));
        let [item, status, clause, statement, support, proof] = [(); 6].map(|()| next());
        let supported = support == "yes";
        assert!(supported || support == "no", "yes or no: {line}");
        assert!(["shall", "may"].contains(&status), "shall or may: {line}");
        let tests = if supported { proof.split(", ").collect() } else { vec![] };
        let reason = (!supported).then_some(proof);
        Statement { item, status, clause, statement, supported, tests, reason }
    };
    let lines = lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(statement).collect()
}

fn table(statements: &[Statement]) -> String {
    let mut table = Table::new(
        ["item", "status", "clause", "statement", "supported", "test, or the reason"]
            .map(|title| (title, Align::Left)),
    );
    for s in statements {
        let yes = if s.supported { "yes" } else { "no" };
        let proofs = s.tests.iter().copied().chain(s.reason);
        for (n, proof) in proofs.enumerate() {
            let head = [s.item, s.status, s.clause, s.statement, yes];
            let head = if n == 0 { head } else { [""; 5] };
            table.row([head[0], head[1], head[2], head[3], head[4], proof].map(String::from));
        }
    }
    let supported = statements.iter().filter(|s| s.supported).count();
    format!("{table}\n{supported} of {} statements supported\n", statements.len())
}

#[cfg(test)]
mod tests;
