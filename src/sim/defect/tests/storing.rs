//! Defects of the buffer.

use super::*;

/// A refresh is no end of a pause, and a resumption of a priority that is not paused is none either.
#[test]
fn headroom_leaks_once_for_each_pause_that_is_resumed() {
    let defect = Storing::LeaksHeadroom { cells: 2, priorities: P3 };
    let mut port = Port::with(Defect::Storing(defect));
    let rows: [(&[(usize, u16)], usize); 6] = [
        (&[(3, 0)], 0),
        (&[(3, 9), (4, 9)], 0),
        (&[(3, 9)], 0),
        (&[(4, 0)], 0),
        (&[(3, 0)], 1),
        (&[(3, 0)], 0),
    ];
    for (n, (times, leaks)) in rows.into_iter().enumerate() {
        let sent = port.tx(0, pfc(times));
        assert_eq!(sent, [told(&pfc(times))], "row {n}");
        assert_eq!(port.0.take_leaks(), vec![(Priority::ALL[3], 2); leaks], "row {n}");
    }
}
