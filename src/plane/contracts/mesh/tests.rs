//! Releases, the use of the shared pool, and links that went down, as workers tell each other.

use crate::world::Handoff;
use ground::units::{BitsPerSec, Cells, PortId, PriorityGroup};

use super::exchange::{exchange, slack_cells};
use super::mesh;

const G3: PriorityGroup = PriorityGroup::ALL[3];

fn port(n: u16) -> PortId {
    PortId::new(n).unwrap()
}

#[test]
fn an_owner_is_credited_once_and_by_everyone() {
    let mut members = exchange(&[0, 1, 2], 3);
    members[1].released(port(0), G3, Cells(5));
    members[1].released(port(0), G3, Cells(2));
    members[2].released(port(0), G3, Cells(1));
    members[2].released(port(1), G3, Cells(9));
    for m in &mut members[1..] {
        m.publish_released();
    }
    let mut seen = Vec::new();
    for _ in 0..2 {
        members[0].collect(|p, g, c| seen.push((p.get(), g.get(), c.0)));
    }
    assert_eq!(seen, [(0, 3, 7), (0, 3, 1)]);
}

#[test]
fn a_worker_sees_the_use_of_all_others() {
    let mut members = exchange(&[0, 1, 2], 3);
    assert_eq!(members[0].exchange_shared(Cells(10)), Cells(0));
    assert_eq!(members[1].exchange_shared(Cells(20)), Cells(10));
    assert_eq!(members[2].exchange_shared(Cells(30)), Cells(30));
    assert_eq!(members[0].exchange_shared(Cells(1)), Cells(50));
    assert_eq!(exchange(&[0], 1)[0].exchange_shared(Cells(10)), Cells(0));
}

#[test]
fn slack_is_the_bursts_of_all_workers_but_one() {
    assert_eq!(slack_cells(1, 64, Cells(38)), Cells(0));
    assert_eq!(slack_cells(3, 64, Cells(38)), Cells(2 * 64 * 38));
}

#[test]
fn each_worker_is_told_once_of_each_link_of_another_that_went_down() {
    let mut ends = mesh::<()>(&[0, 0, 1], 3, 1);
    let [first, second] = [0, 1].map(|n| PortId::new(n).unwrap());
    let rate = BitsPerSec::gbps(10);
    ends[0].tell_link(first, true, rate);
    assert_eq!(ends[1].next_down(), None, "it did not go down");
    for port in [first, second, first] {
        ends[0].tell_link(port, false, rate);
    }
    ends[0].tell_link(first, true, rate);
    for (end, told) in [(1, vec![first, second]), (2, vec![first, second]), (0, vec![])] {
        let downs: Vec<_> = core::iter::from_fn(|| ends[end].next_down()).collect();
        assert_eq!(downs, told, "{end}");
    }
    ends[0].tell_link(first, false, rate);
    assert_eq!([ends[1].next_down(), ends[1].next_down()], [Some(first), None]);
}
