//! Segmentation of messages into packets.

use proptest::prelude::*;

use super::*;
use crate::histogram::Spares;
use crate::plan::{FlowId, ListedMessage, MessageList, TcpPlan};
use crate::probe::PROBE_LEN;
use crate::transport::cut::{Completed, Completions, Cut, Place};

fn cut(bytes: u64, count: u64) -> Cut {
    let message = Message { bytes, count, every: Duration::from_micros(10) };
    Cut::new(&plan(Some(message), Transport::TcpLike(TcpPlan::new(1, 2))))
}

/// The segmentation of a list of messages that are due 10 us apart.
fn listed(sizes: &[u64]) -> Cut {
    let due = |n| Duration::from_micros(10 * n as u64);
    let message = |(n, bytes): (usize, &u64)| ListedMessage { bytes: *bytes, due: due(n) };
    let list = MessageList::new(sizes.iter().enumerate().map(message).collect());
    let mut plan = plan(None, Transport::TcpLike(TcpPlan::new(1, 2)));
    plan.work.list = list;
    Cut::new(&plan)
}

/// Checks that messages of these sizes, due 10 us apart, are cut into packets that have every byte
/// once; returns the place after the last packet.
fn is_cut(cut: &Cut, sizes: &[u64]) -> Place {
    let (mut place, mut wire, mut own) = (cut.place(0), 0, 0);
    for (n, bytes) in (0..).zip(sizes) {
        assert_eq!((place.message, place.within), (n, 0));
        let due = cut.due(0) + Duration::from_micros(10 * n);
        assert_eq!((cut.bytes_of(n), cut.due(n)), (*bytes, due));
        assert_eq!(cut.end_of(n), place.index + bytes.div_ceil(1000));
        let mut left = *bytes;
        while place.message == n {
            assert_eq!(place, cut.place(place.index));
            assert_eq!(cut.octets_before(place.index), wire);
            assert_eq!(cut.starting_at(wire), Some(place.index));
            assert_eq!(cut.starting_at(wire + 1), None);
            assert_eq!(cut.delivered_by(place.index), own);
            let payload = u64::from(cut.payload(place));
            assert_eq!(payload, left.min(1000).max(PROBE_LEN as u64));
            assert_eq!(cut.is_last(place), left <= 1000);
            own += left.min(1000);
            left -= left.min(1000);
            wire += payload;
            place = cut.after(place);
        }
    }
    assert_eq!((place.index, own), (cut.total(), sizes.iter().sum()));
    assert_eq!((cut.place(place.index), cut.delivered_by(place.index)), (place, own));
    place
}

proptest! {
    #[test]
    fn every_octet_of_every_message_is_in_one_packet(
        sizes in prop::collection::vec(1_u64..5_000, 1..8), count in 1_u64..5
    ) {
        is_cut(&cut(sizes[0], count), &vec![sizes[0]; count as usize]);
        let cut = listed(&sizes);
        let place = is_cut(&cut, &sizes);
        // Behind the last message of a list there is nothing.
        prop_assert_eq!((cut.due(place.message), cut.end_of(place.message)), (Instant::NEVER, u64::MAX));
    }
}

#[test]
fn lists_without_bytes_or_order_are_refused() {
    let message = |bytes, us| ListedMessage { bytes, due: Duration::from_micros(us) };
    assert!(MessageList::new(vec![]).is_none());
    assert!(MessageList::new(vec![message(1, 0), message(0, 1)]).is_none());
    assert!(MessageList::new(vec![message(1, 2), message(1, 1)]).is_none());
    assert_eq!(MessageList::new(vec![message(1, 2), message(3, 2)]).map(|l| l.bytes()), Some(4));
}

#[test]
fn messages_that_wait_are_due_when_they_are_released() {
    let message = Message { bytes: 2_500, count: 3, every: Duration::ZERO };
    let mut plan = plan(Some(message), Transport::TcpLike(TcpPlan::new(1, 2)));
    plan.work.after = Some(FlowId(9));
    let mut cut = Cut::new(&plan);
    let at = |us| Instant::ZERO + Duration::from_micros(us);
    assert_eq!((cut.due(0), cut.due(1)), (plan.start, Instant::NEVER));
    cut.release(at(30), 2);
    cut.release(at(40), 2);
    assert_eq!((cut.due(1), cut.due(2)), (at(30), Instant::NEVER));
    cut.release(at(50), 9);
    assert_eq!((cut.due(2), cut.due(3)), (at(50), Instant::NEVER));
}

#[test]
fn data_without_end_is_one_message_that_never_ends() {
    let cut = Cut::new(&plan(None, Transport::TcpLike(TcpPlan::new(1, 2))));
    assert_eq!((cut.total(), cut.octets_before(1 << 40)), (u64::MAX, 1000 << 40));
    assert_eq!((cut.starting_at(5_000), cut.starting_at(5_001)), (Some(5), None));
    assert!(!cut.is_last(cut.place(1 << 50)));
}

#[test]
fn completion_counts_from_when_a_message_was_due() {
    let cut = cut(2_500, 3);
    let at = |us| Instant::ZERO + Duration::from_micros(us);
    let mut all = Completed::new(&cut, 2, &Spares::new(1));
    all.advance(&cut, at(4), 2);
    assert_eq!(*all.counts(), Completions::default());
    all.advance(&cut, at(5), 4);
    all.advance(&cut, at(37), 9);
    let completions = *all.counts();
    // The first took 5 us, the second 27, the third, due at 20, took 17.
    assert_eq!((completions.messages, completions.fct), (3, Some(Duration::from_micros(17))));
    assert_eq!(completions.fct_min, Some(Duration::from_micros(5)));
    assert_eq!(completions.fct_max, Some(Duration::from_micros(27)));
    assert_eq!(completions.fct_total, Duration::from_micros(49));
    let times = all.times().expect("three messages have a distribution");
    assert_eq!(
        (times.count(), times.min(), times.max()),
        (3, at(5).since(at(0)), at(27).since(at(0)))
    );
    assert_eq!(times.percentile(50.0), Duration::from_nanos(17_007));
    // Two are kept one by one, as asked for.
    let kept: Vec<_> = all.log().iter().map(|m| (m.due, m.took)).collect();
    assert_eq!(kept, [(at(0), Duration::from_micros(5)), (at(10), Duration::from_micros(27))]);
}

#[test]
fn one_message_needs_no_distribution() {
    let mut one = Completed::new(&cut(2_500, 1), 0, &Spares::new(1));
    one.advance(&cut(2_500, 1), Instant::ZERO + Duration::from_micros(9), 3);
    assert!(one.times().is_none());
    assert_eq!(one.counts().fct_max, Some(Duration::from_micros(9)));
}
