//! Faults that no rate and no loss of a search shows, and loads of lines with MACsec.

use validate::bench::TrialError;
use validate::knobs::{Feature, Knob, features, knobs};
use validate::virtual_bench::VirtualBench;

use super::{Wrong, example};
use crate::plan::Plan;
use crate::{rfc2544, rfc2889, rfc7640, rfc8239, run, search, table};
use ground::time::Duration;
use ground::units::Priority;
use validate::trial::Port;

/// Returns the device of a fault beside a feature, and a plan of short trials of these priorities.
fn device(fault: &str, feature: Option<&Feature>, priority: u8) -> (Plan, VirtualBench) {
    let knobs = knobs().unwrap();
    let knob = knobs.iter().find(|knob| knob.fault == fault).unwrap();
    let file = knob.file_beside(feature, knob.values.first());
    let (dut, _) = validate::file::parse("device", &file).unwrap();
    let mut plan = Plan::with_defaults(&dut, Some(Duration::from_micros(100)));
    (plan.sizes, plan.width) = (vec![512], 0.01);
    plan.priority = Priority::ALL[usize::from(priority)];
    plan.flows = vec![(Port(0), Port(2)), (Port(1), Port(2))];
    (plan, VirtualBench::new(dut.setup, dut.lab.unwrap()))
}

/// Runs one test, or all of a procedure.
fn measured<P: run::Procedure>(
    (plan, mut bench): (Plan, VirtualBench),
    only: &[P::Test],
) -> run::Run<P> {
    let (results, trouble) = run::run::<P>(&plan, only, &mut bench, &mut |_| true);
    assert_eq!(trouble, None);
    results
}

#[test]
fn frames_that_arrive_twice_are_counted_and_told() {
    let twice = device("data frames are sent twice", None, 0);
    let results = measured::<rfc2544::Tables>(twice, &[rfc2544::Test::Throughput]);
    let [arrivals] = results.arrivals[..] else { panic!("{results:?}") };
    assert!(arrivals.duplicates > 0 && arrivals.lost_lossless.is_none(), "{arrivals:?}");
    let text = table::rfc2544(&results);
    assert!(text.contains("frames of all trials: ") && text.contains(" arrived twice"), "{text}");
}

/// Both have the throughput of half a line each.
#[test]
fn a_search_in_a_lossless_class_counts_what_a_device_loses_instead_of_pausing() {
    let lost = |fault| {
        let results = measured::<search::Tables>(device(fault, None, 3), &[]);
        (results.arrivals[0].lost_lossless, results.notes.len())
    };
    assert_eq!(lost("marks come after PFC"), (Some(0), 0));
    let (never, notes) = lost("XOFF is never sent");
    assert!(never > Some(1000) && notes == 1, "{never:?}");
}

#[test]
fn a_burst_that_ends_by_a_loss_instead_of_a_pause_says_so() {
    let hunt = |fault| {
        let hunt = [rfc7640::Test::BurstHunt];
        let results = measured::<rfc7640::Tables>(device(fault, None, 3), &hunt);
        results.tables.burst_hunt[3].loses_above
    };
    assert_eq!(hunt("marks come after PFC"), Some(false));
    assert_eq!(hunt("XOFF is never sent"), Some(true));
    let ends = |fault| -> Vec<&'static str> {
        let tests = [rfc8239::Test::Buffer, rfc8239::Test::Microburst];
        let results = measured::<rfc8239::Tables>(device(fault, None, 3), &tests);
        let own = results.tables.buffer.iter().filter(|row| row.tester == "obeying");
        let all = own.map(|row| row.loses_above);
        let all = all.chain(results.tables.microburst.iter().map(|row| row.loses_above));
        let mut ends: Vec<_> =
            all.flatten().map(|loses| if loses { "loss" } else { "pause" }).collect();
        ends.dedup();
        ends
    };
    assert_eq!(
        (ends("marks come after PFC"), ends("XOFF is never sent")),
        (vec!["pause"], vec!["loss"])
    );
}

#[test]
fn a_mesh_shows_the_frames_that_are_lost_instead_of_held_back() {
    let loss = |fault| {
        let mesh = [rfc2889::Test::Mesh];
        let results = measured::<rfc2889::Tables>(device(fault, None, 3), &mesh);
        let row = results.tables.mesh.iter().find(|row| row.pattern == "from 3");
        row.unwrap().frmol_loss_percent
    };
    assert_eq!(loss("marks come after PFC"), Some(0.0));
    assert!(loss("XOFF is never sent") > Some(50.0));
}

#[test]
fn a_pause_of_an_uncongested_port_takes_its_rate() {
    let rate = |fault| {
        let congestion = [rfc2889::Test::Congestion];
        let results = measured::<rfc2889::Tables>(device(fault, None, 3), &congestion);
        results.tables.congestion[0].uncongested_rate_percent.unwrap()
    };
    let (good, bad) = (rate("marks come after PFC"), rate("other ports are paused"));
    assert!(bad < 0.95 * good, "{bad} {good}");
}

/// Loads are those of lines with MACsec: the tester sends what is intended.
#[test]
fn the_rates_of_a_line_with_macsec_have_its_overhead() {
    let knobs = knobs().unwrap();
    let all = features(&knobs).unwrap();
    let macsec = all.iter().find(|feature| feature.name == "MACsec").unwrap();
    let none = Knob { change: serde_json::json!({}), values: vec![], ..knobs[0].clone() };
    let (dut, _) = validate::file::parse("device", &none.file_beside(Some(macsec), None)).unwrap();
    let mut plan = Plan::with_defaults(&dut, Some(Duration::from_micros(100)));
    plan.sizes = vec![512];
    let overhead = plan.setup.overhead();
    assert!(overhead > 0);
    let mut bench = VirtualBench::new(dut.setup, dut.lab.unwrap());
    let test = [rfc2544::Test::Throughput];
    let (results, trouble) = run::run::<rfc2544::Tables>(&plan, &test, &mut bench, &mut |_| true);
    let row = results.tables.throughput[0];
    let line = 100e9 / f64::from(8 * (512 + 20 + overhead));
    assert!(trouble.is_none() && row.is_line_rate(), "{row:?}");
    assert!((row.line_frames_per_second - line).abs() < 1.0, "{row:?}");
}

#[test]
fn more_frames_than_were_sent_are_an_error_of_the_tester() {
    let (plan, bench) = example("benchmark/rfc2544.yaml");
    let mut more = Wrong::counting(bench, |_, report| report.flows[0].frames_rx += 100_000);
    let test = [rfc2544::Test::Throughput];
    let (_, trouble) = run::run::<rfc2544::Tables>(&plan, &test, &mut more, &mut |_| true);
    assert!(
        matches!(&trouble, Some(TrialError::Error(why)) if why.contains("its counters are wrong")),
        "{trouble:?}"
    );
}

#[test]
fn benchmarks_do_not_apply_to_a_nic() {
    let path = super::configs("validate/nic.yaml");
    let error = crate::file::load(&path).unwrap_err().to_string();
    assert!(error.contains("the device is a NIC"), "{error}");
}
