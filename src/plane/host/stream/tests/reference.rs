//! Tests of the comparison of frames that arrive with what was sent.

use super::*;
use crate::plan::StationPlan;
use crate::plan::stream::MeterPlan;
use crate::station::Station;
use crate::stream::reference::{Damage, Reference};
use contracts::memory::MemFrame;
use contracts::port::Port;
use ground::units::Mac;
use wire::{EtherType, vlan};

const SENT: Instant = Instant::from_picos(0x1234_5678_9abc);

/// A template with the types of its headers, addresses, and a time to live of 64.
fn whole(tag: bool, v6: bool, udp: bool) -> TemplatePlan {
    let mut t = template(tag, v6, udp);
    let l3 = l3(tag);
    t.headers[..12].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1]);
    if tag {
        t.headers[12..16].copy_from_slice(&[0x81, 0, 0x60, 7]);
    }
    t.headers[l3 - 2..l3].copy_from_slice(&if v6 { [0x86, 0xdd] } else { [8, 0] });
    t.headers[l3 + if v6 { 7 } else { 8 }] = 64;
    t
}

const fn l3(tag: bool) -> usize {
    if tag { 18 } else { 14 }
}

/// Returns the damage of a frame without FCS.
fn damage(reference: &mut Reference, frame: &[u8]) -> Option<Damage> {
    let wire_len = frame.len() as u32 + 4;
    let damage = reference.damage(frame, wire_len);
    if reference.is_as_sent(frame, wire_len) {
        assert_eq!(damage, None, "the quick way is no more lenient");
    }
    damage
}

fn is_length(damage: Option<Damage>) -> bool {
    matches!(damage, Some(Damage::Length { .. }))
}

/// Changes the header of an IPv4 packet and its checksum.
fn change_v4(frame: &mut [u8], l3: usize, change: impl FnOnce(&mut [u8])) {
    let header = &mut frame[l3..l3 + 20];
    change(header);
    header[10..12].fill(0);
    let sum = Sum::default().octets(header).finish();
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

proptest! {
    #[test]
    fn every_frame_of_a_stream_is_as_it_was_sent(
        (tag, v6, udp, bad) in any::<(bool, bool, bool, bool)>(), sizes in sizes(), payload in payload(),
        edits in prop::collection::vec((0_usize..700, 1_u8..=128, values()), 0..6),
        snap in prop_oneof![Just(128), Just(2_000)],
    ) {
        let mut t = whole(tag, v6, udp);
        t.payload = payload;
        t.checksums.iter_mut().for_each(|sum| sum.bad = bad);
        for (bit, bits, values) in edits {
            t.edits.push(Edit { at: (bit / 8) as u16, skip: (bit % 8) as u8, bits, values });
            if stream(t.clone(), sizes.clone()).check(&LINE).is_err() {
                t.edits.pop();
            }
        }
        let plan = stream(t, sizes);
        let (mut frames, mut reference) = (Frames::new(&plan), Reference::new(&plan));
        for n in 0..30 {
            let frame = next(&mut frames, n, SENT);
            // As much of it as the world stores.
            let head = &frame[..frame.len().min(snap)];
            let wire_len = frame.len() as u32 + 4;
            prop_assert_eq!(reference.damage(head, wire_len), None, "frame {}", n);
            prop_assert!(reference.is_as_sent(head, wire_len), "frame {}", n);
        }
    }

    #[test]
    fn a_changed_bit_and_another_length_are_damage_except_where_a_device_may_change_them(
        (tag, v6, udp) in any::<(bool, bool, bool)>(), sizes in sizes(), payload in payload(),
        bit in any::<prop::sample::Index>(), cut in 1_usize..40, number in 0_u64..1_000,
    ) {
        let mut t = whole(tag, v6, udp);
        t.payload = payload;
        let plan = stream(t, sizes);
        let (mut frames, mut reference) = (Frames::new(&plan), Reference::new(&plan));
        let frame = next(&mut frames, number, SENT);
        let (short, mut long) = (&frame[..frame.len() - cut], frame.clone());
        long.extend(vec![0; cut]);
        prop_assert!(is_length(damage(&mut reference, short)));
        prop_assert!(is_length(damage(&mut reference, &long)));
        let bit = bit.index(8 * frame.len());
        let (at, mask) = (bit / 8, 0x80_u8 >> (bit % 8));
        let l3 = l3(tag);
        let mut changed = frame;
        changed[at] ^= mask;
        let kind = EtherType(u16::from_be_bytes([changed[12], changed[13]]));
        let free = [
            // The kind of tag, and DEI.
            tag && (12..14).contains(&at) && vlan::Tpid::new(kind).is_some(),
            tag && at == 14 && mask == 0x10,
            // ECN, but in IPv4 the checksum covers it.
            v6 && at == l3 + 1 && mask & 0x30 != 0,
        ];
        let found = damage(&mut reference, &changed);
        prop_assert_eq!(found.is_none(), free.contains(&true), "bit {}: {:?}", bit, found);
    }
}

#[test]
fn what_bridges_and_routers_change_is_no_damage_and_what_else_they_change_is() {
    let plan = |tag| stream(whole(tag, false, true), Sizes::Fixed(256));
    let sent = |tag| next(&mut Frames::new(&plan(tag)), 3, SENT);
    let found = |tag, frame: &[u8]| damage(&mut Reference::new(&plan(tag)), frame);
    let octet = |at| move |damage: Option<Damage>| matches!(damage, Some(Damage::Octet { at: a, .. }) if a == at);

    let mut marked = sent(false);
    change_v4(&mut marked, 14, |ip| ip[1] |= 3);
    assert_eq!(found(false, &marked), None, "CE");
    let mut reference = Reference::new(&plan(false));
    assert!(reference.is_as_sent(&marked, 256), "CE is common, and quickly compared");
    let mut marking = sent(false);
    change_v4(&mut marking, 14, |ip| ip[1] |= 46 << 2);
    assert!(octet(15)(found(false, &marking)), "DSCP");
    let mut source = sent(false);
    source[11] ^= 1;
    assert!(octet(11)(found(false, &source)), "a bridge changes no address");

    // A tag that is removed or added; its values where it stays.
    let tagged = sent(true);
    let (mut untagged, mut added) = (tagged.clone(), sent(false));
    untagged.drain(12..16);
    added.splice(12..12, tagged[12..16].iter().copied());
    assert_eq!(found(true, &untagged), None);
    assert_eq!(found(false, &added), None);
    let mut other = tagged.clone();
    other[15] ^= 1;
    assert!(octet(15)(found(true, &other)), "VID");
    let mut other = tagged.clone();
    (other[12], other[13], other[14]) = (0x88, 0xa8, other[14] ^ 0x10);
    assert_eq!(found(true, &other), None, "the kind of tag, and DEI");
    let mut both = untagged.clone();
    both[200] ^= 1;
    assert!(found(true, &both).is_some(), "without its tag, and with another byte");

    // Routers change addresses, and count.
    let mut routed = sent(true);
    change_v4(&mut routed, 18, |ip| ip[8] -= 1);
    routed[..12].fill(6);
    routed[15] ^= 1;
    assert_eq!(found(true, &routed), None);
    let mut more = routed.clone();
    more[100] ^= 0x40;
    assert!(found(true, &more).is_some());
    change_v4(&mut routed, 18, |ip| ip[8] = 65);
    assert!(found(true, &routed).is_some(), "no router gives a longer life");
    let mut unsummed = sent(false);
    unsummed[22] -= 1;
    assert!(octet(24)(found(false, &unsummed)), "the checksum of the old time to live");
}

#[test]
fn a_short_frame_may_be_padded_and_no_other() {
    let plan = |size| stream(whole(false, false, true), Sizes::Fixed(size));
    for (size, len, is_damaged) in
        [(64, 64, false), (64, 65, true), (65, 64, true), (100, 104, true)]
    {
        let mut frame = next(&mut Frames::new(&plan(size)), 0, SENT);
        frame.resize(len - 4, 0xff);
        let found = damage(&mut Reference::new(&plan(size)), &frame);
        assert_eq!(found.is_some(), is_damaged, "{size} as {len}: {found:?}");
    }
    // Without its tag the shortest frame is padded.
    let mut headers = whole(true, false, true).headers;
    headers.truncate(18);
    headers[16..].copy_from_slice(&[0x88, 0xb5]);
    let tagged = TemplatePlan { headers, probe_at: Some(18), ..TemplatePlan::default() };
    let tagged = stream(tagged, Sizes::Fixed(64));
    let mut frame = next(&mut Frames::new(&tagged), 0, SENT);
    frame.drain(12..16);
    frame.resize(60, 0);
    assert_eq!(damage(&mut Reference::new(&tagged), &frame), None);
}

#[test]
fn values_that_a_field_does_not_have_are_damage() {
    for (values, other) in [
        (Values::List(vec![5, 9]), 6),
        (Values::Increment { start: 5, step: 4, count: 2 }, 13),
        (Values::Decrement { start: 9, step: 4, count: 2 }, 1),
        (Values::Random { min: 5, max: 9, count: 7, seed: 1 }, 10),
    ] {
        let mut t = whole(false, false, true);
        t.edits.push(Edit { at: 5, skip: 0, bits: 8, values });
        let plan = stream(t, Sizes::Fixed(100));
        let (mut frames, mut reference) = (Frames::new(&plan), Reference::new(&plan));
        let mut frame = next(&mut frames, 0, SENT);
        for n in 1..9 {
            assert_eq!(damage(&mut reference, &next(&mut frames, n, SENT)), None);
        }
        frame[5] = other;
        assert_eq!(damage(&mut reference, &frame), Some(Damage::Value { at: 5 }), "{other}");
    }
}

#[test]
fn frames_from_before_a_change_of_the_stream_are_as_sent() {
    let plan = |size| stream(whole(false, true, true), Sizes::Fixed(size));
    let mut reference = Reference::new(&plan(100));
    reference.change(&plan(200));
    for (size, is_damaged) in [(100, false), (200, false), (150, true)] {
        let frame = next(&mut Frames::new(&plan(size)), 0, SENT);
        assert_eq!(damage(&mut reference, &frame).is_some(), is_damaged, "{size}");
    }
}

#[test]
fn a_station_counts_damaged_frames_as_such_and_not_as_received() {
    let plan = stream(whole(false, false, true), Sizes::Fixed(256));
    let mut of = StationPlan::new("b", Mac([2, 0, 0, 0, 0, 9]), BitsPerSec::gbps(100));
    of.expects = vec![plan.id];
    of.tester.meter = Some(MeterPlan { compared: vec![plan.clone()], ..MeterPlan::default() });
    let (near, mut far) = ring_pair(64);
    let mut station = Station::new(&of, near).unwrap();
    let mut frames = Frames::new(&plan);
    let mut sent: Vec<_> = (0..7).map(|n| next(&mut frames, n, Instant::ZERO)).collect();
    sent[1][200] ^= 1;
    sent[3].truncate(152);
    change_v4(&mut sent[4], 14, |ip| ip[1] = 46 << 2);
    change_v4(&mut sent[5], 14, |ip| ip[1] = 3);
    let mut out: contracts::frame::Burst<_> =
        sent.iter().map(|frame| MemFrame::new(frame)).collect();
    far.tx_burst(&mut out);
    station.poll(Instant::from_picos(1_000));
    let sink = station.sinks().next().unwrap();
    assert_eq!((sink.frames, sink.damaged, sink.ce_marked, sink.duplicates), (4, 3, 1, 0));
    assert_eq!(sink.damage, Some(Damage::Octet { at: 200, sent: 0, arrived: 1 }));
    assert_eq!(station.counters().unexpected, 0);
    // The next run counts anew, and a late frame of this one is old.
    station.clear_streams(&[plan.id]);
    let mut late: contracts::frame::Burst<_> = [MemFrame::new(&sent[1])].into_iter().collect();
    far.tx_burst(&mut late);
    station.poll(Instant::from_picos(2_000));
    let sink = station.sinks().next().unwrap();
    assert_eq!((sink.damaged, sink.damage, sink.old), (0, None, 1));
}
