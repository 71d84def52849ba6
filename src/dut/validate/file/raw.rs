//! Raw model of a DUT file, field by field. The doc comment of each field is its description in the
//! published JSON Schema.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::counters::Counter;
use crate::setup::{
    Calibration, ExpectedDcbx, ExpectedEcn, ExpectedSfc, ExpectedWatchdog, FlowControl, PfcMode,
    Times, Tolerances, XonCount,
};
use crate::trial::ResetKind;
use crate::virtual_bench::Report;
use config::quantity::{LinkRate, Ratio, Size, Span};
use config::raw::{Macsec, Range};
use lab::raw::{Fault, Lab, Profile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A device under test (DUT): the tester's ports and their cables, and the DUT's configuration as far
/// as it is known.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DutFile {
    /// Name in results. Default: the file's name without its extension.
    pub name: Option<String>,
    /// Version of the device's hardware and software, for reports of benchmarks. Default: what
    /// `adapter.command.version` prints; unknown without.
    pub version: Option<String>,
    /// Calibration of latencies, for reports of benchmarks. Default: none, and reports say so.
    pub calibration: Option<Calibration<Span>>,
    /// Rate of the links: `10G`. The last ports may have another `rate` of their own; the first two have
    /// this one.
    pub rate: LinkRate,
    /// Ports of the tester. The first is A, which sends; the second is B, at which the DUT is paused.
    /// Most tests need two, those of congestion three, those of head-of-line blocking four.
    pub ports: Vec<Port>,
    /// Flow control of the DUT's ports: `pfc`, or `pause` for 802.3x PAUSE, which stops all priorities.
    /// Tests of the other kind are skipped. Default: `pfc`.
    #[serde(default)]
    pub flow_control: FlowControl,
    /// A network interface card (NIC) at each port instead of a switch. Tests of switches are skipped.
    /// Default: none.
    pub nic: Option<Nic>,
    /// Priorities for which PFC is on. Default: `[3, 4]`; none with `flow_control: pause`.
    pub lossless: Option<Vec<u8>>,
    /// Priorities for which PFC is off. Default: all others.
    pub lossy: Option<Vec<u8>>,
    /// Field that carries the priority. Default: the DSCP, eight times the priority.
    #[serde(default)]
    pub marking: Marking,
    /// Longest frame in bytes that the DUT forwards, FCS included. Default: `1526`.
    pub max_frame: Option<Size>,
    /// Delay from the tester's MAC to the DUT's and back: cables and PHYs. Default: `100ns`, the cable
    /// of 10 m there and back. A virtual device has none: its links have their own delay.
    pub cable: Option<Span>,
    /// Share of the line that the traffic around a stimulus has. A tester in software that is often
    /// preempted keeps the rates of a lower one. Default: `98%`.
    pub load: Option<Ratio>,
    /// Configuration of the DUT. A test that needs a missing field is skipped and names it.
    #[serde(default)]
    pub expected: Expected,
    /// Limits that differ from the catalogue's.
    #[serde(default)]
    pub tolerances: Tolerances<Option<Ratio>, Option<u16>, Option<Span>>,
    /// Times that differ from the defaults.
    #[serde(default)]
    pub times: Times<Option<Span>>,
    /// Seed of everything random. Default: `1`.
    pub seed: Option<u64>,
    /// Access to the counters and settings of a device behind real ports. Default: none; tests, and parts
    /// of tests, that need it are skipped. A virtual device needs none.
    pub adapter: Option<Adapter>,
    /// Virtual device instead of one behind real ports. The locations of the ports are hosts then.
    /// Default: none.
    #[serde(rename = "virtual")]
    pub device: Option<Virtual>,
}

/// A network interface card (NIC) under test at each port of the tester. Its host sends to the port all
/// the time, from before the tests to their end; those of a virtual lab do so by its `flows`.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// Priorities of this traffic, one of them lossless.
    pub sends: Vec<u8>,
    /// Longest time to wait for it before a test, up to 1h. Default: `30s`; none for a virtual device.
    pub wait: Option<Span>,
    /// Queue pairs of RoCEv2 by which they send, one for each port in their order, or any number with `port`.
    /// Default: none; tests of RoCE are skipped.
    #[serde(default)]
    pub queue_pairs: Vec<QueuePair>,
    /// Largest share of the time for which it may pause a priority while its host reads. Default: none; the
    /// share is recorded.
    pub paused: Option<Ratio>,
}

/// A queue pair of a NIC.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueuePair {
    /// Its number: that to which congestion notifications for its data go, 2 to 16777215.
    pub sends: u32,
    /// Number of the queue pair that takes the tester's data. Default: `sends`.
    pub receives: Option<u32>,
    /// Name of the tester's port at the NIC. Default: the port of the same place in `ports`.
    pub port: Option<String>,
}

/// A port of the tester.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// Name in results. Default: `A` for the first, `B` for the second ...
    pub name: Option<String>,
    /// Place of the port: `iface:eth1`, a DPDK device; for a virtual device a host of its lab.
    /// Default for a profile: `h1` for the first ...
    pub location: Option<String>,
    /// Name of the DUT's port at the other end of the cable. Default: the port's own name.
    pub dut: Option<String>,
    /// MAC address of that port, from which its pauses come (802.3 31.4.1.3); a device with one address for
    /// all ports has it at each. Default: that of a virtual device's port; else unknown, and any address
    /// of a single station other than the tester's is accepted.
    pub dut_mac: Option<String>,
    /// Rate of its link. A port of another rate than the file's stands behind all others, and only tests
    /// of different rates use it. Default: the file's `rate`.
    pub rate: Option<LinkRate>,
    /// MAC address of its frames. Default: `02:53:4c:00:00:01` for the first ...
    pub mac: Option<String>,
    /// IPv4 address of its packets, 198.18.0.0/15 (RFC 2544). Default: `198.18.0.1` for the first ...
    pub ip: Option<core::net::Ipv4Addr>,
    /// MACsec of the tester's end, with the words of a switch file; `receive` has the DUT's channel, which
    /// is known of a virtual device. `protect.pfc`, `accept_pfc`, `validate`, `replay`, `uncontrolled` and
    /// `rollover_at` are the tester's own business and are refused. Default: none.
    pub macsec: Option<Box<Macsec>>,
}

/// Field that carries the priority of a frame. At most one of the maps.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Marking {
    /// DSCP of each priority, for untagged packets. Default: eight times the priority.
    pub dscp: Option<BTreeMap<Range, u8>>,
    /// PCP of each priority, for tagged frames; an empty map is the identity. Default: untagged.
    pub pcp: Option<BTreeMap<Range, u8>>,
    /// VLAN of tagged frames. Default: `1`.
    pub vlan: Option<u16>,
}

/// Configuration of the DUT.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Buffered bytes at which a lossless priority group sends XOFF, for a static threshold. Default:
    /// none.
    pub xoff: Option<Size>,
    /// Headroom of a lossless priority group.
    pub headroom: Option<Size>,
    /// Bytes below XOFF at which a lossless priority group sends XON (`xon_offset` of SONiC). Default:
    /// none.
    pub xon_offset: Option<Size>,
    /// Dynamic threshold of a lossless priority group: n = log2(alpha), -8 to 8. It sends XOFF at alpha
    /// times the free part of `shared`. Not together with `xoff`. Default: none.
    pub dynamic_th: Option<i8>,
    /// Size in bytes of the shared pool that `dynamic_th` is a part of, without headroom and reserved
    /// space. Default: none.
    pub shared: Option<Size>,
    /// Size of a buffer cell.
    pub cell: Option<Size>,
    /// True for a device that never sends XON, so that its pauses end by themselves. Default: `false`.
    #[serde(default)]
    pub expiry_only: bool,
    /// Weight of each traffic class, by priority.
    pub weights: Option<BTreeMap<Range, u32>>,
    /// Priorities whose traffic class is strict: served before all weighted ones (802.1Q 8.6.8.1, SAI's
    /// `STRICT`). None of them has a weight.
    pub strict: Option<Vec<u8>>,
    /// Priority of each DSCP value (SONiC's `DSCP_TO_TC_MAP`): `{24-31: 3}`. Values without an entry are
    /// not tested.
    pub dscp_map: Option<BTreeMap<Range, u8>>,
    /// Priority of each PCP value (SONiC's `DOT1P_TO_TC_MAP`), in the VLAN of `vlan` or of the marking.
    /// Default with such a VLAN: the same number.
    pub pcp_map: Option<BTreeMap<Range, u8>>,
    /// True for a device of three switches in a ring, or one with cables from port to port that stands for
    /// them. The first three ports of this file are at its switches, and frames go around in the
    /// direction of these: from the first to the third by the second. Other tests than that of deadlocks
    /// are not about a ring. Default: `false`.
    #[serde(default)]
    pub ring: bool,
    /// VLAN in which the ports take tagged frames too, whose PCP is their priority; for a marking by
    /// DSCP. Default: none; parts of tests with tagged frames are skipped.
    pub vlan: Option<u16>,
    /// ECN curve of the lossless classes.
    pub ecn: Option<ExpectedEcn<Size, Ratio, Vec<u8>>>,
    /// PFC watchdog.
    pub watchdog: Option<ExpectedWatchdog<Span>>,
    /// DCBX of the ports. Default: none; tests of DCBX are skipped.
    pub dcbx: Option<ExpectedDcbx<Option<Span>>>,
    /// Source Flow Control (P802.1Qdw). Default: none; tests of it are skipped.
    pub sfc: Option<ExpectedSfc<Option<u16>, Size, Span, Ratio>>,
    /// Handling of PFC by the DUT at ports with `macsec`, by name of the tester's port. Default: none; tests
    /// of MACsec are skipped.
    #[serde(default)]
    pub macsec: BTreeMap<String, PfcMode>,
    /// Counting of received PFC frames with a time of zero. Default: unknown; the numbers are recorded.
    pub xon: Option<XonCount>,
}

/// Access to a device beside its ports: exactly one of these.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adapter {
    /// Control socket of a running switch of this program (`sluice switch --control`). Its counters are
    /// cleared before each trial that reads them.
    pub ctl: Option<PathBuf>,
    /// Commands, such as those of `ssh`.
    pub command: Option<Commands>,
}

/// Commands that read and change a device. Each is a list: a program, and its arguments. No shell is
/// started, and in each argument `{port}` is replaced by the `dut` of a port. `counters`, `numbers` or
/// `resets` must be there.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Commands {
    /// Prints counters as JSON, `{"rx_ok": 5, "drops": {"full": 2}, "priorities": {"3": {"pfc_rx": 7}}}`:
    /// those of one port with `{port}`, else of all ports by their names. The names are those of
    /// `numbers`; `paused_us` stands for `paused_ns` in microseconds. Absent and null ones are unknown.
    pub counters: Option<Vec<String>>,
    /// Commands by counter. Each prints a number for `{port}`, and one of a priority for each lossless
    /// `{priority}`; nothing, `-` or `N/A` is unknown.
    #[serde(default)]
    pub numbers: BTreeMap<Counter, Vec<String>>,
    /// Sets counters and maxima to zero before each trial that reads them. Default: none; a maximum that
    /// does not grow in a trial is unknown.
    pub clear: Option<Vec<String>>,
    /// Gives the setting `{name}` of `{port}` the value `{value}`: `watchdog.detection`, `500us`.
    /// Default: none.
    pub set: Option<Vec<String>>,
    /// Commands that reset the device, by kind: `hardware`, `software` (a restart of its operating system or of
    /// a process) and `power`. Each ends when the reset is begun. Default: none; `sluice benchmark` does not
    /// reset the device.
    #[serde(default)]
    pub resets: BTreeMap<ResetKind, Vec<String>>,
    /// Prints the version of the device, of which the first line is taken. Default: none.
    pub version: Option<Vec<String>>,
    /// Prints the memory or the buffers that the device uses, in bytes: `sluice benchmark soak` reads it after
    /// each trial, and a growth is a leak. Default: none.
    pub memory: Option<Vec<String>>,
    /// Time after which a command is killed. Default: `10s`.
    pub timeout: Option<Span>,
    /// Time after traffic until the counters are current. Default: `2s`.
    pub settle: Option<Span>,
}

/// A virtual device: exactly one of `profile`, `lab` and `file`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Virtual {
    /// Profile of a switch with a port for each port of the tester.
    pub profile: Option<Box<Profile>>,
    /// Lab whose hosts are the ports of the tester.
    pub lab: Option<Box<Lab>>,
    /// File with such a lab; a relative path starts at the folder of this file.
    pub file: Option<PathBuf>,
    /// Faults of the device, besides those of its lab. The switch of a profile is `s1`, its links are
    /// `h1-s1`, `h2-s1` ... Default: none.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// Ways in which its counters are wrong, to see that tests find them. Default: none.
    #[serde(default)]
    pub reports: Vec<Report>,
    /// Counters that it does not have. Default: none.
    #[serde(default)]
    pub unknown: Vec<Counter>,
    /// True if it does not count drops by their reasons. Default: `false`.
    #[serde(default)]
    pub no_drops: bool,
    /// Ways to reset it, with the time in which all of its switches receive and send nothing afterwards. Their
    /// buffers and tables are empty then; links stay up. Default: none; `sluice benchmark` does not reset it.
    #[serde(default)]
    pub resets: BTreeMap<ResetKind, Span>,
}
