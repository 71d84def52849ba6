//! Devices with PAUSE instead of PFC, right and wrong.

use super::changed::{self, After, Before, fails_after, fails_as, judged};
use super::{GOOD, TESTS, all_pass, other_kind, skips, tagged, validate, validate_at, with};
use crate::observation::{Observation, Way, What};
use crate::setup::FlowControl;
use crate::test::Level;
use crate::trial::{Port, Trial, pause_frame};
use ground::time::Duration;
use ground::units::{Mac, Quanta};
use wire::ip::Ecn;

const GOOD_PAUSE: &str = "
rate: 100G
ports: [{}, {}, {}]
flow_control: pause
virtual:
  profile:
    buffer:
      cell: 208
      total: 4MiB
      profiles:
        lossless: {shared: {static_th: 105872}, lossless: {xoff: 104000}}
    defaults:
      pause: {}
";

const IDS: [&str; 3] = ["V-P01", "V-P02", "V-P03"];

#[test]
fn the_good_device_with_pause_passes_at_other_rates_and_with_tags() {
    for rate in ["1G", "10G"] {
        all_pass(&validate(&GOOD_PAUSE.replace("100G", rate), &IDS));
    }
    all_pass(&validate(&tagged(GOOD_PAUSE), &IDS));
}

#[test]
fn a_port_with_pfc_that_is_paused_sends_pfc() {
    all_pass(&validate_at(Level::Full, GOOD, &["V-P03"]));
}

/// Tests of the other kind are skipped, and name the field.
#[test]
fn tests_of_the_other_flow_control_are_skipped() {
    let kinds = [(GOOD, FlowControl::Pfc), (GOOD_PAUSE, FlowControl::Pause)];
    for (text, flow_control) in kinds {
        let text = text.replacen("[{}, {}, {}]", "[{}, {}, {}, {}]", 1);
        let setup = crate::file::parse("dut.yaml", &text).unwrap().0.setup;
        assert_eq!(setup.flow_control, flow_control);
        let others = TESTS.iter().filter(|test| other_kind(test, &setup).is_some());
        let others = others.filter(|test| !test.id.starts_with("V-N"));
        let ids: Vec<_> = others.map(|test| test.id).collect();
        assert!(ids.len() > 1);
        skips(&text, &ids, &format!("flow_control: {flow_control}"));
    }
}

/// Asserts that a device with other flow control fails a test in a value whose name has this part.
fn fails(flow_control: &str, id: &str, part: &str) {
    fails_as(&with(GOOD_PAUSE, "pause: {}", flow_control), id, part);
}

/// Asserts the same of the good device behind a line that changes what is recorded.
fn fails_behind(id: &str, part: &str, after: After<'_>) {
    changed::fails(&judged((GOOD_PAUSE, id, true), &|_| {}, after), part);
}

#[test]
fn a_device_that_does_not_obey_pause_is_found() {
    for other in ["pfc: {}", "pause: {obey: false}"] {
        fails(other, "V-P01", "frames of priority 7 against the pause");
        fails(other, "V-P01", "longest silence of priority 0 for 65535 quanta");
    }
}

#[test]
fn a_device_that_sends_no_pause_is_found() {
    for other in ["pfc: {enable: [0]}", "pause: {send: false}", "default_priority: 0"] {
        fails(other, "V-P02", "PAUSE frames at A");
        fails(other, "V-P03", "pauses of priority 0 at A");
    }
}

/// Changes the MAC control frames that the device sends.
fn control(change: impl Fn(&mut [u8])) -> impl Fn(&Trial, &mut Observation) {
    move |_, seen| {
        for record in seen.records.iter_mut().filter(|record| record.way == Way::Received) {
            if let What::Control(octets) = &mut record.what {
                change(octets);
            }
        }
    }
}

#[test]
fn frames_of_another_form_are_found() {
    let fails = |part, after: After<'_>| fails_behind("V-P02", part, after);
    fails("frames at A with another destination", &control(|octets| octets[5] = 0x0e));
    fails("frames at B with no unicast source", &control(|octets| octets[6..12].fill(0)));
    fails("frames at A with another opcode", &control(|octets| octets[15] = 2));
    fails("frames at A with reserved bytes", &control(|octets| octets[59] = 1));
    fails("frames at A below 64 bytes", &|_, seen| {
        let all = seen.records.iter_mut();
        let control = all.filter(|record| matches!(record.what, What::Control(_)));
        control.for_each(|record| record.len = 60);
    });
}

#[test]
fn pauses_without_congestion_are_found() {
    let part = "MAC control frames at A without congestion";
    fails_behind("V-P02", part, &|trial, seen| {
        let octets = pause_frame(Mac([2, 0, 0, 0, 0, 9]), Quanta(9));
        let mut copy = seen.records[0].clone();
        (copy.port, copy.way) = (Port(0), Way::Received);
        copy.what = What::of(&octets, trial.flows.len(), Ecn::NotEct);
        seen.records.push(copy);
    });
}

/// A device whose paused port sends no pause, or late.
#[test]
fn a_paused_port_that_holds_pauses_back_is_found() {
    let silent = |trial: &Trial, seen: &mut Observation| {
        if trial.name == "overload at a paused port" {
            seen.records.retain(|record| {
                let is_pause =
                    matches!(record.what, What::Control(_)) && record.way == Way::Received;
                !(is_pause && record.port == Port(0))
            });
        }
    };
    fails_behind("V-P03", "at A (overload at a paused port)", &silent);
    fails_after("V-P03", "at A (overload at a paused port)", &silent);
    let late = |trial: &Trial, seen: &mut Observation| {
        if trial.name == "overload at a paused port" {
            let control = seen.records.iter_mut().filter(|r| matches!(r.what, What::Control(_)));
            control.for_each(|record| record.end += Duration::from_micros(2));
        }
    };
    fails_after("V-P03", "delay of the pause by a storm", &late);
}

/// A time of zero that is not obeyed: after a storm, and right behind a PAUSE.
#[test]
fn a_device_that_does_not_resume_is_found() {
    let rows = [
        ("storm, then XON", "time to resume priority 0"),
        ("PAUSE taken back at once", "longest silence after a PAUSE that is taken back"),
    ];
    for (name, part) in rows {
        let deaf: Before<'_> = &|trial| {
            if trial.name == name {
                let xon = trial.control.last_mut().unwrap();
                xon.octets[16..18].fill(0xff);
            }
        };
        changed::fails(&judged((GOOD_PAUSE, "V-P01", true), deaf, &|_, _| {}), part);
    }
}
