//! Raw model of a benchmark file, field by field. The doc comment of each field is its description
//! in the published JSON Schema.

use std::collections::BTreeMap;
use std::path::PathBuf;

use config::quantity::{Ratio, Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mlrsearch::Goal;
use crate::plan::{Learning, MlrSearch, Repeated, Resets, Soak};

/// Values of sections in a file, absent for their defaults.
pub(super) type Time = Option<Span>;
pub(super) type Share = Option<Ratio>;
pub(super) type Count = Option<u32>;

/// A benchmark: the device, the traffic through it, and the parameters of the procedures.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkFile {
    /// DUT file, as of `sluice validate`; a relative path starts at the folder of this file.
    pub dut: PathBuf,
    /// Flows between ports of the DUT file, by their names. Default: from the first port to the
    /// second, from the third to the fourth ...
    pub flows: Option<Vec<Flow>>,
    /// True to add a flow in the other direction to each. Default: `false`.
    #[serde(default)]
    pub both_ways: bool,
    /// Priority of the frames. Default: the first lossy one; without any, the first.
    pub priority: Option<u8>,
    /// Frame sizes in bytes, FCS included. Default: those of RFC 2544, `[64, 128, 256, 512, 1024,
    /// 1280, 1518]`, without those that the device does not forward.
    pub sizes: Option<Vec<u32>>,
    /// Largest load, as a share of the line. RFC 8239 has 99.98 %, for clocks that differ. Default:
    /// `100%`.
    pub max_load: Share,
    /// Duration of a trial. Default: `60s`, the least of RFC 2544; for a virtual device the time of
    /// 20 MB at the rate.
    pub trial: Time,
    /// Time after a trial in which frames still arrive. Default: `2s`; for a virtual device as the
    /// DUT file's `times.drain`.
    pub drain: Time,
    /// Time between two trials. Default: `5s`. Virtual devices need none.
    pub rest: Time,
    /// Relative width of the interval at the end of a search: (upper - lower) / upper. Default:
    /// `0.1%`.
    pub width: Share,
    /// Latency of RFC 2544. Default: 20 streams of `120s`; for a virtual device one of `trial`.
    pub latency: Option<Repeated<Time, Count>>,
    /// Step of the loss curve, at most 10 %. Default: `10%`.
    pub loss_step: Share,
    /// Back-to-back frames of RFC 9004: the longest burst, and the number of searches. Default: 50
    /// of `2s`; for a virtual device one of `trial`.
    pub back_to_back: Option<Repeated<Time, Count>>,
    /// Recovery of RFC 2544: time of the overload, and number of trials. Default: 3 of `60s`; for a
    /// virtual device one of `trial`.
    pub recovery: Option<Repeated<Time, Count>>,
    /// Resets of the device (RFC 2544, RFC 6201). They need `resets` in the DUT file.
    #[serde(default)]
    pub reset: Resets<Time, Count>,
    /// Number of times that each frame passes the device: more than 1 in a snake (RFC 8239), where cables
    /// between its ports lead frames from one tester port through all of them to the other. 1 to 1024. Default:
    /// `1`.
    pub snake: Count,
    /// Burst sizes of meshes in frames (RFC 2889, 5.1.2), each 1 to 930: each sender sends so many frames at
    /// line rate, the same number to each receiver in turn, and rests, so that the load is the intended one.
    /// 1 is a constant load. Sizes are rounded up to the same number for each receiver. Default: `[1]`.
    pub bursts: Option<Vec<u32>>,
    /// Burst in bytes with which a hunt begins (RFC 7640). Default: `100KB`.
    pub burst_target: Option<Size>,
    /// Learning of addresses (RFC 2889).
    #[serde(default)]
    pub learning: Learning<Time, Count>,
    /// Soak: one load for a long time.
    #[serde(default)]
    pub soak: Soak<Time, Share>,
    /// Search of `sluice benchmark mlrsearch` beside its goals.
    #[serde(default)]
    pub search: MlrSearch<Time>,
    /// Goals of `sluice benchmark mlrsearch`, by name. Default: those of FD.io CSIT, `NDR` and
    /// `PDR`.
    pub goals: Option<BTreeMap<String, Goal<Time, Share>>>,
}

/// A flow.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Port that sends.
    pub from: String,
    /// Port that receives.
    pub to: String,
}
