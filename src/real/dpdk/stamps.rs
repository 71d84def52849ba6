//! Timestamps of a port's frames by its device, converted to the time of a [`TscClock`].
//!
//! A device counts in its own clock. Its count is read between two reads of the TSC, which gives a
//! pair of readings and their uncertainty; two such pairs give the rate. The longer the time
//! between the pairs, the more accurate the rate, so [`DeviceClock::refresh`] keeps the first.

use std::thread;
use std::time::Duration as StdDuration;

use dpdk_sys as sys;
use ground::time::{Duration, Instant};

use super::clock::TscClock;
use super::eal::Eal;
use super::error::{Error, Logged, strerror};
use super::mbuf::Mbuf;
use super::port::{DpdkPort, Started};

/// Time of the first measurement of the rate. A choice: with reads of 2 us the rate is known to 40
/// ppm then, and to 1 ppm after two seconds.
const CALIBRATION: StdDuration = StdDuration::from_millis(50);

/// Validity of a reading: rates of crystals change by some parts in 10^8 within it.
const STALE: Duration = Duration::from_secs(1);

/// Attempts per pair of readings, of which the tightest counts.
const ATTEMPTS: usize = 16;

/// Flag of a received frame that the PTP clock timestamped.
const STAMPED: u64 = sys::RTE_MBUF_F_RX_IEEE1588_TMST as u64;

/// Fractional bits of a rate.
const SHIFT: u32 = 32;

/// Field of a frame for the timestamp, and the flag that it is valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StampField {
    pub(super) offset: usize,
    pub(super) flag: u64,
}

impl StampField {
    /// Registers the field that all drivers use.
    ///
    /// # Errors
    /// [`Error::Device`] if other users of DPDK have taken all of the space for such fields.
    pub fn register(_eal: &Eal) -> Result<Self, Error> {
        let (mut offset, mut flag) = (0, 0);
        // SAFETY: EAL runs, and both numbers are writable.
        let code = unsafe { sys::rte_mbuf_dyn_rx_timestamp_register(&mut offset, &mut flag) };
        let offset = usize::try_from(offset).ok().filter(|_| code == 0);
        let inside = |offset: &usize| offset + size_of::<u64>() <= size_of::<sys::rte_mbuf>();
        offset.filter(inside).map(|offset| Self { offset, flag }).ok_or_else(|| Error::Device {
            device: "every device".into(),
            step: "find room for stamps in its frames",
            // DPDK returns -1 and sets rte_errno.
            reason: strerror(super::error::errno()),
            logged: Logged::default(),
        })
    }
}

/// Readings of a device's clock and of the TSC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pair {
    ticks: u64,
    at: Instant,
    /// Largest difference in time between the two, either way.
    apart: Duration,
}

/// Conversion from a device's clock to the TSC.
#[derive(Clone, Debug)]
pub struct DeviceClock {
    tsc: TscClock,
    first: Pair,
    last: Pair,
    /// Picoseconds per tick, in units of 2^-32 ps.
    ps_per_tick: u64,
}

/// Accuracy of timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StampQuality {
    /// One tick of the device's clock.
    pub resolution: Duration,
    /// Largest error of a timestamp, either way: the uncertainty of the two readings, and the drift
    /// since.
    pub uncertainty: Duration,
}

impl Pair {
    /// Returns the tightest of several attempts.
    fn read(
        tsc: &TscClock,
        read: &mut impl FnMut() -> Result<u64, String>,
    ) -> Result<Self, String> {
        let mut best: Option<Self> = None;
        for _ in 0..ATTEMPTS {
            let before = tsc.now();
            let ticks = read()?;
            let apart = Duration::from_picos(tsc.now().since(before).as_picos().div_ceil(2));
            if best.is_none_or(|b| apart < b.apart) {
                best = Some(Self { ticks, at: before + apart, apart });
            }
        }
        best.ok_or_else(|| "it was not read".into())
    }
}

impl DeviceClock {
    /// Measures the rate of the clock that `read` reads against the TSC; takes 50 ms.
    ///
    /// # Errors
    /// The reason why it cannot be read, or that it stands still.
    pub fn calibrate(
        tsc: &TscClock,
        mut read: impl FnMut() -> Result<u64, String>,
    ) -> Result<Self, String> {
        let first = Pair::read(tsc, &mut read)?;
        thread::sleep(CALIBRATION);
        let mut clock = Self { tsc: *tsc, first, last: first, ps_per_tick: 0 };
        clock.refresh(read)?;
        Ok(clock)
    }

    /// Reads the clock again for the timestamps from now on. Required every few seconds, as the
    /// rates of clocks change with their temperature.
    ///
    /// # Errors
    /// As [`DeviceClock::calibrate`]; the last reading stays in use.
    pub fn refresh(&mut self, mut read: impl FnMut() -> Result<u64, String>) -> Result<(), String> {
        let last = Pair::read(&self.tsc, &mut read)?;
        let ticks = last.ticks.wrapping_sub(self.first.ticks);
        let time = last.at.total_since(self.first.at).as_picos();
        if ticks == 0 || ticks > u64::MAX / 2 {
            return Err("its clock stands still, or goes back".into());
        }
        let rate = (time << SHIFT) / u128::from(ticks);
        self.ps_per_tick = u64::try_from(rate).map_err(|_| "its clock is too slow to use")?;
        self.last = last;
        Ok(())
    }

    /// True if the last reading is so old that the clock should be read again.
    pub(super) fn is_stale(&self) -> bool {
        self.tsc.now().since(self.last.at) >= STALE
    }

    /// TSC time of the device's reading `ticks`.
    #[inline]
    pub fn at(&self, ticks: u64) -> Instant {
        // Before or after the last reading, whichever is nearer on a counter that wraps.
        let since = ticks.wrapping_sub(self.last.ticks) as i64;
        let picos = (i128::from(since) * i128::from(self.ps_per_tick)) >> SHIFT;
        let time = self.last.at.as_picos().checked_add_signed(picos);
        time.map_or(Instant::ZERO, Instant::from_picos)
    }

    /// Current accuracy of the timestamps.
    pub fn quality(&self) -> StampQuality {
        let span = self.last.at.total_since(self.first.at).as_picos().max(1);
        let open = u128::from(self.first.apart.as_picos() + self.last.apart.as_picos());
        let since = self.tsc.now().total_since(self.last.at).as_picos();
        let by_rate = u64::try_from(since * open / span).unwrap_or(u64::MAX);
        StampQuality {
            resolution: Duration::from_picos((self.ps_per_tick >> SHIFT).max(1)),
            uncertainty: Duration::from_picos(self.last.apart.as_picos().saturating_add(by_rate)),
        }
    }
}

/// Timestamps by a device's PTP clock (IEEE 1588): of sent frames on request, and of received messages
/// of PTP. The device has room for one of each.
#[derive(Debug)]
pub(super) struct SentStamps {
    port: u16,
    clock: DeviceClock,
    /// The frame of the last burst that was timestamped, by the place of its header, and its time.
    received: Option<(*const sys::rte_mbuf, Instant)>,
}

// SAFETY: the place of a header is compared with others, and never read.
unsafe impl Send for SentStamps {}

impl SentStamps {
    /// Turns on a device's timestamps, and measures its PTP clock against the TSC; takes 50 ms.
    ///
    /// # Errors
    /// The reason why the device has none.
    pub(super) fn enable(port: u16, tsc: &TscClock) -> Result<Self, String> {
        // SAFETY: the port is started.
        let code = unsafe { sys::rte_eth_timesync_enable(port) };
        if code != 0 {
            return Err(format!("the driver does not offer it ({})", strerror(code)));
        }
        let clock = DeviceClock::calibrate(tsc, || read_ptp_clock(port));
        clock.map(|clock| Self { port, clock, received: None }).inspect_err(|_| disable(port))
    }

    /// Returns the time of the last timestamped frame, once; `None` while there is none.
    pub(super) fn read(&self) -> Option<Instant> {
        let mut time = sys::timespec::default();
        // SAFETY: the port is started, and `time` is writable.
        let code = unsafe { sys::rte_eth_timesync_read_tx_timestamp(self.port, &mut time) };
        (code == 0).then(|| self.clock.at(nanos(&time)))
    }

    /// Reads the time of the frame of a burst that the device timestamped, which makes room for the next.
    /// That of an earlier burst is forgotten: the memory of its frame may be another frame's by now.
    #[inline]
    pub(super) fn take_received<'a>(&mut self, frames: impl Iterator<Item = &'a Mbuf>) {
        let stamped = frames.filter(|frame| frame.has_flag(STAMPED)).filter_map(|frame| {
            let mut time = sys::timespec::default();
            let place = frame.as_ptr();
            // SAFETY: the port is started, the header is that of a frame, and `time` is writable.
            let code = unsafe { sys::sluice_rx_timestamp(self.port, place, &mut time) };
            (code == 0).then(|| (place, self.clock.at(nanos(&time))))
        });
        self.received = stamped.last();
    }

    /// Returns the time of a received frame, if it is the one that was timestamped last.
    pub(super) fn received(&self, frame: &Mbuf) -> Option<Instant> {
        let is_flagged = frame.has_flag(STAMPED);
        let (of, at) = self.received.filter(|_| is_flagged)?;
        (of == frame.as_ptr()).then_some(at)
    }

    /// Reads the clock again if the last reading is old. One that cannot be read any more shows as growing
    /// uncertainty.
    pub(super) fn refresh(&mut self) {
        if self.clock.is_stale() {
            let _ = self.clock.refresh(|| read_ptp_clock(self.port));
        }
    }

    /// Returns the accuracy of the timestamps.
    pub(super) fn quality(&self) -> StampQuality {
        self.clock.quality()
    }
}

impl Drop for SentStamps {
    fn drop(&mut self) {
        disable(self.port);
    }
}

fn disable(port: u16) {
    // SAFETY: DPDK refuses the number of a port that does not exist.
    unsafe { sys::rte_eth_timesync_disable(port) };
}

/// Returns a time as a count of nanoseconds, which wraps.
const fn nanos(time: &sys::timespec) -> u64 {
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Reads the PTP clock of a device.
///
/// # Errors
/// DPDK's text if there is none.
fn read_ptp_clock(port: u16) -> Result<u64, String> {
    let mut time = sys::timespec::default();
    // SAFETY: the port is started, and `time` is writable.
    match unsafe { sys::rte_eth_timesync_read_time(port, &mut time) } {
        0 => Ok(nanos(&time)),
        code => Err(format!("its PTP clock cannot be read: {}", strerror(code))),
    }
}

/// Reads the clock of a device.
///
/// # Errors
/// DPDK's text if there is none that can be read.
pub(super) fn read_device_clock(port: u16) -> Result<u64, String> {
    let mut ticks = 0;
    // SAFETY: the port is started, and the number is writable.
    match unsafe { sys::rte_eth_read_clock(port, &mut ticks) } {
        0 => Ok(ticks),
        code => Err(format!("its clock cannot be read: {}", strerror(code))),
    }
}

impl DpdkPort<Started> {
    /// Sets up the decoding of the timestamps that the device writes to frames.
    pub(super) fn device_stamps(&mut self, eal: &Eal, tsc: &TscClock) -> Result<(), String> {
        let field = StampField::register(eal).map_err(|error| error.to_string())?;
        let id = self.state.id;
        let clock = DeviceClock::calibrate(tsc, || read_device_clock(id))?;
        self.stamp_by(field, clock);
        Ok(())
    }

    /// Turns on the device's timestamps of sent frames. A driver may take requests for them and give none.
    pub(super) fn sent_stamps(&mut self, tsc: &TscClock) -> Result<(), String> {
        self.state.sent = Some(SentStamps::enable(self.state.id, tsc)?);
        Ok(())
    }

    /// Interprets `field` of received frames as readings of `clock`.
    /// [`PortOptions::rx_stamps`](super::PortOptions::rx_stamps) does so for a device with timestamps.
    pub fn stamp_by(&mut self, field: StampField, clock: DeviceClock) {
        self.state.stamps = Some((field, clock));
    }

    /// Current accuracy of receive timestamps; none without timestamps.
    pub fn stamp_quality(&self) -> Option<StampQuality> {
        self.state.stamps.as_ref().map(|(_, clock)| clock.quality())
    }

    /// Reads the device's clock again if it timestamps; must be called every few seconds.
    ///
    /// # Errors
    /// The reason why the clock could not be read; timestamps continue with the last reading.
    pub fn refresh_stamps(&mut self) -> Result<(), String> {
        let id = self.state.id;
        match &mut self.state.stamps {
            Some((_, clock)) => clock.refresh(|| read_device_clock(id)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock of 322.265625 MHz (a MAC's) that started long before.
    fn ticks(now: Instant) -> u64 {
        (now.as_picos() * 322_265_625 / 1_000_000_000_000) as u64
    }

    #[test]
    fn a_stamp_is_off_by_no_more_than_is_said() {
        let tsc = TscClock::new();
        let offset = u64::MAX - 1_000_000; // It wraps soon.
        let read = || Ok(ticks(tsc.now()).wrapping_add(offset));
        let mut clock = DeviceClock::calibrate(&tsc, read).unwrap();
        for _ in 0..3 {
            for ticks_ago in [0, 1_000, 1_000_000] {
                let now = tsc.now();
                let ago = u128::from(ticks_ago) * 1_000_000_000_000 / 322_265_625;
                let stamp = ticks(now).wrapping_add(offset).wrapping_sub(ticks_ago);
                let (got, quality) = (clock.at(stamp).as_picos(), clock.quality());
                let open = quality.uncertainty.as_picos() + 2 * quality.resolution.as_picos();
                let off = got.abs_diff(now.as_picos() - ago);
                assert!(off <= open.into(), "{got} {now:?} {quality:?}");
                assert_eq!(quality.resolution.as_picos(), 3_103);
            }
            clock.refresh(read).unwrap();
        }
    }

    #[test]
    fn a_reading_is_stale_after_its_time_and_fresh_after_another() {
        let tsc = TscClock::new();
        let read = || Ok(ticks(tsc.now()));
        let mut clock = DeviceClock::calibrate(&tsc, read).unwrap();
        assert!(!clock.is_stale());
        thread::sleep(StdDuration::from_nanos(STALE.as_nanos()));
        assert!(clock.is_stale());
        clock.refresh(read).unwrap();
        assert!(!clock.is_stale());
    }

    #[test]
    fn a_clock_that_cannot_be_used_is_refused_with_the_reason() {
        let tsc = TscClock::new();
        let still = DeviceClock::calibrate(&tsc, || Ok(7)).unwrap_err();
        assert!(still.contains("stands still"), "{still}");
        let none = DeviceClock::calibrate(&tsc, || Err("no clock".into())).unwrap_err();
        assert_eq!(none, "no clock");
    }
}
