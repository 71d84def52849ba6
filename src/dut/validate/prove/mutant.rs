//! Wrong testers. Each has a fault of a public tester that led to wrong verdicts, and must end with
//! an error instead of judging a device.

use core::fmt;
use serde::Serialize;

use super::{MutantRun, device};
use crate::bench::{Bench, Capability, TrialError};
use crate::judge::Outcome;
use crate::knobs::GOOD;
use crate::observation::{Observation, Record, Way, What};
use crate::suite::{self, Selection};
use crate::test::Level;
use crate::trial::{Obeys, Port, Rate, Trial, VECTOR};
use crate::virtual_bench::VirtualBench;
use config::quantity::LinkRate;
use ground::time::Duration;
use ground::units::BitsPerSec;

/// A fault of a tester.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mutant {
    /// Storms have gaps.
    StormWithGaps,
    /// Each eighth frame of a storm is not sent.
    SevenOfEight,
    /// Pauses have a time of zero.
    XonAlone,
    /// The tester does not obey pauses.
    IgnoresPauses,
    /// The links have another rate than the file says.
    WrongRate,
    /// Less is offered than intended.
    OffersLess,
    /// Arrivals have the time at which a frame of 1,024 bytes more would have arrived.
    LateStamps,
    /// A neighbour's frames are on the wire.
    ForeignFrames,
    /// All frames are taken for MAC control.
    CountsAllAsPauses,
}

impl Mutant {
    pub const ALL: [Self; 9] = [
        Self::StormWithGaps,
        Self::SevenOfEight,
        Self::XonAlone,
        Self::IgnoresPauses,
        Self::WrongRate,
        Self::OffersLess,
        Self::LateStamps,
        Self::ForeignFrames,
        Self::CountsAllAsPauses,
    ];

    /// Runs a test of the good device with the wrong tester.
    pub fn run(self) -> MutantRun {
        let (_, text) = GOOD[0];
        let dut = device(text);
        let mut lab = dut.lab.expect("the good device is virtual");
        if self == Self::WrongRate {
            // The lab and not the file: the tester believes the file.
            lab.defaults.links.rate = Some(LinkRate(BitsPerSec::gbps(40)));
        }
        let frame = dut.setup.line_time(1024);
        let device = VirtualBench::new(dut.setup.clone(), lab);
        let mut bench = Wrong { device, mutant: self, frame };
        let selection = Selection { level: Level::Quick, only: vec!["V-R01".to_owned()], retry: 0 };
        let results = suite::run(&dut.setup, &selection, &mut bench, |_, _, _| true);
        let worst = results.tests.iter().max_by_key(|test| test.outcome).expect("there is V-00");
        // A judgement of the device before the error is none of a tester that is not trusted.
        let judged = results.tests.iter().any(|test| test.outcome == Outcome::Fail);
        let outcome = if judged { Outcome::Fail } else { worst.outcome };
        MutantRun { mutant: self, outcome, detail: worst.detail.clone() }
    }

    /// Changes what is sent.
    fn before(self, trial: &mut Trial) {
        match self {
            Self::StormWithGaps => trial.control.iter_mut().for_each(|control| {
                // Renewed after one and a half of its time: for a half nothing is paused.
                control.every = control.every.saturating_mul(3);
                control.frames = control.frames.div_ceil(3);
            }),
            Self::SevenOfEight => {
                let storms = core::mem::take(&mut trial.control);
                for storm in storms {
                    // The third of eight, so that the storm begins as it should.
                    for n in (0..storm.frames).filter(|n| n % 8 != 2) {
                        let start = storm.start + storm.every.saturating_mul(n.into());
                        trial.frame(storm.port, storm.octets.clone(), start);
                    }
                }
            }
            Self::XonAlone => {
                for control in &mut trial.control {
                    if let Some(times) = control.octets.get_mut(VECTOR + 2..VECTOR + 18) {
                        times.fill(0);
                    }
                }
            }
            Self::IgnoresPauses => {
                trial.obeys = (0..8).map(|n| (Port(n), Obeys::Nothing)).collect();
            }
            Self::OffersLess => trial.flows.iter_mut().for_each(|flow| {
                if let Rate::Line(share) = &mut flow.rate {
                    *share *= 0.9;
                }
            }),
            Self::WrongRate | Self::LateStamps | Self::ForeignFrames | Self::CountsAllAsPauses => {}
        }
    }

    /// Changes what is recorded.
    fn after(self, seen: &mut Observation, frame: Duration) {
        let received = |record: &&mut Record| record.way == Way::Received;
        match self {
            Self::LateStamps => seen.records.iter_mut().filter(received).for_each(|record| {
                record.begin += frame;
                record.end += frame;
            }),
            Self::ForeignFrames => {
                // LLDP of a neighbour.
                let mut octets = [0_u8; 60];
                octets[..6].copy_from_slice(&[0x01, 0x80, 0xc2, 0, 0, 0x0e]);
                octets[6..14].copy_from_slice(&[0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x88, 0xcc]);
                if let Some(first) = seen.records.first().cloned() {
                    let what = What::Other(octets.into());
                    seen.records.push(Record { way: Way::Received, len: 64, what, ..first });
                }
            }
            Self::CountsAllAsPauses => {
                seen.records.iter_mut().filter(received).for_each(|record| {
                    record.what = What::Control([0; 60].into());
                })
            }
            _ => {}
        }
        // Shifted frames and added ones go to their places.
        seen.records.sort_by_key(|record| record.end);
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StormWithGaps => "storms have gaps",
            Self::SevenOfEight => "each eighth frame of a storm is missing",
            Self::XonAlone => "pauses have a time of zero",
            Self::IgnoresPauses => "it does not obey pauses",
            Self::WrongRate => "links have another rate than the file says",
            Self::OffersLess => "less is offered than intended",
            Self::LateStamps => "time stamps are late by a frame",
            Self::ForeignFrames => "a neighbour's frames are on the wire",
            Self::CountsAllAsPauses => "all frames are taken for pauses",
        })
    }
}

/// A device with a wrong tester around it.
struct Wrong {
    device: VirtualBench,
    mutant: Mutant,
    frame: Duration,
}

impl Bench for Wrong {
    fn run(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        let mut changed = trial.clone();
        self.mutant.before(&mut changed);
        let mut seen = self.device.run(&changed)?;
        self.mutant.after(&mut seen, self.frame);
        Ok(seen)
    }

    fn run_on_cable(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        let mut changed = trial.clone();
        self.mutant.before(&mut changed);
        let mut seen = self.device.run_on_cable(&changed)?;
        self.mutant.after(&mut seen, self.frame);
        Ok(seen)
    }

    fn has(&self, capability: Capability) -> bool {
        self.device.has(capability)
    }

    fn packet_numbers(&mut self, port: Port, frames: u32) -> u64 {
        self.device.packet_numbers(port, frames)
    }

    fn world(&self) -> &'static str {
        self.device.world()
    }
}
