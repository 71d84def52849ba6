//! The table of neighbours (802.1AB-2016 9.2.7), and the counters of received frames.

use proptest::prelude::*;

use super::*;
use ground::units::PRIORITIES;
use wire::dcbx::{self, subtype};
use wire::group;
use wire::headroom::Adjustment;

fn named(name: &'static str) -> impl Fn(&mut Writer<'_>) {
    move |w| w.tlv(TlvType::SYSTEM_NAME, name.as_bytes()).unwrap()
}

#[test]
fn a_neighbour_comes_changes_and_ages() {
    let mut agent = plain(1);
    agent.on_frame(at(0), &heard(2, 120, named("leaf")));
    assert_eq!(events(&mut agent), [Event::NeighbourNew(mac(2))]);
    agent.on_frame(at(30_000), &heard(2, 120, named("leaf")));
    assert_eq!(events(&mut agent), [], "it said nothing new");
    agent.on_frame(at(60_000), &heard(2, 120, named("spine")));
    assert_eq!(events(&mut agent), [Event::NeighbourChanged(mac(2))]);
    let neighbour = agent.neighbours().next().unwrap();
    assert_eq!(&neighbour.received.system_name[..], b"spine");
    assert_eq!(neighbour.received.port.as_id().to_string(), "eth0");
    assert_eq!(neighbour.expires, at(180_000));
    agent.on_timeout(at(179_999));
    assert_eq!(agent.neighbours().len(), 1);
    assert_eq!(agent.next_ageout_is_planned(), at(180_000));
    agent.on_timeout(at(180_000));
    assert_eq!(events(&mut agent), [Event::NeighbourAged(mac(2))]);
    let c = agent.counters();
    assert_eq!((c.inserts, c.deletes, c.ageouts, c.frames_in), (1, 1, 1, 3));
}

impl Lldp {
    /// Returns the time at which a neighbour ages, if nothing is to be sent before.
    fn next_ageout_is_planned(&mut self) -> Instant {
        let mut buf = [0; FRAME_MAX];
        while self.next_deadline() < at(180_000) {
            let now = self.next_deadline().max(at(179_999));
            self.take(now, &mut buf);
        }
        self.next_deadline()
    }
}

#[test]
fn a_shutdown_takes_the_neighbour_away() {
    let mut agent = plain(1);
    agent.on_frame(at(0), &heard(2, 120, quiet));
    agent.on_frame(at(0), &heard(3, 120, quiet));
    agent.on_frame(at(1), &heard(2, 0, quiet));
    agent.on_frame(at(2), &heard(9, 0, quiet));
    let left: Vec<_> = agent.neighbours().map(|n| n.received.mac).collect();
    assert_eq!(left, [mac(3)]);
    assert!(events(&mut agent).contains(&Event::NeighbourLeft(mac(2))));
    assert_eq!((agent.counters().deletes, agent.counters().ageouts), (1, 0));
}

#[test]
fn neighbours_of_an_old_link_are_forgotten_when_it_is_up_again() {
    let mut agent = plain(1);
    agent.on_frame(at(0), &heard(2, 120, quiet));
    agent.stop(at(1_000));
    assert_eq!(agent.neighbours().len(), 1, "what it said is still true");
    agent.on_frame(at(1_500), &heard(3, 120, quiet));
    assert_eq!(agent.neighbours().len(), 1, "nobody speaks on a link that is down");
    agent.start(at(2_000));
    assert_eq!(agent.neighbours().len(), 0);
    assert_eq!(events(&mut agent), [Event::NeighbourNew(mac(2)), Event::NeighbourLeft(mac(2))]);
}

#[test]
fn neighbours_age_while_the_link_is_down() {
    let mut agent = plain(1);
    agent.on_frame(at(0), &heard(2, 120, quiet));
    agent.stop(at(1_000));
    assert_eq!(agent.next_deadline(), at(120_000));
    assert!(agent.is_due(at(120_000)));
    assert_eq!(taken(&mut agent, at(120_000)), None);
    assert!(!agent.is_due(at(120_000)));
    assert_eq!(agent.counters().ageouts, 1);
}

#[test]
fn a_fifth_neighbour_is_counted_and_not_kept() {
    let mut agent = plain(1);
    for last in 2..=6 {
        agent.on_frame(at(0), &heard(last, 120, quiet));
        agent.on_frame(at(0), &heard(last, 120, quiet));
    }
    assert_eq!(agent.neighbours().len(), NEIGHBOURS_MAX);
    let c = *agent.counters();
    assert_eq!((c.inserts, c.drops, c.frames_discarded, c.frames_in_errors), (4, 2, 2, 0));
    agent.on_timeout(at(120_000));
    agent.on_frame(at(120_000), &heard(6, 120, quiet));
    assert_eq!(agent.neighbours().len(), 1, "there is room when the others are gone");
}

#[test]
fn two_ports_of_one_chassis_are_two_neighbours() {
    let mut agent = plain(1);
    agent.on_frame(at(0), &heard(2, 120, quiet));
    let mut other = heard(2, 120, quiet);
    let name = other.windows(4).position(|w| w == b"eth0").unwrap();
    other[name + 3] = b'1';
    agent.on_frame(at(0), &other);
    assert_eq!(agent.neighbours().len(), 2);
}

#[test]
fn frames_that_are_none_are_counted_and_discarded() {
    let mut agent = plain(1);
    let good = heard(2, 120, named("leaf"));
    for n in [14, 20, 30] {
        agent.on_frame(at(0), &good[..n]);
    }
    let mut bad = good.clone();
    bad[14] = 0x04;
    agent.on_frame(at(0), &bad);
    let c = agent.counters();
    assert_eq!((c.frames_in, c.frames_in_errors, c.frames_discarded), (4, 4, 4));
    assert_eq!(agent.neighbours().len(), 0);
}

#[test]
fn frames_for_other_agents_are_not_for_this_one() {
    let mut agent = plain(1);
    for dst in [group::NEAREST_CUSTOMER_BRIDGE, group::NEAREST_NON_TPMR_BRIDGE, mac(1)] {
        let mut frame = heard(2, 120, quiet);
        frame[..6].copy_from_slice(&dst.0);
        agent.on_frame(at(0), &frame);
    }
    agent.on_frame(at(0), &[]);
    let c = agent.counters();
    assert_eq!((c.frames_in, c.frames_elsewhere, agent.neighbours().len()), (0, 4, 0));
}

#[test]
fn what_is_not_known_is_passed_over_and_what_is_wrong_is_left_out() {
    let mut agent = plain(1);
    agent.on_frame(
        at(0),
        &heard(2, 120, |w| {
            w.tlv(TlvType(9), b"reserved").unwrap();
            w.tlv(TlvType(126), &[]).unwrap();
            w.organizational([0x00, 0x12, 0x0f], 1, &[0; 5]).unwrap();
            w.organizational(dcbx::OUI, 0x7f, &[1]).unwrap();
            w.tlv(TlvType::MANAGEMENT, &[5, 1, 192, 0, 2, 1, 2, 0, 0, 0, 1, 0]).unwrap();
            w.tlv(TlvType::PORT_DESCRIPTION, b"to the core").unwrap();
        }),
    );
    let c = *agent.counters();
    assert_eq!((c.tlvs_unrecognized, c.tlvs_discarded, c.frames_in_errors), (4, 0, 0));
    agent.on_frame(
        at(0),
        &heard(3, 120, |w| {
            w.tlv(TlvType::CAPABILITIES, &[0, 4]).unwrap();
            w.tlv(TlvType::ORGANIZATIONAL, &[0, 0x80]).unwrap();
            w.tlv(TlvType::SYSTEM_NAME, &[b'x'; 256]).unwrap();
            w.organizational(dcbx::OUI, subtype::PFC, &[0x88]).unwrap();
            w.organizational(dcbx::OUI, subtype::ETS_CONFIGURATION, &[0; 20]).unwrap();
            w.organizational(dcbx::OUI, subtype::ETS_RECOMMENDATION, &[0xff; 21]).unwrap();
            w.organizational(dcbx::OUI, subtype::APPLICATION, &[]).unwrap();
            w.tlv(TlvType::SYSTEM_DESCRIPTION, b"whole").unwrap();
        }),
    );
    let c = *agent.counters();
    assert_eq!((c.tlvs_discarded, c.frames_in_errors, c.frames_discarded), (7, 1, 0));
    let said: Vec<_> = agent.neighbours().map(|n| n.received.clone()).collect();
    assert_eq!(&said[0].port_description[..], b"to the core");
    assert_eq!(&said[1].system_description[..], b"whole", "the rest is taken");
    let refused: Vec<_> = said[1].dcbx.refused.iter().map(ToString::to_string).collect();
    let expected = [
        "the PFC configuration of the peer refused: too short",
        "the ETS configuration of the peer refused: too short",
        "the ETS recommendation of the peer refused: class 15 does not exist",
        "the application priorities of the peer refused: too short",
    ];
    assert_eq!(refused, expected);
    assert!(said[0].dcbx.refused.is_empty(), "what is not known is not refused");
    let refused = said[1].dcbx.refused.clone();
    assert_eq!(said[1].dcbx, PeerDcbx { refused, ..PeerDcbx::default() });
}

#[test]
fn an_earlier_dcbx_is_told_by_its_name() {
    let mut agent = plain(1);
    let frame = heard(2, 120, |w| {
        w.organizational([0x00, 0x1b, 0x21], 2, &[2, 10, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]).unwrap();
        (0..20).for_each(|_| w.organizational([0x00, 0x1b, 0x21], 1, &[]).unwrap());
    });
    agent.on_frame(at(0), &frame);
    let said = &agent.neighbours().next().unwrap().received;
    let first = said.dcbx.refused[0].to_string();
    assert_eq!(first, "the peer speaks CEE DCBX (1.01), which is not supported");
    assert!(said.dcbx.refused.is_full() && !said.dcbx.is_peer());
}

#[test]
fn of_a_tlv_that_comes_twice_the_first_counts() {
    let mut agent = plain(1);
    agent.on_frame(
        at(0),
        &heard(2, 120, |w| {
            for (name, pfc) in [("one", [0x08, 0x01]), ("two", [0x08, 0x02])] {
                w.tlv(TlvType::SYSTEM_NAME, name.as_bytes()).unwrap();
                w.organizational(dcbx::OUI, subtype::PFC, &pfc).unwrap();
            }
        }),
    );
    let said = &agent.neighbours().next().unwrap().received;
    assert_eq!(&said.system_name[..], b"one");
    assert_eq!(said.dcbx.pfc.unwrap().enable, PrioritySet(1));
    assert_eq!((agent.counters().tlvs_discarded, agent.counters().frames_in_errors), (2, 1));
}

#[test]
fn events_that_nobody_fetches_are_counted_and_the_latest_kept() {
    let mut agent = plain(1);
    for n in 0..40 {
        agent.on_frame(at(n), &heard(2, if n % 2 == 0 { 120 } else { 0 }, quiet));
    }
    assert_eq!(agent.counters().events_lost, 40 - 16);
    assert_eq!(events(&mut agent).len(), 16);
}

/// All information that a port can advertise, sent by one agent and received by another.
#[test]
fn what_one_agent_says_another_one_hears() {
    let mut lldp = lldp_plan(2);
    lldp.system_name = "leaf-2".into();
    lldp.system_description = "a switch".into();
    lldp.role = Role::Router;
    let table = EtsTable {
        class: [0, 0, 0, 1, 0, 0, 0, 2],
        bandwidth: [40, 60, 0, 0, 0, 0, 0, 0],
        algorithm: [2, 2, 0, 0, 0, 0, 0, 0],
    };
    let mut dcbx = dcbx_plan(2, true, 0x08);
    dcbx.ets = Some(EtsPlan {
        willing: true,
        cbs: false,
        classes: PRIORITIES as u8,
        local: table,
        recommended: Some(table),
    });
    dcbx.pfc.as_mut().unwrap().form =
        PfcForm::Proposed { round_trip: true, ptp: false, macsec: true };
    dcbx.applications = vec![Application { priority: 3, selector: Selector::Udp, protocol: 4791 }];
    dcbx.internal_delay = Some(Duration::from_nanos(615));
    dcbx.compensation = Adjustment::from_nanos(-20);
    dcbx.isolation = Some(CongestionIsolation {
        queue_map: [0, 2, -2, 0, 0, 0, 0, 0],
        encapsulation: 48,
        mac: mac(2),
        udp_port: 0,
        address: None,
        family: FamilyWidth::Two,
    });
    let (device, orientation) = (Device::Bridge, Orientation::Uplink);
    let place = Topology { device, level: Some(1), orientation };
    dcbx.topology = Some(TopologyPlan::Fixed(place));
    dcbx.sfc = Some(SourceFlowControl {
        point: true,
        proxy: true,
        by_flow: false,
        by_priority: false,
        udp_port: 58_622,
    });
    let mut speaker = started(Lldp::new(&lldp, Some(&dcbx)));
    let frame = taken(&mut speaker, at(0)).unwrap();
    assert_eq!(Ok(frame.len()), frame_len(&lldp, Some(&dcbx)));

    let mut agent = plain(1);
    agent.on_frame(at(0), &frame);
    assert_eq!(agent.counters().tlvs_unrecognized + agent.counters().frames_in_errors, 0);
    let said = &agent.neighbours().next().unwrap().received;
    assert_eq!(
        (&said.system_name[..], &said.system_description[..]),
        (&b"leaf-2"[..], &b"a switch"[..])
    );
    assert_eq!(said.capabilities.unwrap().enabled, 0x14);
    let heard = &said.dcbx;
    assert_eq!(heard.ets.unwrap().table, table);
    assert_eq!(heard.recommended.unwrap().table, table);
    let proposed = heard.pfc.unwrap().proposed.unwrap();
    assert_eq!((proposed.round_trip, proposed.ptp, proposed.macsec), (true, false, true));
    assert_eq!(heard.applications.as_deref(), Some(&dcbx.applications[..]));
    let information = heard.information.unwrap();
    assert_eq!(Some(information.internal_delay), dcbx.internal_delay);
    assert_eq!(information.compensation, dcbx.compensation);
    assert_eq!((heard.isolation, heard.topology), (dcbx.isolation, Some(place)));
    assert_eq!(heard.sfc, dcbx.sfc);
}

proptest! {
    /// For any input: no panic, the table stays within its bounds, and the counters add up.
    #[test]
    fn frames_that_are_damaged_anywhere_are_counted_and_nothing_else(
        hits in prop::collection::vec((0_usize..200, any::<u8>(), 0_u8..12, 0_u16..3), 0..60)
    ) {
        let mut agent = started(Lldp::new(&lldp_plan(1), Some(&dcbx_plan(1, true, 0x08))));
        for (n, (spot, octet, last, ttl)) in (0..).zip(hits) {
            let mut frame = heard(last, ttl * 60, |w| {
                w.tlv(TlvType::SYSTEM_NAME, b"leaf").unwrap();
                w.organizational(dcbx::OUI, subtype::PFC, &[0x08, octet]).unwrap();
                w.organizational(dcbx::OUI, subtype::ETS_CONFIGURATION, &[octet; 21]).unwrap();
                w.organizational(dcbx::OUI, subtype::APPLICATION, &[0, 0x63, 0x12, 0xb7]).unwrap();
            });
            if let Some(hit) = frame.get_mut(spot) {
                *hit ^= octet;
            }
            agent.on_frame(at(n * 1_000), &frame);
            let c = *agent.counters();
            prop_assert_eq!(c.frames_in + c.frames_elsewhere, n + 1);
            prop_assert!(c.frames_discarded <= c.frames_in && c.drops <= c.frames_discarded);
            prop_assert_eq!(c.inserts - c.deletes, agent.neighbours().len() as u64);
            prop_assert!(agent.neighbours().len() <= NEIGHBOURS_MAX);
            let peers = agent.neighbours().filter(|n| n.received.dcbx.is_peer()).count();
            let resolved = agent.resolved().unwrap();
            prop_assert_eq!(resolved.peer.is_some(), peers == 1);
            prop_assert_eq!(resolved.state == PeerState::Several, peers > 1);
            let local = resolved.pfc.unwrap().from == Party::Local;
            prop_assert!(local || peers == 1);
        }
        events(&mut agent);
        agent.on_timeout(at(1_000_000));
        prop_assert!(agent.neighbours().all(|n| n.expires > at(1_000_000)));
    }
}
