//! Devices whose pauses come from another address than that of the sending port.

use super::GOOD;
use super::changed::{After, ends, fails, fails_after, judged, judged_of, plain};
use crate::file;
use crate::judge::Outcome;
use crate::observation::{Observation, Record, Way, What};
use crate::suite::TestResult;
use crate::trial::{Port, Trial};
use ground::units::Mac;

/// Gives the pauses that a port receives a source address.
fn from(port: Port, mac: Mac) -> impl Fn(&Trial, &mut Observation) {
    move |_, seen| {
        let mine = seen.records.iter_mut().filter(|r| r.port == port && r.way == Way::Received);
        for record in mine {
            if let What::Control(octets) = &mut record.what {
                octets[6..12].copy_from_slice(&mac.0);
            }
        }
    }
}

/// Returns the result of V-X02 on the good device, of which only the address of one port may be known.
fn unknown(known: Option<Mac>, after: After<'_>) -> TestResult {
    let (mut dut, _) = file::parse("dut.yaml", GOOD).unwrap();
    dut.setup.ports.iter_mut().for_each(|port| port.dut_mac = None);
    dut.setup.ports[0].dut_mac = known;
    judged_of(dut, ("V-X02", true), &|_| {}, after).remove(1)
}

fn addresses() -> [Mac; 2] {
    let (dut, _) = file::parse("dut.yaml", GOOD).unwrap();
    [0, 1].map(|n: usize| dut.setup.ports[n].dut_mac.unwrap())
}

#[test]
fn the_address_of_another_port_is_found_where_that_of_the_port_is_known() {
    let [a, b] = addresses();
    assert_ne!(a, b);
    let part = "the source of another port or station";
    fails_after("V-X02", &format!("pauses at B with {part}"), &from(Port(1), a));
    fails_after("V-X02", &format!("pauses at A with {part}"), &from(Port(0), b));
}

/// An address that is not known may be any of the device, but not one of the tester or of nobody.
#[test]
fn an_unknown_address_is_that_of_one_station() {
    let [a, _] = addresses();
    let shared = unknown(None, &from(Port(1), a));
    assert_eq!(shared.outcome, Outcome::Pass, "{shared:#?}");
    let reported = |result: &TestResult| {
        let open = result.measurements.iter().filter(|m| m.outcome == Outcome::Policy);
        open.map(|m| m.what.clone()).collect::<Vec<_>>()
    };
    assert_eq!(reported(&shared), [format!("ports whose pauses come from {a}")]);
    let own = unknown(None, &|_, _| {});
    assert_eq!((own.outcome, reported(&own)), (Outcome::Pass, Vec::new()));
    let known = unknown(Some(a), &from(Port(1), a));
    assert_eq!((known.outcome, reported(&known)), (Outcome::Pass, Vec::new()), "{known:#?}");
    let (dut, _) = file::parse("dut.yaml", GOOD).unwrap();
    let tester = unknown(None, &from(Port(1), dut.setup.ports[0].mac));
    fails(&tester, "pauses at B with the source of another port or station");
    let zero = unknown(None, &from(Port(0), Mac::default()));
    fails(&zero, "pauses at A with no unicast source, or several");
}

/// No pause arrives where each is damaged: the reason is the headline, and not their number.
#[test]
fn damaged_pauses_are_told_from_pauses_that_never_came() {
    let text = format!("{GOOD}  faults: [{{defect: {{on: s1, kind: pfc-bad-fcs}}}}]\n");
    let damaged = plain(&text, "V-X02");
    ends(&damaged, Outcome::Fail, "pauses at A with a wrong FCS: ");
    let none = judged((GOOD, "V-X02", true), &|_| {}, &|_, seen| {
        let is_pause = |r: &Record| r.way == Way::Received && matches!(r.what, What::Control(_));
        seen.records.retain(|record| !is_pause(record));
    });
    ends(&none, Outcome::Fail, "pauses at A: 0, at least 1 wanted");
    let good = plain(GOOD, "V-X02");
    assert!(good.measurements.iter().all(|m| !m.what.contains("FCS")), "{good:#?}");
}

/// A PFC frame whose times are zero resumes, and a device that only resumes pauses nothing.
#[test]
fn a_device_that_only_resumes_sends_no_pauses() {
    let only_resumes = |_: &Trial, seen: &mut Observation| {
        for record in seen.records.iter_mut().filter(|record| record.way == Way::Received) {
            if let What::Control(octets) = &mut record.what {
                octets[18..].fill(0);
            }
        }
    };
    fails_after("V-X02", "pauses at A", &only_resumes);
    fails_after("V-X06", "pauses of priority 3 (see V-X01)", &only_resumes);
}
