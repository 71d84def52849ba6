//! A device under test (DUT): its cabling, its configuration as far as it is known, and the limits
//! by which it is judged.

use core::fmt;
use core::net::Ipv4Addr;

pub use crate::expected::{
    Action, Expected, ExpectedDcbx, ExpectedEcn, ExpectedProxy, ExpectedSfc, ExpectedWatchdog,
    Precedence, XonCount,
};
use crate::trial::Port;
use ground::time::Duration;
use ground::units::{
    BitsPerSec, Bytes, Dscp, Mac, PRIORITIES, Pcp, Priority, PrioritySet, Quanta, Vid,
};
use schemars::JsonSchema;
use secure::SecyPlan;
use serde::{Deserialize, Serialize};
use text::{Column, Table, columns};
use wire::roce::U24;
use wire::vlan::TAG_LEN;

/// A validated set-up.
#[derive(Clone, PartialEq, Debug)]
pub struct Setup {
    /// Name of the DUT in results.
    pub name: String,
    /// Version of the DUT; `None` if the file does not say it.
    pub version: Option<String>,
    pub calibration: Option<Calibration>,
    pub ports: Vec<TesterPort>,
    /// Rate of the links of all ports but the last ones, whose own rate differs. A and B have it.
    pub rate: BitsPerSec,
    pub flow_control: FlowControl,
    /// The DUT is a network interface card (NIC), or several, and no switch.
    pub nic: Option<Nic>,
    /// Priorities with PFC.
    pub lossless: PrioritySet,
    /// Priorities without PFC that may lose frames.
    pub lossy: PrioritySet,
    pub marking: Marking,
    /// Longest frame in bytes, FCS included.
    pub max_frame: u32,
    /// Delay of the cables to the DUT and back.
    pub cable: Duration,
    /// Share of the line that the traffic around a stimulus has, above 0 and at most 1.
    pub load: f64,
    pub expected: Expected,
    pub limits: Tolerances,
    pub times: Times,
    /// Seed of everything random.
    pub seed: u64,
    /// Extent of what is kept of trials as evidence.
    pub keep: Keep,
}

/// Calibration of latencies (RFC 8239, section 1.3): what the tester measures without the device.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibration<T = Duration> {
    /// Cables, optics and their lengths, as they are between tester and device: `2 x 3 m DAC`.
    pub cabling: String,
    /// Latency of a port to another without the device, by the same cabling. It is not subtracted from latencies.
    pub latency: T,
}

/// Flow control of ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FlowControl {
    // PFC of the lossless priorities.
    #[default]
    Pfc,
    // 802.3x PAUSE of all priorities at once.
    Pause,
}

impl fmt::Display for FlowControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pfc => "pfc",
            Self::Pause => "pause",
        })
    }
}

/// A network interface card (NIC) under test at each port of the tester.
#[derive(Clone, PartialEq, Debug)]
pub struct Nic {
    /// Priorities of the traffic that each sends to the tester, from before a test to its end.
    pub sends: PrioritySet,
    /// Longest time to wait for this traffic before a test.
    pub wait: Duration,
    /// Queue pairs of `RoCEv2` of each NIC, in the order of the ports.
    pub queue_pairs: Vec<Vec<QueuePair>>,
    /// Largest share of the time that it may pause a priority while its host reads.
    pub paused: Option<f64>,
}

/// Numbers of a NIC's queue pair, from which it sends and to which it receives. On an adapter they are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueuePair {
    pub sends: U24,
    pub receives: U24,
}

/// A port of the tester.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TesterPort {
    /// Name in results.
    pub name: String,
    /// Location as of the traffic generator (`iface:eth1`), or a host of the virtual DUT's lab.
    pub location: String,
    /// Name of the DUT's port at the other end of the cable.
    pub dut: String,
    /// Address of that port; `None` if it is not known.
    pub dut_mac: Option<Mac>,
    /// Rate of its link.
    pub rate: BitsPerSec,
    /// Address of its frames.
    pub mac: Mac,
    /// Address of its packets.
    pub ip: Ipv4Addr,
    /// MACsec of its link.
    pub macsec: Option<Box<PortMacsec>>,
}

/// MACsec of a tester port and the DUT's port at it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortMacsec {
    /// The tester's end: the key that it sends with, and those of the DUT's channel.
    pub plan: SecyPlan,
    /// Mode of the DUT for PFC; `None` if it is not known.
    pub mode: Option<PfcMode>,
}

/// Handling of PFC at a port with MACsec (SONiC's `pfc_encryption_mode`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PfcMode {
    /// PFC is sent plain, and obeyed plain and protected.
    Bypass,
    /// PFC is sent protected, and obeyed plain and protected.
    Encrypt,
    /// PFC is sent protected, and obeyed protected only.
    Strict,
}

impl fmt::Display for PfcMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bypass => "bypass",
            Self::Encrypt => "encrypt",
            Self::Strict => "strict",
        })
    }
}

impl TesterPort {
    /// Returns the bytes that MACsec adds to data frames of the port.
    pub fn overhead(&self) -> u32 {
        self.macsec.as_ref().map_or(0, |macsec| macsec.plan.line_overhead())
    }
}

impl PortMacsec {
    /// Returns the packet number of the port's first frame.
    pub fn first_pn(&self) -> u64 {
        // The association that it sends with; the others are for later.
        self.plan.transmit[self.plan.encoding.index()].as_ref().map_or(1, |sa| sa.pn)
    }

    /// Returns the SecY of the tester's port. PFC that a test makes itself leaves as it is; all other is
    /// protected as the DUT's is.
    pub fn secy(&self, is_made: bool) -> SecyPlan {
        SecyPlan {
            protect_pfc: !is_made && self.mode != Some(PfcMode::Bypass),
            pass_protected: true,
            ..self.plan.clone()
        }
    }
}

/// The field of a frame that carries its priority.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Marking {
    /// DSCP of untagged IP packets, by priority.
    Dscp([Dscp; PRIORITIES]),
    /// PCP of a VLAN tag, by priority.
    Pcp([Pcp; PRIORITIES], Vid),
}

/// `DSCP 0, 8, 16`, by priority, or `PCP 0, 1, 2 in VLAN 1`.
impl fmt::Display for Marking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |all: &[String]| all.join(", ");
        match self {
            Self::Dscp(map) => write!(f, "DSCP {}", list(&map.map(|dscp| dscp.to_string()))),
            Self::Pcp(map, vid) => {
                write!(f, "PCP {} in VLAN {vid}", list(&map.map(|pcp| pcp.to_string())))
            }
        }
    }
}

/// Limits of values.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tolerances<S = f64, Q = Quanta, T = Duration> {
    /// Largest deviation of a rate. Default: `2%`.
    pub rate: S,
    /// Largest deviation of a share, of the line. Default: `1%`.
    pub share: S,
    /// Largest deviation of a pause's length. Default: `5%`.
    pub pause: S,
    /// Quanta within which a port must have stopped after the last bit of a pause. Default: those of
    /// 802.3 31B.3.7 at the rate; for 800G and 1.6T the time of 400G, which is assumed.
    pub reaction: Q,
    /// Time within which a port must send again after XON. Default: `1ms`.
    pub resume: T,
}

impl Tolerances {
    /// Defaults of the deviations of rates, shares and lengths of pauses.
    pub(crate) const RATE: f64 = 0.02;
    pub(crate) const SHARE: f64 = 0.01;
    pub(crate) const PAUSE: f64 = 0.05;
}

/// Times of the parts of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Times<T = Duration> {
    /// Traffic before the stimulus. Default: a quarter of `hold`, `1s` at most; for a virtual device a quarter
    /// of the longest pause.
    pub baseline: T,
    /// Length of the stimulus. Default: the time of 250,000 frames of 1024 bytes at the rate, for which captures
    /// have room (209 ms at 10 Gb/s), `10s` at most; for a virtual device two of the longest pauses, or the
    /// time in which two ports at line rate fill its buffer twice if that is longer.
    pub hold: T,
    /// Time after the stimulus. Default: half of `hold`, `1s` at most; for a virtual device half of the longest
    /// pause.
    pub settle: T,
    /// Time for the frames that the DUT holds. Default: `2s`; for a virtual device two of the longest
    /// pauses, or the time in which a port sends its buffer twice if that is longer.
    pub drain: T,
}

/// Frames of a stimulus at line rate that a capture keeps beside those before and after it: 64 MiB have room
/// for 500,000 of the first bytes of frames. A choice.
const CAPTURED: u64 = 250_000;

/// Bytes on the line of the frames that most tests send: 1024 bytes with preamble and gap.
const FRAME_ON_LINE: u64 = 1_044;

/// Returns the time of a stimulus at line rate for whose frames each capture has room.
fn captured(rate: BitsPerSec) -> Duration {
    rate.time_for(Bytes(CAPTURED * FRAME_ON_LINE))
}

impl Times {
    /// Time for the frames that a device behind real ports holds.
    pub const REAL_DRAIN: Duration = Duration::from_secs(2);

    /// Times of a device behind real ports: as long as a capture of each port has room for all frames at the
    /// rate, but no longer than 10 s.
    pub fn of_real(rate: BitsPerSec) -> Self {
        let room = captured(rate);
        let most = Duration::from_secs(10);
        // Whatever the rate, a pause of the longest time begins, is renewed and ends.
        let hold = room.min(most).max(Quanta::MAX.at(rate).saturating_mul(4));
        let short = Duration::from_secs(1);
        let (baseline, settle) = (hold.div(4).min(short), hold.div(2).min(short));
        Self { baseline, hold, settle, drain: Self::REAL_DRAIN }
    }

    /// Times of a virtual device: exact, so a few thousand frames show what seconds show elsewhere.
    /// In units of the longest pause at the rate.
    pub const fn of_virtual(rate: BitsPerSec) -> Self {
        let window = Quanta::MAX.at(rate);
        Self {
            baseline: window.div(4),
            hold: window.saturating_mul(2),
            settle: window.div(2),
            drain: window.saturating_mul(2),
        }
    }
}

/// Pauses of a storm that fit into the times of the DUT's watchdog. A choice.
pub(crate) const STORM_PAUSES: u64 = 4;

/// Extent of what is kept of trials, beside the judged values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Keep {
    #[default]
    Nothing,
    /// Rates and pauses over time.
    Traces,
    /// Frames, too.
    Frames,
}

impl Setup {
    /// Returns a port.
    ///
    /// # Panics
    /// If there is none of that number.
    pub fn port(&self, port: Port) -> &TesterPort {
        &self.ports[port.0]
    }

    /// Returns how many periods of a stimulus at line rate fit into a trial, at least 1: a capture has room for
    /// their frames.
    pub fn periods(&self, period: Duration) -> u64 {
        (captured(self.rate).as_picos() / period.as_picos().max(1)).max(1)
    }

    /// Returns the number of ports of the common rate, which are the first ones.
    pub fn alike(&self) -> usize {
        self.ports.iter().take_while(|port| port.rate == self.rate).count()
    }

    /// Returns the lowest rate of a port.
    pub fn slowest(&self) -> BitsPerSec {
        self.ports.iter().map(|port| port.rate).min().unwrap_or(self.rate)
    }

    /// Returns the length in bytes of the shortest frames of a flow: headers and sequence number take 64
    /// bytes, and the tag besides.
    pub const fn shortest(&self) -> u32 {
        match &self.marking {
            Marking::Dscp(_) => 64,
            Marking::Pcp(..) => 64 + TAG_LEN as u32,
        }
    }

    /// Returns the first lossless priority.
    pub fn lossless(&self) -> Option<Priority> {
        self.lossless.iter().next()
    }

    /// Returns the time of a frame on a line of the common rate: preamble and gap included, and what MACsec
    /// adds if any port has it.
    pub fn line_time(&self, size: u32) -> Duration {
        line_time(self.rate, size + self.overhead())
    }

    /// Returns the bytes that MACsec adds to data frames. Loads are those of lines with MACsec if any port
    /// has it, so that no port gets more than its line takes.
    pub fn overhead(&self) -> u32 {
        self.ports.iter().map(TesterPort::overhead).max().unwrap_or(0)
    }

    /// Returns the time after the last bit of a pause at the tester from which no frame may begin
    /// at the tester: the limit, and the way there and back.
    pub fn stop_limit(&self) -> Duration {
        self.limits.reaction.at(self.rate) + self.cable
    }

    /// Returns the longest storm that the DUT's watchdog does not take for one.
    pub fn storm_max(&self) -> Duration {
        let detection = self.expected.watchdog.map_or(Duration::MAX, |dog| dog.detection);
        // A choice: a fifth of reserve before the watchdog acts.
        detection.div(5).saturating_mul(4)
    }

    /// Returns the shortest pause of which a storm can be made. A renewal is due after half of the pause and may wait
    /// for a frame of 1024 bytes; a tenth of the pause is left then.
    pub fn storm_pause_min(&self) -> Duration {
        self.line_time(1024).saturating_mul(5).div(2)
    }

    /// Returns the longest pause of a storm that shall be of an exact length: the longest there is, or a
    /// quarter of the watchdog's times.
    pub fn storm_pause(&self) -> Duration {
        let times = self.expected.watchdog;
        let times = times.map(|dog| dog.detection.min(dog.restoration).div(STORM_PAUSES));
        Quanta::MAX.at(self.rate).min(times.unwrap_or(Duration::MAX))
    }

    /// Returns the longest time of a single pause that the DUT's watchdog does not take for a storm.
    pub fn pause_max(&self) -> Quanta {
        let fits = self.storm_max().as_picos() / Quanta(1).at(self.rate).as_picos().max(1);
        // At least a quantum: a time of zero would resume.
        Quanta(u16::try_from(fits).unwrap_or(u16::MAX).max(1))
    }

    /// Returns the bits per second of a share of a line of the common rate, without preamble and gap.
    pub fn share(&self, share: f64, size: u32) -> f64 {
        self.share_of(self.rate, share, size)
    }

    /// Returns the bits per second of a share of a line of this rate, without preamble and gap.
    pub fn share_of(&self, rate: BitsPerSec, share: f64, size: u32) -> f64 {
        // What MACsec adds is on the line as well, but not part of the frame that is counted.
        let line = f64::from(size + LINE_OVERHEAD + self.overhead());
        share * rate.get() as f64 * f64::from(size) / line
    }

    /// Returns the share of a port's own line that has as many frames of this size as `share` of the lines
    /// here.
    pub fn own_share(&self, port: Port, share: f64, size: u32) -> f64 {
        let plain = size + LINE_OVERHEAD;
        let own = plain + self.port(port).overhead();
        share * f64::from(own) / f64::from(plain + self.overhead())
    }
}

/// Bytes of preamble and gap.
pub(crate) const LINE_OVERHEAD: u32 = 20;

/// Returns the time of a frame on a line of this rate: preamble and gap included.
pub const fn line_time(rate: BitsPerSec, size: u32) -> Duration {
    rate.time_for(Bytes((size + LINE_OVERHEAD) as u64))
}

/// Lists the cabling and the priorities.
impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |set: PrioritySet| {
            let names: Vec<_> = set.iter().map(|p| p.to_string()).collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        writeln!(f, "device {} at {}", self.name, self.rate)?;
        let flow_control = match self.flow_control {
            FlowControl::Pfc => "",
            FlowControl::Pause => "; flow control by PAUSE",
        };
        let (lossless, lossy) = (names(self.lossless), names(self.lossy));
        writeln!(f, "lossless {lossless}; lossy {lossy}{flow_control}")?;
        let columns: [Column<TesterPort>; 5] = columns! { port =>
            Text ["port"] = &*port.name;
            Text ["location"] = &*port.location;
            Text ["device's port"] = &*port.dut;
            Made ["rate"] = port.rate.to_string();
            Made ["mac"] = port.mac.to_string();
        };
        write!(f, "{}", Table::of(&self.ports, &columns))
    }
}

/// Returns the time in quanta within which a port of this rate must have stopped after the last bit
/// of a pause (802.3 31B.3.7). Rates between those of the standard have the limit of the next
/// lower one.
pub const fn reaction_limit(rate: BitsPerSec) -> Quanta {
    let quanta = match rate.get() {
        0..10_000_000_000 => 2,
        // SONiC's figure; sums of 802.3's delays give 60, and 74 with 10GBASE-T.
        10_000_000_000..25_000_000_000 => 67,
        25_000_000_000..40_000_000_000 => 80,
        40_000_000_000..50_000_000_000 => 118,
        50_000_000_000..100_000_000_000 => 147,
        100_000_000_000..200_000_000_000 => 394,
        200_000_000_000..400_000_000_000 => 453,
        400_000_000_000..800_000_000_000 => 905,
        // Assumed: the time of 400 Gb/s, as for the delays of PHYs (`headroom`): the tables of 802.3df and
        // 802.3dj were not available.
        800_000_000_000..1_600_000_000_000 => 2 * 905,
        1_600_000_000_000.. => 4 * 905,
    };
    Quanta(quanta)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trial with more pauses would not fit: at 1 Gb/s each takes twice 33.6 ms.
    #[test]
    fn frames_of_a_stimulus_fit_into_a_capture() {
        let text = "rate: 1G\nports: [{}, {}]\nvirtual: {profile: {buffer: {total: 2MiB}}}\n";
        let (dut, _) = crate::file::parse("dut.yaml", text).unwrap();
        let period = Quanta::MAX.at(dut.setup.rate).saturating_mul(2);
        assert_eq!(dut.setup.periods(period), 31);
        assert_eq!(dut.setup.periods(Duration::from_secs(100)), 1);
        let frames = 31 * period.as_picos() / dut.setup.line_time(1024).as_picos();
        assert!((200_000..=CAPTURED).contains(&frames), "{frames}");
    }

    /// Limits in nanoseconds from the table of 802.3 31B.3.7 in its own unit.
    #[test]
    fn a_limit_in_time_is_that_of_the_standard() {
        for (gbps, ns) in [(1, 1024), (10, 3430), (25, 1638), (40, 1510), (50, 1505), (100, 2017)] {
            let rate = BitsPerSec::gbps(gbps);
            assert_eq!(reaction_limit(rate).at(rate).as_nanos(), ns, "{gbps}G");
        }
        for (gbps, ns) in [(200, 1159), (400, 1158), (800, 1158), (1_600, 1158)] {
            let rate = BitsPerSec::gbps(gbps);
            assert_eq!(reaction_limit(rate).at(rate).as_nanos(), ns, "{gbps}G");
        }
    }
}
