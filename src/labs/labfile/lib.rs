//! Raw model of a lab file, field by field. It is not validated: `lab` makes the plan from it.
//! It can be serialised, so that programs can write labs. Readers are generated code; they are in a
//! crate of their own, so that they are built for size and not with the path of frames.
//!
//! The doc comment of each field is its description in the published JSON Schema, so it states
//! unit, range, default and reason.

mod checks;
mod defects;
mod faults;
mod flows;
mod network;
mod numbers;
mod over;
mod profile;
mod short;
mod transport;
mod workload;

pub use checks::{Allowance, Capture, Check, CheckLong, CheckWord, Fairness, Record, Value};
pub use checks::{Search, Sweep};
pub use defects::{DefectFault, DefectKind};
pub use faults::*;
pub use flows::Otg;
pub use flows::{
    Amount, EcnName, Flow, FlowDuration, FlowRate, FlowRateLong, FlowRateText, Pattern,
};
pub use network::{Back, EqualCost, Errors, Link, Route};
pub use network::{Clock, Cpu, Host, HostEntry, Nodes, Obey, Storm, Switch, SwitchEntry};
pub use network::{FatTree, LeafSpine, ParkingLot, Ring, Star, Topology};
pub use numbers::{Chance, Drift, NsPerMetre};
pub use over::untaken;
pub use profile::{PortDefaults, Profile};
pub use short::{Many, Members, Short, Wanted};
pub use transport::{
    Dcqcn, DcqcnName, Messages, Roce, Tcp, Transport, TransportLong, TransportWord,
};
pub use transport::{HostQcn, HostSfc, InNetwork, QcnWord, SfcWord};
pub use workload::{
    Bytes, Chosen, Distribution, Load, LoadLong, OnOff, OnOffTimes, Published, RandomNames,
};

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use config::quantity::Span;
use config::tree::Node;
use config::{Finding, de};

/// True if a field has its default value and is not written.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads the model of a tree.
///
/// # Errors
/// The first field that does not fit.
pub fn read(root: &Node) -> Result<Lab, Finding> {
    de::from_tree(root)
}

/// Reads the model of a tree.
///
/// # Errors
/// The first field that does not fit, and all unknown fields.
pub fn read_all(root: &Node) -> Result<Lab, Vec<Finding>> {
    de::from_tree_all(root)
}

/// Returns the JSON Schema (2020-12) of a lab file, for completion and validation in editors.
pub fn lab_schema() -> serde_json::Value {
    config::schema_of::<Lab>("Sluice lab file")
}

/// A Sluice lab: nodes, links, flows, faults, and the checks of the run. The shortest file is a
/// topology and a flow.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lab {
    /// Name in results. Default: the file's name without its extension.
    pub name: Option<String>,
    /// Seed of everything random: errors on links, ECN marks, permutations, workloads. Default: `0`; the same
    /// file with the same seed gives the same trace, to the picosecond.
    #[serde(default, skip_serializing_if = "is_default")]
    pub seed: u64,
    /// Seed that randomises the order of simultaneous events (same picosecond), to find results
    /// that depend on that order. Default: the fixed order.
    pub shuffle: Option<u64>,
    /// Longest run, in simulation time. Default: `10ms`.
    pub duration: Option<Span>,
    /// True to end the run once all traffic has arrived or was lost. Default: `false`; it ends at
    /// `duration`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub until_done: bool,
    /// Measurement interval of rates and shares.
    #[serde(default, skip_serializing_if = "is_default")]
    pub measure: Measure,
    /// Switch profiles by name. Default: one that is lossless for priorities 3 and 4 with all
    /// defaults of a switch file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub profiles: BTreeMap<String, Profile>,
    /// Default fields of switches, hosts, links and flows.
    #[serde(default, skip_serializing_if = "is_default")]
    pub defaults: Defaults,
    /// Common topology, which generates nodes and links. Default: none.
    pub topology: Option<Topology>,
    /// Nodes in addition to the topology's; an entry with the name of a topology's node configures
    /// that node.
    #[serde(default, skip_serializing_if = "is_default")]
    pub nodes: Nodes,
    /// Links in addition to the topology's. An entry without a name between two nodes that the
    /// topology has linked adds fields to that link. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Use of several shortest paths to a host: `host` takes one, by a hash of the host's number, and
    /// `flow` spreads flows over all of them, by a hash of addresses, protocol and ports (ECMP).
    /// Default: `host`.
    pub equal_cost: Option<EqualCost>,
    /// Routes that differ from the shortest; traffic to their hosts is not spread there. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// Traffic flows. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Flow>,
    /// Traffic generator on hosts of the lab, in the Open Traffic Generator's model. `flows` cannot
    /// use these hosts. Default: none.
    pub otg: Option<Otg>,
    /// Faults that are injected during the run. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Checks of the run. Default: `[conservation, lossless, pause_legality, no_deadlock,
    /// work_conserving]`.
    pub checks: Option<Vec<Check>>,
    /// Data recorded in addition to counters.
    #[serde(default, skip_serializing_if = "is_default")]
    pub record: Record,
    /// Variants of the lab by name: each a part of a lab file that is merged over the rest,
    /// mappings key by key and all other values as a whole. `sluice run` runs each of them and
    /// compares their results. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variants: BTreeMap<String, Variant>,
    /// Values that fields take in turn: an axis for each path, such as `{defaults.links.length: [5m,
    /// 100m], alpha: [1/8, 1], seed: 1..10}`. `sluice run` runs every combination, up to 10 million, of
    /// each variant. Values are lists or ranges. `zip` has axes that go together, `points` has points by
    /// name. Default: none.
    pub sweep: Option<Sweep>,
    /// The least or the largest value of a field for which checks hold, found by bisection: `sluice run`
    /// searches it for each variant and each point of the sweep. `least` or `largest` has the field by path
    /// and its values in ascending order, `holds` the checks (default: all of the lab), `seed` the seeds
    /// with all of which they must pass (default: the lab's), `confidence` that of the stated share of
    /// seeds (default: 95%). Default: none.
    pub search: Option<Search>,
}

/// A part of a lab file. It is parsed only after it is merged over the rest.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Variant(pub serde_json::Value);

impl JsonSchema for Variant {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Variant".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // Any fields of a lab, so that editors complete a variant as a lab; YAML has null for an empty one.
        json_schema!({ "anyOf": [{ "$ref": "#" }, { "type": "null" }] })
    }
}

/// Measurement interval of rates and shares.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Start. Default: `0s`, the start of the run.
    pub from: Option<Span>,
    /// End. Default: the end of the run.
    pub to: Option<Span>,
}

/// Default fields of switches, hosts, links and flows, merged key by key: what an object says has
/// precedence, a mapping but `macsec` is merged with the default's, and any other value replaces it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// Default fields of switches: any but `name`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub switches: Switch,
    /// Default fields of hosts: any but `name`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hosts: Host,
    /// Default fields of links, those of the topology too: any but `name`, `from` and `to`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub links: Link,
    /// Default fields of flows: any but `name`, `from` and `to`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub flows: Flow,
}
