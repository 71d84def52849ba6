//! Overshoot of a queue over its limit while the pause is on its way and nothing leaves.

use sluice::buffer::{GroupKind, GroupPlan, SharedLimit};
use sluice::time::Duration;
use sluice::units::{BitsPerSec, Bytes, Cells};

use super::net::{BARE, Host, Net};

/// Hosts that send to a blocked one, through a switch with a fixed limit.
#[derive(Clone, Copy, Debug)]
struct Overshoot {
    senders: usize,
    gbps: u64,
    delay_ns: u64,
    len: u32,
    limit: u32,
}

impl Overshoot {
    /// Peak of each sender's group, and the number of lost frames.
    fn run(&self) -> (Vec<u64>, u64) {
        let rate = BitsPerSec::gbps(self.gbps);
        let delay = Duration::from_nanos(self.delay_ns);
        let mut hosts =
            vec![Host::new(rate, delay).sends(self.senders, self.len, None); self.senders];
        hosts.push(Host { blocks: true, ..Host::new(rate, delay) });
        let headroom = self.bytes_both_ways() as u32 + 4 * self.len;
        let kind = GroupKind::Lossless {
            headroom: Cells(headroom),
            xon: Cells(0),
            xon_offset: Cells(3_000),
        };
        let limit = SharedLimit::Static(Cells(self.limit));
        let group = GroupPlan { reserved: Cells(0), limit, kind };
        let ports = self.senders as u32 + 1;
        let total = Cells(ports * (self.limit + headroom));
        let net = Net { line: BARE, pause: None, cell: 1, total, group, hosts, trunk: None };
        let filling = rate.time_for(Bytes(u64::from(self.limit + headroom)));
        let mut network = net.run_for(filling + delay.saturating_mul(4));
        let peaks = (0..self.senders).map(|n| u64::from(net.usage(&mut network, n).peak.0));
        let peaks = peaks.collect();
        (peaks, network.witness_mut().drops)
    }

    /// Bytes on the line during the round trip of a bit.
    fn bytes_both_ways(&self) -> u64 {
        BitsPerSec::gbps(self.gbps).bytes_in(Duration::from_nanos(2 * self.delay_ns)).0
    }

    /// Counted by hand: the frame that exceeds the limit, and those that start before the pause of
    /// 64 bytes has arrived.
    fn peak(&self) -> u64 {
        let (len, octet_fs) = (u64::from(self.len), 8_000_000 / self.gbps);
        let over = u64::from(self.limit) / len + 1;
        let late = (64 + len) * octet_fs + 2_000_000 * self.delay_ns;
        let behind = late.div_ceil(len * octet_fs) - 1;
        (over + behind) * len
    }

    fn check(&self) {
        let (peaks, drops) = self.run();
        assert_eq!(drops, 0, "{self:?}");
        for peak in peaks {
            assert_eq!(peak, self.peak(), "{self:?}");
            let least = u64::from(self.limit) + self.bytes_both_ways();
            let most = least + 2 * u64::from(self.len) + 64;
            assert!((least..=most).contains(&peak), "{self:?}: {peak} of {least} to {most}");
        }
    }
}

/// csg-htsim measured 2,012 and 2,024 thousand.
#[test]
fn the_measured_queues_go_as_far_over_their_limit() {
    for (delay_ns, thousands) in [(500, 2_012), (1_000, 2_024)] {
        let measured = Overshoot { senders: 7, gbps: 100, delay_ns, len: 1_064, limit: 1_999_000 };
        assert_eq!(measured.peak() / 1_000, thousands);
        measured.check();
    }
}

#[test]
fn other_queues_go_as_far_over_their_limit_as_counted_by_hand() {
    let some = Overshoot { senders: 2, gbps: 100, delay_ns: 700, len: 1_064, limit: 300_000 };
    for gbps in [10, 25, 40, 200, 400] {
        Overshoot { gbps, ..some }.check();
    }
    for len in [64, 65, 512, 1_518, 9_216] {
        Overshoot { len, ..some }.check();
    }
    for delay_ns in [1, 83, 2_500] {
        Overshoot { delay_ns, ..some }.check();
    }
    for limit in [0, 9_999, 1_000_000] {
        Overshoot { limit, ..some }.check();
    }
}
