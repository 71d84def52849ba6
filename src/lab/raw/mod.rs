//! What a lab file says, field by field. The program does not trust it: `resolve` makes the plan
//! of it. It can be written back, so that programs make labs too.
//!
//! The text of each field here is the text of the published JSON Schema, so it states unit,
//! default and reason.

mod checks;
mod faults;
mod flows;
mod links;
mod nodes;
mod numbers;
mod otg;
mod over;
mod profile;
mod reactions;
mod short;
mod topology;
mod transport;

pub use checks::{Allowance, Capture, Check, CheckLong, CheckWord, Fairness, Record, Value};
pub use faults::{
    EcnFault, ErrorsFault, Fault, Flap, Forge, GroupFault, LoseFault, ObjectFault, Replay, Stall,
    WhichName,
};
pub use flows::{
    Amount, EcnName, Flow, FlowDuration, FlowRate, FlowRateLong, FlowRateText, Pattern,
};
pub use links::{Back, Errors, Link, Route};
pub use nodes::{Clock, Cpu, Host, HostEntry, Nodes, Obey, Storm, Switch, SwitchEntry};
pub use numbers::{Chance, Drift, NsPerMetre};
pub use otg::Otg;
pub use profile::{HeadroomCheckName, PortDefaults, Profile};
pub use reactions::{HostQcn, HostSfc, QcnWord, SfcPauseName, SfcWord};
pub use short::{Many, Members, Short, Wanted};
pub use topology::{FatTree, LeafSpine, ParkingLot, Ring, Star, Topology};
pub use transport::{
    Dcqcn, DcqcnName, Messages, OperationName, RecoveryName, Roce, Tcp, Transport, TransportLong,
    TransportName,
};

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::config::quantity::Span;

/// Whether a field says nothing, so that it is not written.
pub(super) fn silent<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A Sluice lab: which nodes and links there are, what is sent, what goes wrong, and what is asked
/// of the run. The shortest file is a topology and a flow.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lab {
    /// Its name in results. Default: the file's, without its ending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The seed of all that is drawn by chance: errors on links, ECN marks, permutations. Default:
    /// `0`; the same file with the same seed gives the same trace, to the picosecond.
    #[serde(default, skip_serializing_if = "silent")]
    pub seed: u64,
    /// Draws the order of what happens at one and the same picosecond from this seed, in place of
    /// the fixed order. What depends on that order, and should not, shows. Default: the fixed order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shuffle: Option<u64>,
    /// When the run ends at the latest, in time of the lab. Default: `10ms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
    /// Whether the run ends as soon as everything that was to be sent has arrived or was lost.
    /// Default: `false`; it ends at `duration`.
    #[serde(default, skip_serializing_if = "silent")]
    pub until_done: bool,
    /// Between which times rates and shares are measured.
    #[serde(default, skip_serializing_if = "silent")]
    pub measure: Measure,
    /// Switch profiles by name. Default: one that is lossless for priorities 3 and 4 with all
    /// defaults of a switch file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub profiles: BTreeMap<String, Profile>,
    /// What holds for every switch, host, link and flow that does not say otherwise.
    #[serde(default, skip_serializing_if = "silent")]
    pub defaults: Defaults,
    /// A common topology, so that its nodes and links need not be written. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Nodes beside those of the topology, or more about one of those, by its name.
    #[serde(default, skip_serializing_if = "silent")]
    pub nodes: Nodes,
    /// Links beside those of the topology. One between two nodes that the topology has linked says
    /// more about that link, unless it has a name of its own. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Ways that differ from the shortest. Default: none; the way to each host is a shortest one,
    /// drawn among equals by a hash of the host's number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// What is sent. Default: nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Flow>,
    /// A traffic generator on hosts of the lab, in the words of the Open Traffic Generator. Those
    /// hosts have no flows of the lab's own. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otg: Option<Otg>,
    /// What goes wrong, and when. Default: nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// What is asked of the run. Default: `[conservation, lossless, pause_legality, no_deadlock,
    /// work_conserving]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<Vec<Check>>,
    /// What is recorded beyond counters.
    #[serde(default, skip_serializing_if = "silent")]
    pub record: Record,
    /// Variants of the lab by name: each a part of a lab that is laid over the rest of the file,
    /// mappings key by key and everything else as a whole. `sluice run` runs each of them and
    /// compares their results. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variants: BTreeMap<String, Variant>,
}

/// A part of a lab as it stands in the file. It has no meaning before it is laid over the rest.
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
        json_schema!({ "anyOf": [{ "$ref": "#" }, { "type": "null" }] })
    }
}

/// When rates and shares are measured.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// From here on. Default: `0s`, the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Span>,
    /// Up to here. Default: the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Span>,
}

/// What holds for everything of a kind that does not say otherwise. Fields are replaced one by
/// one, each as a whole.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// Switches: any field but `name`.
    #[serde(default, skip_serializing_if = "silent")]
    pub switches: Switch,
    /// Hosts: any field but `name`.
    #[serde(default, skip_serializing_if = "silent")]
    pub hosts: Host,
    /// Links, those of the topology too: any field but `name`, `from` and `to`.
    #[serde(default, skip_serializing_if = "silent")]
    pub links: Link,
    /// Flows: any field but `name`, `from` and `to`.
    #[serde(default, skip_serializing_if = "silent")]
    pub flows: Flow,
}
