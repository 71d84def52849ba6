//! Pauses of a trial that the watchdog of the device takes for a storm.
//!
//! A device that has a watchdog drops the frames of a priority that is paused for too long, as it should. A trial
//! about something else would judge that as a fault, so it is not run.

use crate::bench::TrialError;
use crate::test::Context;
use crate::trial::{Port, Trial};
use ground::time::Duration;
use ground::units::{BitsPerSec, Priority, Quanta};
use wire::{group, pause, pfc};

impl Context<'_> {
    /// Refuses a trial whose pauses stop a lossless priority for as long as the DUT's watchdog detects, unless it is
    /// about storms.
    pub(super) fn without_storm(&self, trial: &Trial) -> Result<(), TrialError> {
        let Some(dog) = self.setup.expected.watchdog.filter(|_| !trial.storms) else {
            return Ok(());
        };
        for port in (0..self.setup.ports.len()).map(Port) {
            let rate = self.port(port).rate;
            // A watchdog watches lossless priorities alone.
            let stops = self.setup.lossless.iter().map(|p| longest_stop(trial, port, p, rate));
            let longest = stops.max().unwrap_or_default();
            if longest >= dog.detection {
                return Err(TrialError::Missing(format!(
                    "expected.watchdog.detection: {name} is paused for {longest}, which a watchdog of {} takes \
                     for a storm; the device needs a longer time for this test",
                    dog.detection,
                    name = self.port(port).name,
                )));
            }
        }
        Ok(())
    }
}

/// Returns the longest time for which the frames that a port sends keep a priority of the device stopped.
fn longest_stop(trial: &Trial, port: Port, priority: Priority, rate: BitsPerSec) -> Duration {
    let mut pauses: Vec<(Duration, Option<Duration>)> = Vec::new();
    for control in trial.control.iter().filter(|control| control.port == port) {
        let Some(quanta) = time_for(&control.octets, priority) else { continue };
        let time_of = |n: u32| control.start + control.every.saturating_mul(n.into());
        pauses.extend((0..control.frames).map(|n| (time_of(n), Some(quanta.at(rate)))));
    }
    let damaged = |at: Duration| {
        trial.damage.iter().any(|d| d.port == port && (d.from..d.until).contains(&at))
    };
    pauses.retain(|(at, _)| !damaged(*at));
    let fails = trial.links.iter().filter(|change| change.port == port && !change.up);
    pauses.extend(fails.map(|change| (change.at, None)));
    // By time; `None` is a link that fails, which ends a pause as a time of zero does.
    pauses.sort_unstable();
    let (mut since, mut until, mut longest) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for (at, time) in pauses {
        // A gap ends the stop; without one the pauses are one stop, as a watchdog sees it.
        if at > until {
            longest = longest.max(until.saturating_sub(since));
            since = at;
        }
        // A time of zero resumes, and so does a link that fails.
        let ends = at + time.unwrap_or_default();
        if ends == at {
            longest = longest.max(at.min(until).saturating_sub(since));
            since = at;
        }
        until = ends;
    }
    longest.max(until.saturating_sub(since))
}

/// Returns the time for which a frame pauses a priority.
fn time_for(octets: &[u8], priority: Priority) -> Option<Quanta> {
    match (pfc::View::new(octets), pause::View::new(octets, group::MAC_CONTROL)) {
        (Ok(pfc), _) => pfc.enabled().contains(priority).then(|| pfc.time_field(priority)),
        (_, Ok(pause)) => Some(pause.time()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::pfc_frame;
    use ground::units::Mac;

    const RATE: BitsPerSec = BitsPerSec::gbps(10);

    fn of(change: impl FnOnce(&mut Trial, Vec<u8>)) -> Duration {
        let priority = Priority::ALL[3];
        let octets = pfc_frame(Mac([2, 0, 0, 0, 0, 1]), &[(priority, Quanta(1_000))]);
        let mut trial = Trial::new("pauses", Duration::from_millis(10));
        change(&mut trial, octets);
        longest_stop(&trial, Port(0), priority, RATE)
    }

    #[test]
    fn pauses_without_a_gap_are_one_stop_until_xon_a_failure_or_their_end() {
        // 1,000 quanta of 512 bits at 10 Gb/s.
        let one = Duration::from_nanos(51_200);
        let us = Duration::from_micros;
        assert_eq!(of(|_, _| {}), Duration::ZERO);
        assert_eq!(of(|t, pause| t.frame(Port(0), pause, us(5))), one);
        assert_eq!(of(|t, pause| t.frame(Port(1), pause, us(5))), Duration::ZERO);
        let storm = |t: &mut Trial, pause| {
            t.repeat(Port(0), one, pause, one.div(2), (Duration::ZERO, one.saturating_mul(4)));
        };
        assert_eq!(of(storm), one.saturating_mul(4));
        // Three pauses with gaps.
        let apart = |t: &mut Trial, pause: Vec<u8>| {
            (0..3).for_each(|n| t.frame(Port(0), pause.clone(), us(100 * n)));
        };
        assert_eq!(of(apart), one);
        let resumed = |t: &mut Trial, pause: Vec<u8>| {
            storm(t, pause);
            t.frame(Port(0), pfc_frame(Mac([2; 6]), &[(Priority::ALL[3], Quanta(0))]), us(100));
        };
        assert!((us(100)..us(106)).contains(&of(resumed)));
        let fails = |t: &mut Trial, pause| {
            storm(t, pause);
            t.links.push(crate::trial::LinkChange { port: Port(0), at: us(150), up: false });
        };
        assert!((us(150)..us(156)).contains(&of(fails)));
        let damaged = |t: &mut Trial, pause| {
            storm(t, pause);
            let (from, until) = (Duration::ZERO, us(1_000));
            t.damage.push(crate::trial::Damage { port: Port(0), from, until });
        };
        assert_eq!(of(damaged), Duration::ZERO);
    }
}
