//! RFC 2889, RFC 8239, the lossless profile and the soak, of a switch with four ports at 100 Gb/s whose
//! buffer is known.

use ground::time::Duration;
use ground::units::Priority;
use validate::bench::{Bench, TrialError};

use super::example;
use crate::buffers::{self, Iteration};
use crate::mlrsearch::Irregular;
use crate::plan::{Plan, Soak};
use crate::trial::Runner;
use crate::{lossless, rfc2889, rfc8239, run, soak, table};

/// Cells of the static threshold of priority 3, of its headroom, and of a frame of 1,024 bytes.
const XOFF: f64 = 509.0;
const HEADROOM: f64 = 500.0;
const FRAME: f64 = 5.0;

const LOSSLESS: &str = "benchmark/lossless.yaml";

/// A class without PFC.
fn lossy(plan: Plan) -> Plan {
    Plan { priority: Priority::ALL[0], ..plan }
}

fn fits(text: &str, titles: &[&str]) {
    for title in titles {
        assert!(text.contains(title), "{title} in\n{text}");
    }
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
}

/// A buffer in frames whose cells are within one frame, and the one at the port, of the known.
fn holds(frames: f64, cells: f64) {
    assert!((frames * FRAME - cells).abs() <= 2.0 * FRAME, "{frames} frames, {cells} cells");
}

#[test]
fn the_buffer_of_a_lossless_class_is_that_of_the_configuration() {
    let (mut plan, mut bench) = example(LOSSLESS);
    plan.trial = Duration::from_millis(3);
    let (results, trouble) =
        run::run::<rfc8239::Tables>(&plan, &[rfc8239::Test::Buffer], &mut bench, &mut |_| true);
    assert_eq!(trouble, None);
    let rows = &results.tables.buffer;
    let of = |pattern: &'static str, tester: &'static str| {
        let found = rows.iter().filter(move |r| r.pattern == pattern && r.tester == tester);
        assert_eq!(found.clone().count(), 4, "{rows:?}");
        found
    };
    // Each sender's port has a threshold of its own. Of two senders, the first has 99 % of the frames;
    // three have equal parts.
    of("port", "obeying").for_each(|row| holds(row.frames, XOFF / 0.99));
    of("many to one", "obeying").for_each(|row| holds(row.frames / 3.0, XOFF));
    of("port", "ignoring").for_each(|row| holds(row.frames, (XOFF + HEADROOM) / 0.99));
    assert!(rows.iter().all(|row| !row.at_limit || row.senders == 3), "{results:?}");
    fits(&table::rfc8239(&results), &["Buffer of a port", "obeying", "ignoring"]);
}

/// A frame of 128 bytes takes one cell, so the size is found to the cell, and the headroom from it.
#[test]
fn frames_of_one_cell_show_the_buffer_within_two_cells() {
    let (mut plan, mut bench) = example(LOSSLESS);
    plan.trial = Duration::from_millis(2);
    let mut go = |_: &str| true;
    let mut runner = Runner::new(&plan, &mut bench, &mut go);
    let one = Iteration::port(0, 4);
    for (ignoring, cells) in [(false, XOFF), (true, XOFF + HEADROOM)] {
        let row = buffers::size_of(&mut runner, 128, &one, ignoring).unwrap();
        // 99 % of the frames are those of one port, whose limit it is.
        assert!(
            (row.frames * 0.99 - cells).abs() <= 2.0 && !row.at_limit,
            "{row:?}, {cells} cells"
        );
    }
}

#[test]
fn all_ports_run_at_line_rate() {
    let (plan, mut bench) = example(LOSSLESS);
    let (results, trouble) = run::run::<rfc8239::Tables>(
        &lossy(plan),
        &[rfc8239::Test::LineRate],
        &mut bench,
        &mut |_| true,
    );
    assert_eq!((trouble, results.tables.line_rate.len()), (None, 2));
    for row in &results.tables.line_rate {
        assert!(row.lost == 0 && row.held_back == 0, "{row:?}");
        assert!((row.forwarded_percent - 99.98).abs() < 1e-9, "{row:?}");
        assert!(row.jitter_ns.unwrap() >= 0.0);
    }
    fits(&table::rfc8239(&results), &["Line rate of all ports", "full mesh"]);
}

#[test]
fn head_of_line_blocking_of_a_lossless_class_costs_rate_and_of_a_lossy_one_nothing() {
    let (plan, mut bench) = example(LOSSLESS);
    let tests = [rfc8239::Test::Holb];
    let (results, _) = run::run::<rfc8239::Tables>(&plan, &tests, &mut bench, &mut |_| true);
    let [row] = &results.tables.holb[..] else { panic!("{results:?}") };
    // The sender to both is paused for the congested port, and sends nothing to the free one then.
    assert!(
        row.uncongested_loss_percent == Some(0.0) && row.congested_loss_percent == Some(0.0),
        "{row:?}"
    );
    assert!(row.back_pressure && row.uncongested_rate_percent.unwrap() < 95.0, "{row:?}");
    let (results, _) = run::run::<rfc8239::Tables>(&lossy(plan), &tests, &mut bench, &mut |_| true);
    let [row] = &results.tables.holb[..] else { panic!("{results:?}") };
    assert!(row.uncongested_loss_percent == Some(0.0) && !row.back_pressure, "{row:?}");
    assert!((99.99..=100.0).contains(&row.uncongested_rate_percent.unwrap()), "{row:?}");
    // 150 % for a line; the buffer holds a part of it.
    assert!((25.0..=33.34).contains(&row.congested_loss_percent.unwrap()), "{row:?}");
    fits(&table::rfc8239(&results), &["Head-of-line blocking"]);
}

#[test]
fn a_microburst_fills_the_buffer() {
    let (plan, mut bench) = example(LOSSLESS);
    let (results, trouble) =
        run::run::<rfc8239::Tables>(&plan, &[rfc8239::Test::Microburst], &mut bench, &mut |_| true);
    let [row] = &results.tables.microburst[..] else { panic!("{results:?}") };
    assert_eq!((trouble, row.senders, row.receivers), (None, 3, 1));
    // Each of three senders fills a group of its own until that pauses it; the line takes a third of
    // what arrives.
    holds(f64::from(row.frames) * 2.0 / 3.0, XOFF);
    fits(&table::rfc8239(&results), &["Microburst"]);
}

#[test]
fn a_device_with_two_ports_has_no_buffer_test() {
    let (mut plan, mut bench) = example("benchmark/rfc2544.yaml");
    plan.sizes = vec![1518];
    let tests = [rfc8239::Test::Buffer, rfc8239::Test::Microburst, rfc8239::Test::Holb];
    let (results, trouble) = run::run::<rfc8239::Tables>(&plan, &tests, &mut bench, &mut |_| true);
    assert_eq!((trouble, results.trials, results.notes.len()), (None, 0, 4));
    assert!(results.notes[1].contains("it needs 3 equal ports, there are 2"));
}

#[test]
fn meshes_forward_what_they_are_offered() {
    let (plan, mut bench) = example(LOSSLESS);
    let plan = lossy(plan);
    let (results, trouble) = run::run::<rfc2889::Tables>(&plan, &[], &mut bench, &mut |_| true);
    assert_eq!(trouble, None);
    let of = |pattern: &str| results.tables.mesh.iter().find(|row| row.pattern == pattern).unwrap();
    for pattern in ["pairs", "full mesh", "from 1"] {
        let row = of(pattern);
        assert_eq!(row.irregular, Some(Irregular::AtMaximum), "{row:?}");
        assert!((row.frmol.offered - row.frmol.forwarded).abs() < 1e-6, "{row:?}");
    }
    // Three lines to one: a third of each fits, and the buffer takes a part in the time of a trial.
    let row = of("from 3");
    let throughput = row.throughput_percent.unwrap();
    assert!((32.9..37.0).contains(&throughput), "{row:?}");
    let line = plan.line_rate(0, 1024);
    assert!((row.frmol.offered / line - 3.0).abs() < 0.01, "{row:?}");
    assert!((1.0..1.1).contains(&(row.frmol.forwarded / line)), "{row:?}");
    let [congestion] = &results.tables.congestion[..] else { panic!("{results:?}") };
    let remarks = (congestion.head_of_line_blocking, congestion.back_pressure);
    assert_eq!(remarks, (Some(false), Some(false)), "{congestion:?}");
    fits(&table::rfc2889(&results), &["FRMOL", "Congestion control"]);
}

#[test]
fn the_lossless_profile_tells_loss_from_pauses() {
    let (plan, mut bench) = example(LOSSLESS);
    let (results, trouble) = run::run::<lossless::Tables>(&plan, &[], &mut bench, &mut |_| true);
    assert_eq!(trouble, None);
    let [row] = &results.tables.rows[..] else { panic!("{results:?}") };
    assert_eq!((row.senders, row.no_loss_percent), (3, Some(100.0)));
    let no_pause = row.no_pause_percent.unwrap();
    assert!((33.0..34.5).contains(&no_pause), "{row:?}");
    let overload = &row.overload;
    assert!(overload.lost == 0 && overload.held_back > 0 && overload.pauses > 0, "{row:?}");
    assert_eq!(overload.intended, overload.offered + overload.held_back);
    assert!((99.0..103.0).contains(&overload.goodput_percent), "{row:?}");
    // Each sender gets a third of the line, so it is paused for two thirds of the time.
    assert!((55.0..80.0).contains(&overload.worst_paused_percent), "{row:?}");
    assert!(row.loss_bytes.unwrap() > row.xoff_bytes.unwrap(), "{row:?}");
    assert!(row.uncongested_rate_percent.unwrap() < 95.0, "{row:?}");
    let pauses = &results.tables.pauses;
    assert_eq!(pauses.iter().map(|of| of.pauses).sum::<u64>(), overload.pauses);
    fits(&table::lossless(&results), &["no-pause rate", "Lossless profile", "difference"]);
}

#[test]
fn the_lossless_profile_needs_a_lossless_class_and_three_ports() {
    let (mut plan, mut bench) = example(LOSSLESS);
    let says = |plan: &Plan, bench: &mut dyn Bench| match run::run::<lossless::Tables>(
        plan,
        &[],
        bench,
        &mut |_| true,
    ) {
        (_, Some(TrialError::Missing(why))) => why,
        other => panic!("{other:?}"),
    };
    plan.setup.ports.truncate(2);
    assert!(says(&plan, &mut bench).contains("add a third"));
    plan.setup.lossless = ground::units::PrioritySet::EMPTY;
    assert!(says(&plan, &mut bench).contains("no priority with PFC"));
}

#[test]
fn a_soak_has_a_slope_of_latency_and_keeps_the_parts_before_its_end() {
    let (mut plan, mut bench) = example("benchmark/rfc2544.yaml");
    plan.sizes = vec![512];
    let interval = plan.trial.div(8);
    plan.soak = Soak { load: 0.39, duration: interval.saturating_mul(5), interval };
    let (results, trouble) = run::run::<soak::Tables>(&plan, &[], &mut bench, &mut |_| true);
    let row = &results.tables.rows[0];
    assert_eq!((trouble, row.parts.len(), row.lost()), (None, 5, 0));
    assert_eq!(row.latency_slope_ns_per_hour, Some(0.0));
    fits(&table::soak(&results), &["slope ns/h"]);
    let mut left = 3;
    let (results, trouble) = run::run::<soak::Tables>(&plan, &[], &mut bench, &mut |_| {
        left -= 1;
        left > 0
    });
    assert_eq!((trouble, results.tables.rows[0].parts.len()), (Some(TrialError::Interrupted), 2));
}
