//! The ledger against published numbers, and rules of single calls.

use super::*;
use ground::units::{Cells, PRIORITIES, PortId, PriorityGroup};

mod charge;
mod closed_loop;
mod model;
mod random;

const UNUSED: GroupPlan =
    GroupPlan { reserved: Cells(0), limit: SharedLimit::Static(Cells(0)), kind: GroupKind::Lossy };

const G0: PriorityGroup = PriorityGroup::MIN;

fn port(n: usize) -> PortId {
    PortId::new(u16::try_from(n).unwrap()).unwrap()
}

fn dynamic(exponent: i8) -> SharedLimit {
    SharedLimit::Dynamic(Alpha::new(exponent).unwrap())
}

fn lossless(reserved: u32, limit: SharedLimit, headroom: u32, xon: u32, offset: u32) -> GroupPlan {
    let kind = GroupKind::Lossless {
        headroom: Cells(headroom),
        xon: Cells(xon),
        xon_offset: Cells(offset),
    };
    GroupPlan { reserved: Cells(reserved), limit, kind }
}

fn lossy(reserved: u32, limit: SharedLimit) -> GroupPlan {
    GroupPlan { reserved: Cells(reserved), limit, kind: GroupKind::Lossy }
}

/// Returns a switch of `ports` ports that each use `plan` for group 0 and share `pool` cells.
fn switch(cell_bytes: u32, ports: usize, pool: u32, plan: GroupPlan) -> BufferPlan {
    let mut groups = [UNUSED; PRIORITIES];
    groups[0] = plan;
    let headroom = match plan.kind {
        GroupKind::Lossy => 0,
        GroupKind::Lossless { headroom, .. } => headroom.0,
    };
    let total = Cells(pool + ports as u32 * (plan.reserved.0 + headroom));
    BufferPlan { cell_bytes, total, groups: vec![groups; ports], slack: Cells(0) }
}

/// Admits a frame of `len` bytes to group 0, which must succeed.
fn admitted(l: &mut Ledger, p: usize, len: u32) -> (Charge, Option<Crossing>) {
    match l.admit(port(p), G0, len) {
        Admission::Admitted { charge, crossed } => (charge, crossed),
        Admission::Refused(why) => panic!("port {p}: {why:?}"),
    }
}

/// Fills all groups in turn, one frame each, until every one is at XOFF. Returns the number of
/// frames of each, the crossing frame included.
fn fill_equally(l: &mut Ledger, ports: usize, len: u32) -> Vec<u32> {
    let mut frames = vec![0; ports];
    while (0..ports).any(|p| !l.is_xoff(port(p), G0)) {
        for (p, count) in frames.iter_mut().enumerate() {
            if !l.is_xoff(port(p), G0) {
                let _held = admitted(l, p, len);
                *count += 1;
            }
        }
        l.check();
    }
    frames
}

/// Tomahawk: 208-byte cells, 6 reserved, a pool of 13,071, and 268,736 bytes of headroom.
#[test]
fn tomahawk_sends_xoff_where_the_chip_does() {
    for exponent in [-4_i8, -3, -2, -1, 0, 1, 2] {
        let alpha = f64::from(exponent).exp2();
        for n in 1..=8 {
            let plan = lossless(6, dynamic(exponent), 268_736 / 208, 11, 11);
            let mut l = Ledger::new(&switch(208, n, 13_071, plan)).unwrap();
            assert_eq!(l.shared_pool(), Cells(13_071));
            // x = alpha * (pool - N * x), as the vendor documents its thresholds.
            let expected = 6 + (alpha * 13_071.0 / (1.0 + alpha * n as f64)) as u32;
            for frames in fill_equally(&mut l, n, 64) {
                assert!(frames.abs_diff(expected) <= 2, "alpha {alpha} N {n}: {frames} {expected}");
            }
        }
    }
}

#[test]
fn tomahawk_drops_where_the_chip_does() {
    for n in 1..=8 {
        let plan = lossless(6, dynamic(0), 268_736 / 208, 11, 11);
        let mut l = Ledger::new(&switch(208, n, 13_071, plan)).unwrap();
        fill_equally(&mut l, n, 64);
        for p in 0..n {
            let mut frames = 1_u32; // The refused frame counts.
            while let Admission::Admitted { charge: _, crossed } = l.admit(port(p), G0, 64) {
                assert_eq!(crossed, None);
                frames += 1;
            }
            // XOFF may have been sent one or two cells below the limit, with room for a frame.
            assert!(frames.abs_diff(1_293) <= 1, "N {n}: first drop after {frames}");
            assert_eq!(l.admit(port(p), G0, 64), Admission::Refused(Refusal::HeadroomFull));
            assert_eq!(l.usage(port(p), G0).headroom, Cells(1_292));
        }
        l.check();
    }
}

/// HPCC's switch: cells of one byte, 16 MiB, reserve 4096, headroom 18,750 per port, alpha 1/8.
#[test]
fn the_first_crossing_is_where_the_closed_form_says() {
    const BUFFER: u32 = 16 << 20;
    for senders in [1_u32, 2, 4, 8, 16, 32] {
        let ports = senders + 1;
        let plan = lossless(4096, dynamic(-3), 18_750, 0, 3_072);
        let mut p = switch(1, ports as usize, 0, plan);
        p.total = Cells(BUFFER);
        let mut l = Ledger::new(&p).unwrap();
        let s = BUFFER - ports * (18_750 + 4_096);
        assert_eq!(l.shared_pool(), Cells(s));
        let q = f64::from(s) / 8.0 / (1.0 + f64::from(senders) / 8.0) + 4096.0;
        let first = fill_equally(&mut l, senders as usize, 1_048).into_iter().min().unwrap();
        let held = f64::from(first * 1_048);
        assert!(held >= q * 0.998 && held < q + 1_048.0, "N {senders}: {held} against {q}");
        if senders <= 16 {
            assert!((held / q - 1.0).abs() < 0.002, "N {senders}: {held} against {q}");
        }
    }
}

#[test]
fn xon_comes_where_the_thresholds_say() {
    // Static: XOFF at 100 shared, XON at the higher of 40 and 100 - 30.
    for (xon, offset, expected) in [(40, 30, 70), (80, 30, 80), (0, 100, 0), (0, 200, 0)] {
        let plan = lossless(5, SharedLimit::Static(Cells(100)), 10, xon, offset);
        let mut l = Ledger::new(&switch(64, 1, 1_000, plan)).unwrap();
        let mut held = Vec::new();
        loop {
            let (charge, crossed) = admitted(&mut l, 0, 64);
            held.push(charge);
            if crossed.is_some() {
                break;
            }
        }
        assert_eq!(l.usage(port(0), G0).shared, Cells(100), "XOFF is sent before headroom");
        // Headroom has to be released first.
        for _ in 0..10 {
            let (charge, crossed) = admitted(&mut l, 0, 64);
            assert_eq!(crossed, None);
            held.push(charge);
        }
        assert_eq!(l.usage(port(0), G0).headroom, Cells(10));
        while let Some(charge) = held.pop() {
            let crossed = l.release(charge);
            l.check();
            if let Some(c) = crossed {
                assert_eq!(c, Crossing::Xon);
                break;
            }
        }
        let u = l.usage(port(0), G0);
        assert_eq!((u.shared, u.headroom, u.xoff), (Cells(expected), Cells(0), false));
        assert_eq!((u.peak, u.headroom_peak), (Cells(115), Cells(10)));
    }
}

#[test]
fn what_others_use_lowers_dynamic_limits() {
    let plan = lossless(0, dynamic(0), 10, 0, 0);
    let mut l = Ledger::new(&switch(64, 1, 100, plan)).unwrap();
    l.set_elsewhere(Cells(40));
    assert_eq!(l.queue_limit(dynamic(1)), Cells(120));
    assert_eq!(fill_equally(&mut l, 1, 64), [30]);
    assert_eq!(l.queue_limit(dynamic(0)), Cells(30));
    // Delayed updates of the others may exceed the pool; nothing is free then.
    l.set_elsewhere(Cells(u32::MAX));
    assert_eq!(l.queue_limit(dynamic(8)), Cells(0));
    assert_eq!(l.credit(port(0), G0, Cells(29)), None);
    assert_eq!(l.credit(port(0), G0, Cells(1)), Some(Crossing::Xon));
    l.check();
}

#[test]
fn charges_come_back_through_another_worker() {
    let mut l = Ledger::new(&switch(64, 2, 100, lossy(0, SharedLimit::Unlimited))).unwrap();
    let (charge, _) = admitted(&mut l, 1, 200);
    let (p, group, cells) = Ledger::part(charge);
    assert_eq!((p, group, cells), (port(1), G0, Cells(4)));
    assert_eq!(l.credit(p, group, cells), None);
    assert_eq!(l.shared_used(), Cells(0));
    assert_eq!(l.shared_peak(), Cells(4));
    l.clear_peaks();
    assert_eq!(l.shared_peak(), Cells(0));
}

#[test]
#[should_panic(expected = "more cells came back than were charged")]
fn a_credit_without_a_charge_is_a_bug() {
    let mut l = Ledger::new(&switch(64, 1, 100, lossy(0, SharedLimit::Unlimited))).unwrap();
    l.credit(port(0), G0, Cells(1));
}

#[test]
fn impossible_plans_are_refused_with_numbers() {
    let good = switch(208, 2, 100, lossless(6, SharedLimit::Static(Cells(50)), 20, 50, 0));
    assert!(Ledger::new(&good).is_ok());
    let text = |change: fn(&mut BufferPlan)| {
        let mut plan = good.clone();
        change(&mut plan);
        Ledger::new(&plan).unwrap_err().to_string()
    };
    let t = text(|p| p.cell_bytes = 0);
    assert!(t.contains("a cell of 0 B"), "{t}");
    let t = text(|p| p.total = Cells(51));
    for part in ["reserved 12 + headroom 40 + slack 0 = 52", "it has 51", "by 1 cells", "10816 B"] {
        assert!(t.contains(part), "{part} in {t}");
    }
    let t = text(|p| p.slack = Cells(101));
    assert!(t.contains("slack 101"), "{t}");
    let t = text(|p| p.groups[1][0] = lossless(6, SharedLimit::Static(Cells(50)), 20, 51, 0));
    assert!(t.contains("port 1 group 0") && t.contains("at most 50"), "{t}");
    let t = text(|p| p.groups[0][0] = lossless(6, dynamic(0), 0, 0, 0));
    assert!(t.contains("needs headroom"), "{t}");
    let t = text(|p| p.total = Cells(u32::MAX));
    assert!(t.contains("larger cells"), "{t}");
    let t = text(|p| p.groups = vec![[UNUSED; PRIORITIES]; 1_025]);
    assert!(t.contains("1025 ports"), "{t}");
}

#[test]
fn a_change_that_would_lose_frames_is_refused_whole() {
    let plan = lossless(0, SharedLimit::Static(Cells(5)), 10, 0, 0);
    let mut l = Ledger::new(&switch(64, 2, 100, plan)).unwrap();
    for _ in 0..12 {
        let _held = admitted(&mut l, 0, 64);
    }
    let before = l.usage(port(0), G0);
    let smaller = lossless(0, SharedLimit::Static(Cells(5)), 6, 0, 0);
    let t = l.set_group(port(0), G0, smaller).unwrap_err().to_string();
    assert!(t.contains("7 cells of headroom hold frames, more than the 6"), "{t}");
    let greedy = lossless(96, SharedLimit::Static(Cells(5)), 10, 0, 0);
    let t = l.set_group(port(1), G0, greedy).unwrap_err().to_string();
    assert!(t.contains("5 cells of the shared pool hold frames, more than the 4"), "{t}");
    let absurd = lossless(200, SharedLimit::Static(Cells(5)), 10, 0, 0);
    let t = l.set_group(port(1), G0, absurd).unwrap_err().to_string();
    assert!(t.contains("overcommitted"), "{t}");
    assert!(matches!(l.set_group(port(2), G0, plan), Err(BufferError::UnknownPort { .. })));
    assert_eq!((l.usage(port(0), G0), l.shared_pool()), (before, Cells(100)));
    l.check();
}

/// A leak takes free headroom alone, and no more than there is.
#[test]
fn leaked_headroom_is_gone() {
    let plan = lossless(0, SharedLimit::Static(Cells(10)), 20, 5, 0);
    let mut l = Ledger::new(&switch(64, 1, 10, plan)).unwrap();
    let room = |l: &mut Ledger| {
        let mut charges = Vec::new();
        while let Admission::Admitted { charge, .. } = l.admit(port(0), G0, 64) {
            charges.push(charge);
        }
        let count = charges.len();
        charges.into_iter().for_each(|charge| {
            l.release(charge);
        });
        l.check();
        count
    };
    assert_eq!(room(&mut l), 30);
    l.leak(port(0), G0, Cells(3));
    assert_eq!(room(&mut l), 27);
    l.leak(port(0), G0, Cells(100));
    assert_eq!(room(&mut l), 10);
}
