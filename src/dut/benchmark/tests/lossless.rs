//! The parts of the profile on devices with one fault each.

use ground::time::Duration;

use crate::lossless::{message, overload, recovery, response};
use crate::tests::written;
use crate::trial::Runner;
use validate::bench::TrialError;

/// Headroom of a port in bytes, and the time of its frames on the line in nanoseconds: 1,040 bytes of cells are
/// 1,044 bytes of line.
const HEADROOM: u32 = 104_000;

fn frames_ns(bytes: u32) -> f64 {
    f64::from(bytes) / 1040.0 * 1044.0 * 8.0 / 100.0
}

/// Time of a frame of 1,024 bytes on the line.
const FRAME_NS: f64 = 83.52;

/// A switch with four ports of 100 Gb/s, a headroom and faults.
fn dut(headroom: u32, faults: &str) -> String {
    format!(
        "rate: 100G\nports: [{{}}, {{}}, {{}}, {{}}]\nlossless: [3]\nvirtual:\n  faults: [{faults}]\n  \
         profile:\n    headroom_check: 'off'\n    buffer:\n      cell: 208\n      total: 2MiB\n      \
         profiles: {{lossless: {{shared: {{static_th: 105872}}, lossless: {{xoff: {headroom}}}}}}}\n    \
         defaults: {{pfc: {{enable: [3]}}}}\n"
    )
}

/// Runs a part of the profile in short trials, and returns its result and the notes.
fn part<T>(
    dut: &str,
    load: &str,
    measure: impl Fn(&mut Runner<'_>, u32) -> Result<T, TrialError>,
) -> (T, Vec<String>) {
    let fields =
        format!("priority: 3\nsizes: [1024]\ntrial: 200us\ndrain: 6ms\nmax_load: {load}\n");
    let (mut plan, mut bench) = written(dut, &fields);
    plan.recovery.duration = Duration::from_micros(200);
    let mut go = |_: &str| true;
    let mut runner = Runner::new(&plan, &mut bench, &mut go);
    let result = measure(&mut runner, 1024).unwrap();
    (result, runner.notes)
}

const NO_XON: &str = "{defect: {on: s1, kind: never-resumes}}";

#[test]
fn the_longest_response_is_the_headroom() {
    let found = [HEADROOM, HEADROOM / 2]
        .map(|headroom| part(&dut(headroom, ""), "100%", response).0.unwrap());
    // The receiver takes a third of a line from each of three senders, so two thirds of one fill the headroom.
    let (whole, half) = (frames_ns(HEADROOM) * 1.5, frames_ns(HEADROOM / 2) * 1.5);
    // Interfaces, cables, the pause itself and the frame that is being sent take the same part of both.
    assert!(found[0] < whole && found[1] < half, "{found:?} of {whole} and {half}");
    let error = (found[0] - found[1]) - (whole - half);
    assert!(error.abs() < 2.0 * FRAME_NS, "{found:?}: {error}");
    let (found, notes) = part(&dut(1, ""), "100%", response);
    assert!(found.is_none() && notes[0].contains("respond at once lose"), "{notes:?}");
    let (found, notes) = part(&dut(HEADROOM, ""), "30%", response);
    assert!(found.is_none() && notes[0].contains("longest time lose nothing"), "{notes:?}");
}

#[test]
fn a_message_is_complete_when_the_line_has_carried_all() {
    let (good, notes) = part(&dut(HEADROOM, ""), "100%", message);
    let completion = good.completion_us.unwrap_or_else(|| panic!("{good:?} {notes:?}"));
    assert!(notes.is_empty() && good.frames == 977, "{good:?}");
    assert!((good.least_us..good.least_us * 1.02).contains(&completion), "{good:?}");
    // Without XON the senders wait for the end of the pause.
    let (slow, _) = part(&dut(HEADROOM, NO_XON), "100%", message);
    assert!(slow.completion_us.unwrap() > completion * 1.5, "{slow:?}");
    let (lost, notes) = part(&dut(1, ""), "100%", message);
    assert!(lost.completion_us.is_none() && notes[0].contains("frames were lost"), "{lost:?}");
}

#[test]
fn a_sender_without_xon_recovers_late() {
    let (good, _) = part(&dut(HEADROOM, ""), "100%", recovery);
    assert!(good.mean_us.unwrap() <= 60.0 && good.to_last_lost_us == Some(0.0), "{good:?}");
    let (slow, _) = part(&dut(HEADROOM, NO_XON), "100%", recovery);
    assert!(slow.mean_us.unwrap() > good.mean_us.unwrap() + 100.0, "{slow:?}");
    let (none, notes) = part(&dut(HEADROOM, ""), "30%", recovery);
    assert!(none.mean_us.is_none() && notes[0].contains("not paused"), "{none:?}");
}

#[test]
fn pauses_are_those_of_each_sender_and_priority() {
    let (rows, _) = part(&dut(HEADROOM, ""), "100%", |runner, size| Ok(overload(runner, size)?.1));
    let of: Vec<_> = rows.iter().map(|row| (row.port.as_str(), row.priority)).collect();
    assert_eq!(of, [("A", 3), ("B", 3), ("C", 3)]);
    for row in &rows {
        assert!(row.pauses > 0 && row.received >= row.pauses && row.resumes > 0, "{row:?}");
        assert!((30.0..=100.0).contains(&row.paused_percent), "{row:?}");
    }
    let (rows, _) =
        part(&dut(HEADROOM, NO_XON), "100%", |runner, size| Ok(overload(runner, size)?.1));
    assert!(rows.iter().all(|row| row.resumes == 0 && row.pauses > 0), "{rows:?}");
    let (rows, _) = part(&dut(HEADROOM, ""), "30%", |runner, size| Ok(overload(runner, size)?.1));
    assert!(rows.len() == 3 && rows.iter().all(|row| row.pauses == 0), "{rows:?}");
}
