//! Counters of a port's device and of the kernel below it.

use ground::described;
use serde::{Deserialize, Serialize};

described! {
    /// Counters of a device and of the kernel below it: frames that the switch never received, so they
    /// are in no balance. All but the first are 0 if the driver does not count.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
    NicCounters {
        /// Frames lost because the receive ring (`imissed`), or a queue of the kernel before it, was
        /// full; null if the device does not report it.
        rx_missed: Option<u64> = Counter,
        /// Frames received with errors, a bad FCS included (`ierrors`).
        rx_errors: u64 = Counter,
        /// Times that the frame pool was empty (`rx_nombuf`).
        rx_no_memory: u64 = Counter,
        /// Frames not sent because of an error of the device (`oerrors`).
        tx_errors: u64 = Counter,
        /// Frames dropped on transmit by the interface of the kernel that the device works on, from any
        /// sender.
        #[serde(default)]
        tx_dropped: u64 = Counter,
    }
}

impl NicCounters {
    /// Counters of a port without a device, which loses nothing.
    pub const NO_DEVICE: Self =
        Self { rx_missed: Some(0), rx_errors: 0, rx_no_memory: 0, tx_errors: 0, tx_dropped: 0 };

    /// Returns the number of frames that were not sent, at most.
    #[must_use]
    pub const fn unsent(self) -> u64 {
        self.tx_errors + self.tx_dropped
    }

    /// Returns the number of frames lost before the switch received them, `None` if the device does
    /// not report it.
    #[must_use]
    pub fn missed(self) -> Option<u64> {
        Some(self.rx_missed? + self.rx_no_memory)
    }

    /// Difference to `base`.
    #[must_use]
    pub fn since(self, base: Self) -> Self {
        Self {
            rx_missed: self.rx_missed.map(|n| n.saturating_sub(base.rx_missed.unwrap_or(0))),
            rx_errors: self.rx_errors.saturating_sub(base.rx_errors),
            rx_no_memory: self.rx_no_memory.saturating_sub(base.rx_no_memory),
            tx_errors: self.tx_errors.saturating_sub(base.tx_errors),
            tx_dropped: self.tx_dropped.saturating_sub(base.tx_dropped),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_number_of_missed_frames_stays_unknown() {
        let base = NicCounters {
            rx_missed: None,
            rx_no_memory: 2,
            tx_errors: 1,
            ..NicCounters::default()
        };
        let now = NicCounters { rx_no_memory: 5, tx_errors: 4, tx_dropped: 2, ..base };
        assert_eq!((now.since(base).missed(), now.since(base).unsent()), (None, 5));
        let known = NicCounters { rx_missed: Some(7), ..now };
        assert_eq!(known.since(base).missed(), Some(10));
        assert_eq!(base.since(now), NicCounters::default(), "a driver that began again");
        assert_eq!(
            (NicCounters::NO_DEVICE.missed(), NicCounters::NO_DEVICE.unsent()),
            (Some(0), 0)
        );
    }
}
