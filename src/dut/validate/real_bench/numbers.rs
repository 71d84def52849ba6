//! Packet numbers of the tester's ports with MACsec behind which a device remembers the highest: none is
//! used twice in a run.

use crate::otg;
use crate::setup::{PortMacsec, Setup};
use crate::trial::{Limit, Port, Rate, Trial};
use tester::plan::TestPlan;

/// The far end of the tester's ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Far {
    Device,
    /// Another port of the tester: a cable without MACsec.
    Cable,
}

/// The packet numbers of each port.
#[derive(Debug)]
pub(super) struct Numbers(Vec<Used>);

#[derive(Clone, Copy, Debug)]
struct Used {
    /// Number of the next frame.
    next: u64,
    /// Number behind those of the frames that a test has made for its next trial.
    made: u64,
}

impl Numbers {
    pub(super) fn new(setup: &Setup) -> Self {
        let first = |macsec: &PortMacsec| macsec.first_pn();
        let ports = setup.ports.iter().map(|port| port.macsec.as_deref().map_or(1, first));
        Self(ports.map(|next| Used { next, made: 0 }).collect())
    }

    /// Returns the first of some numbers for frames of a test: behind those of its next trial's learning.
    pub(super) fn make(&mut self, port: Port, frames: u32) -> u64 {
        let used = &mut self.0[port.0];
        // Learning frames leave before those of the test, with lower numbers.
        let first = used.made.max(used.next + otg::BEFORE);
        used.made = first + u64::from(frames);
        first
    }

    /// Gives the ports of a trial their SecY, and takes the numbers that it may use.
    pub(super) fn secure(&mut self, plan: &mut TestPlan, trial: &Trial, setup: &Setup, far: Far) {
        if far == Far::Cable {
            return;
        }
        for (n, (port, of)) in plan.ports.iter_mut().zip(&setup.ports).enumerate() {
            let Some(macsec) = &of.macsec else { continue };
            let mut secy = macsec.secy(trial.made.contains(&Port(n)));
            let used = &mut self.0[n];
            // Every key goes on behind all numbers that the port has used.
            for sa in secy.transmit.iter_mut().flatten() {
                sa.pn = used.next;
            }
            port.secy = Some(Box::new(secy));
            // The numbers of the whole trial are taken at once: how many it uses is known only at its end.
            used.next = used.made.max(used.next + most(trial, setup, Port(n)));
            used.made = 0;
        }
    }
}

/// Returns a number of frames that a port does not exceed in a trial.
fn most(trial: &Trial, setup: &Setup, port: Port) -> u64 {
    let flows = trial.flows.iter().filter(|flow| flow.from == port).map(|flow| match flow.limit {
        Limit::Frames(n) => u64::from(n),
        Limit::Bursts(bursts) => bursts.frames_in_all(),
        Limit::Time(time) => {
            let rate = match flow.rate {
                Rate::Frames(n) => n as f64,
                Rate::Line(share) => {
                    let bits = setup.share_of(setup.port(port).rate, share, flow.size);
                    bits / (f64::from(flow.size) * 8.0)
                }
            };
            // Both ends of the time, and the deviation of a clock.
            (rate * time.as_secs_f64() * 1.01).ceil() as u64
        }
    });
    let control = trial.control.iter().filter(|control| control.port == port);
    let control = control.map(|control| u64::from(control.frames));
    flows.chain(control).sum::<u64>() + otg::BEFORE
}
