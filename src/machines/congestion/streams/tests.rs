//! The table against a map without expiry, and under floods.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::tests::{key as flow, queue};

fn stream(now: Instant, queue: Queue, key: FlowKey) -> Stream<u32> {
    Stream { key, queue, created: now, mask: CreateMask::LOCAL, messages: 0, state: 0 }
}

fn table(capacity: usize, life: Duration, seed: u64) -> StreamTable<u32> {
    StreamTable::new(StreamPlan { capacity, life, seed })
}

const LIFE: Duration = Duration::from_micros(640);

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    See(u32),
    Remove(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(
        prop_oneof![
            2 => (0_u64..200).prop_map(Step::Wait),
            8 => (0_u32..40).prop_map(Step::See),
            1 => (0_u32..40).prop_map(Step::Remove),
        ],
        1..400,
    )
}

proptest! {
    #[test]
    fn it_holds_what_a_map_holds(steps in steps(), capacity in 1_usize..32, seed: u64) {
        let mut table = table(capacity, LIFE, seed);
        // Times of touches, without removed flows.
        let mut model: HashMap<u32, Instant> = HashMap::new();
        let (mut now, q) = (Instant::ZERO, queue(1, 3));
        for step in steps {
            match step {
                Step::Wait(us) => now += Duration::from_micros(us),
                Step::Remove(n) => {
                    let found = table.find(q, &flow(n));
                    if let Some(place) = found {
                        table.remove(place);
                    }
                    let live = model.remove(&n).is_some_and(|at| now.since(at) < LIFE);
                    prop_assert!(found.is_some() || !live);
                }
                Step::See(n) => {
                    let live = |at: &Instant| now.since(*at) < LIFE;
                    let known = model.get(&n).is_some_and(live);
                    let found = table.find(q, &flow(n)).filter(|place| !table.is_over(now, *place));
                    prop_assert_eq!(found.is_some(), known);
                    if let Some(place) = found {
                        prop_assert_eq!(table.get(place).key, flow(n));
                        table.touch(now, place);
                        let at = model.get_mut(&n).unwrap();
                        if now.since(*at) >= LIFE.div(TOUCH_GRAIN) {
                            *at = now;
                        }
                        continue;
                    }
                    if let Some(place) = table.find(q, &flow(n)) {
                        table.remove(place);
                    }
                    model.remove(&n);
                    let alive = model.values().filter(|at| live(at)).count();
                    match table.insert(now, stream(now, q, flow(n)), |_| true) {
                        Ok(_) => {
                            prop_assert!(alive < capacity);
                            model.insert(n, now);
                        }
                        Err(Refusal::Full) => prop_assert_eq!(alive, capacity),
                        Err(Refusal::Crowded) => prop_assert!(alive >= WAYS),
                    }
                }
            }
            prop_assert!(table.len() <= capacity);
            prop_assert_eq!(table.iter().count(), table.len());
            // Page by page no stream is missing, and no removed one appears.
            let pages = (0..table.places()).step_by(3).flat_map(|from| table.page(from, 3));
            let mut paged: Vec<_> = pages.map(|(_, stream)| stream.key).collect();
            prop_assert!(table.iter().all(|stream| paged.contains(&stream.key)));
            paged.dedup();
            prop_assert_eq!(paged.len(), table.len());
            let counted = table.counters();
            prop_assert_eq!(counted.created - counted.removed, table.len() as u64);
        }
    }
}

#[test]
fn the_largest_table_takes_all_it_promises_and_refuses_the_rest() {
    let mut table = table(STREAMS_MAX, LIFE, 7);
    let q = queue(0, 3);
    let mut crowded = 0;
    for n in 0..STREAMS_MAX as u32 {
        let taken = table.insert(Instant::ZERO, stream(Instant::ZERO, q, flow(n)), |_| true);
        crowded += u32::from(taken == Err(Refusal::Crowded));
    }
    assert_eq!((table.len(), crowded), (STREAMS_MAX, 0));
    // A flood of a million distinct flows is refused, and evicts no stream.
    for n in 0..1_000_000_u32 {
        let one = stream(Instant::ZERO, q, flow(0x10_0000 + n));
        assert_eq!(table.insert(Instant::ZERO, one, |_| true), Err(Refusal::Full));
    }
    assert_eq!(table.counters().full, 1_000_000);
    assert!((0..STREAMS_MAX as u32).all(|n| table.find(q, &flow(n)).is_some()));
    // Expired streams make room one by one.
    let later = Instant::ZERO + LIFE;
    assert!(table.insert(later, stream(later, q, flow(0x20_0000)), |_| true).is_ok());
    assert_eq!(table.len(), STREAMS_MAX - REAP + 1);
}

#[test]
fn a_flow_in_two_queues_is_two_streams() {
    let mut table = table(8, LIFE, 1);
    for q in [queue(1, 2), queue(2, 1), queue(1, 1)] {
        table.insert(Instant::ZERO, stream(Instant::ZERO, q, flow(9)), |_| true).unwrap();
    }
    assert!(table.find(queue(2, 2), &flow(9)).is_none());
    let place = table.find(queue(2, 1), &flow(9)).unwrap();
    table.get_mut(place).messages = 5;
    assert_eq!(table.get(table.find(queue(1, 2), &flow(9)).unwrap()).messages, 0);
}

#[test]
fn what_the_owner_keeps_lives_once_more() {
    let mut table = table(1, LIFE, 1);
    let q = queue(1, 2);
    table.insert(Instant::ZERO, stream(Instant::ZERO, q, flow(1)), |_| true).unwrap();
    let later = Instant::ZERO + LIFE;
    let kept = table.insert(later, stream(later, q, flow(2)), |_| false);
    assert_eq!((kept, table.counters().renewed), (Err(Refusal::Full), 1));
    assert!(!table.is_over(later, table.find(q, &flow(1)).unwrap()));
}
