//! `sluice headroom measure`: measures the round trip of a real link and calculates the headroom.
//! Its progress is a bar on a terminal, otherwise lines if it takes long.

use std::process::ExitCode;
use std::time::Duration as StdDuration;

use anyhow::{Context, Result, ensure};
use tester::RATE_DEFAULT;

use super::measure_args::MeasureArgs;
use crate::cli::terminal::{self, Progress, say};
use crate::cli::{Format, bad_input, exit, stop_on_signals};
use crate::config::quantity::{Size, Span};
use crate::dpdk::{Eal, EalOptions, own_prefix};
use crate::headroom::measure::InitiatePlan;
use crate::headroom::peer_delay::PeerDelayPlan;
use crate::headroom::{DelayInputs, Frames, Shims};
use crate::link::{Method, Preference, Statistic};
use crate::time::Duration;
use crate::units::{BitsPerSec, Bytes};
use crate::wire::headroom::{Adjustment, Readings};
use ::measure::{Event, Inputs, Job, RateFrom};
use ::text::count;

/// Time from the end of a measurement to the next.
const PERIOD: Duration = Duration::from_secs(1);

/// Measures, or answers the measurements of peers.
///
/// # Errors
/// An invalid argument, or a port that cannot be opened.
pub fn run(args: &MeasureArgs) -> Result<ExitCode> {
    args.machine.apply()?;
    let places = args.places().map_err(bad_input)?;
    // Checked before ports are opened; the rate of a line is known only afterwards.
    args.inputs(None).map_err(bad_input)?;
    let options = EalOptions {
        file_prefix: own_prefix("sluice-headroom"),
        memory: args.machine.memory(),
        ..EalOptions::default()
    };
    let eal = Eal::start(&options.for_devices(places.iter().map(ToString::to_string)))
        .context("starting DPDK")?;
    let opened = ::measure::open(&eal, &places)?;
    let inputs = args.inputs(opened[0].rate).map_err(bad_input)?;
    let stop = stop_on_signals()?;
    let job = Job {
        count: if args.respond { 0 } else { args.count },
        period: args.period.map_or(PERIOD, |Span(time)| time),
        duration: args.duration.map(|Span(time)| time),
    };
    let rounds = match inputs.methods.first() {
        Method::RoundTrip => inputs.measure.rounds,
        Method::PeerDelay => inputs.ptp.rounds,
    };
    let mut show = Show::new(&opened[0].name, job.count.into(), rounds.into());
    let outcome = ::measure::run(&eal, &inputs, job, opened, &stop, |event| show.update(event))?;
    show.clear();
    match args.format {
        Format::Json => terminal::print_json(&outcome)?,
        Format::Table => terminal::print(::measure::text(&outcome))?,
    }
    Ok(exit(outcome.verdict))
}

/// Period of progress lines without a terminal.
const LINE_EVERY: StdDuration = StdDuration::from_secs(1);

/// Progress of a measurement.
struct Show {
    progress: Progress,
    /// Rounds of all measurements; None if requests are answered.
    rounds: Option<u64>,
    of_one: u64,
    made: u64,
}

impl Show {
    /// Progress of `measurements` with `rounds` each, or of answers if there are none.
    fn new(port: &str, measurements: u64, rounds: u64) -> Self {
        let all = (measurements > 0).then_some(measurements * rounds);
        let template = match all {
            Some(_) => "{prefix} [{bar:32}] {msg}",
            None => "{prefix} {spinner} {msg}",
        };
        if all.is_none() {
            say!("{port} answers headroom measurements and PTP peer delays; Ctrl-C ends it");
        }
        let progress = Progress::new(template, port, all, LINE_EVERY);
        Self { progress, rounds: all, of_one: rounds, made: 0 }
    }

    fn update(&mut self, event: &Event) {
        let done = match event {
            Event::Switched { .. } => return,
            Event::Measured(_) => {
                self.made += 1;
                self.made * self.of_one
            }
            // PTP's rounds increase while it waits for the peer's advertisement.
            Event::Progress { rounds } if self.rounds.is_some() => {
                self.made * self.of_one + rounds.min(&self.of_one)
            }
            Event::Progress { rounds } => *rounds,
        };
        let text = match self.rounds {
            Some(all) => format!("{} of {} round trips", count(done), count(all)),
            None => format!("{} requests answered", count(done)),
        };
        self.progress.update(done, text, |text| text);
    }

    fn clear(&self) {
        self.progress.clear();
    }
}

/// Longest time that the formulas accept.
const SPAN_MAX: Duration = Duration::from_secs(1);

/// Time between peer delay requests. A choice: eight of them take less than a second, and the
/// peer's PTP daemon tolerates them.
const PTP_INTERVAL: Duration = Duration::from_millis(100);

impl MeasureArgs {
    /// Parameters, for a line of this rate if the port has one.
    ///
    /// # Errors
    /// A number out of its range.
    fn inputs(&self, line: Option<BitsPerSec>) -> Result<Inputs> {
        let given = self.rate.map(|rate| (rate.0, RateFrom::Argument));
        let (rate, rate_from) = given
            .or(line.map(|rate| (rate, RateFrom::Line)))
            .unwrap_or((RATE_DEFAULT, RateFrom::Assumed));
        let max_frame = self.max_frame.map_or(DelayInputs::MAX_FRAME, |Size(n)| Bytes(n));
        ensure!((64..=65_535).contains(&max_frame.0), "--max-frame: must be 64 to 65535 octets");
        let cell = self.cell.map(|Size(octets)| octets);
        ensure!(
            cell.is_none_or(|n| (1..=65_536).contains(&n)),
            "--cell: must be 1 to 65536 octets"
        );
        let span = |name, span: Option<Span>, default| {
            let time = span.map_or(default, |Span(time)| time);
            ensure!(time <= SPAN_MAX, "--{name}: is longer than a second");
            Ok(time)
        };
        // Every time is limited to a second, far above any delay of a link.
        let own = span("own-reaction", self.own_reaction, DelayInputs::HIGHER_LAYER)?;
        let own_reaction = Adjustment::at_least(own);
        let internal = self.internal;
        let longest = [internal, self.macsec].into_iter().flatten().map(|(a, b)| a.max(b)).max();
        ensure!(longest.unwrap_or_default() <= SPAN_MAX, "--internal, --macsec: at most a second");
        Ok(Inputs {
            rate,
            rate_from,
            frames: Frames::up_to(max_frame),
            reaction: span("reaction", self.reaction, DelayInputs::HIGHER_LAYER)?,
            // What the user gives has precedence over what the peer advertises.
            reaction_given: self.reaction.is_some(),
            own_reaction: own_reaction.unwrap_or_default(),
            invocation: span("invocation", self.invocation, Duration::ZERO)?,
            formula: self.formula,
            adjustment: Adjustment::from_nanos(self.adjustment.0).unwrap_or_default(),
            shims: self.macsec.map(|(local, remote)| Shims { local, remote }),
            cell: cell.map(|octets| octets as u32),
            methods: self.method,
            // S4 averages; Sluice's own reading takes the longest, because headroom is for the worst case.
            statistic: self.statistic.unwrap_or(match self.protocol.dialect {
                Readings::Sluice => Statistic::Max,
                Readings::Letter => Statistic::Mean,
            }),
            own_internal: internal.map_or(Duration::ZERO, |(own, _)| own),
            peer_internal: internal.map(|(_, peer)| peer),
            measure: measure(self)?,
            ptp: ptp(self)?,
            dialect: self.protocol.dialect()?,
        })
    }
}

fn measure(args: &MeasureArgs) -> Result<InitiatePlan> {
    let rounds = args.protocol.rounds.unwrap_or(InitiatePlan::DEFAULT.rounds);
    ensure!((1..=256).contains(&rounds), "--rounds: must be 1 to 256");
    // Twice the rounds leaves room for messages that are lost.
    let requests = args.protocol.requests.unwrap_or(rounds.saturating_mul(2).min(256));
    ensure!(
        (rounds..=256).contains(&requests),
        "--requests: must be {rounds} (the rounds) to 256, because messages have numbers of 8 bits"
    );
    let (spacing_min, spacing_max) = args.protocol.spacing;
    let piggyback = !args.protocol.no_piggyback;
    Ok(InitiatePlan {
        rounds,
        spacing_min,
        spacing_max,
        requests_max: requests,
        period: None,
        piggyback,
        shims: false,
    })
}

fn ptp(args: &MeasureArgs) -> Result<PeerDelayPlan> {
    // With both methods `--rounds` is about round trips: PTP's are slower, by its interval.
    let only = args.method == Preference::only(Method::PeerDelay);
    let rounds = args.protocol.rounds.filter(|_| only).unwrap_or(PeerDelayPlan::DEFAULT.rounds);
    ensure!((1..=256).contains(&rounds), "--rounds: must be 1 to 256");
    let interval = args.protocol.interval.map_or(PTP_INTERVAL, |Span(time)| time);
    ensure!(interval > Duration::ZERO, "--interval: must be above zero");
    Ok(PeerDelayPlan {
        interval: Some(interval),
        domain: args.protocol.domain,
        major_sdo_id: u8::from(args.protocol.gptp),
        rounds,
        ..PeerDelayPlan::DEFAULT
    })
}
