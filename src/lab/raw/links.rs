//! Links and the ways over them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Chance, Many, NsPerMetre};
use crate::config::quantity::{Length, LinkRate, Size, Span};
use crate::config::raw::{FecName, Macsec, PhyName};

/// A link between two nodes.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its name in results. Default: `from-to`, and `from-to_2` for a second one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The node at one end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The node at the other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Its rate, which is that of both ports. Default: `100G`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<LinkRate>,
    /// The cable's length, at most 1000 km. Default: `100m`, unless `delay` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Length>,
    /// How long a signal takes for one metre, in nanoseconds: a number from 3 to 10, `fibre` (5) or
    /// `copper` (5.556; both as drivers of NICs reckon). Default: `fibre`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns_per_m: Option<NsPerMetre>,
    /// The whole way from MAC to MAC in one direction, up to 1 s, in place of a length; there is
    /// no PHY then unless `phy` names one, which comes on top. Default: what the length takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// The physical layer, the same at both ends. It adds the interface delay of one node (transmit
    /// at one end, receive at the other) in each direction, as much as IEEE 802.3 allows. `auto` is
    /// the BASE-R kind of the rate for a link with a length, and `none` for one with a `delay` or a
    /// rate that has no such kind. Default: `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phy: Option<PhyName>,
    /// Forward error correction, where it is an option: `rs` at 25G and 100G, `base_r` at 40G and
    /// 100G. Default: `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fec: Option<FecName>,
    /// How long a node takes from a pause's last bit to obeying it (the higher layer delay HD of
    /// IEEE 802.1Q Annex N), up to 1 s. Default: 614.4 ns with a PHY, which is what 802.1Q allows
    /// (6144 bit times at 10 Gb/s), and 0 without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Span>,
    /// Errors in both directions. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Errors>,
    /// What differs in the direction from `to` to `from`. Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back: Option<Back>,
    /// Octets that every frame takes on the line besides itself, up to 64. Default: `20`, as
    /// Ethernet has it (preamble and gap); others are for comparison with simulators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_overhead: Option<Size>,
    /// The unit in which the time of frames on the line is counted, `1ps` to 1us. Default: `1ps`,
    /// exact. `1ns` cuts each frame's time to whole nanoseconds, as ns-3 does; only for comparison,
    /// and headroom that is `auto` does not count it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_step: Option<Span>,
    /// MACsec of both ends, with a `key` or a `key_file` for both directions, in place of what the
    /// nodes and their profiles say. Links that share what is said here share the key. Default: what
    /// the nodes say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macsec: Option<Box<Macsec>>,
}

/// What differs in the direction from `to` to `from`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Back {
    /// The whole way from MAC to MAC, PHY included. Default: as forth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// How long `from` takes to obey a pause. Default: as long as `to`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Span>,
    /// Errors. Default: as forth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Errors>,
}

/// Errors on a line.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Errors {
    /// How likely a bit is to be received wrong, which damages its frame. Default: `0`. IEEE 802.3
    /// asks for less than 1e-12.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ber: Option<Chance>,
    /// How likely a frame is to be lost without a trace. Default: `0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Chance>,
}

/// A way that differs from the shortest: either `path`, or `at`, `to` and `via`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The whole way to a host, node by node: `[h1, s1, s2, s3, h3]`. Every switch on it sends
    /// what is for the last host to the next node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<String>>,
    /// The switch that is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The host or hosts that are meant, or `all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Many<String>>,
    /// The next node on the way, or the name of a link of the switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
}
