//! Timestamps of a port's frames by its device.

use super::{DpdkPort, Started};
use crate::clock::TscClock;
use crate::eal::Eal;
use crate::stamps::{DeviceClock, SentStamps, StampField, StampQuality, read_device_clock};

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

    /// Interprets `field` of received frames as readings of `clock`. [`PortOptions::rx_stamps`](super::PortOptions::rx_stamps)
    /// does so for a device with timestamps.
    pub fn stamp_by(&mut self, field: StampField, clock: DeviceClock) {
        self.state.stamps = Some((field, clock));
    }

    /// Current accuracy of receive timestamps; none without timestamps.
    #[must_use]
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
