//! Benchmark files: from YAML to a plan. All errors of a file are reported at once, each with its
//! place and a remedy.
//!
//! [`BenchmarkFile`] is what a file says, field by field; the doc comment of each field is its description in the
//! published JSON Schema.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use config::quantity::{Ratio, Size, Span};
use config::{
    ConfigError, Cx, Finding, Mark, Place, Warning, de, read_text, schema_of, tree, unknown_name,
};
use ground::time::Duration;
use ground::units::Priority;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use validate::file as dut;
use validate::file::Dut;
use validate::setup::Setup;
use validate::trial::Port;

use crate::mlrsearch::Goal;
use crate::plan::{Learning, MlrSearch, PARTS, Plan, Repeated, Resets, Soak, first_trial, goal};

/// Error text for an empty file.
const EMPTY: &str = "the file is empty; the least is `dut`, the name of a DUT file";

/// Reads a benchmark file, or a DUT file, with which all parameters have their defaults.
///
/// # Errors
/// All errors of the file, or that it, or the DUT file that it names, could not be read.
pub fn load(path: &Path) -> Result<(Plan, Dut, Vec<Warning>), ConfigError> {
    let (name, text) = read_text(path, "benchmark file")?;
    if dut::is_dut(&text) {
        let (dut, warnings) = dut::parse(&name, &text)?;
        let plan = of_dut(&dut).map_err(|finding| ConfigError::one(&name, finding))?;
        return Ok((plan, dut, warnings));
    }
    let root = tree::read(&text, EMPTY).map_err(|finding| ConfigError::one(&name, finding))?;
    let all = |findings| ConfigError { file: name.clone(), findings };
    let raw: BenchmarkFile = de::from_tree_all(&root).map_err(all)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let (dut, mut warnings) = dut::load(&folder.join(&raw.dut))?;
    let (plan, more) = resolve(&raw, &Place::root(&root), &name, &dut).map_err(all)?;
    warnings.extend(more);
    Ok((plan, dut, warnings))
}

/// True if a text is a benchmark file.
#[must_use]
pub fn is_benchmark(text: &str) -> bool {
    tree::read(text, EMPTY).is_ok_and(|root| root.get("dut").is_some())
}

/// Returns the JSON Schema of benchmark files.
#[must_use]
pub fn schema() -> serde_json::Value {
    schema_of::<BenchmarkFile>("Sluice benchmark file")
}

/// Values of sections in a file, absent for their defaults.
type Time = Option<Span>;
type Share = Option<Ratio>;
type Count = Option<u32>;

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

/// Most repetitions.
const REPEATS_MAX: u32 = 1000;

/// Largest first burst of a hunt in bytes.
const BURST_TARGET_MAX: u64 = 1 << 40;

/// Largest number of addresses that is tried, and of frames per second from new ones.
const ADDRESSES_MAX: u32 = 1 << 20;
const LEARNING_RATE_MAX: u32 = 1_000_000;

/// Largest burst of a mesh in frames (RFC 2889, 5.1.2).
const BURST_MAX: u32 = 930;

/// Most passes of a snake.
const SNAKE_MAX: u32 = 1024;

/// Errors that defaults of a device may have, too.
const NO_FLOW: &str = "there is no flow; a benchmark needs two ports, and a flow between them";
const NIC: &str =
    "the device is a NIC, which forwards no frames: benchmarks do not apply; use `sluice validate`";
const NO_TIME: &str = "it is 0; give a time above it";

/// Returns the plan of a DUT file alone.
fn of_dut(dut: &Dut) -> Result<Plan, Finding> {
    let plan = Plan::with_defaults(dut, None);
    let errors = [
        (plan.setup.nic.is_some(), "nic", NIC),
        (plan.flows.is_empty(), "flows", NO_FLOW),
        (plan.drain == Duration::ZERO, "drain", NO_TIME),
        (plan.reset.longest == Duration::ZERO, "reset.longest", NO_TIME),
    ];
    // The errors are of fields that the file does not have, so they stand at its beginning.
    let start = Mark { line: 1, column: 1 };
    match errors.into_iter().find(|(is_wrong, ..)| *is_wrong) {
        Some((_, field, what)) => Err(Finding::new(Some(start), field, what)),
        None => Ok(plan),
    }
}

fn resolve(
    raw: &BenchmarkFile,
    place: &Place<'_>,
    file: &str,
    dut: &Dut,
) -> Result<(Plan, Vec<Warning>), Vec<Finding>> {
    let mut cx = Cx::of_file(file);
    // The duration of a trial is the default of other times of a virtual device. One of 0 is reported below.
    let given = raw.trial.map(|span| span.0).filter(|trial| *trial > Duration::ZERO);
    let own = Plan::with_defaults(dut, given);
    let setup = &own.setup;
    let here = place.key("flows");
    let mut flows = match &raw.flows {
        Some(given) => flows(&mut cx, &here, given, setup),
        None => own.flows,
    };
    if setup.nic.is_some() {
        cx.error(&place.key("dut"), NIC);
    }
    // Also without `flows` in the file: a device with one port has no default.
    if flows.is_empty() {
        cx.error(&here, NO_FLOW);
    }
    if raw.both_ways {
        let back: Vec<_> = flows.iter().map(|(from, to)| (*to, *from)).collect();
        flows.extend(back);
    }
    let plan = Plan {
        trial: span(&mut cx, &place.key("trial"), raw.trial, own.trial),
        flows,
        priority: priority(&mut cx, &place.key("priority"), raw.priority, own.priority),
        sizes: match &raw.sizes {
            Some(given) => sizes(&mut cx, &place.key("sizes"), given, setup),
            None => own.sizes,
        },
        max_load: share(&mut cx, &place.key("max_load"), raw.max_load, own.max_load),
        drain: span(&mut cx, &place.key("drain"), raw.drain, own.drain),
        rest: time(raw.rest, own.rest),
        width: below_one(&mut cx, &place.key("width"), raw.width, own.width),
        latency: repeated(&mut cx, &place.key("latency"), raw.latency, own.latency),
        loss_step: step(&mut cx, &place.key("loss_step"), raw.loss_step, own.loss_step),
        back_to_back: repeated(
            &mut cx,
            &place.key("back_to_back"),
            raw.back_to_back,
            own.back_to_back,
        ),
        recovery: repeated(&mut cx, &place.key("recovery"), raw.recovery, own.recovery),
        reset: reset(&mut cx, &place.key("reset"), raw.reset, own.reset),
        snake: snake(&mut cx, &place.key("snake"), raw.snake.unwrap_or(own.snake), setup),
        bursts: bursts(&mut cx, &place.key("bursts"), raw.bursts.clone().unwrap_or(own.bursts)),
        burst_target: cx.ranged(
            &place.key("burst_target"),
            raw.burst_target.map_or(own.burst_target, |size| size.0),
            (1, BURST_TARGET_MAX),
            own.burst_target,
        ),
        learning: learning(&mut cx, &place.key("learning"), raw.learning, own.learning),
        soak: soak(&mut cx, &place.key("soak"), raw.soak, own.soak, dut.lab.is_some()),
        search: search(&mut cx, &place.key("search"), raw.search, own.search),
        goals: match &raw.goals {
            Some(given) => goals(&mut cx, &place.key("goals"), given, first_trial(dut)),
            None => own.goals,
        },
        // Measured before the first trial, on the ports themselves.
        tester: own.tester,
        setup: own.setup,
    };
    cx.finish().map(|warnings| (plan, warnings))
}

fn flows(cx: &mut Cx, place: &Place<'_>, given: &[Flow], setup: &Setup) -> Vec<(Port, Port)> {
    let mut flows = Vec::new();
    for (n, flow) in given.iter().enumerate() {
        let here = place.index(n);
        let from = port(cx, &here.key("from"), &flow.from, setup);
        let to = port(cx, &here.key("to"), &flow.to, setup);
        if let (Some(from), Some(to)) = (from, to) {
            // A port cannot be the receiver of its own flow: that would be one of a NIC under test.
            if from == to {
                cx.error(&here, "it leads back to its sender; name two ports");
            }
            flows.push((from, to));
        }
    }
    flows
}

fn port(cx: &mut Cx, place: &Place<'_>, name: &str, setup: &Setup) -> Option<Port> {
    let found = setup.ports.iter().position(|port| port.name == name);
    if found.is_none() {
        let known: Vec<&str> = setup.ports.iter().map(|port| port.name.as_str()).collect();
        cx.error(place, unknown_name("port", name, &known));
    }
    found.map(Port)
}

fn priority(cx: &mut Cx, place: &Place<'_>, given: Option<u8>, own: Priority) -> Priority {
    let Some(given) = given else { return own };
    Priority::new(given).unwrap_or_else(|| {
        cx.error(place, format!("{given} is no priority; choose 0 to 7"));
        own
    })
}

/// Returns the number of passes through the device: more than one only between two ports.
fn snake(cx: &mut Cx, place: &Place<'_>, passes: u32, setup: &Setup) -> u32 {
    let passes = cx.ranged(place, passes, (1, SNAKE_MAX), 1);
    let ports = setup.ports.len();
    if passes > 1 && ports != 2 {
        cx.error(place, format!("a snake has two tester ports, the DUT file has {ports}"));
        return 1;
    }
    passes
}

/// Returns the burst sizes of meshes.
fn bursts(cx: &mut Cx, place: &Place<'_>, given: Vec<u32>) -> Vec<u32> {
    if given.is_empty() {
        cx.error(place, "there is none; name one, or leave the field out");
    }
    let each = given.into_iter().enumerate();
    each.map(|(n, size)| cx.ranged(&place.index(n), size, (1, BURST_MAX), 1)).collect()
}

fn sizes(cx: &mut Cx, place: &Place<'_>, given: &[u32], setup: &Setup) -> Vec<u32> {
    let allowed = setup.shortest()..=setup.max_frame;
    if given.is_empty() {
        cx.error(place, "there is none; name one, or leave the field out");
    }
    for (n, size) in given.iter().enumerate() {
        if !allowed.contains(size) {
            let (least, most) = (allowed.start(), allowed.end());
            let what = format!("{size} is out of range; choose {least} to {most} (`max_frame`)");
            cx.error(&place.index(n), what);
        }
    }
    given.to_vec()
}

/// Returns a share above 0 and at most 1.
fn share(cx: &mut Cx, place: &Place<'_>, given: Share, default: f64) -> f64 {
    let share = ratio(given, default);
    if !(share > 0.0 && share <= 1.0) {
        cx.error(place, "give a share above 0% and up to 100%");
        return default;
    }
    share
}

/// Returns a share above 0 and below 1.
fn below_one(cx: &mut Cx, place: &Place<'_>, given: Share, default: f64) -> f64 {
    let share = ratio(given, default);
    if !(share > 0.0 && share < 1.0) {
        cx.error(place, "give a share above 0% and below 100%");
        return default;
    }
    share
}

/// Returns the step of the loss curve, at most 10 % (RFC 2544, section 26.3).
fn step(cx: &mut Cx, place: &Place<'_>, given: Share, default: f64) -> f64 {
    let step = ratio(given, default);
    if !(step > 0.0 && step <= 0.1) {
        cx.error(place, "give a step above 0% and up to 10% (RFC 2544, 26.3)");
        return default;
    }
    step
}

fn ratio(given: Share, default: f64) -> f64 {
    given.map_or(default, |Ratio(ppm)| f64::from(ppm) / 1e6)
}

fn time(given: Time, default: Duration) -> Duration {
    given.map_or(default, |Span(time)| time)
}

/// Returns a time above 0.
fn span(cx: &mut Cx, place: &Place<'_>, given: Time, default: Duration) -> Duration {
    let span = time(given, default);
    if span == Duration::ZERO {
        cx.error(place, NO_TIME);
        return default;
    }
    span
}

/// Returns a number of repetitions.
fn repeats(cx: &mut Cx, place: &Place<'_>, given: Count, default: u32) -> u32 {
    cx.ranged(&place.key("repeats"), given.unwrap_or(default), (1, REPEATS_MAX), default)
}

fn repeated(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: Option<Repeated<Time, Count>>,
    own: Repeated,
) -> Repeated {
    let raw = raw.unwrap_or_default();
    Repeated {
        duration: span(cx, &place.key("duration"), raw.duration, own.duration),
        repeats: repeats(cx, place, raw.repeats, own.repeats),
    }
}

fn reset(cx: &mut Cx, place: &Place<'_>, raw: Resets<Time, Count>, own: Resets) -> Resets {
    Resets {
        steady: span(cx, &place.key("steady"), raw.steady, own.steady),
        longest: span(cx, &place.key("longest"), raw.longest, own.longest),
        repeats: repeats(cx, place, raw.repeats, own.repeats),
    }
}

fn learning(cx: &mut Cx, place: &Place<'_>, raw: Learning<Time, Count>, own: Learning) -> Learning {
    let mut ranged = |name: &str, given: Count, own: u32, most: u32| {
        cx.ranged(&place.key(name), given.unwrap_or(own), (1, most), own)
    };
    Learning {
        addresses: ranged("addresses", raw.addresses, own.addresses, ADDRESSES_MAX),
        rate: ranged("rate", raw.rate, own.rate, LEARNING_RATE_MAX),
        ageing: time(raw.ageing, own.ageing),
    }
}

fn search(cx: &mut Cx, place: &Place<'_>, raw: MlrSearch<Time>, own: MlrSearch) -> MlrSearch {
    MlrSearch {
        warmup: time(raw.warmup, own.warmup),
        longest: span(cx, &place.key("longest"), raw.longest, own.longest),
    }
}

/// Returns the soak, which has a fixed number of parts by default if the device is virtual.
fn soak(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: Soak<Time, Share>,
    own: Soak,
    is_virtual: bool,
) -> Soak {
    // The interval comes first, because the default duration of a virtual device is a number of them.
    let interval = span(cx, &place.key("interval"), raw.interval, own.interval);
    let default = if is_virtual { interval.saturating_mul(PARTS) } else { own.duration };
    let duration = span(cx, &place.key("duration"), raw.duration, default);
    if duration < interval {
        cx.error(
            &place.key("duration"),
            format!("it is shorter than its `interval` of {interval}"),
        );
    }
    Soak { load: share(cx, &place.key("load"), raw.load, own.load), duration, interval }
}

/// Returns the goals of a file; their first trials last for `first` by default.
fn goals(
    cx: &mut Cx,
    place: &Place<'_>,
    given: &BTreeMap<String, Goal<Time, Share>>,
    first: Duration,
) -> Vec<(String, Goal)> {
    if given.is_empty() {
        cx.error(place, "there is none; name one, or leave the field out");
    }
    let mut goals = Vec::new();
    for (name, raw) in given {
        let initial_duration = time(raw.initial_duration, first);
        // Each default follows from the value before: without any, all trials have the same duration.
        let final_duration = time(raw.final_duration, initial_duration);
        let own = goal(initial_duration, final_duration);
        let goal = Goal {
            loss_ratio: ratio(raw.loss_ratio, own.loss_ratio),
            exceed_ratio: ratio(raw.exceed_ratio, own.exceed_ratio),
            width: ratio(raw.width, own.width),
            duration_sum: time(raw.duration_sum, own.duration_sum),
            ..own
        };
        if let Err(bad) = goal.check() {
            cx.error(&place.key(name), bad.to_string());
        }
        goals.push((name.clone(), goal));
    }
    goals
}
