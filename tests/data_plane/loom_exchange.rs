//! The ledger exchange under loom: every interleaving and every reordering that the memory model
//! allows, for two workers and a pool of two cells.
//!
//! The source of the exchange is compiled here again, with loom's atomics in place of the standard
//! ones, so that no other crate must be built for loom. The tests that end in `_is_seen` break the
//! protocol on purpose and show that the checks notice.

#[allow(dead_code)]
#[path = "../../src/plane/contracts/mesh/exchange.rs"]
mod exchange;

/// Module that `exchange.rs` uses as `super::sync`.
mod sync {
    pub(super) use loom::sync::Arc;
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering, fence};
}

use ground::units;
use loom::sync::atomic::{AtomicBool, AtomicU32};
use loom::thread;
use sluice::frame;

use exchange::{Member, exchange as members, slack_cells};
use frame::BURST;
use sync::{Arc, Ordering};
use units::{Cells, PortId, PriorityGroup};

const PORT: PortId = PortId::MIN;
const G0: PriorityGroup = PriorityGroup::ALL[0];
const G1: PriorityGroup = PriorityGroup::ALL[1];

/// Two workers; the first owns the only port.
fn owner_and_sender() -> (Member, Member) {
    let mut ends = members(&[0], 2);
    let sender = ends.pop().unwrap();
    (ends.pop().unwrap(), sender)
}

/// Credits of one `collect` to the two groups.
fn collected(owner: &mut Member) -> [u32; 2] {
    let mut sum = [0; 2];
    owner.collect(|port, group, cells| {
        assert_eq!(port, PORT);
        sum[group.index()] += cells.0;
    });
    sum
}

#[test]
fn no_release_is_lost_or_counted_twice() {
    loom::model(|| {
        let (mut owner, mut sender) = owner_and_sender();
        let thread = thread::spawn(move || {
            sender.released(PORT, G0, Cells(1));
            sender.collect(|_, _, _| unreachable!("it owns no port"));
            sender.released(PORT, G0, Cells(2));
            sender.released(PORT, G1, Cells(4));
            sender.collect(|_, _, _| unreachable!("it owns no port"));
        });
        let mut sum = [0; 2];
        for _ in 0..2 {
            let [a, b] = collected(&mut owner);
            sum = [sum[0] + a, sum[1] + b];
            assert!(sum[0] <= 3 && sum[1] <= 4, "credited more than was released: {sum:?}");
        }
        thread.join().unwrap();
        let [a, b] = collected(&mut owner);
        assert_eq!([sum[0] + a, sum[1] + b], [3, 4]);
        assert_eq!(collected(&mut owner), [0, 0]);
    });
}

/// A frame's memory and the credit for it. `early`: the sender reports before the frame is gone.
fn credit_and_memory(early: bool) {
    loom::model(move || {
        let (mut owner, mut sender) = owner_and_sender();
        let in_use = Arc::new(AtomicBool::new(true));
        let memory = Arc::clone(&in_use);
        let thread = thread::spawn(move || {
            let mut tell = || {
                sender.released(PORT, G0, Cells(1));
                sender.collect(|_, _, _| unreachable!("it owns no port"));
            };
            if early {
                tell();
                memory.store(false, Ordering::Relaxed);
            } else {
                memory.store(false, Ordering::Relaxed);
                tell();
            }
        });
        if collected(&mut owner) == [1, 0] {
            assert!(!in_use.load(Ordering::Relaxed), "credited while the frame is still there");
        }
        thread.join().unwrap();
    });
}

#[test]
fn a_credit_is_never_seen_before_the_frame_is_gone() {
    credit_and_memory(false);
}

#[test]
#[should_panic(expected = "credited while the frame is still there")]
fn a_credit_before_the_frame_is_gone_is_seen() {
    credit_and_memory(true);
}

/// A worker that owns one port and whose burst is one frame of one cell: `polls` times it exchanges
/// and then admits as much as fits.
fn greedy(mut me: Member, polls: u32, limit: u32, fenced: bool) -> u32 {
    let mut own = 0;
    for _ in 0..polls {
        let others = if fenced {
            me.exchange_shared(Cells(own))
        } else {
            me.publish_shared(Cells(own));
            me.shared_of_others()
        };
        if own + others.0 < limit {
            own += 1;
        }
    }
    own
}

/// Two greedy workers fill a pool of two cells and one cell of slack. Nothing is released, so their
/// cells at the end are the peak.
fn fill_a_pool(fenced: bool) {
    loom::model(move || {
        let limit = 2;
        let slack = slack_cells(2, 1, Cells(1));
        let held = Arc::new(AtomicU32::new(0));
        let mut ends = members(&[0, 1], 2).into_iter();
        let (a, b) = (ends.next().unwrap(), ends.next().unwrap());
        let of_a = Arc::clone(&held);
        let thread = thread::spawn(move || {
            of_a.store(greedy(a, 2, limit, fenced), Ordering::Relaxed);
        });
        let of_b = greedy(b, 2, limit, fenced);
        thread.join().unwrap();
        let sum = of_b + held.load(Ordering::Relaxed);
        assert!(sum >= limit, "cells that fit were refused: {sum} of {limit}");
        assert!(sum <= limit + slack.0, "the pool is overdrawn: {sum}");
    });
}

#[test]
fn the_shared_pool_is_never_overdrawn_by_more_than_the_slack() {
    fill_a_pool(true);
}

#[test]
#[should_panic(expected = "the pool is overdrawn")]
fn an_exchange_without_its_fence_is_seen() {
    fill_a_pool(false);
}

/// As above with cells that are released: one worker returns its cell and admits again, so that the
/// other may read a value that is too high as well as one that is too low.
#[test]
fn releases_do_not_widen_the_slack() {
    loom::model(|| {
        let limit = 1;
        let slack = slack_cells(2, 1, Cells(1));
        let mut ends = members(&[0, 1], 2).into_iter();
        let (a, mut b) = (ends.next().unwrap(), ends.next().unwrap());
        let held = Arc::new(AtomicU32::new(0));
        let of_a = Arc::clone(&held);
        let thread = thread::spawn(move || {
            of_a.store(greedy(a, 2, limit, true), Ordering::Relaxed);
        });
        let mut own = 0;
        for _ in 0..3 {
            let others = b.exchange_shared(Cells(own));
            own = match own {
                0 if others.0 < limit => 1,
                _ => 0,
            };
        }
        thread.join().unwrap();
        let sum = own + held.load(Ordering::Relaxed);
        assert!(sum <= limit + slack.0, "the pool is overdrawn: {sum}");
    });
}

/// Unit of the slack: between two exchanges a worker may admit a burst per port.
#[test]
fn the_slack_of_a_plain_switch_is_a_burst_per_port() {
    assert_eq!(slack_cells(2, 2 * BURST, Cells(8)), Cells(2 * 32 * 8));
}
