use proptest::prelude::*;

use super::*;
use crate::tests::{UNLIMITED, queue, us};
use wire::ip::Protocol;

fn flow(n: u8, port: u16) -> FiveTuple {
    FiveTuple {
        src: [10, 0, 0, n].into(),
        dst: [10, 0, 1, 1].into(),
        protocol: Protocol::UDP,
        src_port: port,
        dst_port: 4791,
    }
}

fn qp(n: u32) -> U24 {
    U24::new(n).unwrap()
}

fn plan() -> CnpPlan {
    CnpPlan {
        spacing: Duration::from_micros(50),
        budget: UNLIMITED,
        flows: 64,
        seed: 1,
        pairs: vec![],
    }
}

#[test]
fn a_source_is_notified_only_once_its_queue_pair_is_known() {
    let mut cnp = FastCnp::new(&plan(), 1);
    assert_eq!(cnp.on_picked(us(1), &flow(1, 7), qp(3)), None);
    cnp.on_answer(us(2), &flow(1, 7), qp(2));
    assert_eq!(cnp.on_picked(us(3), &flow(1, 7), qp(3)), Some(qp(2)));
    assert_eq!(cnp.on_picked(us(52), &flow(1, 7), qp(3)), None, "too soon");
    assert_eq!(cnp.on_picked(us(53), &flow(1, 7), qp(3)), Some(qp(2)));
    // Another UDP source port is another flow.
    assert_eq!(cnp.on_picked(us(53), &flow(1, 8), qp(3)), None);
    let c = cnp.counters();
    assert_eq!((c.sent, c.not_learnt, c.too_soon, c.learnt), (2, 2, 1, 1));
}

#[test]
fn two_queue_pairs_under_one_port_are_not_guessed_between() {
    let mut cnp = FastCnp::new(&plan(), 1);
    cnp.on_answer(us(1), &flow(1, 7), qp(2));
    cnp.on_answer(us(1), &flow(1, 7), qp(4));
    cnp.on_answer(us(2), &flow(1, 7), qp(2));
    assert_eq!(cnp.on_picked(us(3), &flow(1, 7), qp(3)), None);
    assert_eq!(cnp.counters().ambiguous, 1);
    // After both have been silent for a lifetime the next one counts.
    let later = us(3) + LEARNT_LIFE;
    cnp.on_answer(later, &flow(1, 7), qp(6));
    assert_eq!(cnp.on_picked(later, &flow(1, 7), qp(3)), Some(qp(6)));
}

#[test]
fn what_is_configured_goes_before_what_was_learnt() {
    let pairs = vec![(flow(1, 7).dst, qp(9), qp(8)), (flow(1, 7).dst, qp(3), qp(5))];
    let mut cnp = FastCnp::new(&CnpPlan { pairs, ..plan() }, 1);
    cnp.on_answer(us(1), &flow(1, 7), qp(2));
    assert_eq!(cnp.on_picked(us(2), &flow(1, 7), qp(3)), Some(qp(5)));
    assert_eq!(cnp.on_picked(us(100), &flow(1, 7), qp(9)), Some(qp(8)));
    assert_eq!(cnp.on_picked(us(200), &flow(1, 7), qp(4)), Some(qp(2)));
}

#[test]
fn a_queue_that_nobody_looks_at_picks_nothing() {
    let mut cnp = FastCnp::new(&plan(), 2);
    let queue = queue(1, 0);
    assert!(!cnp.picks(queue, Bytes(u64::MAX)));
    cnp.set_detect(queue, Some(Detect::Length(Bytes(1_000))));
    assert_eq!(cnp.floor(queue), Bytes(1_000));
    assert!(!cnp.picks(queue, Bytes(1_000)) && cnp.picks(queue, Bytes(1_001)));
}

proptest! {
    #[test]
    fn no_flow_is_notified_twice_within_the_spacing_and_none_goes_uncounted(
        steps in prop::collection::vec((0_u64..30, 0_u8..100, any::<bool>()), 1..400)
    ) {
        let mut cnp = FastCnp::new(&plan(), 1);
        let (mut now, mut last) = (0, [None::<u64>; 100]);
        let mut picked = 0;
        for (gap, n, learn) in steps {
            now += gap;
            if learn {
                cnp.on_answer(us(now), &flow(n, 7), qp(u32::from(n) + 1));
                continue;
            }
            picked += 1;
            if let Some(source) = cnp.on_picked(us(now), &flow(n, 7), qp(0)) {
                prop_assert_eq!(source, qp(u32::from(n) + 1));
                let before = last[usize::from(n)].replace(now);
                prop_assert!(before.is_none_or(|t| now - t >= 50));
            }
        }
        let c = cnp.counters();
        let counted = c.sent + c.not_learnt + c.ambiguous + c.too_soon + c.no_room;
        prop_assert_eq!(picked, counted + c.over_budget);
    }
}
