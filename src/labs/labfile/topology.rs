//! Common topologies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Many;
use config::quantity::{Length, LinkRate};
use config::raw::PhyName;

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
