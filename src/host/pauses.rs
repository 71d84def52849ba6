//! The pauses that a station sends by itself.

use super::plan::{PauseAsk, PausePlan};
use crate::time::{Duration, Instant};
use crate::units::{Mac, Priority, PrioritySet};
use crate::wire::{group, mac_control, pause, pfc};

/// Pauses that are sent by plan.
#[derive(Debug)]
pub(super) struct PauseSource {
    pub(super) octets: [u8; mac_control::FRAME_LEN],
    pub(super) names: PrioritySet,
    pub(super) due: Instant,
    pub(super) every: Duration,
    pub(super) left: u64,
}

impl PauseSource {
    /// Prepares the pauses of a checked plan.
    pub(super) fn new(plan: &PausePlan, mac: Mac) -> Self {
        let mut octets = [0; mac_control::FRAME_LEN];
        let (repr, names) = match plan.ask {
            PauseAsk::Pfc(times) => {
                let mut repr = pfc::Repr::new(mac);
                for (p, time) in Priority::ALL.into_iter().zip(times) {
                    if let Some(time) = time {
                        repr.set(p, time);
                    }
                }
                (mac_control::Repr::Pfc(repr), repr.enabled)
            }
            PauseAsk::Pause(time) => {
                let repr = pause::Repr { dst: group::MAC_CONTROL, src: mac, time };
                (mac_control::Repr::Pause(repr), PrioritySet::ALL)
            }
        };
        repr.emit(&mut octets).expect("the buffer has the length of the frame");
        Self { octets, names, due: plan.start, every: plan.every, left: plan.frames }
    }
}
