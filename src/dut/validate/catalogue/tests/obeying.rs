//! Devices that obey PFC wrongly.

use super::changed::{
    cut, ends, fails_after, fails_as, fails_before, judged, lose, lose_early, stop,
};
use super::{GOOD, PLAIN, skips, validate, with};
use crate::judge::Outcome;
use crate::observation::{Observation, Record, Way, What};
use crate::trial::{Control, FlowId, Obeys, Port, Trial, VECTOR};
use ground::units::Quanta;

/// The good device with PFC for all priorities, and the buffer for it.
fn with_all() -> String {
    let all = "enable: [0, 1, 2, 3, 4, 5, 6, 7]";
    let more = with(GOOD, "enable: [3, 4]", all).replace("2MiB", "16MiB");
    format!("{more}times: {{hold: 700us, drain: 700us}}\n")
}

/// Takes the effect of a frame.
fn blank(control: &mut Control) {
    if control.octets.len() >= VECTOR + 2 {
        control.octets[VECTOR..VECTOR + 2].fill(0);
    }
}

/// Changes the times of each frame.
fn times(change: impl Fn(u16) -> u16) -> impl Fn(&mut Trial) {
    move |trial| {
        for control in &mut trial.control {
            for time in control.octets[VECTOR + 2..VECTOR + 18].chunks_exact_mut(2) {
                let new = change(u16::from_be_bytes([time[0], time[1]]));
                time.copy_from_slice(&new.to_be_bytes());
            }
        }
    }
}

/// Sets the times of frame `n` for all priorities.
fn set_times(trial: &mut Trial, n: usize, time: u16) {
    for field in trial.control[n].octets[VECTOR + 2..VECTOR + 18].chunks_exact_mut(2) {
        field.copy_from_slice(&time.to_be_bytes());
    }
}

fn time_of(trial: &Trial, n: usize) -> u16 {
    let at = VECTOR + 2 + 2 * 3;
    u16::from_be_bytes([trial.control[n].octets[at], trial.control[n].octets[at + 1]])
}

#[test]
fn sets_and_ports_that_do_not_stop_are_found() {
    fails_after("V-R02", "lost frames of priority 4", &lose(4));
    fails_after("V-R02", "rate of priority 0", &stop(0));
    fails_before("V-R03", "frames of priority 3 against the pause", &|trial| {
        trial.control.iter_mut().filter(|c| c.port == Port(2)).for_each(blank);
    });
    fails_after("V-R03", "lost frames of priority 3", &lose(3));
    fails_after("V-R03", "rate of priority 7", &stop(7));
}

/// Devices that keep the longest time, the first, and the sum.
#[test]
fn times_that_are_not_replaced_are_found() {
    let row = |trial: &Trial, name: &str| trial.name == name;
    fails_before("V-R07", "longest silence after the last of a long pause", &|trial| {
        if row(trial, "a long pause, then a short one") {
            blank(&mut trial.control[1]);
        }
    });
    fails_before("V-R07", "shortest silence after the last of a short pause", &|trial| {
        if row(trial, "a short pause, then a long one") {
            blank(&mut trial.control[1]);
        }
    });
    fails_before("V-R07", "longest silence after the last of three", &|trial| {
        if row(trial, "three short pauses") {
            let sum = u32::from(time_of(trial, 2)) * 24 / 10;
            set_times(trial, 2, sum as u16);
        }
    });
    fails_before("V-R07", "shortest silence after the last of three", &|trial| {
        if row(trial, "three short pauses") {
            blank(&mut trial.control[1]);
            blank(&mut trial.control[2]);
        }
    });
}

#[test]
fn refreshes_without_effect_are_found() {
    fails_before("V-R08", "frames of priority 3 against the pause", &|trial| {
        // The device takes the first pause alone.
        let mut first = trial.control[0].clone();
        first.frames = 1;
        let mut rest = trial.control[0].clone();
        rest.frames -= 1;
        rest.start += rest.every;
        blank(&mut rest);
        trial.control = vec![first, rest];
    });
    fails_after("V-R08", "lost frames of priority 3", &lose(3));
    fails_after("V-R08", "rate of priority 5", &stop(5));
}

#[test]
fn a_storm_with_a_gap_does_not_judge_refreshes() {
    let late = judged((GOOD, "V-R08", true), &|_| {}, &|trial, seen| {
        let gap = Quanta::MAX.at(ground::units::BitsPerSec::gbps(100));
        let from = trial.control[0].start + gap.div(4);
        for record in seen.records.iter_mut().filter(|r| r.port == Port(1) && r.begin > from) {
            record.begin += gap;
            record.end += gap;
        }
    });
    ends(&late, Outcome::Inconclusive, "");
    skips(&GOOD.replace("detection: 1ms", "detection: 400us"), &["V-R08"], "");
}

#[test]
fn zero_times_with_an_effect_are_found() {
    fails_before("V-R09", "largest distance", &|trial| {
        if trial.name == "zero times while it flows" {
            times(|_| 100)(trial);
        }
    });
    let paused = |n: usize, bits: u8| {
        move |trial: &mut Trial| {
            if trial.name == "zero times while it is paused" {
                trial.control[n].octets[VECTOR + 1] = bits;
            }
        }
    };
    fails_before("V-R09", "frames of priority 3 against the pause", &paused(1, 0x08));
    fails_before("V-R09", "frames of priority 3 against the pause", &paused(2, 0xff));
    fails_after("V-R09", "lost frames of priority 3", &lose(3));
}

#[test]
fn a_vector_that_is_not_honoured_is_found() {
    // One priority at a time, and not all eight.
    fails_before("V-R10", "with the bit of priority 3", &|trial| {
        let vectors = trial.control.iter_mut().map(|control| &mut control.octets[VECTOR + 1]);
        vectors.filter(|vector| **vector == 0xff).for_each(|vector| *vector = 0x10);
    });
    fails_before("V-R10", "shortest pause of priority 4", &times(|time| time / 8 * 5));
    fails_before("V-R10", "longest pause of priority 3", &times(|time| time / 4 * 5));
    fails_as(&with_all(), "V-R10", "vectors that stop lossy priority 0");
    fails_after("V-R10", "lost frames of priority 6", &lose(6));
}

#[test]
fn pauses_of_lossy_priorities_are_found() {
    fails_as(&with_all(), "V-R11", "rate of priority 7");
    fails_after("V-R11", "lost frames of priority 2", &lose_early(2));
    fails_after("V-R11", "rate of priority 4", &stop(4));
}

#[test]
fn a_unit_of_pauses_that_is_too_large_is_found() {
    fails_before("V-R12", "longest silence", &times(|time| time.saturating_mul(4)));
}

#[test]
fn partial_pauses_that_are_too_short_or_too_long_are_found() {
    fails_as(PLAIN, "V-R13", "rate of priority 3, paused for 50 %");
    fails_before("V-R13", "rate of priority 3, paused for 75 %", &times(|time| time / 20 * 19));
    fails_before(
        "V-R13",
        "rate of priority 3, paused for 50 %",
        &times(|time| (time / 20).saturating_mul(21)),
    );
    fails_after("V-R13", "lost frames of priority 3", &lose(3));
}

#[test]
fn sizes_that_do_not_stop_are_found() {
    let size = |size: &'static str| {
        move |trial: &mut Trial| {
            if trial.name.contains(size) {
                trial.control.iter_mut().for_each(blank);
            }
        }
    };
    fails_before("V-R14", "frames of priority 3 against the pause", &size("[64, 570, 1518]"));
    fails_before("V-R14", "frames of priority 3 against the pause", &size("[1526]"));
    fails_after("V-R14", "lost frames of priority 1", &lose_early(1));
    fails_after("V-R14", "rate of priority 4", &stop(4));
}

/// A watchdog leaves a storm too little time for the rates of long frames, which is no doubt about the device.
#[test]
fn sizes_whose_rates_a_short_storm_cannot_show_are_left_out_with_both_times() {
    let text = "rate: 25G\nmax_frame: 9216\nports: [{}, {}, {}]\nlossless: [3]\n\
                expected: {watchdog: {detection: 1ms, restoration: 2ms, poll: 10us}}\n\
                virtual: {profile: {max_frame: 9216, buffer: {total: 4MiB}, defaults: {pfc: {enable: [3]}, \
                watchdog: {detection: 1ms, restoration: 2ms}}}}\n";
    let results = validate(text, &["V-R14"]);
    let test = &results.tests[1];
    let skipped = test.measurements.iter().filter(|m| m.outcome == Outcome::Skip);
    let [skipped] = &skipped.collect::<Vec<_>>()[..] else { panic!("{test:#?}") };
    assert!(skipped.what.contains("[9216] bytes"), "{skipped:?}");
    for part in ["a watchdog of 1ms allows a storm that holds for ", "need more than "] {
        assert!(skipped.detail.contains(part), "{skipped:?}");
    }
    assert_eq!(test.outcome, Outcome::Skip, "{test:#?}");
}

#[test]
fn frames_that_a_pause_cuts_are_found() {
    fails_after("V-R15", "cut or grown frames of priority 0", &cut(0));
}

#[test]
fn frames_that_a_link_failure_costs_are_found() {
    fails_after("V-R16", "frames of priority 5 lost after the storm", &lose(5));
    fails_after("V-R16", "rate of priority 6", &stop(6));
}

/// Pauses that outlast a link failure, at either end of the link.
#[test]
fn pauses_after_a_link_failure_are_found() {
    let held = |trial: &Trial, seen: &mut Observation| {
        let is_it = |record: &Record| {
            let is_first = matches!(record.what, What::Data { flow: FlowId(0), .. });
            record.way == Way::Received && is_first
        };
        if trial.name.starts_with("link failure in a pause") {
            let down = trial.links[0].at;
            seen.records.retain(|record| record.end < down || !is_it(record));
        }
    };
    let part = "frames of priority 3 after the link, before the end of an old pause";
    fails_after("V-R16", part, &held);
    // A sender that is not paused again.
    let ignores = |trial: &mut Trial| {
        if trial.name.starts_with("link failure of a sender") {
            trial.obeys.push((Port(0), Obeys::Nothing));
        }
    };
    let part = "frames of priority 3 lost after the link of a paused sender";
    fails_before("V-R16", part, &ignores);
    let never = |trial: &mut Trial| {
        if trial.name.starts_with("link failure") {
            trial.links.clear();
        }
    };
    let result = judged((GOOD, "V-R16", true), &never, &|_, _| {});
    ends(&result, Outcome::Skip, "in time after it came back");
    for (late, outcome) in [(1_000_000, Outcome::Skip), (1, Outcome::Inconclusive)] {
        let acts = |trial: &Trial, seen: &mut Observation| seen.acted_late = trial.length.div(late);
        ends(&judged((GOOD, "V-R16", true), &never, &acts), outcome, "in time after it came back");
    }
}

/// A device that obeys PFC of this source address alone.
#[test]
fn a_source_address_that_matters_is_found() {
    let only = |name: &'static str| {
        move |trial: &mut Trial| {
            if !trial.name.contains(name) {
                trial.control.iter_mut().for_each(blank);
            }
        }
    };
    fails_before("V-R17", "frames of priority 3 against the pause", &only("its own"));
    fails_before("V-R17", "frames of priority 3 against the pause", &only("another"));
    fails_after("V-R17", "rate of priority 2", &stop(2));
    fails_after("V-R17", "lost frames of priority 3", &lose(3));
    fails_after("V-R17", "forwarded frames", &super::changed::relay);
    // A device that ignores the zero address has no fault.
    let ignores = |trial: &mut Trial| {
        if trial.name.contains("zero") {
            trial.control.iter_mut().for_each(blank);
        }
    };
    let ignored = judged((GOOD, "V-R17", true), &ignores, &|_, _| {});
    ends(&ignored, Outcome::Pass, "");
    let mut reported = ignored.measurements.iter().filter(|m| m.outcome == Outcome::Policy);
    assert!(reported.any(|m| m.what.contains("zero")), "{ignored:#?}");
}

/// Every other value of a test that a pause without an end spoils would mislead.
#[test]
fn a_pause_without_an_end_is_the_headline() {
    let with = |kind| format!("{GOOD}  faults: [{{defect: {{on: s1, kind: {kind}}}}}]\n");
    let says = |kind, id, part| {
        let test = super::changed::plain(&with(kind), id);
        ends(&test, Outcome::Fail, part);
        // One headline, and no value that reads as another fault.
        let others = ["without an end", "without a reaction", "against the pause"];
        for other in others.iter().filter(|other| **other != part) {
            assert!(!test.detail.contains(other), "{test:#?}");
        }
        test
    };
    says("never-expires", "V-R05", "without an end");
    says("never-expires", "V-R01", "without an end");
    let endless = says("never-expires", "V-R06", "without an end");
    let judged = |part: &str| endless.measurements.iter().find(|m| m.what.contains(part)).unwrap();
    assert_eq!(judged("without a reaction").outcome, Outcome::Pass, "{endless:#?}");
    assert_eq!(judged("longest reaction").outcome, Outcome::Pass, "{endless:#?}");
    // One that is ignored, and frames that a device loses in a pause which ends.
    says("ignores-pfc", "V-R01", "against the pause");
    says("ignores-pfc", "V-R06", "without a reaction");
    let lost = judged_with_loss();
    assert!(lost.detail.starts_with("lost frames of priority 3: 1"), "{lost:#?}");
}

/// V-R01 of a good device behind a line that loses a frame of the paused priority.
fn judged_with_loss() -> crate::suite::TestResult {
    judged((GOOD, "V-R01", true), &|_| {}, &lose_early(3))
}

/// A device on a busy machine: each trial has a wait of this part of its length.
fn busy(text: &str, id: &str, part: u64) -> Outcome {
    let waits = |trial: &Trial, seen: &mut Observation| seen.starved = trial.length.div(part);
    judged((text, id, true), &|_| {}, &waits).outcome
}

#[test]
fn a_device_without_a_cpu_is_judged_as_far_as_that_does_not_explain_it() {
    // Good in spite of it, and bad by more than it.
    assert_eq!(busy(GOOD, "V-R01", 20), Outcome::Pass);
    let bad = |kind| format!("{GOOD}  faults: [{{defect: {{on: s1, kind: {kind}}}}}]\n");
    let deaf = bad("ignores-pfc");
    assert_eq!(busy(&deaf, "V-R01", 200), Outcome::Fail);
    assert_eq!(busy(&deaf, "V-R01", 1), Outcome::Inconclusive);
    // A value of the next trial is not excused by the wait in one before it.
    let first = |trial: &Trial, seen: &mut Observation| {
        if trial.name.starts_with("storm, then") {
            seen.starved = trial.length;
        }
    };
    let test = judged((&bad("ignores-zero-time"), "V-R04", true), &|_| {}, &first);
    assert_eq!(test.outcome, Outcome::Fail, "{test:#?}");
    assert!(test.measurements.iter().any(|m| m.outcome == Outcome::Inconclusive), "{test:#?}");
}
