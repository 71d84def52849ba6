//! Link-wide PAUSE from another host, and pause storms that the watchdog ends.

use serde_json::Value;

use crate::netns::{
    isolated,
    paced::{Paced, median, pause_ns},
};
use crate::run::{self, Dir};

const TOOLS: [&str; 3] = ["tcpdump", "python3", "scapy"];
const WATCHED: &str = ", watchdog: {detection: 200ms, restoration: 300ms, action: ";

#[test]
fn pause_stops_all_priorities_for_its_time_and_pfc_is_not_obeyed_beside_it() {
    isolated(&TOOLS, || {
        let dir = Dir::new("pause-in");
        let mut paced = Paced::start(&dir, "pause: {}", "");
        for _ in 0..3 {
            paced.pause("pause 30000");
            paced.run_on(300);
            paced.pause("pause 65535");
            paced.run_on(60);
            paced.pause("pause 0");
            paced.run_on(150);
        }
        paced.pause("pfc 0:65535 3:65535");
        paced.run_on(300);
        let (switch, seen) = paced.end(|_, _| 0);
        let starts = seen.pauses();
        assert_eq!(starts.len(), 10);
        let said = pause_ns(30_000);
        for priority in [0, 3] {
            // All frames stop while a link is paused, so the floor is that of all other times.
            let floor = seen.longest_gap_clear_of(priority, &starts[..9]);
            let after = seen.longest_gap(priority, starts[9], u64::MAX);
            assert!(after < pause_ns(65_535) / 2, "PFC stopped priority {priority}");
            let of = |start: &u64| seen.stopped_for(priority, *start, floor.min(said / 2));
            let measured: Vec<_> = starts.iter().step_by(3).take(3).map(of).collect();
            println!("{said} ns said, {measured:?} measured, floor {floor}: priority {priority}");
            let middle = median(measured);
            assert!(middle >= said - said / 20 && middle <= said + said / 20 + floor);
            let resumed = starts.iter().skip(2).step_by(3).take(3);
            let resumed: Vec<_> = resumed.map(|xon| seen.stopped_for(priority, *xon, 0)).collect();
            assert!(median(resumed) <= floor + said / 20);
        }
        let (status, summary) = switch.stop();
        assert_eq!(status, Some(0), "{summary:#}");
        assert_eq!(summary["ports"][1]["pause_rx_frames"], 9);
        assert_eq!(summary["drops"]["pfc_not_enabled"], 1);
    });
}

fn tx_frames(shown: &Value, priority: usize) -> u64 {
    shown["ports"][1]["priorities"][priority]["tx_frames"].as_u64().unwrap()
}

/// A storm that is detected, and ends when the pauses stop; `meanwhile` is the condition to reach
/// during the storm, given the summary at its detection.
fn stormed(name: &str, action: &str, meanwhile: impl Fn(&Value, &Value) -> bool) {
    let dir = Dir::new(name);
    let mut paced = Paced::start(&dir, "pfc: {enable: [3]}", &format!("{WATCHED}{action}}}"));
    // A pause that is shorter than the detection time does not trigger the watchdog.
    paced.pause("pfc 3:20000");
    paced.run_on(150);
    assert_eq!(paced.switch.show()["storms"]["detected"], 0);

    paced.pause("storm 3:65535");
    let at_detection = paced.switch.wait("detected", |s| s["storms"]["detected"] == 1);
    paced.switch.wait("acted upon", |s| {
        tx_frames(s, 0) > tx_frames(&at_detection, 0) + 50 && meanwhile(&at_detection, s)
    });
    assert_eq!(paced.switch.show()["storms"]["restored"], 0, "restored in the storm");
    let sent = 1 + paced.pauses.tell("calm").as_u64().unwrap();
    paced.switch.wait("restored", |s| s["storms"]["restored"] == 1);
    let restored = paced.switch.show();
    paced.switch.wait("flowing again", |s| tx_frames(s, 3) > tx_frames(&restored, 3) + 50);

    let dropped = |switch: &run::Switch, priority: u8| match priority {
        3 => switch.show()["drops"]["watchdog"].as_u64().unwrap(),
        _ => 0,
    };
    let (switch, _) = paced.end(dropped);
    let (_, summary) = switch.stop();
    let of = &summary["ports"][1]["priorities"][3];
    assert_eq!(of["pfc_rx_frames"], sent);
    assert_eq!((&of["storms_detected"], &of["storms_restored"]), (&1.into(), &1.into()));
    let drops = summary["drops"].as_object().unwrap();
    assert!(drops.iter().all(|(name, n)| *n == 0 || name == "watchdog"), "{drops:#?}");
    println!("{sent} pauses, {} frames dropped", drops["watchdog"]);
    assert_eq!(drops["watchdog"].as_u64() > Some(0), action == "drop");
}

#[test]
fn a_storm_drops_the_frames_of_its_queue_and_no_others() {
    isolated(&TOOLS, || {
        stormed("storm-drop", "drop", |at_detection, now| {
            // Queued frames were discarded, and so were later ones.
            assert_eq!(tx_frames(now, 3), tx_frames(at_detection, 3), "sent in spite of the storm");
            now["drops"]["watchdog"].as_u64() > Some(300)
        });
    });
}

#[test]
fn a_storm_can_be_ignored() {
    isolated(&TOOLS, || {
        stormed("storm-forward", "forward", |at_detection, now| {
            tx_frames(now, 3) > tx_frames(at_detection, 3) + 50
        });
    });
}
