//! Raw model of a benchmark file, field by field. The doc comment of each field is its description
//! in the published JSON Schema.

use std::collections::BTreeMap;
use std::path::PathBuf;

use config::quantity::{Ratio, Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    pub max_load: Option<Ratio>,
    /// Duration of a trial. Default: `60s`, the least of RFC 2544; for a virtual device the time of
    /// 20 MB at the rate.
    pub trial: Option<Span>,
    /// Time after a trial in which frames still arrive. Default: `2s`; for a virtual device as the
    /// DUT file's `times.drain`.
    pub drain: Option<Span>,
    /// Time between two trials. Default: `5s`. Virtual devices need none.
    pub rest: Option<Span>,
    /// Relative width of the interval at the end of a search: (upper - lower) / upper. Default:
    /// `0.1%`.
    pub width: Option<Ratio>,
    /// Latency of RFC 2544. Default: 20 streams of `120s`; for a virtual device one of `trial`.
    pub latency: Option<Repeated>,
    /// Step of the loss curve, at most 10 %. Default: `10%`.
    pub loss_step: Option<Ratio>,
    /// Back-to-back frames of RFC 9004: the longest burst, and the number of searches. Default: 50
    /// of `2s`; for a virtual device one of `trial`.
    pub back_to_back: Option<Repeated>,
    /// Recovery of RFC 2544: time of the overload, and number of trials. Default: 3 of `60s`; for a
    /// virtual device one of `trial`.
    pub recovery: Option<Repeated>,
    /// Resets of the device (RFC 2544, RFC 6201). They need `resets` in the DUT file.
    #[serde(default)]
    pub reset: Reset,
    /// Number of times that each frame passes the device: more than 1 in a snake (RFC 8239), where cables
    /// between its ports lead frames from one tester port through all of them to the other. 1 to 1024. Default:
    /// `1`.
    pub snake: Option<u32>,
    /// Burst sizes of meshes in frames (RFC 2889, 5.1.2), each 1 to 930: each sender sends so many frames at
    /// line rate, the same number to each receiver in turn, and rests, so that the load is the intended one.
    /// 1 is a constant load. Sizes are rounded up to the same number for each receiver. Default: `[1]`.
    pub bursts: Option<Vec<u32>>,
    /// Burst in bytes with which a hunt begins (RFC 7640). Default: `100KB`.
    pub burst_target: Option<Size>,
    /// Learning of addresses (RFC 2889).
    #[serde(default)]
    pub learning: Learning,
    /// Soak: one load for a long time.
    #[serde(default)]
    pub soak: Soak,
    /// Search of `sluice benchmark mlrsearch` beside its goals.
    #[serde(default)]
    pub search: Search,
    /// Goals of `sluice benchmark mlrsearch`, by name. Default: those of FD.io CSIT, `NDR` and
    /// `PDR`.
    pub goals: Option<BTreeMap<String, Goal>>,
}

/// Resets of the device.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    /// Traffic before a reset, and after the device is back. Default: `15s`, the least of RFC 6201; for a
    /// virtual device as `trial`.
    pub steady: Option<Span>,
    /// Longest time without forwarding. Default: `120s`; for a virtual device twice the longest of its
    /// `resets`.
    pub longest: Option<Span>,
    /// Resets of each kind, 1 to 1000. Default: 3; for a virtual device 1.
    pub repeats: Option<u32>,
}

/// Learning of addresses by a bridge.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Learning {
    /// Largest number of addresses that is tried, 1 to 1048576. Default: `16384`.
    pub addresses: Option<u32>,
    /// Frames per second from new addresses while their number is searched, 1 to 1000000. Default:
    /// `1000`.
    pub rate: Option<u32>,
    /// Time before each trial in which the device forgets all addresses: its ageing time. Default:
    /// `310s`, for the 300 s of 802.1Q Table 8-6. Virtual devices need none.
    pub ageing: Option<Span>,
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

/// A duration, and a number of repetitions.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repeated {
    pub duration: Option<Span>,
    /// 1 to 1000.
    pub repeats: Option<u32>,
}

/// A soak.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Soak {
    /// Load as a share of the line. Default: `80%`.
    pub load: Option<Ratio>,
    /// Default: `24h`; for a virtual device ten times `interval`.
    pub duration: Option<Span>,
    /// Length of the trials that it consists of. Default: `60s`; for a virtual device `trial`.
    pub interval: Option<Span>,
}

/// Parameters of MLRsearch.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Trial at the largest load before the search, whose result does not count: the device learns flows
    /// and fills its caches. `0s` for none. Default: `1s`, as of FD.io CSIT; none for a virtual device.
    pub warmup: Option<Span>,
    /// Largest sum of the trials' durations for a frame size, after which results are *irregular*. Default:
    /// `1200s`, as of FD.io CSIT.
    pub longest: Option<Span>,
}

/// A goal of MLRsearch.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// Largest loss of a good trial, below 100 %. Default: `0%`.
    pub loss_ratio: Option<Ratio>,
    /// Largest share of trial time with a higher loss, below 100 %. Default: `50%`.
    pub exceed_ratio: Option<Ratio>,
    /// Relative width of the interval at the end. Default: `0.5%`.
    pub width: Option<Ratio>,
    /// Duration of the first trials. Default: `1s`; for a virtual device the time of 2 MB at the
    /// rate.
    pub initial_duration: Option<Span>,
    /// Shortest full-length trial. Default: as `initial_duration`.
    pub final_duration: Option<Span>,
    /// Sum of full-length trials that decides about a load. Default: 21 times `final_duration`.
    pub duration_sum: Option<Span>,
}
