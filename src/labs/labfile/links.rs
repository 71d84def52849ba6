//! Links and routes.

use headroom::Fec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Chance, Many, NsPerMetre};
use config::quantity::{Length, LinkRate, Size, Span};
use config::raw::{Macsec, PhyName};

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
