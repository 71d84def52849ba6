//! PFC frames made by scapy stop the priorities that they name, for their pause time.

use crate::netns::{
    isolated,
    paced::{Paced, Seen1, median, pause_ns},
};
use crate::run::Dir;

const TOOLS: [&str; 3] = ["tcpdump", "python3", "scapy"];
const PFC: &str = "pfc: {enable: [3]}";

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Checks the duration of pauses of `quanta`, sent at `starts`: half of them must be within 5 % of
/// it, and none may end early, except by the floor. The switch reads its clock before it takes a
/// burst, so if the thread is preempted in between, a pause counts as older than it is.
fn judge(seen: &Seen1, quanta: u64, starts: &[u64]) {
    let (said, floor) = (pause_ns(quanta), seen.floor());
    let of = |start: &u64| seen.stopped_for(3, *start, floor.min(said / 2));
    let measured: Vec<_> = starts.iter().map(of).collect();
    let shown: Vec<_> = measured.iter().map(|ns| format!("{:.3}", ms(*ns))).collect();
    println!(
        "{quanta} quanta: {:.3} ms said, {} ms measured, floor {:.3} ms",
        ms(said),
        shown.join(" "),
        ms(floor)
    );
    let early = |ns: u64| said.saturating_sub(ns);
    assert!(measured.iter().all(|ns| early(*ns) <= floor), "{quanta} quanta ended early");
    let middle = median(measured);
    let late = middle.saturating_sub(said);
    assert!(early(middle) <= said / 20, "{quanta} quanta: {:.3} ms early", ms(early(middle)));
    assert!(late <= said / 20 + floor, "{quanta} quanta: {:.3} ms late", ms(late));
}

#[test]
fn priority_3_alone_stops_for_as_long_as_its_quanta_say() {
    isolated(&TOOLS, || {
        let dir = Dir::new("quanta");
        let mut paced = Paced::start(&dir, PFC, "");
        let lengths = [10_000, 30_000, 65_535];
        for _ in 0..3 {
            for quanta in lengths {
                paced.pause(&format!("pfc 3:{quanta}"));
                paced.run_on(pause_ns(quanta) / 1_000_000 + 150);
            }
        }
        let (switch, seen) = paced.end(|_, _| 0);
        let starts = seen.pauses();
        assert_eq!(starts.len(), 9);
        for (n, quanta) in lengths.into_iter().enumerate() {
            let of: Vec<_> = starts.iter().skip(n).step_by(3).copied().collect();
            judge(&seen, quanta, &of);
            // The other priority was not interrupted: it has no gap near a pause.
            for start in of {
                let gap = seen.longest_gap(0, start, start + pause_ns(quanta));
                assert!(gap < pause_ns(65_535) / 2, "priority 0 stood still for {:.3} ms", ms(gap));
            }
        }
        let (status, summary) = switch.stop();
        assert_eq!(status, Some(0), "{summary:#}");
        let of = |name: &str| summary["ports"][1]["priorities"][3][name].as_u64().unwrap();
        assert_eq!((of("pfc_rx_frames"), of("pfc_rx_transitions")), (9, 9));
        let said: u64 = lengths.into_iter().map(|quanta| 3 * pause_ns(quanta)).sum();
        // The paused time starts at the poll after the one that received the pause: never shorter
        // than the frame's, and longer by at most one poll, which is no longer than the longest gap
        // of the other priority.
        let paused = of("pfc_rx_paused_ns");
        assert!(paused >= said && paused - said <= 9 * seen.floor(), "{paused} of {said}");
        assert_eq!(summary["ports"][1]["priorities"][0]["pfc_rx_frames"], 0);
    });
}

#[test]
fn an_xon_resumes_and_a_new_pause_replaces_the_old() {
    isolated(&TOOLS, || {
        let dir = Dir::new("xon");
        let mut paced = Paced::start(&dir, PFC, "");
        for _ in 0..3 {
            paced.pause("pfc 3:65535");
            paced.run_on(60);
            paced.pause("pfc 3:0");
            paced.run_on(300);
            // The second pause counts from its own start, and is shorter than the rest of the
            // first.
            paced.pause("pfc 3:65535");
            paced.run_on(60);
            paced.pause("pfc 3:20000");
            paced.run_on(300);
            // A pause that does not name the priority leaves it paused.
            paced.pause("pfc 3:30000");
            paced.pause("pfc 5:0");
            paced.run_on(300);
        }
        let (switch, seen) = paced.end(|_, _| 0);
        let starts = seen.pauses();
        assert_eq!(starts.len(), 18);
        let every = |n: usize| -> Vec<u64> { starts.iter().skip(n).step_by(6).copied().collect() };
        let resumed: Vec<_> = every(1).iter().map(|xon| seen.stopped_for(3, *xon, 0)).collect();
        println!("after XON: {:.3} ms in the middle of three", ms(median(resumed.clone())));
        assert!(median(resumed) <= seen.floor() + pause_ns(65_535) / 20);
        for (xoff, xon) in every(0).into_iter().zip(every(1)) {
            let went_on = xoff + seen.stopped_for(3, xoff, seen.floor().min(30_000_000));
            assert!(went_on >= xon, "went on {:.3} ms before XON", ms(xon - went_on));
        }
        judge(&seen, 20_000, &every(3));
        judge(&seen, 30_000, &every(4));
        assert_eq!(switch.stop().0, Some(0));
    });
}

#[test]
fn pauses_of_other_priorities_and_malformed_ones_stop_nothing() {
    isolated(&TOOLS, || {
        let dir = Dir::new("other");
        let mut paced = Paced::start(&dir, PFC, "");
        // Of a priority that has no frames, and of one that has some and no PFC.
        paced.pause("pfc 5:65535 0:65535");
        paced.run_on(pause_ns(65_535) / 1_000_000);
        for malformed in ["opcode", "short", "address", "tagged", "pause 65535"] {
            paced.pause(malformed);
            paced.run_on(50);
        }
        paced.run_on(200);
        let (switch, seen) = paced.end(|_, _| 0);
        let start = seen.pauses()[0];
        for priority in [0, 3] {
            let gap = seen.longest_gap(priority, start, u64::MAX);
            println!("priority {priority}: longest gap {:.3} ms", ms(gap));
            assert!(gap < pause_ns(65_535) / 2, "priority {priority} stopped");
        }
        let (status, summary) = switch.stop();
        assert_eq!(status, Some(0), "{summary:#}");
        let reasons = "mac_control_opcode mac_control_short mac_control_address \
            mac_control_tagged pause_not_enabled";
        for reason in reasons.split_whitespace() {
            assert_eq!(summary["drops"][reason], 1, "{reason}: {:#}", summary["drops"]);
        }
        // Host 0 received no frame at all, so no pause was forwarded.
        assert_eq!(summary["ports"][0]["tx_frames"], 0);
        assert_eq!(summary["ports"][1]["priorities"][3]["pfc_rx_frames"], 0);
        assert_eq!(summary["ports"][1]["priorities"][5]["pfc_rx_frames"], 1);
    });
}
