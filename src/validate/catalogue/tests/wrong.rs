//! Devices that are set up otherwise than the file says. Each must fail the tests named with it. More are in
//! `knobs.yaml`.

use super::{GOOD, outcome, validate};
use crate::judge::Outcome;

/// A change of the good device, and the tests that must find it.
struct Wrong {
    name: &'static str,
    /// Text of the good device's file, and what it is replaced by.
    change: (&'static str, &'static str),
    fails: &'static [&'static str],
}

const PFC: &str = "pfc: {enable: [3, 4]}";
const LOSSLESS: &str = "lossless: {xoff: 104000}}";

const DOG: &str = "      watchdog: {detection: 1ms, restoration: 2ms}\n";
const ECN: &str = "{ecn: {kmin: 20KB, kmax: 60KB, pmax: 20%, at: dequeue}}\n";

const WRONG: &[Wrong] = &[
    Wrong {
        name: "a share is off by 2 %",
        change: ("{weight: 60}", "{weight: 65}"),
        fails: &["V-S01"],
    },
    Wrong {
        name: "Kmax is higher",
        change: (ECN, "{ecn: {kmin: 20KB, kmax: 90KB, pmax: 20%}}\n"),
        fails: &["V-E01"],
    },
    Wrong { name: "nothing is marked", change: (ECN, "{}\n"), fails: &["V-E01"] },
    Wrong { name: "there is no watchdog", change: (DOG, "\n"), fails: &["V-W01", "V-W04"] },
    Wrong {
        name: "the watchdog is late",
        change: (DOG, "      watchdog: {detection: 1100us, restoration: 2ms}\n"),
        fails: &["V-W01"],
    },
    Wrong {
        name: "the watchdog restores late",
        change: (DOG, "      watchdog: {detection: 1ms, restoration: 3ms}\n"),
        fails: &["V-W01"],
    },
    Wrong {
        name: "the watchdog only reports",
        change: (DOG, "      watchdog: {detection: 1ms, restoration: 2ms, action: alert}\n"),
        fails: &["V-W01", "V-W04"],
    },
    Wrong {
        name: "PFC is off",
        change: (PFC, ""),
        fails: &["V-R01", "V-R04", "V-R05", "V-X01", "V-X02", "V-X03", "V-X04", "V-X10"],
    },
    Wrong {
        name: "PFC is on for other priorities",
        change: (PFC, "pfc: {enable: [0, 3, 4]}"),
        fails: &["V-X06"],
    },
    Wrong {
        name: "the headroom has no term for the peer's response",
        change: (LOSSLESS, "lossless: {xoff: 10KiB}}\n    headroom_check: off"),
        fails: &["V-X10", "V-H02"],
    },
    Wrong {
        name: "XOFF comes 3 cells late",
        change: ("static_th: 105872", "static_th: 106496"),
        fails: &["V-H01"],
    },
    Wrong {
        name: "the threshold is dynamic",
        change: ("static_th: 105872", "dynamic_th: -4"),
        fails: &["V-H01"],
    },
    Wrong { name: "PAUSE instead of PFC", change: (PFC, "pause: {}"), fails: &["V-R01", "V-X02"] },
];

#[test]
fn a_device_that_is_set_up_wrongly_fails() {
    for wrong in WRONG {
        let (from, to) = wrong.change;
        assert!(GOOD.contains(from), "{}", wrong.name);
        let results = validate(&GOOD.replace(from, to), wrong.fails);
        assert_eq!(outcome(&results, "V-00"), Some(Outcome::Pass), "{}: {results:#?}", wrong.name);
        for id in wrong.fails {
            let found = outcome(&results, id);
            assert_eq!(found, Some(Outcome::Fail), "{}: {id}: {results:#?}", wrong.name);
        }
    }
}
