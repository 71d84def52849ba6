//! What is known of a device's configuration, by which tests judge it. Types with parameters are sections of a DUT
//! file, too, where their values have the forms of a file.

use core::net::Ipv4Addr;

use ground::time::Duration;
use ground::units::{Bytes, Dscp, PRIORITIES, Pcp, Priority, PrioritySet, Vid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Configuration of the DUT. A test whose expectation is missing is skipped.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Expected {
    /// Buffered bytes at which a lossless priority group sends XOFF.
    pub xoff: Option<Bytes>,
    /// Headroom of a lossless priority group.
    pub headroom: Option<Bytes>,
    /// Bytes below XOFF at which a lossless priority group sends XON.
    pub xon_offset: Option<Bytes>,
    /// Exponent of the dynamic threshold of a lossless priority group: alpha is 2 to its power.
    pub dynamic_th: Option<i8>,
    /// Size of the shared pool that a dynamic threshold is a part of.
    pub shared: Option<Bytes>,
    /// Bytes of a buffer cell.
    pub cell: Option<Bytes>,
    /// Weights of the traffic classes, by priority.
    pub weights: Option<[u32; PRIORITIES]>,
    /// Priorities whose traffic class is strict.
    pub strict: Option<PrioritySet>,
    /// Priorities of DSCP values.
    pub dscp_map: Option<Vec<(Dscp, Priority)>>,
    /// Priorities of PCP values.
    pub pcp_map: Option<Vec<(Pcp, Priority)>>,
    /// True if the first three ports are at the switches of a ring.
    pub ring: bool,
    /// True if it never sends XON: its pauses end by themselves.
    pub expiry_only: bool,
    /// VLAN in which the ports take tagged frames too, whose PCP is their priority.
    pub vlan: Option<Vid>,
    pub ecn: Option<ExpectedEcn>,
    pub watchdog: Option<ExpectedWatchdog>,
    pub dcbx: Option<ExpectedDcbx>,
    pub sfc: Option<ExpectedSfc>,
    /// Counting of received PFC frames with a time of zero.
    pub xon: Option<XonCount>,
}

/// Counting of received PFC frames with a time of zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Xon", rename_all = "lowercase")]
pub enum XonCount {
    /// In the counter of all PFC frames.
    Counted,
    /// In a counter of their own alone.
    Apart,
    /// Not at all.
    Ignored,
}

impl Expected {
    /// Returns the alpha of a dynamic threshold: 2 to the power of `dynamic_th`.
    pub fn alpha(&self) -> Option<f64> {
        self.dynamic_th.map(|n| f64::from(n).exp2())
    }
}

/// DCBX of ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "Dcbx")]
pub struct ExpectedDcbx<T = Duration> {
    /// True if the device takes the PFC map of a neighbour (802.1Q 38.4).
    pub willing: bool,
    /// End that wins if both are willing: the one with the `higher` or the `lower` address. Default:
    /// `higher`, as in openlldp.
    #[serde(default)]
    pub precedence: Precedence,
    /// Interval of LLDPDUs. Default: `30s` (802.1AB 9.2.5.7).
    pub interval: T,
}

/// End whose setting is used if both are willing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Precedence {
    #[default]
    Higher,
    Lower,
}

/// Source Flow Control: messages (SFCM) that pause the source of a flow.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "Sfc")]
pub struct ExpectedSfc<N = u16, B = Bytes, T = Duration, S = f64> {
    /// UDP port of messages (sfcmUDPPort), 49152 to 65535. Default: `58622`.
    pub udp_port: N,
    /// Queue length in bytes to which the pauses of its messages reduce a queue. Default: none, for a
    /// device that sends no messages of its own.
    pub target: Option<B>,
    /// Proxy that turns messages to hosts into PFC. Default: none; its tests are skipped.
    pub proxy: Option<ExpectedProxy<T, S>>,
}

/// Proxy of Source Flow Control, for hosts that know PFC alone. The device takes all of the tester's
/// ports for such hosts.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "SfcProxy")]
pub struct ExpectedProxy<T = Duration, S = f64> {
    /// The only source address of messages that the device accepts: the `ip` of a port of this file.
    pub trusted: Ipv4Addr,
    /// Longest pause from one message.
    pub longest: T,
    /// Longest pause of a priority without a break, from messages alone.
    pub credit: T,
    /// Largest part of the time that a priority is paused in the long run by messages.
    pub share: S,
}

/// An ECN curve.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "Ecn")]
pub struct ExpectedEcn<B = Bytes, S = f64, P = PrioritySet> {
    /// Queue length below which nothing is marked.
    pub kmin: B,
    /// Queue length above which everything is marked.
    pub kmax: B,
    /// Probability just below `kmax`.
    pub pmax: S,
    /// Priorities that have the curve, all of them lossless: PFC fills their queues in the tests. These look at each
    /// of them at level full, at the lowest one at level quick, and `V-E06` at the other lossless ones, which are not
    /// marked. Default: not told; the first lossless one is looked at, and at level full the others are skipped.
    pub priorities: Option<P>,
}

/// A PFC watchdog.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "Watchdog")]
pub struct ExpectedWatchdog<T = Duration> {
    /// Time of a storm before it is detected.
    pub detection: T,
    /// Time without a pause before the queue is restored.
    pub restoration: T,
    /// Interval at which the DUT looks at its queues.
    pub poll: T,
    /// Action on frames of a stormed queue. Default: `drop`.
    #[serde(default)]
    pub action: Action,
    /// True for a device that takes a paused queue for stormed also without frames. Default: `false`.
    #[serde(default)]
    pub idle: bool,
}

/// Action on frames of a stormed queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    #[default]
    Drop,
    Forward,
}
