//! With pauses alone a link is shared by ports and not by flows: the parking lot.

use sluice::buffer::{Alpha, GroupKind, GroupPlan, SharedLimit};
use sluice::schedule::LinePlan;
use sluice::time::{Duration, Instant};
use sluice::units::{BitsPerSec, Cells};

use super::net::{BARE, Host, Net};

/// Hosts at switch 0 (`far`) and at switch 1 (`near`) that all send to a host at switch 1.
#[derive(Clone, Copy, Debug)]
struct ParkingLot {
    far: usize,
    near: usize,
    gbps: u64,
    delay_ns: u64,
    len: u32,
    line: LinePlan,
    /// Bytes of headroom besides three times the bytes on the line in one one-way delay.
    spare: u32,
}

impl ParkingLot {
    /// 40 Gb/s and 500 ns; three hosts far and one near; 16 MiB, limits as in the HPCC rows.
    const MEASURED: Self =
        Self { far: 3, near: 1, gbps: 40, delay_ns: 500, len: 1_048, line: BARE, spare: 0 };

    fn net(&self) -> Net {
        let (rate, delay) = (BitsPerSec::gbps(self.gbps), Duration::from_nanos(self.delay_ns));
        let to = self.far + self.near;
        let host = |n| Host { switch: usize::from(n >= self.far), ..Host::new(rate, delay) };
        let mut hosts: Vec<Host> = (0..to).map(|n| host(n).sends(to, self.len, None)).collect();
        hosts.push(host(to));
        let kind = GroupKind::Lossless {
            headroom: Cells(3 * rate.bytes_in(delay).0 as u32 + self.spare),
            xon: Cells(0),
            xon_offset: Cells(3_072),
        };
        let limit = SharedLimit::Dynamic(Alpha::new(-3).unwrap());
        let group = GroupPlan { reserved: Cells(4_096), limit, kind };
        let (total, trunk) = (Cells(16 << 20), Some((rate, delay)));
        Net { line: self.line, pause: None, cell: 1, total, group, hosts, trunk }
    }

    /// Gb/s of payload (48 bytes of a frame are headers there) of each sender, between two times.
    fn payload_gbps(&self, from: Duration, to: Duration) -> Vec<f64> {
        let net = self.net();
        let mut network = net.run_for(from);
        let receiver = self.far + self.near;
        let before = net.received(&mut network, receiver);
        network.run_until(Instant::ZERO + to);
        let after = net.received(&mut network, receiver);
        assert_eq!(network.witness_mut().drops, 0, "{self:?}");
        let payload = f64::from(self.len - 48) / f64::from(self.len);
        let ns = (to.as_nanos() - from.as_nanos()) as f64;
        let rate = |(b, a): (&u64, &u64)| (a - b) as f64 * 8.0 * payload / ns;
        before.iter().zip(&after).map(rate).collect()
    }

    /// Closed form: every port of the last switch gets the same, and the share of the first switch
    /// is divided among its hosts.
    fn expected(&self) -> Vec<f64> {
        let port = self.gbps as f64 * f64::from(self.len - 48)
            / f64::from(self.len + self.line.overhead)
            / (self.near + 1) as f64;
        let far = core::iter::repeat_n(port / self.far as f64, self.far);
        far.chain(core::iter::repeat_n(port, self.near)).collect()
    }

    fn check(&self, expected: &[f64], from: Duration, to: Duration) {
        let rates = self.payload_gbps(from, to);
        for (rate, expected) in rates.iter().zip(expected) {
            assert!((rate - expected).abs() < 0.01 * expected, "{self:?}: {rates:?}, {expected}");
        }
    }
}

/// The lab file uses whole nanoseconds, as the measurement did; exact time is 0.3 % slower.
#[test]
fn the_measured_parking_lot_is_shared_three_to_one() {
    let (from, to) = (Duration::from_millis(1), Duration::from_millis(3));
    ParkingLot::MEASURED.check(&[6.38, 6.38, 6.38, 19.14], from, to);
    ParkingLot::MEASURED.check(&ParkingLot::MEASURED.expected(), from, to);
}

#[test]
fn other_parking_lots_are_shared_by_ports_too() {
    let (from, to) = (Duration::from_millis(2), Duration::from_millis(4));
    let measured = ParkingLot::MEASURED;
    for (far, near) in [(1, 1), (2, 1), (5, 1), (3, 2), (2, 3)] {
        let lot = ParkingLot { far, near, ..measured };
        lot.check(&lot.expected(), from, to);
    }
    for (gbps, delay_ns, len, line) in [
        (100, 500, 1_048, LinePlan::ETHERNET),
        (25, 2_000, 1_518, LinePlan::ETHERNET),
        (40, 500, 4_144, BARE),
    ] {
        let lot = ParkingLot { gbps, delay_ns, len, line, spare: 3 * len, ..measured };
        lot.check(&lot.expected(), from, to);
    }
}
