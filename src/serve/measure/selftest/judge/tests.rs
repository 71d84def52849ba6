//! Each verdict in a case in which it fails, and in one in which it is not known.

use dpdk::{DriverCode, FlowControlSetting};
use ground::verdict::Verdict;

use super::*;
use crate::selftest::bench::Passed;
use crate::selftest::report::Found::{Fails, NotTried, Ok as Good, Unknown};
use crate::selftest::report::{Found, Line};

fn through(offered: u64, taken: u64, intact: u64) -> Passed {
    Passed { offered, taken, intact, other: None, received: intact }
}

fn parts(all: &[(u64, u64, u64)]) -> Vec<(String, Passed)> {
    all.iter().map(|(o, t, i)| ("kind".to_owned(), through(*o, *t, *i))).collect()
}

#[track_caller]
fn sound(line: Line) -> Found {
    assert!(line.is_sound(), "{line:?}");
    line.verdict
}

#[test]
fn frames_that_do_not_arrive_fail_and_frames_that_were_not_sent_are_no_success() {
    let verdict = |all: &[(u64, u64, u64)]| sound(passed("x", None, &parts(all), "look"));
    assert_eq!(verdict(&[(8, 8, 8), (8, 8, 8)]), Good);
    assert_eq!(verdict(&[(8, 8, 8), (8, 8, 7)]), Fails);
    assert_eq!(verdict(&[(8, 8, 8), (8, 0, 0)]), Unknown);
    assert_eq!(verdict(&[(8, 4, 3)]), Fails, "one of those that were sent is lost");
    assert_eq!(verdict(&[(0, 0, 0)]), NotTried);
    assert_eq!(verdict(&[]), NotTried);
    let mut altered = through(1, 1, 0);
    altered.other = Some(vec![0x81, 0x00, 0xff]);
    let line = passed("x", None, &[("S-tag".into(), altered)], "look");
    assert!(line.reason.unwrap().contains("8100 ff"));
}

#[test]
fn a_nic_that_obeys_or_swallows_pauses_fails() {
    let watch = |arrived, seen| PauseWatch {
        offered: [1_000, 2_000],
        arrived,
        pauses_sent: 50,
        pauses_seen: seen,
    };
    let verdict = |w: &PauseWatch| sound(left_to_software("x", None, w));
    assert_eq!(verdict(&watch([1_000, 2_000], 50)), Good);
    assert_eq!(verdict(&watch([1_000, 100], 50)), Fails, "it obeys");
    assert_eq!(verdict(&watch([1_000, 2_000], 0)), Fails, "it swallows");
    assert_eq!(verdict(&watch([1_000, 400], 50)), Unknown, "slower, and not stopped");
    assert_eq!(verdict(&watch([0, 0], 50)), Unknown, "nothing arrives anyway");
    assert_eq!(verdict(&PauseWatch { pauses_sent: 0, ..watch([9, 9], 0) }), Unknown);
}

#[test]
fn a_station_that_goes_on_or_stops_for_good_fails() {
    let good = Obeyed {
        before: (1_000, 1_000),
        during: (3, 900),
        after: (900, 1_000),
        pauses_sent: 100,
        pauses_seen: 100,
    };
    let verdict = |o: Obeyed| sound(obeyed("x", &o));
    assert_eq!(verdict(good), Good);
    assert_eq!(verdict(Obeyed { during: (900, 900), ..good }), Fails);
    assert_eq!(verdict(Obeyed { during: (300, 900), ..good }), Unknown, "late");
    assert_eq!(verdict(Obeyed { during: (0, 0), ..good }), Fails);
    assert_eq!(verdict(Obeyed { after: (0, 1_000), ..good }), Fails);
    assert_eq!(verdict(Obeyed { after: (20, 1_000), ..good }), Unknown);
    assert_eq!(verdict(Obeyed { before: (0, 0), ..good }), Unknown);
    assert_eq!(verdict(Obeyed { pauses_sent: 0, ..good }), Unknown);
}

#[test]
fn counters_that_differ_fail() {
    let of = |counter, actual| Counted { what: "sent", counter, actual };
    let verdict = |all: &[Counted]| sound(counted("x", all));
    assert_eq!(verdict(&[of(10, 10), of(5, 5)]), Good);
    assert_eq!(verdict(&[of(10, 10), of(4, 5)]), Fails);
    assert_eq!(verdict(&[of(0, 10), of(0, 5)]), Fails);
    assert_eq!(verdict(&[of(0, 0)]), NotTried);
}

#[test]
fn lost_frames_that_no_counter_has_fail() {
    let of = |taken, received, missed, refused| {
        let is_emulated = false;
        sound(super::missed("x", &Overrun { taken, received, missed, refused, is_emulated }))
    };
    let emulated = Overrun { taken: 9, missed: Some(0), is_emulated: true, ..Overrun::default() };
    assert_eq!(sound(super::missed("x", &emulated)), Unknown, "its cable is a queue");
    assert_eq!(of(1_000, 600, Some(400), 0), Good);
    assert_eq!(of(1_000, 600, Some(300), 100), Good);
    assert_eq!(of(1_000, 600, Some(0), 0), Fails);
    assert_eq!(of(1_000, 600, Some(399), 0), Fails);
    assert_eq!(of(1_000, 600, Some(401), 0), Fails);
    let over = Overrun { missed: Some(10), ..emulated };
    assert_eq!(sound(super::missed("x", &over)), Fails, "more than were lost");
    assert_eq!(of(1_000, 600, None, 0), Unknown, "never 0");
    assert_eq!(of(1_000, 1_000, Some(0), 0), NotTried);
    assert_eq!(of(0, 0, Some(0), 0), NotTried);
}

#[test]
fn ring_sizes_that_are_refused_or_lose_frames_fail() {
    let one = |result| RingTry { asked: (64, 64), result };
    let verdict = |all: &[RingTry]| sound(rings("x", None, all));
    let good = one(Ok(((64, 64), Some(through(8, 8, 8)))));
    assert_eq!(verdict(std::slice::from_ref(&good)), Good);
    assert_eq!(verdict(&[one(Ok(((128, 64), None)))]), Good);
    assert_eq!(verdict(&[good.clone(), one(Err("no".into()))]), Fails);
    assert_eq!(verdict(&[good, one(Ok(((64, 64), Some(through(8, 8, 7)))))]), Fails);
    assert_eq!(verdict(&[]), NotTried);
}

#[test]
fn a_link_that_stays_down_fails_and_a_peer_that_stays_lit_is_unknown() {
    let of = |set: Result<(), &str>, seen_down, seen_up, intact| {
        let set = set.map_err(String::from);
        sound(link("x", &LinkTry { set, seen_down, seen_up, passed: through(8, 8, intact) }))
    };
    assert_eq!(of(Ok(()), true, true, 8), Good);
    assert_eq!(of(Ok(()), true, false, 0), Fails);
    assert_eq!(of(Ok(()), true, true, 0), Fails);
    assert_eq!(of(Ok(()), false, true, 8), Unknown);
    assert_eq!(of(Err("-95"), false, true, 8), NotTried);
}

#[test]
fn a_start_that_is_refused_or_deaf_fails() {
    let verdict = |result| sound(restarts("x", &[("start 2", result)]));
    assert_eq!(verdict(Ok(Some(through(8, 8, 8)))), Good);
    assert_eq!(verdict(Ok(None)), Good);
    assert_eq!(verdict(Ok(Some(through(8, 8, 0)))), Fails);
    assert_eq!(verdict(Err("-22".into())), Fails);
    assert_eq!(sound(restarts("x", &[])), NotTried);
}

#[test]
fn a_driver_that_takes_requests_for_stamps_and_gives_none_fails() {
    let of = |offered: Result<(), &str>, all, with, wrong| {
        let frames = vec![("PTP", all, with)];
        let offered = offered.map(|()| "all frames".into()).map_err(String::from);
        sound(stamped("x", &StampTry { offered, frames, wrong }))
    };
    assert_eq!(of(Ok(()), 8, 8, 0), Good);
    assert_eq!(of(Ok(()), 8, 0, 0), Fails);
    assert_eq!(of(Ok(()), 8, 7, 0), Fails);
    assert_eq!(of(Ok(()), 8, 8, 1), Fails);
    assert_eq!(of(Ok(()), 0, 0, 0), NotTried);
    assert_eq!(of(Err("-95"), 8, 0, 0), NotTried);
}

#[test]
fn a_link_that_is_down_or_half_duplex_fails() {
    let of = |after_ms, full_duplex, is_virtual| {
        sound(link_up("x", None, LinkUp { after_ms, full_duplex, is_virtual }))
    };
    assert_eq!(of(Some(9), true, false), Good);
    assert_eq!(of(None, true, false), Fails);
    assert_eq!(of(Some(9), false, false), Fails);
    assert_eq!(of(Some(9), false, true), Good, "a virtual device has no duplex");
}

fn refusal() -> DriverCode {
    DriverCode { code: -95, text: "Operation not supported".into() }
}

#[test]
fn flow_control_that_stays_on_fails_and_without_a_setting_it_is_not_known() {
    let setting =
        |obeys| FlowControlSetting { obeys, sends: false, autoneg: false, forwards: false };
    let verdict = |after: Result<FlowControlSetting, DriverCode>, is_virtual| {
        sound(off("x", &Ok(setting(true)), &after, is_virtual))
    };
    assert_eq!(verdict(Ok(setting(false)), false), Good);
    assert_eq!(verdict(Ok(setting(true)), false), Fails);
    assert_eq!(verdict(Err(refusal()), false), Unknown);
    assert_eq!(verdict(Err(refusal()), true), NotTried);
}

#[test]
fn pfc_of_the_device_that_is_claimed_and_refused_fails() {
    let of = |claim: Result<Option<u8>, DriverCode>, started: Result<(), &str>| {
        by_device("x", &claim, &started.map_err(String::from))
    };
    assert_eq!(sound(of(Ok(Some(8)), Err("-22"))), Fails);
    // One whose number of priorities its driver does not say has no number, and 0 is one.
    let unknown = of(Ok(None), Err("no number"));
    assert_eq!(unknown.claimed.as_deref(), Some("an unknown number of priorities"));
    assert_eq!(sound(unknown), NotTried);
    assert_eq!(sound(of(Err(refusal()), Ok(()))), Fails);
    assert_eq!(sound(of(Ok(Some(8)), Ok(()))), Unknown, "a start is no reaction");
    let none = of(Err(refusal()), Err("no PFC"));
    assert!(none.claimed.as_ref().unwrap().contains("-95"), "{none:?}");
    assert_eq!(sound(none), NotTried);
}

#[test]
fn single_frames_that_do_not_arrive_have_no_jitter() {
    let of = |arrived| sound(at_rest("x", None, arrived, 200, "min 1 ns".into()));
    assert_eq!([of(200), of(0), of(50)], [Good, Fails, Unknown]);
}

#[test]
fn a_round_trip_is_only_as_good_as_its_measurement() {
    let of = |verdict, times: Option<&str>| {
        sound(super::round_trip("x", verdict, times.map(String::from), None))
    };
    assert_eq!(of(Verdict::Pass, Some("1 us")), Good);
    assert_eq!(of(Verdict::Fail, None), Fails);
    assert_eq!(of(Verdict::Inconclusive, Some("9 ms")), Unknown);
    assert_eq!(of(Verdict::Pass, None), Unknown, "without a time nothing was measured");
}
