//! Planned pauses of a station.

use super::plan::{PauseAsk, PausePlan};
use ground::time::{Duration, Instant};
use ground::units::{Mac, Priority};
use wire::{group, mac_control, pause, pfc};

/// A planned sequence of pauses.
#[derive(Debug)]
pub(super) struct PauseSource {
    pub(super) octets: [u8; mac_control::FRAME_LEN],
    pub(super) due: Instant,
    pub(super) every: Duration,
    pub(super) left: u64,
}

impl PauseSource {
    /// Prepares the pauses of a validated plan.
    pub(super) fn new(plan: &PausePlan, mac: Mac) -> Self {
        let mut octets = [0; mac_control::FRAME_LEN];
        let repr = match plan.ask {
            PauseAsk::Pfc(times) => {
                let mut repr = pfc::Repr::new(mac);
                for (p, time) in Priority::ALL.into_iter().zip(times) {
                    if let Some(time) = time {
                        repr.set(p, time);
                    }
                }
                mac_control::Repr::Pfc(repr)
            }
            PauseAsk::Pause(time) => {
                mac_control::Repr::Pause(pause::Repr { dst: group::MAC_CONTROL, src: mac, time })
            }
        };
        repr.emit(&mut octets).expect("the buffer has the length of the frame");
        Self { octets, due: plan.start, every: plan.every, left: plan.frames }
    }
}
