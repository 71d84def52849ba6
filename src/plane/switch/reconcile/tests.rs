mod surroundings;

use super::*;
use crate::rig::{self, agents, auto, port};
use ::headroom::{DelayInputs, Interface, Phy, SoftwareTerms};
use ::pfc::FlowControl;
use contracts::port::StampSource;
use discovery::{EtsResolved, EtsTable, Party, PeerState, PfcResolved, Resolved};
use ground::statistics::Statistics;
use ground::units::{BitsPerSec, Cells, Priority, PrioritySet, TrafficClass};
use link::{AgentsPlan, Failure, Sources};
use schedule::ClassPlan;

/// A switch of two ports at 100G with discovered headroom.
fn plan() -> SwitchPlan {
    let mut plan = rig::plan(2);
    for port in &mut plan.ports {
        port.rate = BitsPerSec::gbps(100);
        port.agents = Some(AgentsPlan { auto: Some(auto()), ..agents(port.mac, port.rate) });
    }
    plan
}

fn found(method: Method, delay: Duration) -> Found {
    let sources = Sources { t1: StampSource::Exact, t4: StampSource::Exact };
    let (uncertainty, in_ring) = (Duration::ZERO, Some(Duration::ZERO));
    let (peer_internal, peer_reaction) = (None, None);
    Found {
        method,
        rounds: 100,
        delay: Statistics::of(&[delay], delay).unwrap(),
        chosen: delay,
        sources,
        uncertainty,
        in_ring,
        repeated: false,
        peer_internal,
        peer_reaction,
        shims: None,
    }
}

/// Returns the round trip of `metres` of fibre between two 100GBASE-R interfaces.
fn round_trip(metres: u64) -> Duration {
    Interface::plain(Phy::Base100R).delay().saturating_mul(2) + Duration::from_nanos(10 * metres)
}

/// Tells of news at a port; returns the changes that result from it, all of which are made.
fn changes(reconciler: &mut Reconciler, at: u16, news: &News) -> Vec<Change> {
    let mut changes = vec![];
    reconciler.reconcile(Instant::ZERO, port(at), news, |change| {
        changes.push(change);
        Ok(())
    });
    changes
}

fn headroom_of(reconciler: &Reconciler, n: usize) -> u32 {
    match reconciler.plan().buffer.groups[n][3].kind {
        GroupKind::Lossless { headroom, .. } => headroom.0,
        GroupKind::Lossy => panic!("group 3 is lossless"),
    }
}

fn resolved(enable: u8, from: Party) -> Resolved {
    let pfc = PfcResolved { enable: PrioritySet(enable), from, refused: None };
    let state = PeerState::Present;
    Resolved { state, pfc: Some(pfc), ets: None, methods: None, peer: None }
}

#[test]
fn what_was_measured_gives_the_headroom_that_the_sum_gives() {
    let mut reconciler = Reconciler::new(&plan()).unwrap();
    for metres in [20, 100, 500] {
        let news = News::Found(found(Method::RoundTrip, round_trip(metres)));
        let changes = changes(&mut reconciler, 0, &news);
        let link = DelayInputs { cable_m: metres as u32, ..auto().link };
        let need = headroom::required(&link, &SoftwareTerms::default(), 64);
        assert_eq!(headroom_of(&reconciler, 0), need.cells.0, "{metres} m");
        assert!(matches!(changes[..], [Change::Group { .. }]), "one lossless group: {changes:?}");
        assert!(reconciler.headroom(port(0)).unwrap().set);
    }
    assert_eq!(headroom_of(&reconciler, 1), 200, "the other port was not measured");
    let (before, steps) = reconciler.steps();
    let steps: Vec<_> = steps.map(|s| s.kind.to_string()).collect();
    assert_eq!((before, steps.len()), (0, 6));
    assert!(steps[0].starts_with("round trip over 100 rounds: "), "{}", steps[0]);
    assert!(steps[1].starts_with("group 3: headroom "), "{}", steps[1]);
}

#[test]
fn a_peer_delay_gives_the_same_where_the_peer_stamps_at_the_medium() {
    // The local interface is in the path, as the local timestamps are taken above the MAC.
    let path = Duration::from_nanos(500);
    let own = Interface::plain(Phy::Base100R).delay();
    let by_ptp = calculate_headroom(&auto(), &found(Method::PeerDelay, path));
    let sum = by_ptp.required.sum.bits();
    let round = found(Method::RoundTrip, path.saturating_mul(2) + own);
    assert_eq!(sum, calculate_headroom(&auto(), &round).required.sum.bits());
    let says = Some(Duration::from_nanos(1_000));
    let told = Found { peer_internal: says, ..found(Method::PeerDelay, path) };
    let told = calculate_headroom(&auto(), &told).required.sum;
    assert!(told.terms.iter().any(|t| t.bits == 100_000 && t.name.contains("peer")), "{told}");
}

#[test]
fn a_buffer_that_cannot_carry_it_keeps_what_it_has_and_says_so() {
    let mut reconciler = Reconciler::new(&plan()).unwrap();
    let news = News::Found(found(Method::RoundTrip, round_trip(100)));
    reconciler
        .reconcile(Instant::ZERO, port(1), &news, |_| Err(Refused::Never("too small".into())));
    assert_eq!(headroom_of(&reconciler, 1), 200);
    assert!(!reconciler.headroom(port(1)).unwrap().set);
    let last = reconciler.steps().1.last().unwrap();
    assert!(last.kind.is_trouble());
    let text = last.kind.to_string();
    assert!(text.contains("keeps 12800 B: too small; give the buffer more room"), "{text}");
}

#[test]
fn what_is_refused_for_what_is_held_is_tried_again() {
    let mut reconciler = Reconciler::new(&plan()).unwrap();
    let news = News::Found(found(Method::RoundTrip, round_trip(20)));
    reconciler.reconcile(Instant::ZERO, port(0), &news, |_| Err(Refused::Now("in use".into())));
    let again = reconciler.next_deadline();
    assert_eq!((again, headroom_of(&reconciler, 0)), (Instant::ZERO + AGAIN, 200));
    reconciler.retry(Instant::ZERO, |_| panic!("it is not time yet"));
    reconciler.retry(again, |_| Ok(()));
    assert_eq!(reconciler.next_deadline(), Instant::NEVER);
    assert!(headroom_of(&reconciler, 0) > 200 && reconciler.headroom(port(0)).unwrap().set);
}

#[test]
fn pfc_moves_to_the_priorities_that_were_agreed_and_groups_with_it() {
    let mut reconciler = Reconciler::new(&plan()).unwrap();
    let news = News::Negotiated(resolved(0b1_0000, Party::Peer));
    // 3 becomes lossy before PFC is disabled for it, and 4 lossless after PFC is enabled for it.
    let group = |n: u8| PriorityGroup::new(n).unwrap();
    let [
        Change::Group { group: first, plan: lossy, .. },
        Change::Pfc { mode, .. },
        Change::Group { group: last, plan: lossless, .. },
    ] = changes(&mut reconciler, 0, &news)[..]
    else {
        panic!("three changes")
    };
    assert_eq!((first, lossy.kind, last), (group(3), GroupKind::Lossy, group(4)));
    let set = PrioritySet::of(Priority::ALL[4]);
    assert_eq!(mode, FlowControl::Pfc { send: set, obey: set });
    let kind = GroupKind::Lossless { headroom: Cells(200), xon: Cells(0), xon_offset: Cells(8) };
    assert_eq!(lossless.kind, kind);
    // Back to the initial state, exactly.
    let news = News::Negotiated(resolved(0b1000, Party::Local));
    changes(&mut reconciler, 0, &news);
    assert_eq!(reconciler.plan().buffer.groups[0], plan().buffer.groups[0]);
    assert_eq!(changes(&mut reconciler, 0, &news), [], "a setting that already applies");
}

#[test]
fn pfc_waits_for_headroom_that_is_in_use_and_is_finished_then() {
    let mut reconciler = Reconciler::new(&plan()).unwrap();
    let news = News::Negotiated(resolved(0b1_0000, Party::Peer));
    // Group 3 holds frames in its headroom, so it cannot become lossy yet; then the pool is full.
    reconciler.reconcile(Instant::ZERO, port(0), &news, |_| Err(Refused::Now("in use".into())));
    let first = reconciler.next_deadline();
    assert_eq!(first, Instant::ZERO + AGAIN);
    reconciler.retry(first, |change| match change {
        Change::Group { plan, .. } if plan.kind != GroupKind::Lossy => {
            Err(Refused::Now("in use".into()))
        }
        _ => Ok(()),
    });
    assert!(reconciler.plan().buffer.groups[0][3].kind == GroupKind::Lossy);
    let second = reconciler.next_deadline();
    assert_eq!(second, first + AGAIN);
    reconciler.retry(second, |_| Ok(()));
    let lossless = reconciler.plan().buffer.groups[0].map(|g| g.kind != GroupKind::Lossy);
    assert_eq!(lossless, [false, false, false, false, true, false, false, false]);
    assert_eq!(reconciler.next_deadline(), Instant::NEVER);
    let done = |s: &&Step| matches!(s.kind, StepKind::Pfc { .. });
    assert_eq!(reconciler.steps().1.filter(done).count(), 1);
}

#[test]
fn ets_is_scheduled_as_the_table_has_it() {
    let mut reconciler = Reconciler::new(&plan()).unwrap();
    let table = EtsTable {
        class: [0, 0, 0, 1, 1, 2, 2, 2],
        bandwidth: [30, 70, 0, 0, 0, 0, 0, 0],
        algorithm: [2, 2, 0, 0, 0, 0, 0, 0],
    };
    let ets = EtsResolved { table, from: Party::Peer, refused: None };
    let news = News::Negotiated(Resolved { pfc: None, ets: Some(ets), ..resolved(0, Party::Peer) });
    let changes = changes(&mut reconciler, 1, &news);
    let [Change::Ets { classes, map, .. }] = changes[..] else { panic!("{changes:?}") };
    assert_eq!(
        classes[..3],
        [ClassPlan::Dwrr { weight: 30 }, ClassPlan::Dwrr { weight: 70 }, ClassPlan::Strict]
    );
    assert_eq!(map.map(TrafficClass::get), table.class);
}

#[test]
fn steps_are_bounded_and_numbered() {
    let mut reconciler = Reconciler::new(&plan()).unwrap();
    let news = News::Failed(Failure::NoPeerDelay);
    for _ in 0..STEPS + 3 {
        changes(&mut reconciler, 0, &news);
    }
    let (before, steps) = reconciler.steps();
    assert_eq!((before, steps.count(), reconciler.steps_total()), (3, STEPS, STEPS as u64 + 3));
    assert!(Reconciler::new(&rig::plan(1)).is_none());
    changes(&mut reconciler, 0, &News::Again(Duration::from_secs(4)));
    let last = reconciler.steps().1.last().unwrap();
    assert_eq!(
        (last.kind.to_string(), last.kind.is_trouble()),
        ("measures again in 4s".into(), false)
    );
}

/// A plan of ports with a stated link length of 10 m, and headroom for that.
fn stated() -> (SwitchPlan, Cells) {
    let link = DelayInputs { cable_m: 10, ..auto().link };
    let stated = headroom::required(&link, &SoftwareTerms::default(), 64).cells;
    let mut plan = plan();
    for port in &mut plan.ports {
        let auto = port.agents.as_mut().unwrap().auto.as_mut().unwrap();
        (auto.stated, auto.limit) = (stated, Cells(4 * stated.0));
    }
    (plan, stated)
}

#[test]
fn a_peer_that_answers_late_gets_the_limit_and_no_more() {
    let (plan, stated) = stated();
    let mut reconciler = Reconciler::new(&plan).unwrap();
    let late = found(Method::RoundTrip, Duration::from_millis(1));
    changes(&mut reconciler, 0, &News::Found(late));
    assert_eq!(headroom_of(&reconciler, 0), 4 * stated.0);
    assert!(!reconciler.headroom(port(0)).unwrap().set, "less than what was measured");
    let limited = |s: &&Step| matches!(s.kind, StepKind::Limited { .. });
    let step = reconciler.steps().1.find(limited).unwrap().clone();
    assert!(step.kind.is_trouble() && step.kind.to_string().contains("answers late"));
    // A later good measurement applies at once.
    let good = News::Found(found(Method::RoundTrip, round_trip(10)));
    changes(&mut reconciler, 0, &good);
    assert_eq!(headroom_of(&reconciler, 0), stated.0);
    assert!(reconciler.headroom(port(0)).unwrap().set);
    assert_eq!(reconciler.steps().1.filter(limited).count(), 1);
}

#[test]
fn a_measurement_that_repeats_itself_gives_headroom_back_only_when_it_is_sure() {
    let mut reconciler = Reconciler::new(&plan()).unwrap();
    let repeats = |metres| Found { repeated: true, ..found(Method::PeerDelay, round_trip(metres)) };
    let mut set = |found: Found| changes(&mut reconciler, 0, &News::Found(found)).len();
    assert_eq!(set(found(Method::PeerDelay, round_trip(100))), 1, "the first");
    // What varies by little, or is shorter once in a while, changes nothing.
    for n in 0..100 {
        assert_eq!(set(repeats(if n % 8 == 7 { 100 } else { 20 })), 0, "{n}");
        assert_eq!(set(repeats(100 - n % 2)), 0, "{n}");
    }
    assert_eq!(set(repeats(120)), 1, "more is needed at once");
    let lower: Vec<_> = (0..9).map(|n| set(repeats(28 - n))).collect();
    assert_eq!(lower, [0, 0, 0, 0, 0, 0, 0, 1, 0], "the most of eight in a row");
    let need = calculate_headroom(&auto(), &repeats(28)).required.cells;
    assert_eq!(headroom_of(&reconciler, 0), need.0);
    // Asked for, or by the other method, it applies at once.
    let mut set = |found: Found| changes(&mut reconciler, 0, &News::Found(found)).len();
    assert_eq!(set(found(Method::PeerDelay, round_trip(1))), 1);
    assert_eq!(set(Found { repeated: true, ..found(Method::RoundTrip, round_trip(0)) }), 1);
}

#[test]
fn a_failed_measurement_gives_back_what_goes_beyond_the_stated_length() {
    let (plan, stated) = stated();
    let mut reconciler = Reconciler::new(&plan).unwrap();
    let measured = |metres| News::Found(found(Method::RoundTrip, round_trip(metres)));
    let failed = News::Failed(Failure::NoAnswer { rounds: 0, requests: 9 });
    // Nothing was measured yet: the configured headroom stays.
    changes(&mut reconciler, 0, &failed);
    assert_eq!(headroom_of(&reconciler, 0), 200);
    changes(&mut reconciler, 0, &measured(1_000));
    assert!(headroom_of(&reconciler, 0) > stated.0);
    changes(&mut reconciler, 0, &failed);
    assert_eq!(headroom_of(&reconciler, 0), stated.0);
    // Less than that is kept: only the port itself is affected.
    changes(&mut reconciler, 0, &measured(1));
    let short = headroom_of(&reconciler, 0);
    changes(&mut reconciler, 0, &failed);
    assert!(short < stated.0 && headroom_of(&reconciler, 0) == short);
}

#[test]
fn what_cannot_be_given_back_for_what_is_held_is_given_back_later() {
    let (plan, stated) = stated();
    let mut reconciler = Reconciler::new(&plan).unwrap();
    let far = News::Found(found(Method::RoundTrip, round_trip(1_000)));
    changes(&mut reconciler, 0, &far);
    let failed = News::Failed(Failure::NoAnswer { rounds: 0, requests: 9 });
    reconciler.reconcile(Instant::ZERO, port(0), &failed, |_| Err(Refused::Now("held".into())));
    assert!(headroom_of(&reconciler, 0) > stated.0);
    reconciler.retry(reconciler.next_deadline(), |_| Ok(()));
    assert_eq!(headroom_of(&reconciler, 0), stated.0);
}
