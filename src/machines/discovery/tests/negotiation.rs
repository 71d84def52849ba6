//! Negotiation of two ports (802.1Q 38.4).

use super::*;
use ground::units::Priority;
use wire::dcbx::{self, ets, pfc, subtype};

/// Returns an agent with plan `mine` that received one frame of an agent with plan `peer`.
fn after(mine: &DcbxPlan, peer: &DcbxPlan) -> Lldp {
    let mut agent = started(Lldp::new(&lldp_plan(mine.mac.0[5]), Some(mine)));
    agent.on_frame(at(0), &said(peer));
    agent
}

fn said(plan: &DcbxPlan) -> Vec<u8> {
    let mut peer = started(Lldp::new(&lldp_plan(plan.mac.0[5]), Some(plan)));
    taken(&mut peer, at(0)).unwrap()
}

fn pfc_of(agent: &Lldp) -> (u8, Party) {
    let pfc = agent.resolved().unwrap().pfc.unwrap();
    (pfc.enable.0, pfc.from)
}

#[test]
fn of_two_willing_ports_one_address_decides() {
    for (precedence, winner) in [(Precedence::HigherAddress, 2), (Precedence::LowerAddress, 1)] {
        let plan = |last: u8| {
            let enable = 1 << last;
            DcbxPlan { precedence, ..dcbx_plan(last, true, enable) }
        };
        for (mine, theirs) in [(1, 2), (2, 1)] {
            let (enable, from) = pfc_of(&after(&plan(mine), &plan(theirs)));
            assert_eq!(enable, 1 << winner, "{precedence:?}");
            assert_eq!(from == Party::Local, mine == winner);
        }
    }
}

/// Both would take the other's setting, and never agree.
#[test]
fn of_two_willing_ports_with_one_address_each_keeps_its_setting() {
    for precedence in [Precedence::HigherAddress, Precedence::LowerAddress] {
        let plan = |enable| DcbxPlan { precedence, ..dcbx_plan(1, true, enable) };
        let resolved = |mine, theirs| {
            let mut peer = started(Lldp::new(&lldp_plan(2), Some(&plan(theirs))));
            let mut frame = taken(&mut peer, at(0)).unwrap();
            frame[6..12].copy_from_slice(&mac(1).0);
            let mut agent = started(Lldp::new(&lldp_plan(1), Some(&plan(mine))));
            agent.on_frame(at(0), &frame);
            agent.resolved().unwrap().pfc.unwrap()
        };
        let own = |enable, refused| PfcResolved {
            enable: PrioritySet(enable),
            from: Party::Local,
            refused,
        };
        assert_eq!(resolved(0x08, 0x10), own(0x08, Some(Why::SameAddress)));
        assert_eq!(resolved(0x10, 0x08), own(0x10, Some(Why::SameAddress)));
        assert_eq!(resolved(0x08, 0x08).enable, PrioritySet(0x08), "they agree");
    }
}

/// A port that only measures must not change the PFC of the port that it measures.
#[test]
fn a_port_that_follows_leaves_a_willing_peer_its_setting() {
    for (own, peer) in [(1, 2), (2, 1)] {
        let plan = DcbxPlan { follows_pfc: true, ..dcbx_plan(own, true, 0) };
        let theirs = |enable| dcbx_plan(peer, true, enable);
        let mut port = after(&plan, &theirs(0x08));
        let mut peer = started(Lldp::new(&lldp_plan(peer), Some(&theirs(0x08))));
        peer.on_frame(at(0), &taken(&mut port, at(0)).unwrap());
        assert_eq!(pfc_of(&peer).0, 0x08);
        // What the peer changes later is followed at once, without waiting for the interval.
        while taken(&mut port, at(2_000)).is_some() {}
        port.on_frame(at(2_000), &said(&theirs(0x18)));
        assert!(port.is_due(at(2_000)));
        peer.set_dcbx_pfc_enable(at(2_000), PrioritySet(0x18));
        peer.on_frame(at(2_000), &taken(&mut port, at(2_000)).unwrap());
        assert_eq!(pfc_of(&peer).0, 0x18);
    }
}

/// An empty set of priorities is a setting, which a willing peer would adopt.
#[test]
fn a_port_that_follows_says_nothing_of_pfc_before_it_knows_its_peer() {
    let follows = |last| {
        let mut plan = DcbxPlan { follows_pfc: true, ..dcbx_plan(last, true, 0) };
        plan.internal_delay = Some(Duration::from_nanos(100));
        plan.pfc.as_mut().unwrap().form =
            PfcForm::Proposed { round_trip: true, ptp: true, macsec: false };
        plan
    };
    for (own, peer) in [(1, 2), (2, 1)] {
        let mut peer = after(&dcbx_plan(peer, true, 0x08), &follows(own));
        assert_eq!(pfc_of(&peer), (0x08, Party::Local));
        assert_eq!(peer.neighbours().next().unwrap().received.dcbx.pfc, None);
        events(&mut peer);
    }
    // Two of them learn of each other's methods all the same.
    let [mut a, mut b] =
        [1, 2].map(|last| started(Lldp::new(&lldp_plan(last), Some(&follows(last)))));
    for seconds in 0..4 {
        let now = at(1_000 * seconds);
        for frame in [taken(&mut a, now), taken(&mut a, now)].into_iter().flatten() {
            b.on_frame(now, &frame);
        }
        for frame in [taken(&mut b, now), taken(&mut b, now)].into_iter().flatten() {
            a.on_frame(now, &frame);
        }
    }
    for port in [a, b] {
        let methods = port.resolved().unwrap().methods;
        assert_eq!(methods, Some(Methods { round_trip: true, ptp: true }));
    }
}

#[test]
fn a_peer_that_asks_for_more_classes_than_there_are_is_not_followed() {
    let mut mine = dcbx_plan(1, true, 0x08);
    mine.pfc.as_mut().unwrap().capability = 2;
    let resolved = |mine: &DcbxPlan, enable| {
        let agent = after(mine, &dcbx_plan(2, false, enable));
        agent.resolved().unwrap().pfc.unwrap()
    };
    assert_eq!(resolved(&mine, 0x18).enable, PrioritySet(0x18));
    let three = resolved(&mine, 0x38);
    let refused = Some(Why::PfcClasses(3, 2));
    let expected = (PrioritySet(0x08), Party::Local, refused);
    assert_eq!((three.enable, three.from, three.refused), expected);
    // Priorities 4 and 5 in one class are one class.
    let local = EtsTable { class: [0, 0, 0, 3, 4, 4, 0, 0], bandwidth: [0; 8], algorithm: [0; 8] };
    mine.ets = Some(EtsPlan { willing: false, cbs: false, classes: 8, local, recommended: None });
    assert_eq!(resolved(&mine, 0x38).enable, PrioritySet(0x38));
    mine.pfc.as_mut().unwrap().capability = 0;
    mine.ets = None;
    assert_eq!(resolved(&mine, 0xff).enable, PrioritySet(0xff), "0 means all");
}

#[test]
fn events_tell_of_changes_only() {
    let mut agent = after(&dcbx_plan(1, true, 0), &dcbx_plan(2, false, 0x08));
    assert_eq!(
        events(&mut agent),
        [Event::NeighbourNew(mac(2)), Event::Surroundings, Event::Negotiated]
    );
    agent.on_frame(at(1_000), &said(&dcbx_plan(2, false, 0x08)));
    assert_eq!(events(&mut agent), []);
    agent.on_frame(at(2_000), &said(&dcbx_plan(2, false, 0x18)));
    assert_eq!(events(&mut agent), [Event::NeighbourChanged(mac(2)), Event::Negotiated]);
}

#[test]
fn a_peer_that_is_lost_leaves_the_local_setting() {
    let lost = |how: &dyn Fn(&mut Lldp)| {
        let mut agent = after(&dcbx_plan(1, true, 0x01), &dcbx_plan(2, false, 0x08));
        assert_eq!(agent.resolved().unwrap().state, PeerState::Present);
        events(&mut agent);
        how(&mut agent);
        let resolved = *agent.resolved().unwrap();
        assert_eq!((resolved.state, resolved.peer), (PeerState::Absent, None));
        assert_eq!(pfc_of(&agent), (0x01, Party::Local));
        assert_eq!(events(&mut agent).last(), Some(&Event::Negotiated));
    };
    lost(&|agent| agent.on_timeout(at(121_000)));
    lost(&|agent| agent.start(at(1_000)));
    lost(&|agent| {
        let mut frame = said(&dcbx_plan(2, false, 0x08));
        let ttl = frame.windows(2).position(|w| w == [0x06, 0x02]).unwrap();
        frame[ttl + 2..ttl + 4].fill(0);
        agent.on_frame(at(1_000), &frame);
    });
}

#[test]
fn with_two_peers_nothing_is_negotiated_and_a_bystander_does_not_count() {
    let mut agent = after(&dcbx_plan(1, true, 0x01), &dcbx_plan(2, false, 0x08));
    agent.on_frame(at(0), &heard(4, 120, quiet));
    assert_eq!(pfc_of(&agent), (0x08, Party::Peer), "one neighbour does no DCBX");
    agent.on_frame(at(0), &said(&dcbx_plan(3, false, 0x10)));
    assert_eq!(agent.resolved().unwrap().state, PeerState::Several);
    assert_eq!(pfc_of(&agent), (0x01, Party::Local));
    assert!(agent.peer_applications().is_empty());
    let gone = heard(3, 0, quiet);
    agent.on_frame(at(0), &gone);
    assert_eq!(agent.resolved().unwrap().state, PeerState::Several, "another port of it");
    agent.on_timeout(at(120_999));
    agent.on_frame(at(120_999), &said(&dcbx_plan(2, false, 0x08)));
    agent.on_timeout(at(121_000));
    assert_eq!(pfc_of(&agent), (0x08, Party::Peer), "the other one aged");
}

fn ets_plan(willing: bool, classes: u8, local: EtsTable) -> EtsPlan {
    EtsPlan { willing, cbs: false, classes, local, recommended: None }
}

const fn table(storage: u8) -> EtsTable {
    EtsTable {
        class: [0, 0, 0, 1, 0, 0, 0, 2],
        bandwidth: [100 - storage, storage, 0, 0, 0, 0, 0, 0],
        algorithm: [2, 2, 0, 0, 0, 0, 0, 0],
    }
}

#[test]
fn a_willing_port_takes_the_recommendation_and_only_that() {
    let mut peer = dcbx_plan(2, false, 0);
    peer.ets = Some(ets_plan(false, 8, table(70)));
    let resolved = |willing, peer: &DcbxPlan| {
        let mut mine = dcbx_plan(1, false, 0);
        mine.ets = Some(ets_plan(willing, 8, table(50)));
        after(&mine, peer).resolved().unwrap().ets.unwrap()
    };
    let own = EtsResolved { table: table(50), from: Party::Local, refused: None };
    assert_eq!(resolved(true, &peer), own, "a configuration is no recommendation");
    peer.ets.as_mut().unwrap().recommended = Some(table(80));
    assert_eq!(resolved(false, &peer), own);
    let taken = EtsResolved { table: table(80), from: Party::Peer, refused: None };
    assert_eq!(resolved(true, &peer), taken);
}

#[test]
fn a_recommendation_that_cannot_be_followed_is_not() {
    let with = |change: &dyn Fn(&mut EtsTable)| {
        let mut recommended = table(80);
        change(&mut recommended);
        let mut peer = dcbx_plan(2, false, 0);
        peer.ets =
            Some(EtsPlan { recommended: Some(recommended), ..ets_plan(false, 8, table(50)) });
        let mut mine = dcbx_plan(1, false, 0);
        mine.ets = Some(ets_plan(true, 3, table(50)));
        after(&mine, &peer).resolved().unwrap().ets.unwrap()
    };
    assert_eq!(with(&|_| ()).from, Party::Peer);
    let refused = |why| EtsResolved { table: table(50), from: Party::Local, refused: Some(why) };
    assert_eq!(with(&|t| t.class[7] = 3), refused(Why::ClassBeyond(3, 3)), "a fourth class");
    assert_eq!(with(&|t| t.bandwidth[0] = 21), refused(Why::Shares(101)));
    let algorithm = |n| with(&|t| t.algorithm[2] = n);
    assert_eq!(algorithm(ets::algorithm::CREDIT_BASED), refused(Why::Algorithm(1)));
    assert_eq!(algorithm(ets::algorithm::ATS), refused(Why::Algorithm(3)));
    assert_eq!(with(&|t| t.algorithm[7] = ets::algorithm::VENDOR).from, Party::Peer, "unused");
}

fn proposed(last: u8, round_trip: bool, ptp: bool) -> DcbxPlan {
    let mut plan = dcbx_plan(last, false, 0);
    plan.pfc.as_mut().unwrap().form = PfcForm::Proposed { round_trip, ptp, macsec: false };
    plan
}

#[test]
fn a_method_is_common_if_both_ends_say_so_and_unknown_if_one_speaks_the_published_form() {
    let methods = |mine: &DcbxPlan, peer: &DcbxPlan| after(mine, peer).resolved().unwrap().methods;
    let want = |round_trip, ptp| Some(Methods { round_trip, ptp });
    let both = proposed(2, true, true);
    assert_eq!(methods(&proposed(1, true, true), &both), want(true, true));
    assert_eq!(methods(&proposed(1, true, false), &both), want(true, false));
    assert_eq!(methods(&proposed(1, false, true), &proposed(2, true, false)), want(false, false));
    assert_eq!(methods(&dcbx_plan(1, false, 0), &both), None);
    assert_eq!(methods(&proposed(1, true, true), &dcbx_plan(2, false, 0)), None);
}

#[test]
fn what_the_peer_says_of_itself_is_at_hand() {
    let mut peer = proposed(2, true, true);
    peer.internal_delay = Some(Duration::from_nanos(615));
    peer.applications = vec![Application { priority: 3, selector: Selector::Udp, protocol: 4791 }];
    let agent = after(&dcbx_plan(1, true, 0), &peer);
    let said = agent.resolved().unwrap().peer.unwrap();
    assert_eq!((said.mac, said.internal_delay), (mac(2), peer.internal_delay));
    let proposed = pfc::Proposed { round_trip: true, ptp: true, macsec: false };
    assert_eq!(said.pfc.unwrap().proposed, Some(proposed));
    assert_eq!(agent.peer_applications(), &peer.applications[..]);
}

#[test]
fn subtypes_that_no_text_fixes_are_by_the_plan() {
    let mut plan = dcbx_plan(2, false, 0);
    plan.subtypes.pfc_information = 0x42;
    plan.internal_delay = Some(Duration::from_nanos(615));
    let mut agent = after(&dcbx_plan(1, true, 0), &plan);
    assert_eq!(agent.resolved().unwrap().peer.unwrap().internal_delay, None);
    assert_eq!(agent.counters().tlvs_unrecognized, 1);
    let mut mine = dcbx_plan(1, true, 0);
    mine.subtypes = plan.subtypes;
    agent = after(&mine, &plan);
    assert_eq!(agent.resolved().unwrap().peer.unwrap().internal_delay, plan.internal_delay);
}

#[test]
fn a_change_of_the_local_setting_is_told_and_resolved_at_once() {
    let mut agent = after(&dcbx_plan(1, false, 0x01), &dcbx_plan(2, true, 0));
    while taken(&mut agent, at(0)).is_some() {}
    events(&mut agent);
    agent.set_dcbx_pfc_enable(at(500), PrioritySet(0x01));
    assert!(!agent.is_due(at(500)), "nothing changed");
    agent.set_dcbx_pfc_enable(at(500), PrioritySet::of(Priority::new(3).unwrap()));
    assert_eq!(events(&mut agent), [Event::Negotiated]);
    assert_eq!(pfc_of(&agent), (0x08, Party::Local));
    let frame = taken(&mut agent, at(500)).unwrap();
    let view = View::new(&frame).unwrap();
    let org = view.optional().filter_map(|tlv| tlv.organizational());
    let pfc = org.clone().find(|org| org.subtype == subtype::PFC && org.oui == dcbx::OUI);
    assert_eq!(pfc.unwrap().value, [0x08, 0x08]);
}

#[test]
fn without_dcbx_nothing_is_resolved() {
    let mut agent = plain(1);
    agent.on_frame(at(0), &said(&dcbx_plan(2, false, 0x08)));
    agent.set_dcbx_pfc_enable(at(0), PrioritySet::ALL);
    assert_eq!(agent.resolved(), None);
    assert_eq!(events(&mut agent), [Event::NeighbourNew(mac(2)), Event::Surroundings]);
    let mut quiet = started(Lldp::new(&lldp_plan(1), Some(&DcbxPlan::new(mac(1)))));
    quiet.on_frame(at(0), &said(&dcbx_plan(2, false, 0x08)));
    let resolved = quiet.resolved().unwrap();
    assert_eq!((resolved.pfc, resolved.ets, resolved.state), (None, None, PeerState::Present));
}
