//! Thresholds of a switch chip, to the cell: where it pauses, and where it drops if the sender
//! ignores that.

use sluice::buffer::{Alpha, GroupKind, GroupPlan, SharedLimit};
use sluice::schedule::LinePlan;
use sluice::time::Duration;
use sluice::units::{BitsPerSec, Cells};

use super::net::{Host, Net};
use super::seen::Seen;

/// A chip with one group in use at each of `groups` ports, all filled equally with frames of one
/// cell while their egress port is blocked.
#[derive(Clone, Copy, Debug)]
struct Chip {
    groups: u32,
    cell: u32,
    reserved: u32,
    /// Exponent of the limit: this power of two of the free cells.
    alpha: i8,
    pool: u32,
    /// Cells for frames after XOFF.
    headroom: u32,
}

impl Chip {
    /// Tomahawk: 208-byte cells, 6 for each group, 268,736 bytes of headroom (100 Gb/s, 300 m).
    const fn tomahawk(groups: u32) -> Self {
        let (cell, headroom) = (208, 268_736 / 208);
        Self { groups, cell, reserved: 6, alpha: 0, pool: 13_071, headroom }
    }

    /// Runs hosts that ignore PFC and send until all of the headroom is used up.
    fn run(&self) -> Seen {
        let n = self.groups as usize;
        let host = |us| Host::new(BitsPerSec::gbps(100), Duration::from_micros(us));
        let ports = self.groups + 1;
        let frames = u64::from(self.reserved + self.pool / self.groups + self.headroom + 10);
        // The blocking host's pause has the shorter way: it arrives before the first frame.
        let sender = Host { obeys: false, ..host(2) }.sends(n, 64, Some(frames));
        let mut hosts = vec![sender; n];
        hosts.push(Host { blocks: true, ..host(1) });
        let kind = GroupKind::Lossless {
            headroom: Cells(self.headroom),
            xon: Cells(0),
            xon_offset: Cells(11),
        };
        let limit = SharedLimit::Dynamic(Alpha::new(self.alpha).unwrap());
        let group = GroupPlan { reserved: Cells(self.reserved), limit, kind };
        let total = Cells(self.pool + ports * (self.reserved + self.headroom));
        let line = LinePlan::ETHERNET;
        let net = Net { line, pause: None, cell: self.cell, total, group, hosts, trunk: None };
        let mut network = net.run_for(Duration::from_micros(3) + slots(frames + 1));
        assert_eq!(network.witness_mut().delivered(n), 0, "the way out is blocked");
        network.finish().0
    }

    /// Closed form: frames of each group when XOFF is sent.
    fn frames_at_xoff(&self) -> u64 {
        let (alpha, n) = (f64::from(self.alpha).exp2(), f64::from(self.groups));
        u64::from(self.reserved) + (f64::from(self.pool) * alpha / (1.0 + n * alpha)) as u64
    }

    /// Asserts that every group is paused within two frames of the closed form, and that the first
    /// lost frame is the one after the headroom.
    fn check(&self) {
        let seen = self.run();
        assert_eq!(seen.frames_at_xoff.len(), self.groups as usize, "{self:?}");
        for (link, frames) in &seen.frames_at_xoff {
            let expected = self.frames_at_xoff();
            assert!(frames.abs_diff(expected) <= 2, "{self:?} {link}: {frames} {expected}");
            let (_, at_drop) = seen.frames_at_drop.iter().find(|(of, _)| of == link).unwrap();
            let behind = at_drop - frames;
            // The frame that triggers the pause may be in headroom already, as one cell of it.
            let expected = u64::from(self.headroom) + 1;
            assert!(behind == expected || behind + 1 == expected, "{self:?} {link}: {behind}");
        }
    }
}

/// Time of `n` frames of 64 bytes at 100 Gb/s.
fn slots(n: u64) -> Duration {
    Duration::from_picos(6_720).saturating_mul(n)
}

#[test]
fn tomahawk_pauses_and_drops_where_the_chip_does() {
    let one = Chip::tomahawk(1).run();
    let [(_, xoff)] = one.frames_at_xoff[..] else { panic!("one group") };
    // The formula gives 6,541, the test of the hardware 6,542.
    assert_eq!(xoff, 6_542);
    assert_eq!(one.frames_at_drop, [(0, xoff + 1_293)]);
    assert_eq!(Chip::tomahawk(4).frames_at_xoff(), 2_620);
    (1..=4).for_each(|n| Chip::tomahawk(n).check());
}

#[test]
fn other_chips_keep_to_the_closed_form() {
    let small = Chip { pool: 4_000, headroom: 250, ..Chip::tomahawk(1) };
    for alpha in [-4, -2, -1, 1, 3] {
        for groups in [1, 3, 7] {
            Chip { alpha, groups, ..small }.check();
        }
    }
    for (cell, reserved) in [(80, 0), (96, 19), (256, 100)] {
        Chip { cell, reserved, groups: 5, ..small }.check();
    }
}
