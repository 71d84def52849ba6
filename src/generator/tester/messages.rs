//! Pauses of a proxy that follow from the source flow control messages (SFCM) of a port: the PFC that
//! another port of the test received, its latency and its time.

use super::seen::Seen;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Quanta};
use host::meter::{BegunPause, ToldPause};

/// Maximum time from a message to the PFC that it causes. A choice, far above that of any device: a pause
/// that begins later has another cause.
const LATEST: Duration = Duration::from_millis(10);

/// Pauses that followed from messages.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Proxied {
    /// From the message to the PFC, in nanoseconds, sorted.
    pub latencies_ns: Vec<f64>,
    /// Largest difference between the quanta of a PFC frame and the time of its message in quanta of that
    /// link, rounded up; signed.
    pub error: f64,
}

/// Returns the pauses that began at other ports after the last 128 messages of port `n`, each before the
/// next message about its priority; `None` without any.
pub(super) fn proxied(seen: &Seen<'_>, n: usize) -> Option<Proxied> {
    let told = &seen.stations[n].meter.as_ref()?.messages.told;
    let others = seen.stations.iter().zip(seen.ports).enumerate().filter(|(m, _)| *m != n);
    let begun = others.flat_map(|(_, (station, port))| {
        let begun = station.meter.iter().flat_map(|meter| &meter.messages.begun);
        begun.map(|begun| (*begun, port.speed))
    });
    pair(told, &begun.collect::<Vec<_>>())
}

fn pair(told: &[ToldPause], begun: &[(BegunPause, BitsPerSec)]) -> Option<Proxied> {
    let mut found = Proxied::default();
    for (n, message) in told.iter().enumerate() {
        let next = told[n + 1..].iter().find(|next| next.priority == message.priority);
        let until = next.map_or(Instant::NEVER, |next| next.at);
        let until = until.min(message.at.saturating_add(LATEST));
        let follows = |(begun, _): &&(BegunPause, BitsPerSec)| {
            begun.priority == message.priority && (message.at..until).contains(&begun.at)
        };
        let first = begun.iter().filter(follows).min_by_key(|(begun, _)| begun.at);
        let Some((pause, rate)) = first.filter(|_| message.pause > Duration::ZERO) else {
            continue;
        };
        found.latencies_ns.push(pause.at.since(message.at).as_nanos_f64());
        let error = f64::from(pause.quanta.0) - quanta(message.pause, *rate);
        if error.abs() > found.error.abs() {
            found.error = error;
        }
    }
    found.latencies_ns.sort_by(f64::total_cmp);
    (!found.latencies_ns.is_empty()).then_some(found)
}

/// Returns a time in quanta of a link, rounded up, as far as one frame can have them.
fn quanta(pause: Duration, rate: BitsPerSec) -> f64 {
    let quantum = Quanta(1).at(rate).as_picos().max(1);
    pause.as_picos().div_ceil(quantum).min(Quanta::MAX.0.into()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::units::Priority;

    const P3: Priority = Priority::ALL[3];

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    fn told(us: u64, priority: Priority, pause: u64) -> ToldPause {
        ToldPause { at: at(us), priority, pause: Duration::from_nanos(pause) }
    }

    fn begun(us: u64, quanta: u16) -> (BegunPause, BitsPerSec) {
        let pause = BegunPause { at: at(us), priority: P3, quanta: Quanta(quanta) };
        (pause, BitsPerSec::gbps(1))
    }

    #[test]
    fn each_pause_belongs_to_the_message_before_it() {
        // A quantum is 512 ns: 1000 ns are two of them.
        let messages = [told(0, P3, 1_000), told(100, P3, 1_000), told(200, P3, 0)];
        let pauses = [begun(7, 2), begun(105, 1), begun(150, 2), begun(205, 9)];
        let found = pair(&messages, &pauses).unwrap();
        assert_eq!((found.latencies_ns, found.error), (vec![5e3, 7e3], -1.0));
        // A proxy that sends none, or one for another priority, or late, is not measured.
        assert_eq!(pair(&messages, &[]), None);
        assert_eq!(pair(&[told(0, Priority::ALL[4], 1_000)], &pauses), None);
        assert_eq!(pair(&[told(0, P3, 1_000)], &[begun(10_001, 2)]), None);
        // No frame has more than 65,535 quanta.
        let long = pair(&[told(0, P3, 4_000_000_000)], &[begun(1, u16::MAX)]).unwrap();
        assert_eq!(long.error, 0.0);
    }
}
