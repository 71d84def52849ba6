//! Poll invariance: polling more often than needed changes nothing, so results of the virtual world
//! hold for the real one.

use proptest::prelude::*;

use crate::rig::{self, *};
use crate::tests::signals;
use crate::{AttachedKind, SourceFlowControlPlan, SwitchPlan};
use ::headroom::measure::{InitiatePlan, MeasurePlan};
use ::headroom::peer_delay::PeerDelayPlan;
use ::pfc::{StormAction, WatchdogPlan};
use congestion::sfc::SfcPlan;
use congestion::{EcnPlan, MarkAt, NotEct};
use contracts::frame::Frame;
use contracts::memory::secy;
use contracts::stats::SwitchSnapshot;
use discovery::LldpPlan;
use ground::rand::Rng;
use ground::time::{Duration, Instant};
use ground::units::*;
use link::AgentsPlan;
use secure::{PfcAccept, SecyPlan, Validate};
use wire::EtherType;
use wire::headroom::{self, Dialect, Message, Request};

/// Three shaped ports with every function that has a timer.
fn shaped() -> SwitchPlan {
    let mut p = plan(3);
    for port in &mut p.ports {
        port.shaped = true;
        port.pfc.refresh = Duration::from_micros(20);
        port.pfc.quanta = Quanta(2_000);
        port.watchdog[3] = Some(WatchdogPlan {
            enabled: true,
            detection: Duration::from_micros(40),
            restoration: Duration::from_micros(30),
            action: StormAction::Drop,
        });
        port.ecn[0] = Some(EcnPlan {
            kmin: Bytes(640),
            kmax: Bytes(64_000),
            pmax: 65_536,
            at: MarkAt::Dequeue,
            not_ect: NotEct::Pass,
        });
        port.agents = Some(busy_agents(port.mac));
    }
    p.buffer.total = Cells(900);
    p.congestion.sfc = Some(SourceFlowControlPlan {
        point: SfcPlan { spacing: Duration::from_micros(1), ..signals::sfc(3).point },
        ..signals::sfc(3)
    });
    p.congestion.proxy = Some(signals::proxy());
    p.congestion.ports = [AttachedKind::Host, AttachedKind::Switch, AttachedKind::SfcHost]
        .map(signals::attached)
        .to_vec();
    p
}

/// Link protocols with short timers.
fn busy_agents(mac: Mac) -> AgentsPlan {
    let lldp = LldpPlan {
        interval: Duration::from_micros(90),
        fast_interval: Duration::from_micros(30),
        ..LldpPlan::new(mac, mac, "p")
    };
    let measure = MeasurePlan {
        respond: true,
        initiate: Some(InitiatePlan {
            spacing_min: Duration::from_micros(2),
            spacing_max: Duration::from_micros(7),
            period: Some(Duration::from_micros(40)),
            requests_max: 10,
            rounds: 10,
            piggyback: true,
            shims: false,
        }),
        dialect: Dialect::default(),
        compensation: None,
    };
    let interval = Some(Duration::from_micros(11));
    AgentsPlan {
        lldp: Some(lldp),
        measure: Some(measure),
        peer_delay: Some(PeerDelayPlan { interval, ..PeerDelayPlan::DEFAULT }),
        ..rig::agents(mac, BitsPerSec::gbps(10))
    }
}

/// A request of a measurement.
fn request(n: u64) -> Vec<u8> {
    let message = Message::Request(Request { t1: n, psn: n as u8 });
    let repr = headroom::Repr { src: host(2), dst: headroom::DESTINATION, message };
    let mut octets = vec![0; 60];
    repr.emit(&mut octets, &Dialect::default()).unwrap();
    octets
}

/// A frame that arrives or leaves: time, port, octets.
pub(super) type Moment = (Instant, u16, Vec<u8>);

/// Random arrivals.
fn arrivals(seed: u64) -> Vec<Moment> {
    let mut rng = Rng::new(seed);
    let mut now = Instant::ZERO;
    let mut out = Vec::new();
    for n in 0..400 {
        now += Duration::from_nanos(u64::from(rng.next_u16() % 600));
        let octets = match rng.next_u16() % 12 {
            0 => pause(host(2), Priority::ALL[3], (rng.next_u16() % 600) as u16),
            1 => request(n),
            2 => signals::sfcm_frame(2, None, 3, Duration::from_nanos(rng.next_u16().into())),
            3..6 => {
                let ends = ((1, signals::v4(1)), (2, signals::v4(2)));
                let len = 64 + rng.next_u16() as usize % 1400;
                signals::packet(ends, Some((3, 0)), (7 + n as u16 % 3, 9), len)
            }
            _ => {
                let pcp = [0, 3, 3, 5][rng.next_u16() as usize % 4];
                let len = 64 + rng.next_u16() as usize % 1400;
                frame(host(2), host(1), Some((pcp, 0)), len)
            }
        };
        let from_peer = octets.len() == 60 || octets[6..12] == host(2).0;
        let to = if from_peer { 1 } else { 2 * (n % 2) };
        out.push((now, to as u16, octets));
    }
    out
}

/// Clears the timestamps in a frame, which only link protocols carry.
fn undated(mut octets: Vec<u8>) -> Vec<u8> {
    if [EtherType::PTP, EtherType::CIM].iter().any(|of| octets[12..14] == of.0.to_be_bytes()) {
        octets[14..].fill(0);
    }
    octets
}

/// Returns the sent frames; `extra` is the seed for additional polls at random
/// times.
fn trace(arrivals: &[Moment], extra: Option<u64>) -> Vec<Moment> {
    trace_of(&shaped(), arrivals, extra)
}

fn trace_of(plan: &SwitchPlan, arrivals: &[Moment], extra: Option<u64>) -> Vec<Moment> {
    trace_from(Instant::ZERO, plan, arrivals, extra).0
}

/// As [`trace`], with a switch that is first polled at `begin`, also the time of the first possible
/// arrival; returns the final counters too.
fn trace_from(
    begin: Instant,
    plan: &SwitchPlan,
    arrivals: &[Moment],
    extra: Option<u64>,
) -> (Vec<Moment>, SwitchSnapshot) {
    let mut lab: Lab = Lab::new(plan);
    lab.now = begin;
    lab.inject(1, &frame(host(9), host(2), None, 60));
    let out = run(&mut lab, arrivals, extra);
    (out, lab.switch.snapshot(lab.now))
}

/// Runs a switch with these arrivals; `extra` is the seed for additional polls at random times.
pub(super) fn run(lab: &mut Lab, arrivals: &[Moment], extra: Option<u64>) -> Vec<Moment> {
    let mut rng = extra.map(Rng::new);
    let mut out = Vec::new();
    let mut waiting = arrivals.iter().peekable();
    let end = arrivals.last().unwrap().0 + Duration::from_millis(2);
    while lab.now < end {
        while let Some((_, port, octets)) = waiting.next_if(|(at, ..)| *at <= lab.now) {
            lab.inject(*port, octets);
        }
        let deadline = lab.poll_until_idle();
        for n in 0..lab.ports {
            out.extend(lab.sent(n).into_iter().map(|octets| (lab.now, n, octets)));
        }
        let mut next = waiting.peek().map_or(end, |(at, ..)| *at).min(deadline.max(lab.now));
        next = next.max(lab.now + Duration::from_picos(1));
        if let Some(rng) = &mut rng {
            let early = lab.now + Duration::from_picos(1 + u64::from(rng.next_u16()) * 7);
            next = next.min(early);
        }
        lab.now = next;
    }
    lab.check();
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// A run across 2^64 ps, where instants no longer fit into one word, gives the same result as
    /// one at the start of time.
    #[test]
    fn uptime_changes_nothing(
        seed in any::<u64>(), before_us in 0_u64..=1_000, spread in 1_u64..12, ageing_us in 50_u64..900,
    ) {
        let mut plan = shaped();
        plan.bridge.ageing = Duration::from_micros(ageing_us);
        // Ages are counted in units of 2^24 ps.
        let before = Duration::from_picos(((before_us * 1_000_000) >> 24) << 24);
        let late = Instant::from_picos(1 << 64).saturating_sub(before);
        let run = |begin: Instant| {
            let at = |at: Instant| begin + at.since(Instant::ZERO).saturating_mul(spread);
            let arrivals: Vec<_> =
                arrivals(seed).into_iter().map(|(t, n, octets)| (at(t), n, octets)).collect();
            let (sent, mut counters) = trace_from(begin, &plan, &arrivals, None);
            counters.at = Instant::ZERO;
            let sent: Vec<_> =
                sent.into_iter().map(|(t, n, octets)| (t.since(begin), n, undated(octets))).collect();
            (sent, format!("{counters:#?}"))
        };
        let (early, counters) = run(Instant::ZERO);
        prop_assert!(early.len() > 100, "the run means something: {} frames", early.len());
        let (late, late_counters) = run(late);
        prop_assert_eq!(late, early);
        prop_assert_eq!(late_counters, counters);
    }

    #[test]
    fn more_polls_change_nothing(seed in any::<u64>(), extra in any::<u64>()) {
        let arrivals = arrivals(seed);
        let needed = trace(&arrivals, None);
        prop_assert!(needed.len() > 100, "the run means something: {} frames", needed.len());
        for agent in [EtherType::LLDP, EtherType::PTP, EtherType::CIM] {
            let from = |(_, _, o): &(_, _, Vec<u8>)| o[12..14] == agent.0.to_be_bytes();
            prop_assert!(needed.iter().any(from), "{agent:?} has its agent");
        }
        // Messages of the switch or of its peer to the host that obeys them, and pauses of the
        // other.
        let sfcm = |(_, n, o): &(_, _, Vec<u8>)| *n == 2 && o.len() > 60 && o[36..38] == [0xe4, 0xfe];
        prop_assert!(needed.iter().any(sfcm), "messages go on");
        prop_assert_eq!(needed, trace(&arrivals, Some(extra)));
    }
}

/// The same switch; port 1 protects pauses and port 2 all frames, and both accept plain pauses.
fn secured() -> SwitchPlan {
    let mut plan = shaped();
    for (n, data) in [(1, false), (2, true)] {
        let validate = Validate::Check;
        let secy = secy(n, n + 2, data);
        let secy = SecyPlan { accept_pfc: PfcAccept::Both, validate, ..secy };
        plan.ports[usize::from(n)].secy = Some(Box::new(secy));
    }
    plan
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    // Packet numbers included: sent frames are compared byte for byte.
    #[test]
    fn more_polls_change_nothing_of_what_is_protected(seed in any::<u64>(), extra in any::<u64>()) {
        let arrivals = arrivals(seed);
        let needed = trace_of(&secured(), &arrivals, None);
        let sealed = needed.iter().filter(|(_, _, octets)| octets[12..14] == [0x88, 0xe5]).count();
        prop_assert!(sealed > 50, "the run means something: {sealed} of {} frames", needed.len());
        prop_assert_eq!(needed, trace_of(&secured(), &arrivals, Some(extra)));
    }
}

/// As [`trace`], polling only the ports with pending work.
fn trace_by_ports(arrivals: &[Moment]) -> Vec<Moment> {
    let mut lab: Lab = Lab::new(&shaped());
    let mut deadlines = [Instant::ZERO; 3];
    let mut out = Vec::new();
    let mut waiting = arrivals.iter().peekable();
    let end = arrivals.last().unwrap().0 + Duration::from_millis(2);
    lab.inject(1, &frame(host(9), host(2), None, 60));
    while lab.now < end {
        let mut due: Vec<PortId> =
            (0..3).filter(|n| deadlines[*n] <= lab.now).map(|n| port(n as u16)).collect();
        while let Some((_, n, octets)) = waiting.next_if(|(at, ..)| *at <= lab.now) {
            lab.inject(*n, octets);
            if !due.contains(&port(*n)) {
                due.push(port(*n));
            }
        }
        due.sort_unstable();
        let now = lab.now;
        let whole = lab.switch.poll_ports(now, &due, |id, deadline, at| {
            deadlines[id.index()] = deadline;
            out.extend(at.port_mut().tx.drain(..).map(|f| (now, id.get(), f.head().to_vec())));
        });
        let timers = deadlines.into_iter().fold(whole, Instant::min);
        let next = waiting.peek().map_or(end, |(at, ..)| *at).min(timers);
        lab.now = next.max(now + Duration::from_picos(1));
    }
    lab.check();
    // Frames that leave at the same time by several ports may be observed in any order.
    out.sort_by_key(|(at, n, _)| (*at, *n));
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn polling_the_ports_that_are_due_is_enough(seed in any::<u64>()) {
        let arrivals = arrivals(seed);
        let all = trace(&arrivals, None);
        prop_assert!(all.len() > 100, "the run means something: {} frames", all.len());
        prop_assert_eq!(all, trace_by_ports(&arrivals));
    }
}

/// A watchdog that drops a queue resumes the port that filled it, though that port was already
/// visited in this poll. This seed, of some thousand tried, shows it.
#[test]
fn a_dropped_queue_resumes_its_sender_at_once() {
    let arrivals = arrivals(10_034_349_296_914_209_290);
    assert_eq!(trace(&arrivals, None), trace_by_ports(&arrivals));
}
