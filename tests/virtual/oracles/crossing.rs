//! N hosts to one through one switch with dynamic thresholds: the time at which the first is
//! paused.

use proptest::prelude::*;
use sluice::buffer::{Alpha, GroupKind, GroupPlan, SharedLimit};
use sluice::time::{Duration, Instant};
use sluice::units::{BitsPerSec, Bytes, Cells};

use super::net::{BARE, Host, Net};

/// Inputs of an incast on which the first crossing depends.
#[derive(Clone, Copy, Debug)]
struct Incast {
    senders: u32,
    gbps: u64,
    delay_ns: u64,
    len: u32,
    buffer: u32,
    reserved: u32,
    /// Exponent of the limit: this power of two of the free cells.
    alpha: i8,
    /// Bytes of headroom besides three times the bytes on the line in one one-way delay.
    spare: u32,
}

impl Incast {
    /// The case measured in the HPCC simulator, with exact time.
    const fn hpcc(senders: u32) -> Self {
        let (gbps, delay_ns, len, buffer) = (100, 500, 1_048, 16 << 20);
        Self { senders, gbps, delay_ns, len, buffer, reserved: 4_096, alpha: -3, spare: 0 }
    }

    fn rate(&self) -> BitsPerSec {
        BitsPerSec::gbps(self.gbps)
    }

    /// Time of a byte on the line.
    fn octet_ps(&self) -> f64 {
        8_000.0 / self.gbps as f64
    }

    fn headroom(&self) -> u32 {
        self.spare + 3 * self.rate().bytes_in(Duration::from_nanos(self.delay_ns)).0 as u32
    }

    /// Bytes that are not shared: every port has its reserve and its headroom, the receiver's too.
    fn promised(&self) -> u32 {
        (self.senders + 1) * (self.reserved + self.headroom())
    }

    /// Bytes that the groups share.
    fn pool(&self) -> u32 {
        self.buffer - self.promised()
    }

    /// Time on the line of a frame of `len` bytes.
    fn line_time(&self, len: u32) -> Duration {
        self.rate().time_for(Bytes(len.into()))
    }

    fn net(&self) -> Net {
        let host = Host::new(self.rate(), Duration::from_nanos(self.delay_ns));
        let to = self.senders as usize;
        let mut hosts = vec![host.clone().sends(to, self.len, None); to];
        hosts.push(host);
        let kind = GroupKind::Lossless {
            headroom: Cells(self.headroom()),
            xon: Cells(0),
            xon_offset: Cells(3_072),
        };
        let limit = SharedLimit::Dynamic(Alpha::new(self.alpha).unwrap());
        let group = GroupPlan { reserved: Cells(self.reserved), limit, kind };
        let (line, cell, total) = (BARE, 1, Cells(self.buffer));
        Net { line, pause: None, cell, total, group, hosts, trunk: None }
    }

    /// Counted by hand: frames of each sender that have arrived when the first group is at its
    /// limit. They arrive in rounds, one of each sender, and after each round one frame leaves, in
    /// the order of arrival.
    fn rounds(&self) -> u64 {
        let (len, reserved) = (u64::from(self.len), u64::from(self.reserved));
        let n = self.senders as usize;
        let shared = |held: u64| held.saturating_sub(reserved);
        let limit = |free: u64| {
            if self.alpha < 0 { free >> -self.alpha } else { free << self.alpha }
        };
        let (mut held, mut free) = (vec![0_u64; n], u64::from(self.pool()));
        for round in 1.. {
            for group in &mut held {
                let (before, after) = (shared(*group), shared(*group + len));
                if after > limit(free) || after - before > free {
                    return round;
                }
                free -= after - before;
                *group += len;
                if *group >= reserved && after >= limit(free) {
                    return round;
                }
            }
            let leaving = &mut held[(round as usize - 1) % n];
            free += shared(*leaving) - shared(*leaving - len);
            *leaving -= len;
        }
        unreachable!("the buffer is finite")
    }

    /// Closed form: the bytes of a group when the limit has come down to it.
    fn occupancy(&self) -> f64 {
        let (alpha, n) = (f64::from(self.alpha).exp2(), f64::from(self.senders));
        alpha * f64::from(self.pool()) / (1.0 + n * alpha) + f64::from(self.reserved)
    }

    /// Closed form of the time in picoseconds at which the first pause arrives at a host: a group
    /// fills with the bytes of its port less its share of the output.
    fn first_pause_ps(&self) -> f64 {
        let n = f64::from(self.senders);
        let filling = self.occupancy() * self.octet_ps() * n / (n - 1.0);
        filling + 64.0 * self.octet_ps() + 2_000.0 * self.delay_ns as f64
    }

    /// Runs it past the first pause; returns the times at which the first group was at its limit,
    /// and at which a host had the pause.
    fn measure(&self) -> (Instant, Instant) {
        let time = Duration::from_picos((self.first_pause_ps() * 1.05) as u64)
            + self.line_time(self.len).saturating_mul(u64::from(self.senders) + 1);
        let seen = self.net().run_for(time).finish().0;
        assert_eq!(seen.drops, 0, "{self:?}");
        (seen.first_xoff.unwrap(), seen.first_pause.unwrap())
    }

    /// Asserts equality with the count by hand to the picosecond, and closeness to the closed form:
    /// within 0.2 % and the frame by which a group exceeds its limit.
    fn check(&self) {
        let (crossing, pause) = self.measure();
        let (delay, frame) = (Duration::from_nanos(self.delay_ns), self.line_time(self.len));
        let expected = Instant::ZERO + delay + frame.saturating_mul(self.rounds());
        assert_eq!(crossing, expected, "{self:?}");
        assert_eq!(pause, crossing + self.line_time(64) + delay, "{self:?}");
        let (found, closed) = (pause.as_picos() as f64, self.first_pause_ps());
        let step = 2.0 * f64::from(self.len) * self.octet_ps();
        assert!((found - closed).abs() <= 0.002 * closed + step, "{self:?}: {found} {closed}");
    }
}

/// The two measured rows are within 0.2 % of the closed form without the tolerance of a frame; with
/// exact time the first pause is near 149,568 and 59,608 ns.
#[test]
fn the_measured_incasts_are_paused_when_the_closed_form_says() {
    for (senders, near_ns) in [(4, 149_568.0), (16, 59_608.0)] {
        let incast = Incast::hpcc(senders);
        incast.check();
        let (found, closed) = (incast.measure().1.as_picos() as f64, incast.first_pause_ps());
        assert!((found - closed).abs() < 0.002 * closed, "{senders}: {found} {closed}");
        assert!((found / 1_000.0 - near_ns).abs() < 2.0, "{senders}: {found}");
    }
}

#[test]
fn other_incasts_are_paused_to_the_picosecond_when_counted_by_hand() {
    for senders in [2, 3, 5, 8, 11, 24] {
        Incast::hpcc(senders).check();
    }
    let roomy = Incast { spare: 30_000, buffer: 4 << 20, ..Incast::hpcc(5) };
    for gbps in [25, 40, 400] {
        Incast { gbps, ..roomy }.check();
    }
    for len in [64, 300, 1_500, 4_144, 9_216] {
        Incast { len, ..roomy }.check();
    }
    for alpha in [-6, -1, 0, 2] {
        Incast { alpha, ..roomy }.check();
    }
}

proptest! {
    // A failing case is printed whole; there is no seed to keep.
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn any_incast_is_paused_to_the_picosecond_when_counted_by_hand(
        senders in 2_u32..12,
        gbps in prop::sample::select(vec![10_u64, 25, 40, 50, 100, 200, 400]),
        delay_ns in 1_u64..3_000,
        len in 64_u32..9_216,
        pool in (1_u32 << 20)..(5 << 20),
        reserved in 0_u32..20_000,
        alpha in -5_i8..=1,
    ) {
        let (spare, buffer) = (3 * len, 0);
        let mut any = Incast { senders, gbps, delay_ns, len, buffer, reserved, alpha, spare };
        any.buffer = pool + any.promised();
        any.check();
    }
}
