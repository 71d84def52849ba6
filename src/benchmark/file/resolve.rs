//! Validation of a benchmark file.

use config::quantity::{Ratio, Span};
use config::{Cx, Finding, Place, Warning, unknown_name};
use ground::time::Duration;
use ground::units::{Bytes, Priority};
use validate::file::Dut;
use validate::setup::{Setup, Times};
use validate::trial::Port;

use super::raw::{self, BenchmarkFile};
use crate::mlrsearch::Goal;
use crate::plan::{Learning, MlrSearch, Plan, Repeated, Resets, SIZES, Soak};

/// Bytes of a trial of a virtual device, of which the first trials of MLRsearch have a tenth.
const VIRTUAL: u64 = 20_000_000;

/// Most repetitions.
const REPEATS_MAX: u32 = 1000;

/// Trials at a load that decide about it, of CSIT's goals.
const SUM: u64 = 21;

/// Default of the first burst of a hunt in bytes, and its maximum.
const BURST_TARGET: u64 = 100_000;
const BURST_TARGET_MAX: u64 = 1 << 40;

/// Default of the largest number of addresses that is tried, and its maximum.
const ADDRESSES: u32 = 16_384;
const ADDRESSES_MAX: u32 = 1 << 20;

/// Default of the frames per second from new addresses, and its maximum.
const LEARNING_RATE: u32 = 1_000;
const LEARNING_RATE_MAX: u32 = 1_000_000;

/// Default of the time in which a device forgets addresses: 802.1Q's 300 s, and some more.
const AGEING: Duration = Duration::from_secs(310);

/// Largest burst of a mesh in frames (RFC 2889, 5.1.2).
const BURST_MAX: u32 = 930;

/// Defaults of MLRsearch's warm-up trial and longest search, as of CSIT.
const WARMUP: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(1_200);

/// Most passes of a snake.
const SNAKE_MAX: u32 = 1024;

/// Durations whose defaults differ between devices.
struct Defaults {
    trial: Duration,
    drain: Duration,
    rest: Duration,
    latency: Repeated,
    back_to_back: Repeated,
    recovery: Repeated,
    /// First trials of a goal.
    goal: Duration,
}

impl Defaults {
    fn of(dut: &Dut) -> Self {
        let repeated = |duration, repeats| Repeated { duration, repeats };
        if dut.lab.is_some() {
            let rate = dut.setup.ports.iter().map(|port| port.rate).min().unwrap_or(dut.setup.rate);
            let trial = rate.time_for(Bytes(VIRTUAL));
            let once = repeated(trial, 1);
            let (drain, rest) = (dut.setup.times.drain, Duration::ZERO);
            let goal = trial.div(10);
            return Self {
                trial,
                drain,
                rest,
                latency: once,
                back_to_back: once,
                recovery: once,
                goal,
            };
        }
        let seconds = Duration::from_secs;
        Self {
            trial: seconds(60),
            drain: Times::REAL_DRAIN,
            rest: seconds(5),
            latency: repeated(seconds(120), 20),
            back_to_back: repeated(seconds(2), 50),
            recovery: repeated(seconds(60), 3),
            goal: seconds(1),
        }
    }
}

/// Returns the plan of a DUT file alone.
pub(super) fn of_dut(dut: &Dut) -> Result<Plan, Finding> {
    let raw = BenchmarkFile {
        dut: "".into(),
        flows: None,
        both_ways: false,
        priority: None,
        sizes: None,
        max_load: None,
        trial: None,
        drain: None,
        rest: None,
        width: None,
        latency: None,
        loss_step: None,
        back_to_back: None,
        recovery: None,
        reset: raw::Reset::default(),
        snake: None,
        bursts: None,
        search: raw::Search::default(),
        burst_target: None,
        learning: raw::Learning::default(),
        soak: raw::Soak::default(),
        goals: None,
    };
    let root = config::tree::read("{}", "").expect("a map");
    let resolved = resolve(&raw, &Place::root(&root), ("", dut));
    resolved.map(|(plan, _)| plan).map_err(|mut findings| findings.swap_remove(0))
}

pub(super) fn resolve(
    raw: &BenchmarkFile,
    at: &Place<'_>,
    (file, dut): (&str, &Dut),
) -> Result<(Plan, Vec<Warning>), Vec<Finding>> {
    let mut cx = Cx::of_file(file);
    let own = Defaults::of(dut);
    let setup = &dut.setup;
    let trial = span(&mut cx, &at.key("trial"), raw.trial, own.trial);
    let virtual_ = dut.lab.is_some();
    // A virtual device does the same in the default time of its own trials.
    let once = |of: Repeated| if virtual_ { Repeated { duration: trial, ..of } } else { of };
    let plan = Plan {
        flows: flows(&mut cx, at, raw, setup),
        priority: priority(&mut cx, &at.key("priority"), raw, setup),
        sizes: sizes(&mut cx, &at.key("sizes"), raw, setup),
        max_load: share(&mut cx, &at.key("max_load"), raw.max_load, 1.0),
        drain: span(&mut cx, &at.key("drain"), raw.drain, own.drain),
        rest: raw.rest.map_or(own.rest, |span| span.0),
        width: below_one(&mut cx, &at.key("width"), raw.width, 0.001),
        latency: repeated(&mut cx, &at.key("latency"), raw.latency, once(own.latency)),
        loss_step: step(&mut cx, &at.key("loss_step"), raw.loss_step),
        back_to_back: repeated(
            &mut cx,
            &at.key("back_to_back"),
            raw.back_to_back,
            once(own.back_to_back),
        ),
        recovery: repeated(&mut cx, &at.key("recovery"), raw.recovery, once(own.recovery)),
        reset: reset(&mut cx, &at.key("reset"), &raw.reset, (dut, trial)),
        snake: snake(&mut cx, &at.key("snake"), raw, setup),
        bursts: bursts(&mut cx, &at.key("bursts"), raw.bursts.as_deref()),
        burst_target: cx.ranged(
            &at.key("burst_target"),
            raw.burst_target.map_or(BURST_TARGET, |size| size.0),
            (1, BURST_TARGET_MAX),
            BURST_TARGET,
        ),
        learning: Learning {
            addresses: cx.ranged(
                &at.key("learning").key("addresses"),
                raw.learning.addresses.unwrap_or(ADDRESSES),
                (1, ADDRESSES_MAX),
                ADDRESSES,
            ),
            rate: cx.ranged(
                &at.key("learning").key("rate"),
                raw.learning.rate.unwrap_or(LEARNING_RATE),
                (1, LEARNING_RATE_MAX),
                LEARNING_RATE,
            ),
            ageing: raw.learning.ageing.map_or(AGEING, |span| span.0),
        },
        soak: soak(&mut cx, &at.key("soak"), &raw.soak, virtual_.then_some(trial)),
        search: search(&mut cx, &at.key("search"), &raw.search, virtual_),
        goals: goals(&mut cx, &at.key("goals"), raw, own.goal),
        trial,
        setup: setup.clone(),
        tester: Vec::new(),
    };
    cx.finish().map(|warnings| (plan, warnings))
}

fn flows(cx: &mut Cx, at: &Place<'_>, raw: &BenchmarkFile, setup: &Setup) -> Vec<(Port, Port)> {
    let here = at.key("flows");
    let mut flows: Vec<(Port, Port)> = match &raw.flows {
        None => (0..setup.ports.len() / 2).map(|n| (Port(2 * n), Port(2 * n + 1))).collect(),
        Some(said) => {
            let mut flows = Vec::new();
            for (n, flow) in said.iter().enumerate() {
                let here = here.index(n);
                let from = port(cx, &here.key("from"), &flow.from, setup);
                let to = port(cx, &here.key("to"), &flow.to, setup);
                if let (Some(from), Some(to)) = (from, to) {
                    if from == to {
                        cx.error(&here, "it leads back to its sender; name two ports");
                    }
                    flows.push((from, to));
                }
            }
            flows
        }
    };
    if flows.is_empty() {
        cx.error(&here, "there is no flow; a benchmark needs two ports, and a flow between them");
        flows.push((Port(0), Port(0)));
    }
    if raw.both_ways {
        let back: Vec<_> = flows.iter().map(|(from, to)| (*to, *from)).collect();
        flows.extend(back);
    }
    flows
}

fn port(cx: &mut Cx, at: &Place<'_>, name: &str, setup: &Setup) -> Option<Port> {
    let found = setup.ports.iter().position(|port| port.name == name);
    if found.is_none() {
        let known: Vec<&str> = setup.ports.iter().map(|port| port.name.as_str()).collect();
        cx.error(at, unknown_name("port", name, &known));
    }
    found.map(Port)
}

fn priority(cx: &mut Cx, at: &Place<'_>, raw: &BenchmarkFile, setup: &Setup) -> Priority {
    let own = setup.lossy.iter().next().unwrap_or(Priority::ALL[0]);
    let Some(said) = raw.priority else { return own };
    Priority::new(said).unwrap_or_else(|| {
        cx.error(at, format!("{said} is no priority; choose 0 to 7"));
        own
    })
}

/// Returns the number of passes through the device: more than one only between two ports.
fn snake(cx: &mut Cx, at: &Place<'_>, raw: &BenchmarkFile, setup: &Setup) -> u32 {
    let passes = cx.ranged(at, raw.snake.unwrap_or(1), (1, SNAKE_MAX), 1);
    let ports = setup.ports.len();
    if passes > 1 && ports != 2 {
        cx.error(at, format!("a snake has two tester ports, the DUT file has {ports}"));
        return 1;
    }
    passes
}

/// Returns the burst sizes of meshes.
fn bursts(cx: &mut Cx, at: &Place<'_>, said: Option<&[u32]>) -> Vec<u32> {
    let said = said.unwrap_or(&[1]);
    if said.is_empty() {
        cx.error(at, "there is none; name one, or leave the field out");
    }
    let each = said.iter().enumerate();
    each.map(|(n, size)| cx.ranged(&at.index(n), *size, (1, BURST_MAX), 1)).collect()
}

/// Returns the parameters of MLRsearch; a virtual device needs no warm-up.
fn search(cx: &mut Cx, at: &Place<'_>, raw: &raw::Search, virtual_: bool) -> MlrSearch {
    let own = if virtual_ { Duration::ZERO } else { WARMUP };
    let warmup = raw.warmup.map_or(own, |span| span.0);
    let longest = span(cx, &at.key("longest"), raw.longest, LONGEST);
    MlrSearch { warmup: Some(warmup).filter(|time| *time > Duration::ZERO), longest: Some(longest) }
}

fn sizes(cx: &mut Cx, at: &Place<'_>, raw: &BenchmarkFile, setup: &Setup) -> Vec<u32> {
    let allowed = setup.shortest()..=setup.max_frame;
    let Some(said) = &raw.sizes else {
        return SIZES
            .into_iter()
            .map(|size| size.max(*allowed.start()))
            .filter(|size| allowed.contains(size))
            .collect();
    };
    if said.is_empty() {
        cx.error(at, "there is none; name one, or leave the field out");
    }
    for (n, size) in said.iter().enumerate() {
        if !allowed.contains(size) {
            let (least, most) = (allowed.start(), allowed.end());
            let what = format!("{size} is out of range; choose {least} to {most} (`max_frame`)");
            cx.error(&at.index(n), what);
        }
    }
    said.clone()
}

/// Returns a share above 0 and at most 1.
fn share(cx: &mut Cx, at: &Place<'_>, said: Option<Ratio>, default: f64) -> f64 {
    let share = said.map_or(default, ratio);
    if !(share > 0.0 && share <= 1.0) {
        cx.error(at, "give a share above 0% and up to 100%");
        return default;
    }
    share
}

/// Returns a share above 0 and below 1.
fn below_one(cx: &mut Cx, at: &Place<'_>, said: Option<Ratio>, default: f64) -> f64 {
    let share = said.map_or(default, ratio);
    if !(share > 0.0 && share < 1.0) {
        cx.error(at, "give a share above 0% and below 100%");
        return default;
    }
    share
}

/// Returns the step of the loss curve, at most 10 % (RFC 2544, section 26.3).
fn step(cx: &mut Cx, at: &Place<'_>, said: Option<Ratio>) -> f64 {
    let step = said.map_or(0.1, ratio);
    if !(step > 0.0 && step <= 0.1) {
        cx.error(at, "give a step above 0% and up to 10% (RFC 2544, 26.3)");
        return 0.1;
    }
    step
}

fn ratio(said: Ratio) -> f64 {
    f64::from(said.0) / 1e6
}

/// Returns a time above 0.
fn span(cx: &mut Cx, at: &Place<'_>, said: Option<Span>, default: Duration) -> Duration {
    let span = said.map_or(default, |span| span.0);
    if span == Duration::ZERO {
        cx.error(at, "it is 0; give a time above it");
        return default;
    }
    span
}

fn repeated(
    cx: &mut Cx,
    at: &Place<'_>,
    said: Option<raw::Repeated>,
    default: Repeated,
) -> Repeated {
    let said = said.unwrap_or_default();
    let repeats = said.repeats.unwrap_or(default.repeats);
    Repeated {
        duration: span(cx, &at.key("duration"), said.duration, default.duration),
        repeats: cx.ranged(&at.key("repeats"), repeats, (1, REPEATS_MAX), default.repeats),
    }
}

/// Returns the resets of a device whose trials have this length.
fn reset(cx: &mut Cx, at: &Place<'_>, raw: &raw::Reset, (dut, trial): (&Dut, Duration)) -> Resets {
    let own = match dut.lab.is_some() {
        true => {
            let longest = dut.resets.values().max().copied().unwrap_or(trial);
            Resets { steady: trial, longest: longest.saturating_mul(2), repeats: 1 }
        }
        false => Resets {
            steady: Duration::from_secs(15),
            longest: Duration::from_secs(120),
            repeats: 3,
        },
    };
    let repeats = raw.repeats.unwrap_or(own.repeats);
    Resets {
        steady: span(cx, &at.key("steady"), raw.steady, own.steady),
        longest: span(cx, &at.key("longest"), raw.longest, own.longest),
        repeats: cx.ranged(&at.key("repeats"), repeats, (1, REPEATS_MAX), own.repeats),
    }
}

/// Returns the soak; `exact` is the length of trials of a virtual device.
fn soak(cx: &mut Cx, at: &Place<'_>, raw: &raw::Soak, exact: Option<Duration>) -> Soak {
    let own = exact.unwrap_or(Duration::from_secs(60));
    let interval = span(cx, &at.key("interval"), raw.interval, own);
    let day = Duration::from_secs(24 * 60 * 60);
    let own = if exact.is_some() { interval.saturating_mul(10) } else { day };
    let duration = span(cx, &at.key("duration"), raw.duration, own);
    if duration < interval {
        cx.error(&at.key("duration"), format!("it is shorter than its `interval` of {interval}"));
    }
    Soak { load: share(cx, &at.key("load"), raw.load, 0.8), duration, interval }
}

fn goals(cx: &mut Cx, at: &Place<'_>, raw: &BenchmarkFile, first: Duration) -> Vec<(String, Goal)> {
    let part = |ppm| raw::Goal { loss_ratio: Some(Ratio(ppm)), ..raw::Goal::default() };
    let csit = || [("NDR".to_owned(), part(0)), ("PDR".to_owned(), part(5_000))].into();
    let said = raw.goals.clone().unwrap_or_else(csit);
    if said.is_empty() {
        cx.error(at, "there is none; name one, or leave the field out");
    }
    let mut goals = Vec::new();
    for (name, raw) in said {
        let initial_duration = raw.initial_duration.map_or(first, |span| span.0);
        let final_duration = raw.final_duration.map_or(initial_duration, |span| span.0);
        let sum = raw.duration_sum.map_or(final_duration.saturating_mul(SUM), |span| span.0);
        let goal = Goal {
            loss_ratio: raw.loss_ratio.map_or(0.0, ratio),
            exceed_ratio: raw.exceed_ratio.map_or(0.5, ratio),
            width: raw.width.map_or(0.005, ratio),
            initial_duration,
            final_duration,
            duration_sum: sum,
        };
        if let Err(bad) = goal.check() {
            cx.error(&at.key(&name), bad.to_string());
        }
        goals.push((name, goal));
    }
    goals
}
