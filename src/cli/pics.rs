//! `sluice pics`: each statement of the source documents on a feature, with yes or no, and the tests
//! that prove it (a protocol implementation conformance statement, as 802.1Q's annexes A and B).
//!
//! A statement is a line of `pics/*.txt`. A test of this module fails if a named test does not exist.
//!
//! Texts of the source documents that can be read in several ways, or that leave a value open.
//!
//! Values and defaults come from the schema of files, whose defaults a test compares with the
//! program, and from the constants themselves. `docs/src/sources.md` has the table, compared by a
//! test.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;

use super::{Format, schema, terminal};
use crate::link::Statistic;
use crate::wire::{headroom, sfcm};
use ::text::{Align, Column, Table, columns};

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
        let readings = all_readings();
        match args.format {
            Format::Json => terminal::print_json(&readings)?,
            Format::Table => terminal::print(table_of_readings(&readings))?,
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
        // A line for each test, or one for the reason: a statement has either.
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

/// An ambiguous text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct Reading {
    /// Source document.
    source: &'static str,
    /// Ambiguous or open point.
    point: &'static str,
    /// Key in files, `section.key` or `Type.key`; `-` for a constant.
    key: &'static str,
    /// Readings that can be selected.
    readings: Vec<String>,
    /// Reading in use unless configured.
    default: String,
}

/// Points with a key in files: source, point, type and key of the schema, key as users know it.
const KEYS: &[(&str, &str, &str, &str)] = &[
    ("S4", "codes of request, response, and both", "Measurement.kinds", "measurement.kinds"),
    ("S4", "extent of the length field", "Measurement.length", "measurement.length"),
    ("S4", "unit of t1 to t4", "Measurement.times", "measurement.times"),
    ("S4", "owner of p_t1 and p_PSN", "Measurement.rides", "measurement.rides"),
    (
        "S1",
        "place of the compensation value",
        "Measurement.compensation",
        "measurement.compensation",
    ),
    ("S1, S4", "all of these to the letter", "Measurement.dialect", "measurement.dialect"),
    ("S1, S4", "DV = t4 - t1, or its parts", "AutoHeadroom.formula", "headroom.auto.formula"),
    ("S4", "preference between the methods", "AutoHeadroom.method", "headroom.auto.method"),
    ("S4", "layer of r_tx_shim", "MacsecShims.remote", "headroom.auto.macsec.remote"),
    ("S4, 802.1Q", "length of the PFC TLV", "DcbxPfc.form", "dcbx.pfc.form"),
    (
        "S4",
        "subtype of the informational TLV",
        "DcbxSubtypes.pfc_information",
        "dcbx.subtypes.pfc_information",
    ),
    ("802.1Q", "which of two willing ports decides", "Dcbx.precedence", "dcbx.precedence"),
    ("S0", "\"simplified format (i.e. not MSDU)\"", "Sfc.form", "sfc.form"),
    ("S0", "source address of a message", "Sfc.from", "sfc.from"),
    ("S0", "message to an address that is not in the table", "Sfc.unknown", "sfc.unknown"),
    ("S0", "period of sfcMaxSFCM", "Sfc.count", "sfc.count"),
    ("S0", "start of sfcMaxFlowLife", "Sfc.life", "sfc.life"),
    (
        "S0",
        "later flows to a remembered destination",
        "SfcProxyCache.remember",
        "sfc_proxy.cache.remember",
    ),
    (
        "Qcz",
        "octet after 89-A2 in a CIM",
        "CimDialect.octet_three",
        "congestion_isolation.dialect.octet_three",
    ),
    ("Qcz", "polarity of add/del", "CimDialect.add", "congestion_isolation.dialect.add"),
    (
        "Qcz",
        "place of the 12 bits of the VLAN",
        "CimDialect.vid",
        "congestion_isolation.dialect.vid",
    ),
    (
        "Qcz",
        "numbers of the queue map",
        "CongestionIsolation.map_reading",
        "congestion_isolation.map_reading",
    ),
    ("Qcz", "period of max-cim-tx", "CongestionIsolation.repeat", "congestion_isolation.repeat"),
    ("Qcz", "width of the address family", "DcbxIsolation.family", "dcbx.isolation.family"),
    (
        "Qcz",
        "subtype of the CI TLV",
        "DcbxSubtypes.congestion_isolation",
        "dcbx.subtypes.congestion_isolation",
    ),
    ("S2", "\"all frames in the queue are marked\"", "Ecn.at", "queues.N.ecn.at"),
    ("S2", "frames without ECT are dropped", "Ecn.not_ect", "queues.N.ecn.not_ect"),
];

/// Returns all points, those with constants last.
fn all_readings() -> Vec<Reading> {
    let schema = serde_json::from_str(schema::SWITCH).expect("a schema is JSON");
    // From the schema, so that the table cannot differ from what files accept.
    let keyed = KEYS.iter().map(|&(source, point, property, key)| {
        let (readings, default) = of_property(&schema, property);
        Reading { source, point, key, readings, default }
    });
    let keyed_by = |source, point, key, readings: &[&str], default: String| Reading {
        source,
        point,
        key,
        readings: readings.iter().map(|&reading| reading.to_owned()).collect(),
        default,
    };
    // A constant has one reading, which is its default.
    let constant = |source, point, value: String| {
        keyed_by(source, point, "-", &[value.as_str()], value.clone())
    };
    let (least, most) = headroom::PduLength::RANGE;
    let padded = format!("{least} to {most}");
    let pdu = headroom::Dialect::default().pdu.octets();
    let pdu = pdu.map_or_else(|| "none".to_owned(), |octets| octets.to_string());
    let statistic = Statistic::default().to_string();
    let (ports, port) = (format!("{} to 65535", sfcm::PORT_MIN), sfcm::PORT_DEFAULT.to_string());
    let constants = [
        keyed_by(
            "S4",
            "PDUs of 65 to 529 with fields of 35",
            "measurement.pdu",
            &["none", &padded],
            pdu,
        ),
        keyed_by(
            "S4",
            "\"average value\" of a worst case",
            "headroom.auto.statistic",
            &["max", "mean", "p1 to p99"],
            statistic,
        ),
        keyed_by(
            "S2",
            "unit of ECN's limits",
            "queues.N.ecn.kmin",
            &["bytes", "share of the port's part of the buffer"],
            "bytes".to_owned(),
        ),
        constant("S4", "destination of measurement messages", headroom::DESTINATION.to_string()),
        keyed_by("S0", "UDP port of messages", "sfc.sfcmUDPPort", &[&ports], port),
        constant("S0", "version of the message", sfcm::VERSION.to_string()),
        constant("S0", "levels of a locator", format!("1 to {}, 0 unknown", sfcm::LEVEL_MAX)),
        keyed_by(
            "S0",
            "reaction of a host to in-network congestion",
            "hosts.sfc.in_network",
            &["pause", "path"],
            "pause".to_owned(),
        ),
        constant("S0", "unit of the pause time", format!("ns, at most {}", sfcm::PAUSE_MAX)),
        constant(
            "S0",
            "octets of a returned MSDU",
            format!("{} to {}", sfcm::MSDU_MIN, sfcm::MSDU_MAX),
        ),
    ];
    keyed.chain(constants).collect()
}

/// Values of a property of the schema, and its documented default.
fn of_property(schema: &Value, property: &str) -> (Vec<String>, String) {
    let (kind, key) = property.split_once('.').expect("a type and its key");
    let found = &schema["$defs"][kind]["properties"][key];
    assert!(found.is_object(), "{property} is not in the schema");
    let description = found["description"].as_str().unwrap_or_default();
    // The last one: a description may explain the default of another field before.
    let default = description.rsplit_once("Default: ").map_or("none", |(_, default)| default);
    // The default in code, or all that is said of it.
    let default = match default.trim_start().strip_prefix('`').and_then(|d| d.split_once('`')) {
        Some((default, _)) => default.to_owned(),
        None => default.trim_end_matches('.').to_owned(),
    };
    let mut readings = vec![];
    values(schema, found, &mut readings);
    (readings, default)
}

/// Collects the values that a schema names, or its range.
fn values(schema: &Value, of: &Value, out: &mut Vec<String>) {
    // A reference stands for the whole schema.
    if let Some(path) = of["$ref"].as_str() {
        let name = path.rsplit('/').next().unwrap_or_default();
        return values(schema, &schema["$defs"][name], out);
    }
    if let Some(value) = of["const"].as_str() {
        out.push(value.to_owned());
    }
    for one in of["enum"].as_array().into_iter().flatten() {
        out.extend(one.as_str().map(str::to_owned));
    }
    for key in ["oneOf", "anyOf"] {
        for one in of[key].as_array().into_iter().flatten() {
            values(schema, one, out);
        }
    }
    if let (Some(least), Some(most)) = (of["minimum"].as_u64(), of["maximum"].as_u64()) {
        out.push(format!("{least} to {most}"));
    }
    if of["type"] == "array" {
        out.push("a list".to_owned());
    }
}

/// The table on standard output.
fn table_of_readings(readings: &[Reading]) -> String {
    let columns: [Column<Reading>; 5] = columns! { r =>
        Text ["source"] = r.source;
        Text ["point"] = r.point;
        Text ["key"] = r.key;
        Made ["readings"] = r.readings.join(", ");
        Text ["default"] = &*r.default;
    };
    Table::of(readings, &columns).to_string()
}

#[cfg(test)]
mod tests;
