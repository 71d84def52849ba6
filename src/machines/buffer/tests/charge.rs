//! Receipts: what is in their word, at its limits.

use crate::Charge;
use ground::units::{Cells, PortId, PriorityGroup};

const ENDS: [PortId; 2] = [PortId::MIN, PortId::MAX];

/// All pairs of first and last port and each group.
fn places() -> impl Iterator<Item = (PortId, PriorityGroup)> {
    ENDS.into_iter().flat_map(|port| PriorityGroup::ALL.map(|group| (port, group)))
}

#[test]
fn a_charge_is_opened_with_what_it_was_made_of() {
    for (port, group) in places() {
        for cells in [0, 1, u32::MAX].map(Cells) {
            let charge = Charge::new(port, group, cells);
            assert_eq!((charge.group(), charge.cells()), (group, cells));
            assert_eq!(charge.index(), port.index() * PriorityGroup::ALL.len() + group.index());
            assert_eq!(charge.open(), (port, group, cells));
        }
    }
}

#[test]
fn charges_of_one_group_alone_are_joined() {
    for (port, group) in places() {
        let mut all = 0;
        for (other_port, other_group) in places() {
            let mut sum = Charge::new(port, group, Cells(u32::MAX - 7));
            match sum.join(Charge::new(other_port, other_group, Cells(7))) {
                Ok(()) => {
                    assert_eq!((other_port, other_group), (port, group));
                    assert_eq!(sum.open(), (port, group, Cells(u32::MAX)));
                    all += 1;
                }
                Err(back) => {
                    assert_eq!(back.open(), (other_port, other_group, Cells(7)));
                    assert_eq!(sum.open(), (port, group, Cells(u32::MAX - 7)));
                }
            }
        }
        assert_eq!(all, 1);
    }
}

#[test]
fn a_part_and_the_rest_are_the_whole() {
    for (port, group) in places() {
        let mut whole = Charge::new(port, group, Cells(u32::MAX));
        let part = whole.split(u32::MAX - 1);
        assert_eq!(part.open(), (port, group, Cells(u32::MAX - 1)));
        assert_eq!(whole.open(), (port, group, Cells(1)));
    }
}

#[test]
#[should_panic(expected = "a part is no larger than the whole")]
fn no_part_is_larger_than_the_whole() {
    let _ = Charge::new(PortId::MIN, PriorityGroup::MIN, Cells(3)).split(4);
}
