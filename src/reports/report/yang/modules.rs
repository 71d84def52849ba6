//! Text of the YANG modules of this project. Leaves of managed objects come from their table; what a
//! switch only reports, such as results and notifications, is written here.

use super::types;
use headroom::measure::Counters;
use headroom::peer_delay;
use switch::managed::{Access, Listing, Object, Scope, Section, Source};

/// Date of the modules' revision; a new one where a leaf changes.
const REVISION: &str = "2026-11-25";

/// Path of the nodes for a whole switch.
const COMPONENT: &str = "/dot1q:bridges/dot1q:bridge/dot1q:component";
/// Path of the nodes for a port.
const PORT: &str = "/if:interfaces/if:interface/dot1q:bridge-port";

/// A module of this project.
pub struct Module {
    pub name: &'static str,
    prefix: &'static str,
    description: &'static str,
    sections: &'static [Section],
}

/// All modules of this project.
pub const MODULES: &[Module] = &[
    Module {
        name: "sluice-source-flow-control",
        prefix: "sluice-sfc",
        description: "Source Flow Control: the objects that the slides of January 2022 propose, and \
                      settings that they leave open.",
        sections: &[Section::Sfc, Section::SfcProxy],
    },
    Module {
        name: "sluice-headroom-measurement",
        prefix: "sluice-hm",
        description: "Measurement of the round trip of links for the headroom of PFC, as the \
                      P802.1Qdt proposals describe it: settings, state, results and notifications.",
        sections: &[Section::Measurement],
    },
    Module {
        name: "sluice-priority-flow-control",
        prefix: "sluice-pfc",
        description: "The objects of IEEE8021-PFC-MIB.",
        sections: &[Section::Pfc],
    },
    Module {
        name: "sluice-switch",
        prefix: "sluice",
        description: "Settings that no document names: of congestion isolation, of notifications to \
                      sources and of the storm watchdog.",
        sections: &[
            Section::CongestionIsolation,
            Section::FastCnp,
            Section::Qcn,
            Section::Watchdog,
        ],
    },
];

/// Returns the module of a section's objects, except those of published modules.
#[must_use]
pub(super) fn module_of(section: Section) -> &'static str {
    let module = MODULES.iter().find(|module| module.sections.contains(&section));
    module.expect("each section has a module").name
}

/// Columns of the tables of congesting flows, which are lists of these modules.
pub const STREAM_COLUMNS: [&str; 20] = [
    "stream-handle",
    "port",
    "traffic-class",
    "queue-key",
    "congesting-class",
    "destination-address",
    "source-address",
    "vlan-identifier",
    "source-ip",
    "destination-ip",
    "protocol",
    "source-port",
    "destination-port",
    "message-count",
    "create-time",
    "create-mask",
    "octets",
    "rate",
    "paused-priority",
    "paused-until",
];

/// Columns of the table of the proxy's cache.
pub const CACHE_COLUMNS: [&str; 6] =
    ["worker", "destination-ip", "priority", "pause", "paused-until", "entry-until"];

/// Lines with their depth.
#[derive(Default)]
struct Text {
    out: String,
    depth: usize,
}

impl Text {
    fn line(&mut self, line: &str) {
        let _ = std::fmt::Write::write_fmt(
            &mut self.out,
            format_args!("{:1$}{line}\n", "", 2 * self.depth),
        );
    }

    /// Writes a statement with the statements of `body`.
    fn block(&mut self, head: &str, body: impl FnOnce(&mut Self)) {
        self.line(&format!("{head} {{"));
        self.depth += 1;
        body(self);
        self.depth -= 1;
        self.line("}");
    }

    fn describe(&mut self, text: &str) {
        // Descriptions are in double quotes, where YANG has escapes.
        self.line(&format!("description \"{}\";", text.replace('\\', "\\\\").replace('"', "\\\"")));
    }

    fn leaf(&mut self, name: &str, of_type: &str, description: &str) {
        self.block(&format!("leaf {name}"), |t| {
            t.line(&format!("type {of_type}{}", if of_type.ends_with('}') { "" } else { ";" }));
            t.describe(description);
        });
    }
}

impl Module {
    /// Returns the module as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut t = Text::default();
        t.block(&format!("module {}", self.name), |t| {
            t.line("yang-version 1.1;");
            t.line(&format!("namespace \"urn:sluice:yang:{}\";", self.name));
            t.line(&format!("prefix {};", self.prefix));
            for (module, prefix) in [
                ("ietf-yang-types", "yang"),
                ("ietf-inet-types", "inet"),
                ("ietf-interfaces", "if"),
                ("ieee802-types", "ieee"),
                ("ieee802-dot1q-bridge", "dot1q"),
            ] {
                t.line(&format!("import {module} {{ prefix {prefix}; }}"));
            }
            t.line("organization \"Sluice\";");
            t.describe(self.description);
            t.block(&format!("revision {REVISION}"), |t| {
                t.describe("Generated by sluice ctl yang.")
            });
            if self.sections.contains(&Section::Measurement) {
                delays(t);
            }
            let has = |object: &Object, scopes: &[Scope]| scopes.contains(&object.scope());
            self.augment(t, COMPONENT, |object| has(object, &[Scope::Bridge, Scope::Sums]));
            self.augment(t, PORT, |object| has(object, &[Scope::Port, Scope::Queue, Scope::Sums]));
            if self.sections.contains(&Section::Measurement) {
                measurement_notifications(t);
            }
            if self.sections.contains(&Section::Watchdog) {
                switch_notifications(t);
            }
        });
        t.out
    }

    /// Writes a container per section with the objects that exist at a place.
    fn augment(&self, t: &mut Text, path: &str, here: impl Fn(&Object) -> bool) {
        let of = |section: Section| {
            Object::all().filter(move |object| {
                // Leaves of published modules are not repeated in ours.
                let published = matches!(object.source(), Source::Isolation(_));
                object.section() == section && !published
            })
        };
        let is_port = path == PORT;
        // A section whose objects are all elsewhere needs no container here.
        let any = |section: &&Section| of(**section).any(|object| here(&object));
        let sections: Vec<_> = self.sections.iter().filter(any).copied().collect();
        // An augment without nodes is an error for validators.
        if sections.is_empty() {
            return;
        }
        t.block(&format!("augment \"{path}\""), |t| {
            t.describe("Objects of this project at this place.");
            for section in sections {
                t.block(&format!("container {}", section.key()), |t| {
                    t.describe("Objects of the section of a switch file with this name.");
                    // Sums exist at the port and at each of its queues.
                    let single = [Scope::Bridge, Scope::Port, Scope::Sums];
                    let objects = of(section).filter(|object| here(object));
                    objects.filter(|o| single.contains(&o.scope())).for_each(|o| leaf(t, o));
                    let queue = |o: &Object| matches!(o.scope(), Scope::Queue | Scope::Sums);
                    if is_port && of(section).any(|object| queue(&object)) {
                        queues(t, of(section).filter(queue));
                    }
                    match (section, is_port) {
                        // Tables are of the whole switch; only measurements have state at a port.
                        (Section::Measurement, true) => measurement_state(t),
                        (_, false) => lists(t, section),
                        _ => {}
                    }
                });
            }
        });
    }
}

/// Writes the leaf of an object.
fn leaf(t: &mut Text, object: Object) {
    t.block(&format!("leaf {}", object.name()), |t| {
        types::statements(object.kind()).iter().for_each(|line| t.line(line));
        let default = object.default().and_then(|value| types::default(object.kind(), value));
        match (object.access(), default) {
            // A default would be wrong here: what only the switch sets has none.
            (Access::ReadOnly, _) => t.line("config false;"),
            (_, Some(default)) => t.line(&format!("default \"{default}\";")),
            _ => {}
        }
        t.describe(object.doc());
    });
}

fn queues(t: &mut Text, objects: impl Iterator<Item = Object>) {
    t.block("list queue", |t| {
        t.line("key \"traffic-class\";");
        t.describe("A queue of the port.");
        t.leaf("traffic-class", "uint8 { range \"0..7\"; }", "Its traffic class.");
        objects.for_each(|object| leaf(t, object));
    });
}

/// Writes the tables of a section as lists.
fn lists(t: &mut Text, section: Section) {
    for listing in Listing::ALL {
        let (name, of) = listing.place();
        let (columns, key, list) = match listing {
            Listing::Peers | Listing::Measurements | Listing::MeasurementCounters => continue,
            Listing::ProxyCache => (&CACHE_COLUMNS[..], "worker destination-ip priority", name),
            Listing::Streams(_) if of == Section::CongestionIsolation => {
                (&STREAM_COLUMNS[..], "stream-handle", "stream")
            }
            Listing::Streams(_) => (&STREAM_COLUMNS[..], "stream-handle", name),
        };
        // Tables of other sections have their own containers.
        if of != section {
            continue;
        }
        t.block(&format!("list {list}"), |t| {
            t.line(&format!("key \"{key}\";"));
            t.line("config false;");
            t.describe(&format!("The table {name}."));
            for column in columns {
                t.block(&format!("leaf {column}"), |t| {
                    let (of_type, _) = types::column(column);
                    let end = if of_type.ends_with('}') { "" } else { ";" };
                    t.line(&format!("type {of_type}{end}"));
                    // Most columns are numbers without a unit.
                    if let Some(units) = types::column_units(column) {
                        t.line(&format!("units \"{units}\";"));
                    }
                });
            }
        });
    }
}

/// Writes the figures of measured delays.
fn delays(t: &mut Text) {
    t.block("grouping delays", |t| {
        t.describe("Figures of measured delays in picoseconds.");
        for (name, description) in [
            ("minimum", "Shortest delay."),
            ("mean", "Mean delay, rounded up."),
            ("percentile-50", "Nearest rank, as all percentiles; absent if it is not known."),
            ("percentile-90", "Absent if it is not known."),
            ("percentile-99", "The 99th percentile."),
            ("maximum", "Longest delay."),
            ("chosen", "Figure from which headroom is calculated."),
            ("uncertainty", "Largest error of the figures, either way."),
        ] {
            t.block(&format!("leaf {name}"), |t| {
                t.line("type uint64;");
                t.line("units \"picoseconds\";");
                t.describe(description);
            });
        }
    });
    t.block("typedef method", |t| {
        t.line("type enumeration { enum round_trip; enum ptp; }");
        t.describe("Requests and responses, or the peer delay of PTP.");
    });
}

/// Writes state, counters and history of the measurement of a port.
fn measurement_state(t: &mut Text) {
    t.block("container state", |t| {
        t.line("config false;");
        t.describe(
            "State of the measurement that headroom uses, else of round trips; its last result.",
        );
        last_result(t);
    });
    t.block("container counters", |t| {
        t.line("config false;");
        message_counters(t, Counters::default().iter());
    });
    t.block("container peer-delay", |t| {
        t.line("config false;");
        t.describe("State of the peer delay of PTP, its last result, one way, and its counters.");
        last_result(t);
        t.block("container counters", |t| {
            message_counters(t, peer_delay::Counters::default().iter());
        });
    });
    t.block("list history", |t| {
        t.line("key \"number\";");
        t.line("config false;");
        t.describe("Measurements that ended.");
        ended(t);
        t.leaf("uptime", "uint64 { range \"0..max\"; }", "Nanoseconds from the start to its end.");
        t.leaf("reason", "string", "Reason why it has no result.");
        t.block("container delays", |t| {
            t.describe("Result; empty after a failure.");
            t.line("uses delays;");
        });
    });
}

fn last_result(t: &mut Text) {
    let states = "enumeration { enum down; enum idle; enum running; enum waiting; enum measuring; \
                  enum found; enum failed; }";
    t.leaf("state", states, "State of automatic headroom, else of the measurement.");
    t.leaf("method", "method", "Method of the last result.");
    t.leaf("rounds", "uint16", "Exchanges of the last result.");
    t.leaf("headroom", "uint64", "Octets of headroom that follow for a lossless group.");
    t.block("container result", |t| {
        t.describe("The last result.");
        t.line("uses delays;");
    });
}

fn message_counters(t: &mut Text, counters: impl Iterator<Item = (&'static str, u64)>) {
    t.describe("Counters of messages.");
    for (name, _) in counters {
        t.leaf(&name.replace('_', "-"), "yang:counter64", "See the manual's page of counters.");
    }
}

fn ended(t: &mut Text) {
    t.leaf("number", "uint64", "Number among the measurements of all ports.");
    t.leaf("method", "method", "Absent if no method could be tried.");
    t.leaf("rounds", "uint16", "Round trips.");
}

fn notification(t: &mut Text, name: &str, description: &str, body: impl FnOnce(&mut Text)) {
    t.block(&format!("notification {name}"), |t| {
        t.describe(description);
        t.leaf("port", "string", "Name of the port.");
        body(t);
    });
}

fn measurement_notifications(t: &mut Text) {
    notification(t, "measurement-started", "A measurement began.", |t| {
        t.leaf("method", "method", "Its method.");
    });
    notification(t, "measurement-completed", "A measurement has a result.", |t| {
        ended(t);
        t.block("container delays", |t| {
            t.describe("Its result.");
            t.line("uses delays;");
        });
    });
    notification(t, "measurement-failed", "A measurement has no result.", |t| {
        ended(t);
        t.leaf("reason", "string", "Reason.");
    });
    notification(t, "method-changed", "Another method is tried.", |t| {
        t.leaf("old", "method", "Method that is not used.");
        t.leaf("new", "method", "Method that is tried.");
        t.leaf("reason", "string", "Reason.");
    });
    notification(t, "headroom-changed", "A group has other headroom.", |t| {
        t.leaf("priority-group", "uint8 { range \"0..7\"; }", "The group.");
        t.leaf("old", "uint64", "Octets before.");
        t.leaf("new", "uint64", "Octets now.");
    });
}

fn switch_notifications(t: &mut Text) {
    notification(t, "object-changed", "A client set a managed object.", |t| {
        t.leaf("name", "string", "Its name.");
        t.leaf("traffic-class", "uint8 { range \"0..7\"; }", "The class; absent for all.");
        t.leaf("value", "string", "Its value as text.");
    });
    notification(t, "reconciled", "The link protocols of a port changed the switch.", |t| {
        t.leaf("text", "string", "The change.");
    });
}
