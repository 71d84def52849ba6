//! Parameters of benchmarks, resolved, and their defaults, which depend on the device, virtual or real, and on its
//! rate.

use core::fmt;

use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes, Priority};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use text::{Align, Table};
use validate::file::Dut;
use validate::setup::{Setup, TesterPort, Times};
use validate::trial::Port;

use crate::mlrsearch::Goal;

/// Bytes of a frame on the line that are not part of it: preamble, start delimiter and gap.
const OVERHEAD: u64 = 20;

/// Frame sizes of RFC 2544, section 9.1, in bytes with FCS.
pub const SIZES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];

/// A device, the traffic through it, and the parameters of all procedures.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    pub setup: Setup,
    /// Flows from port to port. Their loads are the same share of their sender's line.
    pub flows: Vec<(Port, Port)>,
    pub priority: Priority,
    /// Frame sizes in bytes, FCS included.
    pub sizes: Vec<u32>,
    /// Largest load as a share of the line, above 0 and at most 1.
    pub max_load: f64,
    /// Duration of a trial.
    pub trial: Duration,
    /// Time after a trial in which frames still arrive.
    pub drain: Duration,
    /// Time between two trials, for devices behind real ports.
    pub rest: Duration,
    /// Relative width of the interval that a search for a throughput ends with.
    pub width: f64,
    pub latency: Repeated,
    /// Step between the loads of a loss curve, as a share of the line.
    pub loss_step: f64,
    /// Longest burst, and number of searches.
    pub back_to_back: Repeated,
    /// Time of overload, and number of trials.
    pub recovery: Repeated,
    pub reset: Resets,
    /// Passes of each frame through the device, at least 1: more in a snake, in which cables between ports of
    /// the device lead frames through it again.
    pub snake: u32,
    /// Frames that the senders of a mesh send one behind the other, each 1 to 930 (RFC 2889, 5.1.2); 1 is a
    /// constant load.
    pub bursts: Vec<u32>,
    /// First burst of a hunt, in bytes.
    pub burst_target: u64,
    pub learning: Learning,
    pub soak: Soak,
    pub search: MlrSearch,
    /// Goals of MLRsearch with their names.
    pub goals: Vec<(String, Goal)>,
    /// Limits of the tester itself, where it carries less than the line. Measured by
    /// [`calibrate`](crate::calibrate::calibrate).
    pub tester: Vec<TesterLimit>,
}

/// Load that the tester carries by itself, for a frame size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct TesterLimit {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    pub frames_per_second: f64,
}

// Sections of a file. Their values are of type `T` (times), `S` (shares of a whole) and `N` (numbers): options in a
// file, and there is one of each in a plan. The doc comments are the descriptions in the published schema.

/// Resets of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "Reset")]
pub struct Resets<T = Duration, N = u32> {
    /// Traffic before a reset, and after the device is back. Default: `15s`, the least of RFC 6201; for a
    /// virtual device as `trial`.
    pub steady: T,
    /// Longest time without forwarding. Default: `120s`; for a virtual device twice the longest of its
    /// `resets`.
    pub longest: T,
    /// Resets of each kind, 1 to 1000. Default: 3; for a virtual device 1.
    pub repeats: N,
}

/// Learning of addresses by a bridge.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Learning<T = Duration, N = u32> {
    /// Largest number of addresses that is tried, 1 to 1048576. Default: `16384`.
    pub addresses: N,
    /// Frames per second from new addresses while their number is searched, 1 to 1000000. Default:
    /// `1000`.
    pub rate: N,
    /// Time before each trial in which the device forgets all addresses: its ageing time. Default:
    /// `310s`, for the 300 s of 802.1Q Table 8-6. Virtual devices need none.
    pub ageing: T,
}

/// A soak.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Soak<T = Duration, S = f64> {
    /// Load as a share of the line. Default: `80%`.
    pub load: S,
    /// Default: `24h`; for a virtual device ten times `interval`.
    pub duration: T,
    /// Length of the trials that it consists of. Default: `60s`; for a virtual device `trial`.
    pub interval: T,
}

/// Parameters of MLRsearch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "Search")]
pub struct MlrSearch<T = Duration> {
    /// Trial at the largest load before the search, whose result does not count: the device learns flows
    /// and fills its caches. `0s` for none. Default: `1s`, as of FD.io CSIT; none for a virtual device.
    pub warmup: T,
    /// Largest sum of the trials' durations for a frame size, after which results are *irregular*. Default:
    /// `1200s`, as of FD.io CSIT.
    pub longest: T,
}

/// A duration, and a number of repetitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repeated<T = Duration, N = u32> {
    pub duration: T,
    /// 1 to 1000.
    pub repeats: N,
}

impl Plan {
    /// Returns the largest frame rate of a flow's sender for a frame size, in frames/s.
    #[must_use]
    pub fn line_rate(&self, flow: usize, size: u32) -> f64 {
        self.frames_per_second(self.setup.port(self.flows[flow].0).rate, size)
    }

    /// Returns the frame rate of a full line. If any port has MACsec, all loads are those of lines with it.
    #[must_use]
    pub fn frames_per_second(&self, rate: BitsPerSec, size: u32) -> f64 {
        rate.get() as f64 / (8 * self.on_line(size)) as f64
    }

    /// Returns the bytes of a frame on a line: with preamble and gap, and what MACsec adds if any port has it.
    pub(crate) fn on_line(&self, size: u32) -> u64 {
        u64::from(size + self.setup.overhead()) + OVERHEAD
    }

    /// Returns the largest load of the first flow, in frames/s: no more than the tester alone carries,
    /// because what is lost above that is not the device's loss.
    #[must_use]
    pub fn max_rate(&self, size: u32) -> f64 {
        // `calibrate` knows no limit for a tester that keeps the line, which then decides.
        (self.line_rate(0, size) * self.max_load).min(self.tester_rate(size))
    }

    /// Returns the same as a share of the line.
    #[must_use]
    pub fn max_share(&self, size: u32) -> f64 {
        self.max_load.min(self.tester_rate(size) / self.line_rate(0, size))
    }

    /// Returns the frames per second that the tester carries by itself; infinite without a limit.
    fn tester_rate(&self, size: u32) -> f64 {
        let own = self.tester.iter().find(|limit| limit.size == size);
        own.map_or(f64::INFINITY, |limit| limit.frames_per_second)
    }

    /// Returns the number of ports that have the common rate; they are the first ones.
    #[must_use]
    pub fn equal_ports(&self) -> usize {
        let rate = self.setup.rate;
        self.setup.ports.iter().take_while(|port| port.rate == rate).count()
    }

    /// Returns the time of a frame at the rate of the first flow's receiver, preamble included.
    #[must_use]
    pub fn frame_time(&self, size: u32) -> Duration {
        self.setup
            .port(self.flows[0].1)
            .rate
            .time_for(Bytes(u64::from(size + self.setup.overhead()) + 8))
    }
}

impl Plan {
    /// Returns all parameters by name, as text. Ports are numbered, because two devices have other names.
    #[must_use]
    pub fn parameters(&self) -> Vec<(String, String)> {
        let goal = |(name, goal): &(String, Goal)| {
            let value = format!(
                "loss {} %, exceed {} %, width {} %, {} of {}",
                goal.loss_ratio * 100.0,
                goal.exceed_ratio * 100.0,
                goal.width * 100.0,
                goal.final_duration,
                goal.duration_sum
            );
            (format!("goal {name}"), value)
        };
        let all = self.of_traffic().into_iter().chain(self.of_procedures()).chain(self.optional());
        let all = all.map(|(name, value)| (name.to_owned(), value));
        all.chain(self.goals.iter().map(goal)).collect()
    }

    /// Returns the parameters that all procedures share.
    fn of_traffic(&self) -> Vec<(&'static str, String)> {
        let number = |port: Port| port.0 + 1;
        let flows: Vec<_> = self
            .flows
            .iter()
            .map(|(from, to)| format!("{} to {}", number(*from), number(*to)))
            .collect();
        let rates: Vec<_> = self.setup.ports.iter().map(|port| port.rate.to_string()).collect();
        let sizes: Vec<_> = self.sizes.iter().map(ToString::to_string).collect();
        let priorities: Vec<_> = self.setup.lossless.iter().map(|p| p.to_string()).collect();
        vec![
            ("rates", rates.join(", ")),
            ("marking", self.setup.marking.to_string()),
            ("flow control", self.setup.flow_control.to_string()),
            ("lossless", priorities.join(", ")),
            ("flows", flows.join(", ")),
            ("priority", self.priority.to_string()),
            ("frame sizes", format!("{} bytes", sizes.join(", "))),
            ("largest load", format!("{} % of the line", self.max_load * 100.0)),
            ("trial", self.trial.to_string()),
            ("drain", self.drain.to_string()),
            ("width", format!("{} %", self.width * 100.0)),
        ]
    }

    /// Returns the parameters of single procedures, which all plans have.
    fn of_procedures(&self) -> Vec<(&'static str, String)> {
        let times = |it: Repeated| format!("{} x {}", it.repeats, it.duration);
        let Self { reset, learning, .. } = self;
        vec![
            ("latency", times(self.latency)),
            ("loss step", format!("{} %", self.loss_step * 100.0)),
            ("back-to-back", times(self.back_to_back)),
            ("recovery", times(self.recovery)),
            (
                "reset",
                format!("{} x up to {}, after {}", reset.repeats, reset.longest, reset.steady),
            ),
            ("burst target", format!("{} bytes", self.burst_target)),
            (
                "addresses",
                format!(
                    "up to {} at {}/s, forgotten in {}",
                    learning.addresses, learning.rate, learning.ageing
                ),
            ),
            (
                "soak",
                format!(
                    "{} at {} %, by {}",
                    self.soak.duration,
                    self.soak.load * 100.0,
                    self.soak.interval
                ),
            ),
        ]
    }

    /// Returns the others, most of which are named only where they differ from their defaults.
    fn optional(&self) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        let protected = |port: &&TesterPort| port.macsec.is_some();
        let protected = self.setup.ports.iter().filter(protected).count();
        if protected > 0 {
            all.push(("ports with MACsec", protected.to_string()));
        }
        if self.bursts != [1] {
            let bursts: Vec<_> = self.bursts.iter().map(ToString::to_string).collect();
            all.push(("bursts of a mesh", format!("{} frames", bursts.join(", "))));
        }
        let MlrSearch { warmup, longest } = self.search;
        if warmup > Duration::ZERO {
            all.push(("warm-up", warmup.to_string()));
        }
        all.push(("longest search", longest.to_string()));
        if self.snake > 1 {
            all.push(("snake", format!("{} passes", self.snake)));
        }
        all
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table =
            Table::new([("benchmark of", Align::Left), (&self.setup.name, Align::Left)]);
        let version = self.setup.version.as_deref().unwrap_or("unknown");
        let calibration = match &self.setup.calibration {
            Some(known) => format!("{}: {}, not subtracted", known.cabling, known.latency),
            None => "none".to_owned(),
        };
        let ports: Vec<&str> = self.setup.ports.iter().map(|port| port.name.as_str()).collect();
        for (name, value) in [
            ("version", version.to_owned()),
            ("calibration", calibration),
            ("ports", ports.join(", ")),
        ] {
            table.row([name.to_owned(), value]);
        }
        for (name, value) in self.parameters() {
            table.row([name, value]);
        }
        for TesterLimit { size, frames_per_second } in &self.tester {
            let share = frames_per_second / self.line_rate(0, *size) * 100.0;
            let value = format!(
                "{frames_per_second:.0} frames/s of {size} bytes, {share:.1} % of the line"
            );
            table.row(["tester alone".to_owned(), value]);
        }
        write!(f, "{table}")
    }
}

/// Bytes of a trial of a virtual device. The first trials of MLRsearch have a tenth of them.
const VIRTUAL: u64 = 20_000_000;

/// Trials at a load that decide about it, of CSIT's goals.
const SUM: u64 = 21;

/// Parts of a soak of a virtual device.
pub(crate) const PARTS: u64 = 10;

impl Plan {
    /// Returns the plan of a device with the defaults of all parameters but the duration of a trial, if that is
    /// known.
    pub(crate) fn with_defaults(dut: &Dut, trial: Option<Duration>) -> Self {
        let seconds = Duration::from_secs;
        let repeated = |duration, repeats| Repeated { duration, repeats };
        let setup = &dut.setup;
        let real = Self {
            flows: (0..setup.ports.len() / 2).map(|n| (Port(2 * n), Port(2 * n + 1))).collect(),
            // Pauses would hide loss, so the benchmarks of loss take a priority without PFC.
            priority: setup.lossy.iter().next().unwrap_or(Priority::ALL[0]),
            sizes: sizes(setup),
            max_load: 1.0,
            trial: trial.unwrap_or(seconds(60)),
            drain: Times::REAL_DRAIN,
            rest: seconds(5),
            width: 0.001,
            latency: repeated(seconds(120), 20),
            loss_step: 0.1,
            back_to_back: repeated(seconds(2), 50),
            recovery: repeated(seconds(60), 3),
            reset: Resets { steady: seconds(15), longest: seconds(120), repeats: 3 },
            snake: 1,
            bursts: vec![1],
            burst_target: 100_000,
            // The default ageing time of 802.1Q is 300 s; some more, so that the table is empty for certain.
            learning: Learning { addresses: 16_384, rate: 1_000, ageing: seconds(310) },
            soak: Soak { load: 0.8, duration: seconds(24 * 60 * 60), interval: seconds(60) },
            search: MlrSearch { warmup: seconds(1), longest: seconds(1_200) },
            goals: csit(first_trial(dut)),
            setup: setup.clone(),
            tester: Vec::new(),
        };
        if dut.lab.is_none() {
            return real;
        }
        // A virtual device is exact: it shows in one short trial what others show in many long ones.
        let trial = trial.unwrap_or_else(|| virtual_trial(dut));
        let once = repeated(trial, 1);
        let longest = dut.resets.values().max().copied().unwrap_or(trial);
        Self {
            trial,
            drain: setup.times.drain,
            rest: Duration::ZERO,
            latency: once,
            back_to_back: once,
            recovery: once,
            reset: Resets { steady: trial, longest: longest.saturating_mul(2), repeats: 1 },
            soak: Soak { duration: trial.saturating_mul(PARTS), interval: trial, ..real.soak },
            search: MlrSearch { warmup: Duration::ZERO, ..real.search },
            ..real
        }
    }
}

/// Returns the duration of a trial of a virtual device, whose slowest port decides.
fn virtual_trial(dut: &Dut) -> Duration {
    let rates = dut.setup.ports.iter().map(|port| port.rate);
    rates.min().unwrap_or(dut.setup.rate).time_for(Bytes(VIRTUAL))
}

/// Returns the duration of a goal's first trials.
pub(crate) fn first_trial(dut: &Dut) -> Duration {
    match dut.lab {
        Some(_) => virtual_trial(dut).div(10),
        None => Duration::from_secs(1),
    }
}

/// Returns the frame sizes of RFC 2544 that a device forwards. Shorter ones than the shortest are made as long as it.
fn sizes(setup: &Setup) -> Vec<u32> {
    let least = setup.shortest();
    SIZES.map(|size| size.max(least)).into_iter().filter(|size| *size <= setup.max_frame).collect()
}

/// Returns the goals of FD.io CSIT.
fn csit(first: Duration) -> Vec<(String, Goal)> {
    let without_loss = goal(first, first);
    let partial = Goal { loss_ratio: 0.005, ..without_loss };
    vec![("NDR".to_owned(), without_loss), ("PDR".to_owned(), partial)]
}

/// Returns a goal with these durations of the first trials, and of the full-length ones.
pub(crate) fn goal(initial_duration: Duration, final_duration: Duration) -> Goal {
    Goal {
        loss_ratio: 0.0,
        exceed_ratio: 0.5,
        width: 0.005,
        initial_duration,
        final_duration,
        duration_sum: final_duration.saturating_mul(SUM),
    }
}
