//! Collects the errors and warnings of a configuration, with the path of the field, and finds those that
//! concern it as a whole.
//!
//! Names must be unique in a configuration (OTG). Unsupported fields are reported by name: as errors where they
//! change what is sent or measured, else as warnings.

use std::collections::HashMap;
use std::fmt::Display;

use config::{Finding, unknown_name};
use otg::engine::{Refusal, RefusalKind, Warnings};
use otg::model::rocev2::{Rocev2Flow, StatefulFlow, TransmitType};
use otg::model::{Config, unsupported};

/// Maximum number of errors, and of warnings, in the report; further ones are only counted. A
/// choice: more are not useful to a reader, and a hostile configuration could have millions.
const LISTED_MAX: usize = 100;

/// Maximum number of known names listed beside an unknown one.
const NAMES_MAX: usize = 30;

/// The errors and warnings found so far.
#[derive(Default)]
pub(super) struct Findings {
    errors: List,
    warnings: List,
}

#[derive(Default)]
struct List {
    listed: Vec<Finding>,
    /// Number of findings beyond those in the report.
    more: usize,
}

impl List {
    fn push(&mut self, path: impl Display, what: impl Into<String>) {
        if self.listed.len() < LISTED_MAX {
            self.listed.push(finding(path, what));
        } else {
            self.more += 1;
        }
    }

    fn finish(mut self) -> Vec<Finding> {
        if self.more > 0 {
            let what = format!("{} more like these, which are not listed", self.more);
            self.listed.push(finding("", what));
        }
        self.listed
    }
}

impl Findings {
    /// Adds an error about the field at `path`.
    pub(super) fn error(&mut self, path: impl Display, what: impl Into<String>) {
        self.errors.push(path, what);
    }

    /// Adds a warning.
    pub(super) fn warn(&mut self, path: impl Display, what: impl Into<String>) {
        self.warnings.push(path, what);
    }

    /// Adds the error that no `kind` of this name is among `known`.
    pub(super) fn unknown<'n>(
        &mut self,
        path: impl Display,
        kind: &str,
        name: &str,
        known: impl Iterator<Item = &'n str>,
    ) {
        // Beyond the limit the text is not printed, so the search for similar names is skipped.
        if self.errors.listed.len() >= LISTED_MAX {
            self.errors.more += 1;
            return;
        }
        let known: Vec<&str> = known.collect();
        let what = match known.len() {
            0 => format!("there is no {kind} `{name}`, nor any other; add it"),
            n if n <= NAMES_MAX => unknown_name(kind, name, &known),
            n => {
                let some = unknown_name(kind, name, &known[..NAMES_MAX]);
                format!("{some} and {} more", n - NAMES_MAX)
            }
        };
        self.error(path, what);
    }

    /// Returns the number of errors so far.
    pub(super) fn errors(&self) -> usize {
        self.errors.listed.len() + self.errors.more
    }

    /// Returns the result if there are no errors, else all errors; warnings in either case.
    pub(super) fn settle<T>(self, result: T) -> (Result<T, Vec<Finding>>, Vec<Finding>) {
        let result = if self.errors() == 0 { Ok(result) } else { Err(self.errors.finish()) };
        (result, self.warnings.finish())
    }
}

fn finding(path: impl Display, what: impl Into<String>) -> Finding {
    Finding::new(None, &path.to_string(), &what.into())
}

/// Converts findings to the sentences of a warning: `path: what`.
pub(super) fn sentences(findings: &[Finding]) -> Warnings {
    findings.iter().map(sentence).collect()
}

fn sentence(finding: &Finding) -> String {
    if finding.path.is_empty() {
        finding.what.clone()
    } else {
        format!("{}: {}", finding.path, finding.what)
    }
}

/// Converts errors to a refusal.
pub(super) fn refusal(errors: &[Finding]) -> Refusal {
    Refusal { kind: RefusalKind::Validation, errors: sentences(errors) }
}

/// Refuses empty and duplicate names.
pub(super) fn check_names(config: &Config, cx: &mut Findings) {
    let mut owners: HashMap<&str, String> = HashMap::new();
    each_name(config, &mut |name, path| {
        if name.is_empty() {
            cx.error(path, "an empty name; everything else is found by it, so write one");
            return;
        }
        if let Some(first) = owners.get(name) {
            let what = format!("`{name}` is the name of {first} already; names are unique");
            cx.error(path, what);
        } else {
            // The message names the other object and not its field.
            let owner = path.strip_suffix(".name").or(path.strip_suffix(".qp_name"));
            owners.insert(name, owner.unwrap_or(&path).to_owned());
        }
    });
}

/// Calls `found` with every name and its path.
fn each_name<'a>(config: &'a Config, found: &mut dyn FnMut(&'a str, String)) {
    for (i, port) in config.ports.iter().enumerate() {
        found(&port.name, format!("ports[{i}].name"));
    }
    for (i, layer1) in config.layer1.iter().enumerate() {
        found(&layer1.name, format!("layer1[{i}].name"));
    }
    for (i, capture) in config.captures.iter().enumerate() {
        found(&capture.name, format!("captures[{i}].name"));
    }
    for (d, device) in config.devices.iter().enumerate() {
        found(&device.name, format!("devices[{d}].name"));
        for (e, ethernet) in device.ethernets.iter().enumerate() {
            let path = format!("devices[{d}].ethernets[{e}]");
            found(&ethernet.name, format!("{path}.name"));
            for (v, vlan) in ethernet.vlans.iter().enumerate() {
                found(&vlan.name, format!("{path}.vlans[{v}].name"));
            }
            for (a, ip) in ethernet.ipv4_addresses.iter().enumerate() {
                found(&ip.name, format!("{path}.ipv4_addresses[{a}].name"));
            }
            for (a, ip) in ethernet.ipv6_addresses.iter().enumerate() {
                found(&ip.name, format!("{path}.ipv6_addresses[{a}].name"));
            }
        }
        for (n, interface) in device.rocev2.iter().flat_map(|r| &r.ipv4_interfaces).enumerate() {
            for (p, peer) in interface.peers.iter().enumerate() {
                let path = format!("devices[{d}].rocev2.ipv4_interfaces[{n}].peers[{p}]");
                found(&peer.name, format!("{path}.name"));
                for (q, qp) in peer.qps.iter().enumerate() {
                    found(&qp.qp_name, format!("{path}.qps[{q}].qp_name"));
                }
            }
        }
    }
    for (i, flow) in config.flows.iter().enumerate() {
        found(&flow.name, format!("flows[{i}].name"));
    }
    let Some(StatefulFlow::Rocev2(list)) = &config.stateful_flows else { return };
    for (i, flows) in list.iter().enumerate() {
        for (t, tx) in flows.tx_ports.iter().enumerate() {
            let Some(TransmitType::TargetLineRate(target)) = &tx.transmit_type else { continue };
            let path = format!("stateful_flows.rocev2[{i}].tx_ports[{t}].transmit_type");
            // A flow may have the name of its sending queue pair if the pair sends no other flow.
            let own = |flow: &&Rocev2Flow| flow.name != flow.tx_endpoint;
            for (f, flow) in target.flows.iter().enumerate().filter(|(_, flow)| own(flow)) {
                found(&flow.name, format!("{path}.target_line_rate.flows[{f}].name"));
            }
        }
    }
}

/// Fields that change neither what is sent nor what is measured, by the end of their path.
const HARMLESS: &[&str] = &[
    "options.protocol_options",
    "options.flow_options",
    "options.port_options.frame_ordering_mode",
];

/// Checks the parts without a type, and those with a type but no implementation.
pub(super) fn check_supported(config: &Config, cx: &mut Findings) {
    for path in unsupported(config) {
        if HARMLESS.contains(&path.as_str()) {
            cx.warn(path, "is not known here and is ignored");
        } else {
            let what = "is not known here, and without it the test would be another; take it out";
            cx.error(path, what);
        }
    }
    let ports = config.options.as_ref().and_then(|o| o.port_options.as_ref());
    if ports.is_some_and(|p| p.location_preemption) {
        let what = "ports belong to this process, so no client is turned out of them";
        cx.warn("options.port_options.location_preemption", what);
    }
    if ports.is_some_and(|p| p.data_integrity) {
        let what = "payloads are not compared, only counted by their sequence; set it to false";
        cx.error("options.port_options.data_integrity", what);
    }
    for (i, device) in config.devices.iter().enumerate() {
        let v6 = device.rocev2.as_ref().is_some_and(|r| !r.ipv6_interfaces.is_empty());
        if v6 {
            let what = "connections of RoCEv2 run over IPv4 alone; move them to ipv4_interfaces";
            cx.error(format!("devices[{i}].rocev2.ipv6_interfaces"), what);
        }
    }
}
