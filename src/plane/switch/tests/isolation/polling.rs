//! Poll invariance with isolation: polling more often than needed changes no sent frame.

use proptest::prelude::*;

use super::*;
use crate::tests::polling::{Moment, run};
use ground::rand::Rng;
use ground::time::{Duration, Instant};

type Sent = Vec<Moment>;

/// Shaped ports, peers at the ingress ports, and a dedicated priority for the congesting class.
fn shaped() -> SwitchPlan {
    let mut plan = isolating_switch();
    apart::guarded(&mut plan);
    plan.buffer.total = Cells(2_000);
    plan.ports.iter_mut().for_each(|port| port.shaped = true);
    let isolation = plan.congestion.isolation.as_mut().unwrap();
    isolation.machine.max_flow_life = Duration::from_micros(30);
    isolation.peers = (0..4).map(|n| (port(n), peer(CimType::L2))).collect();
    plan
}

/// Random arrivals: time, port, frame.
fn arrivals(seed: u64) -> Sent {
    let mut rng = Rng::new(seed);
    let mut now = Instant::ZERO;
    let mut out = Vec::new();
    for number in 0..400 {
        now += Duration::from_nanos(u64::from(rng.next_u16() % 700));
        let mut below = |n: u32| rng.next_u16() % n;
        let flow = 1 + below(5) as u16;
        let (at, octets) = match below(16) {
            0 => {
                let priority = Priority::ALL[[3, 5][below(2) as usize]];
                (3, pause(host(9), priority, below(256) as u16))
            }
            1 => (3, cims::cim_about(flow, CimType::L2, host(7), below(2) == 1)),
            _ => (flow % 3, packet(flow as u8, flow, number, 64 + below(1_300) as usize)),
        };
        out.push((now, at, octets));
    }
    out
}

/// Returns the sent frames; `extra` is the seed for additional polls at random times.
fn trace(arrivals: &Sent, extra: Option<u64>) -> Sent {
    trace_from(Instant::ZERO, arrivals, extra)
}

/// As [`trace`], with a switch that is first polled at `begin`.
fn trace_from(begin: Instant, arrivals: &Sent, extra: Option<u64>) -> Sent {
    let mut lab: Lab = Lab::new(&shaped());
    lab.now = begin;
    lab.inject(3, &frame(host(8), host(9), None, 60));
    let out = run(&mut lab, arrivals, extra);
    let counters = lab.switch.isolation().unwrap().counters();
    assert!(counters.isolated_frames > 20, "{counters:?}");
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// A run across 2^64 ps gives the same result as one at the start of time.
    #[test]
    fn uptime_changes_nothing(seed in any::<u64>(), before_us in 0_u64..400) {
        let late = Instant::from_picos(1 << 64).saturating_sub(Duration::from_micros(before_us));
        let run = |begin: Instant| -> Vec<(Duration, _, _)> {
            let at = |at: Instant| begin + at.since(Instant::ZERO);
            let arrivals = arrivals(seed).into_iter().map(|(t, n, octets)| (at(t), n, octets));
            let sent = trace_from(begin, &arrivals.collect(), None);
            sent.into_iter().map(|(t, n, octets)| (t.since(begin), n, octets)).collect()
        };
        prop_assert_eq!(run(late), run(Instant::ZERO));
    }

    #[test]
    fn more_polls_change_nothing(seed in any::<u64>(), extra in any::<u64>()) {
        let arrivals = arrivals(seed);
        let needed = trace(&arrivals, None);
        prop_assert!(needed.iter().any(|(_, n, o)| *n < 3 && o[..6] == host(7).0), "CIMs leave");
        prop_assert_eq!(needed, trace(&arrivals, Some(extra)));
    }
}
