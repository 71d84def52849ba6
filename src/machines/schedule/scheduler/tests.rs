use proptest::prelude::*;

use super::*;
use ground::units::Bytes;

fn plan(classes: [ClassPlan; PRIORITIES]) -> SchedulePlan {
    SchedulePlan { classes, shaper_burst: Bytes(0), line: crate::LinePlan::ETHERNET }
}

fn dwrr(weights: [u16; PRIORITIES]) -> [ClassPlan; PRIORITIES] {
    weights.map(|weight| match weight {
        0 => ClassPlan::Strict,
        weight => ClassPlan::Dwrr { weight },
    })
}

fn push(s: &mut Scheduler, arena: &mut Arena<u32>, class: usize, len: u32, item: u32) {
    s.push(arena, TrafficClass::ALL[class], Priority::ALL[class], len, item);
}

#[test]
fn strict_classes_go_first_from_the_highest_down() {
    let mut arena = Arena::with_capacity(8);
    let mut s = Scheduler::new(&plan(dwrr([1, 1, 0, 0, 1, 1, 1, 0])));
    for class in [0, 2, 3, 7, 5] {
        push(&mut s, &mut arena, class, 100, class as u32);
    }
    let order: Vec<_> = std::iter::from_fn(|| s.next(&mut arena, PrioritySet::EMPTY, 0))
        .map(|p| p.class.get())
        .collect();
    assert_eq!(order[..3], [7, 3, 2]);
    assert_eq!(order.len(), 5);
    assert!(s.is_empty() && arena.used() == 0);
}

#[test]
fn other_shares_hold_from_the_next_frame_on() {
    let mut arena = Arena::with_capacity(400);
    let mut s = Scheduler::new(&plan([ClassPlan::Strict; 8]));
    for n in 0..150 {
        push(&mut s, &mut arena, 0, 100, n);
        push(&mut s, &mut arena, 1, 100, n);
    }
    let mut first = |s: &mut Scheduler, n: usize| {
        let order: Vec<_> =
            (0..n).map(|_| s.next(&mut arena, PrioritySet::EMPTY, 0).unwrap()).collect();
        order.iter().filter(|p| p.class.get() == 1).count()
    };
    assert_eq!(first(&mut s, 10), 10, "strict: the higher goes first");
    s.set_classes(&dwrr([30, 10, 0, 0, 0, 0, 0, 0]));
    let of = first(&mut s, 120);
    assert!((25..=35).contains(&of), "a quarter of 120 and not {of}");
    s.set_classes(&[ClassPlan::Strict; 8]);
    assert_eq!(first(&mut s, 10), 10);
}

/// Two classes of equal weight, one with frames of ten times the length.
#[test]
fn shares_are_of_bytes_or_of_frames() {
    for (meter, expected) in [(Meter::Bytes, 10), (Meter::Frames, 55)] {
        let mut arena = Arena::with_capacity(400);
        let mut s = Scheduler::new(&plan(dwrr([1, 1, 0, 0, 0, 0, 0, 0])));
        s.set_meter(meter);
        for n in 0..150 {
            push(&mut s, &mut arena, 0, 1000, n);
            push(&mut s, &mut arena, 1, 100, n);
        }
        let order: Vec<_> =
            (0..110).map(|_| s.next(&mut arena, PrioritySet::EMPTY, 0).unwrap()).collect();
        let long = order.iter().filter(|p| p.class.get() == 0).count();
        assert!(long.abs_diff(expected) <= 2, "{long} of {expected} long frames, by {meter:?}");
    }
}

#[test]
fn frames_of_one_class_keep_their_order() {
    let mut arena = Arena::with_capacity(4);
    let mut s = Scheduler::new(&plan(dwrr([1; 8])));
    for n in 0..100 {
        push(&mut s, &mut arena, (n % 2) as usize, 64 + n, n);
    }
    let out: Vec<_> =
        std::iter::from_fn(|| s.next(&mut arena, PrioritySet::EMPTY, 0)).map(|p| p.item).collect();
    for parity in 0..2 {
        let of: Vec<_> = out.iter().filter(|n| **n % 2 == parity).collect();
        assert!(of.is_sorted() && of.len() == 50);
    }
}

/// Runs all DWRR classes backlogged until `total` bytes have left; returns the bytes by class.
fn shares(weights: [u16; PRIORITIES], lens: [u32; PRIORITIES], total: u64) -> [u64; PRIORITIES] {
    let mut arena = Arena::with_capacity(64);
    let mut s = Scheduler::new(&plan(dwrr(weights)));
    let mut sent = [0; PRIORITIES];
    for class in (0..PRIORITIES).filter(|c| weights[*c] > 0) {
        for _ in 0..4 {
            push(&mut s, &mut arena, class, lens[class], 0);
        }
    }
    while sent.iter().sum::<u64>() < total {
        let p = s.next(&mut arena, PrioritySet::EMPTY, 0).expect("backlogged");
        sent[p.class.index()] += u64::from(p.len);
        push(&mut s, &mut arena, p.class.index(), p.len, 0);
    }
    sent
}

proptest! {
    /// A backlogged class deviates from its share by at most one quantum and one frame, the bound
    /// of deficit round robin, for any weights and frame sizes.
    #[test]
    fn shares_are_exact_in_octets(
        weights in prop::array::uniform8(1u16..400),
        lens in prop::array::uniform8(64u32..9216),
    ) {
        let total = 40_000_000;
        let sent = shares(weights, lens, total);
        let sum: u64 = weights.iter().map(|w| u64::from(*w)).sum();
        let unit = u64::from((ROUND_BYTES / u32::from(*weights.iter().max().unwrap())).max(1));
        let done: u64 = sent.iter().sum();
        for (class, octets) in sent.iter().enumerate() {
            let fair = done * u64::from(weights[class]) / sum;
            let bound = u64::from(weights[class]) * unit + 8 * 9216 + sum * unit;
            prop_assert!(octets.abs_diff(fair) <= bound, "class {class}: {octets} of {fair}");
        }
    }

    /// No frame is lost or sent while paused, and a ready class always sends.
    #[test]
    fn work_is_conserved(
        ops in prop::collection::vec((0usize..8, 64u32..1600, any::<u8>(), any::<bool>()), 1..400),
        strict in any::<u8>(),
    ) {
        let mut arena = Arena::with_capacity(0);
        let classes = std::array::from_fn(|i| {
            if strict & (1 << i) != 0 { ClassPlan::Strict } else { ClassPlan::Dwrr { weight: 1 + i as u16 } }
        });
        let mut s = Scheduler::new(&plan(classes));
        let (mut pushed, mut popped) = (0u64, 0u64);
        for (class, len, paused, add) in ops {
            if add {
                push(&mut s, &mut arena, class, len, 0);
                pushed += 1;
            } else {
                let paused = PrioritySet(paused);
                let ready = (0..8).any(|c| s.frames(TrafficClass::ALL[c]) > 0 && !paused.contains(Priority::ALL[c]));
                let got = s.next(&mut arena, paused, 0);
                prop_assert_eq!(got.is_some(), ready);
                if let Some(p) = got {
                    prop_assert!(!paused.contains(p.priority));
                    popped += 1;
                }
            }
        }
        prop_assert_eq!(pushed - popped, u64::from(arena.used()));
        while s.next(&mut arena, PrioritySet::EMPTY, 0).is_some() { popped += 1; }
        prop_assert_eq!(pushed, popped);
    }
}
