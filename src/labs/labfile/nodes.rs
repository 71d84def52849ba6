//! Switches and hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Drift, HostQcn, HostSfc, Members, QcnWord, SfcWord, Short, Wanted, silent};
use config::quantity::{Size, Span};
use config::raw::{Dcbx, Lldp, Macsec, Measurement, Ptp};
use config::word_or;

/// Nodes of a lab: switches and hosts.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nodes {
    /// Switches: a number (`s1`, `s2` ...), or a list of names and of mappings with a name.
    /// Default: none.
    #[serde(default, skip_serializing_if = "silent")]
    pub switches: Members<SwitchEntry>,
    /// Hosts: a number (`h1`, `h2` ...), or a list of names and of mappings with a name. Default:
    /// none.
    #[serde(default, skip_serializing_if = "silent")]
    pub hosts: Members<HostEntry>,
}

/// A switch: its name, or a mapping.
pub type SwitchEntry = Short<String, Switch>;

/// A host: its name, or a mapping.
pub type HostEntry = Short<String, Host>;

/// A switch. Its ports are the ends of its links, named after the peer: `to_h1`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Name: letters, digits, `_` and `-`.
    pub name: Option<String>,
    /// Switch profile. Default: the only one in the file, or the built-in one if there is none.
    pub profile: Option<String>,
    /// Clock of the switch: offset and drift.
    pub clock: Option<Clock>,
    /// CPU cost of a software switch. `auto` headroom does not include it. Default: none, as for
    /// hardware.
    pub cpu: Option<Cpu>,
    /// True for cut-through forwarding where the rates allow it. Default: `false`, store and
    /// forward.
    pub cut_through: Option<bool>,
    /// Length of the pause frames that it sends, in bytes, FCS included, 18 to 1518. Default: `64`;
    /// other values are for comparison with simulators.
    pub control_frame: Option<Size>,
}

/// A host: one link, a traffic generator and a sink. Its addresses are derived from its number.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Name: letters, digits, `_` and `-`, but not `all`.
    pub name: Option<String>,
    /// Pauses that the host obeys: `auto` (those that the other end of its link may send), `none`,
    /// or a list of PFC priorities. Default: `auto`.
    pub obey: Option<Obey>,
    /// Pauses that the host sends on a schedule, to emulate a pause storm or a slow receiver.
    /// Default: none.
    pub storms: Option<Vec<Storm>>,
    /// Longest backlog, in time, that a flow may catch up with after a pause; older frames are
    /// never sent. Default: unlimited.
    pub backlog: Option<Span>,
    /// Clock of the host: offset and drift.
    pub clock: Option<Clock>,
    /// CPU cost of the host. Default: none.
    pub cpu: Option<Cpu>,
    /// Request/response measurement of the link delay (IEEE P802.1Qdt). Default: none, but requests
    /// are answered if the peer port measures its headroom with them.
    pub measurement: Option<Measurement>,
    /// PTP peer delay measurement. Default: as for `measurement`.
    pub ptp: Option<Ptp>,
    /// LLDP. `{}` enables it. Default: off, unless `dcbx` is set.
    pub lldp: Option<Lldp>,
    /// DCBX. `{}` enables it; a host is willing to accept its peer's configuration. Default: off.
    pub dcbx: Option<Dcbx>,
    /// MACsec. The peer's secure channel needs no identifier. Default: none, unless the link has
    /// it.
    pub macsec: Option<Box<Macsec>>,
    /// Reaction to source flow control messages: `none`, or the scope of the pause, `flow` or all
    /// flows of the `priority`; or a mapping, as `{pause: flow, longest: 100us}`. Default: `none`;
    /// messages are counted.
    pub sfc: Option<Short<SfcWord, HostSfc>>,
    /// QCN reaction points of the host's flows: `none`, `standard`, or a mapping with changes, such
    /// as `{active: 50M}`. Default: `none`.
    pub qcn: Option<Short<QcnWord, HostQcn>>,
}

/// Pauses that a host obeys.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Obey {
    /// Pauses that the other end of its link may send.
    #[default]
    Auto,
    /// No pauses.
    None,
    /// PFC for these priorities.
    List(Vec<u8>),
}

/// Pauses at regular intervals.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Storm {
    /// Priorities to pause, or `[]` for link-wide PAUSE.
    pub priorities: Vec<u8>,
    /// Requested pause time of each, in quanta of 512 bit times, 0 to 65535; 0 resumes. Default:
    /// `65535`.
    pub quanta: Option<u16>,
    /// Time of the first pause. Default: `0s`.
    pub start: Option<Span>,
    /// Interval, above zero. Default: half the requested pause time, so that the pause never ends.
    pub every: Option<Span>,
    /// Number of pauses. Default: as many as fit before the lab's `duration`.
    pub frames: Option<u64>,
}

/// A node's clock in relation to simulation time.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Clock reading at time 0, up to 100 days. Default: `0s`. A host's schedule, such as the start
    /// of a flow, is in simulation time, independent of its clock.
    pub offset: Option<Span>,
    /// Frequency error: positive if fast (`50ppm`), negative if slow (`-50ppm`), -200ppm to 200ppm.
    /// Default: `0ppm`. Ethernet allows 100 ppm either way.
    pub drift: Option<Drift>,
}

/// CPU time of a node's work. The node polls nothing while it works.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// Time for each poll of the ports. Default: `0s`.
    pub poll: Option<Span>,
    /// Time for each frame. Default: `0s`.
    pub frame: Option<Span>,
    /// Time for each byte of the frames. Default: `0s`.
    pub byte: Option<Span>,
}

impl Wanted for Switch {
    const WANTED: &'static str = "a name, or a mapping such as `{name: s1, profile: tor}`";
}

impl Wanted for Host {
    const WANTED: &'static str = "a name, or a mapping such as `{name: h1, obey: none}`";
}

word_or! {
    Obey "Obey" enum "auto" Auto | "none" None or list Vec<u8> as List:
        "`auto`, `none` or a list of priorities such as `[3, 4]`";
}
