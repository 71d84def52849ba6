//! Nodes, links, routes and common topologies.

use crate::{
    Chance, Drift, HostQcn, HostSfc, Many, Members, NsPerMetre, QcnWord, SfcWord, Short, Wanted,
    is_default,
};
use config::quantity::{Length, LinkRate, Size, Span};
use config::raw::{Dcbx, Lldp, Macsec, Measurement, PhyName, Ptp};
use config::word_or;
use headroom::Fec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nodes of a lab: switches and hosts.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nodes {
    /// Switches: a number (`s1`, `s2` ...), or a list of names and of mappings with a name.
    /// Default: none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub switches: Members<SwitchEntry>,
    /// Hosts: a number (`h1`, `h2` ...), or a list of names and of mappings with a name. Default:
    /// none.
    #[serde(default, skip_serializing_if = "is_default")]
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
    /// other values are for comparison with simulators. `auto` headroom counts them, those below 64
    /// as 64. At most the `max_frame` of the switches next to it.
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

// A word or a list in one field, where YAML shows by its form which of the two it is.
word_or! {
    Obey "Obey" enum "auto" Auto | "none" None or list Vec<u8> as List:
        "`auto`, `none` or a list of priorities such as `[3, 4]`";
}

/// A link between two nodes.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Name in results. Default: `from-to`, and `from-to_2` for a second one.
    pub name: Option<String>,
    /// Node at one end.
    pub from: Option<String>,
    /// Node at the other end.
    pub to: Option<String>,
    /// Rate of both ports. Default: `100G`.
    pub rate: Option<LinkRate>,
    /// Cable length, at most 1000 km. Default: `100m`, unless `delay` is given.
    pub length: Option<Length>,
    /// Propagation delay per metre, in nanoseconds: a number from 3 to 10, `fibre` (5) or `copper`
    /// (5.556). Default: `fibre`.
    pub ns_per_m: Option<NsPerMetre>,
    /// Delay from MAC to MAC in one direction, up to 1 s, instead of a length. The PHY is then
    /// `none` by default; the delay of a configured `phy` is added. Default: the delay of the
    /// length.
    pub delay: Option<Span>,
    /// Physical layer at both ends. It adds the interface delay of one node (transmit at one end,
    /// receive at the other) in each direction, the maximum that IEEE 802.3 allows. `auto` is the
    /// BASE-R PHY of the rate, and `none` for a link with a `delay` or a rate without such a PHY.
    /// Default: `auto`.
    pub phy: Option<PhyName>,
    /// Forward error correction: `none`, `rs` at 25G and 100G, `base_r` at 40G and 100G. Default:
    /// `none`.
    pub fec: Option<Fec>,
    /// Time from a pause's last bit to the stop of transmission (higher layer delay HD of IEEE
    /// 802.1Q Annex N), up to 1 s. Default: 614.4 ns with a PHY, the 802.1Q limit (6144 bit times
    /// at 10 Gb/s), and 0 without.
    pub response: Option<Span>,
    /// Error rates in both directions. Default: none.
    pub errors: Option<Errors>,
    /// Differences in the direction from `to` to `from`. Default: none.
    pub back: Option<Back>,
    /// Line overhead of each frame in bytes, up to 64. Default: `20`, Ethernet's preamble and
    /// inter-frame gap; other values are for comparison with simulators.
    pub line_overhead: Option<Size>,
    /// Unit to which serialisation times are truncated, `1ps` to 1us. Default: `1ps`, exact. `1ns`
    /// truncates to whole nanoseconds, as ns-3 does; it is for comparison only, and `auto` headroom
    /// ignores it.
    pub time_step: Option<Span>,
    /// MACsec of both ends, with a `key` or a `key_file` for both directions, instead of the MACsec
    /// of the nodes and their profiles. Links that get it from the same entry share the key.
    /// Default: MACsec of the nodes.
    pub macsec: Option<Box<Macsec>>,
}

/// Differences in the direction from `to` to `from`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Back {
    /// Delay from MAC to MAC, PHY included. Default: that of the other direction.
    pub delay: Option<Span>,
    /// Response time of `from` to a pause. Default: that of `to`.
    pub response: Option<Span>,
    /// Error rates. Default: those of the other direction.
    pub errors: Option<Errors>,
}

/// Error rates of a link.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Errors {
    /// Bit error ratio; a bit error corrupts its frame. Default: `0`. IEEE 802.3 requires less than
    /// 1e-12.
    pub ber: Option<Chance>,
    /// Probability that a frame is lost without a trace. Default: `0`.
    pub loss: Option<Chance>,
}

/// A route that differs from the shortest: either `path`, or `at`, `to` and `via`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Complete path to a host, node by node: `[h1, s1, s2, s3, h3]`. Every switch on it sends
    /// frames for the last host to the next node.
    pub path: Option<Vec<String>>,
    /// Switch that the route is set in.
    pub at: Option<String>,
    /// Destination host, a list of hosts, or `all`.
    pub to: Option<Many<String>>,
    /// Next hop: a node, or the name of a link of the switch.
    pub via: Option<String>,
}

/// Use of several shortest paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EqualCost {
    /// One path per host.
    #[default]
    Host,
    /// Flows are spread over all paths.
    Flow,
}

/// A common topology: exactly one of these. Its links have the parameters of `defaults.links`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// One switch `s1` with hosts `h1`, `h2` ...
    pub star: Option<Star>,
    /// A row of switches `s1`, `s2` ... with hosts at each, and a receiver `r` at the last.
    pub parking_lot: Option<ParkingLot>,
    /// Leaves `leaf1` ... with hosts, and spines `spine1` ..., every leaf linked to every spine.
    pub leaf_spine: Option<LeafSpine>,
    /// A fat tree of switches with k ports each: k pods with k/2 edge switches (`e1_1` is the first
    /// of pod 1) and k/2 aggregation switches (`a1_1`), (k/2)^2 cores (`c1`) and k^3/4 hosts.
    pub fat_tree: Option<FatTree>,
    /// Switches in a ring, `s1` to `s2` and so on to `s1`, with hosts at each. Frames take only
    /// that direction, so a cyclic buffer dependency (deadlock) is possible.
    pub ring: Option<Ring>,
}

/// One switch and its hosts.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Star {
    /// Number of hosts, 1 to 1024.
    pub hosts: u32,
}

/// Switches in a row.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParkingLot {
    /// Number of switches, at least 1.
    pub switches: u32,
    /// Number of hosts at each switch, or a list with one number per switch, without the receiver.
    /// Host numbers continue from switch to switch. Default: `1`.
    pub hosts_per_switch: Option<Many<u32>>,
    /// Rate of links between switches. Default: that of the others.
    pub uplink_rate: Option<LinkRate>,
    /// Length of links between switches. Default: that of the others.
    pub uplink_length: Option<Length>,
    /// PHY of these links, `none` for one without delays. Default: that of the others, by the rate.
    pub uplink_phy: Option<PhyName>,
}

/// Leaves and spines.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeafSpine {
    /// Number of leaves, at least 1.
    pub leaves: u32,
    /// Number of spines, at least 1.
    pub spines: u32,
    /// Number of hosts at each leaf. Host numbers continue from leaf to leaf.
    pub hosts_per_leaf: u32,
    /// Rate of links between leaves and spines. Default: that of the others.
    pub uplink_rate: Option<LinkRate>,
    /// Length of links between leaves and spines. Default: that of the others.
    pub uplink_length: Option<Length>,
    /// PHY of these links, `none` for one without delays. Default: that of the others, by the rate.
    pub uplink_phy: Option<PhyName>,
}

/// A fat tree.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatTree {
    /// Number of ports of each switch, even, 2 to 32: 16 hosts with 4, 128 with 8, 1024 with 16.
    pub k: u32,
    /// Rate of links between switches. Default: that of the others.
    pub uplink_rate: Option<LinkRate>,
    /// Length of links between switches. Default: that of the others.
    pub uplink_length: Option<Length>,
    /// PHY of these links, `none` for one without delays. Default: that of the others, by the rate.
    pub uplink_phy: Option<PhyName>,
}

/// Switches in a ring.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ring {
    /// Number of switches, at least 3.
    pub switches: u32,
    /// Number of hosts at each switch. Host numbers continue from switch to switch. Default: `1`.
    pub hosts_per_switch: Option<u32>,
    /// Rate of links between switches. Default: that of the others.
    pub uplink_rate: Option<LinkRate>,
    /// Length of links between switches. Default: that of the others.
    pub uplink_length: Option<Length>,
    /// PHY of these links, `none` for one without delays. Default: that of the others, by the rate.
    pub uplink_phy: Option<PhyName>,
}
