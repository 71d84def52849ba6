//! For clients of a running switch: measurements of links that ended, and notifications.

use std::collections::VecDeque;
use std::time::Instant as StdInstant;

use headroom::Samples;
use link::News;
use report::{MeasurementRow, Measurements, Notification, Notifications};

/// Measurements that are kept of all ports.
const HISTORY: usize = 256;

/// Notifications that are kept for clients that ask later.
const KEPT: usize = 1_024;

/// Memory of a running switch.
pub(super) struct Memory {
    started: StdInstant,
    history: VecDeque<MeasurementRow>,
    /// Measurements that ended.
    ended: u64,
    notifications: VecDeque<Notification>,
    /// Notifications so far.
    told: u64,
}

impl Memory {
    pub(super) fn new() -> Self {
        Self {
            started: StdInstant::now(),
            history: VecDeque::new(),
            ended: 0,
            notifications: VecDeque::new(),
            told: 0,
        }
    }

    fn uptime_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Adds a notification.
    pub(super) fn tell(&mut self, notification: Notification) {
        self.told += 1;
        let (number, at_ns) = (self.told, self.uptime_ns());
        if self.notifications.len() == KEPT {
            self.notifications.pop_front();
        }
        self.notifications.push_back(Notification { number, at_ns, ..notification });
    }

    /// Adds the end of a measurement, if `news` is one. `last` are the delays of the port's last one.
    pub(super) fn ended(&mut self, port: &str, news: &News, last: Option<&Samples>) {
        let (number, at_ns) = (self.ended + 1, self.uptime_ns());
        let row = match news {
            News::Found(found) => MeasurementRow::found(number, at_ns, port, found, last),
            News::Failed(failure) => MeasurementRow::failed(number, at_ns, port, failure),
            _ => return,
        };
        self.ended = number;
        self.tell(Notification::measured(&row));
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(row);
    }

    /// Returns the notifications after number `after`.
    pub(super) fn after(&self, after: u64) -> Notifications {
        let new = self.notifications.iter().filter(|one| one.number > after);
        let notifications: Vec<_> = new.cloned().collect();
        let first = notifications.first().map_or(self.told + 1, |one| one.number);
        Notifications { notifications, lost: (first - 1).saturating_sub(after), last: self.told }
    }

    /// Returns the measurements of a port, or of all; their single delays if `samples`.
    pub(super) fn measurements(&self, port: Option<&str>, samples: bool) -> Measurements {
        let of = self.history.iter().filter(|row| port.is_none_or(|port| row.port == port));
        let mut measurements: Vec<_> = of.cloned().collect();
        if !samples {
            measurements.iter_mut().for_each(|row| row.samples_ps.clear());
        }
        Measurements { measurements, before: self.ended - self.history.len() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::Failure;

    fn memory(ended: u64) -> Memory {
        let mut memory = Memory::new();
        for n in 0..ended {
            let port = if n % 2 == 0 { "a" } else { "b" };
            memory.ended(port, &News::Failed(Failure::PeerCannot), None);
        }
        memory
    }

    #[test]
    fn the_latest_measurements_are_kept_and_the_others_counted() {
        let memory = memory(HISTORY as u64 + 10);
        let all = memory.measurements(None, false);
        assert_eq!((all.measurements.len(), all.before), (HISTORY, 10));
        assert_eq!(all.measurements[0].number, 11);
        let of_a = memory.measurements(Some("a"), false).measurements;
        assert!(of_a.len() == HISTORY / 2 && of_a.iter().all(|row| row.port == "a"));
    }

    #[test]
    fn a_client_gets_each_notification_once_and_is_told_of_lost_ones() {
        let mut memory = memory(3);
        memory.ended("a", &News::Neighbours, None);
        let numbers = |told: &Notifications| -> Vec<u64> {
            told.notifications.iter().map(|one| one.number).collect()
        };
        let told = memory.after(0);
        assert_eq!((numbers(&told), told.lost, told.last), (vec![1, 2, 3], 0, 3));
        assert_eq!(numbers(&memory.after(2)), [3]);
        let told = memory.after(3);
        assert_eq!((numbers(&told), told.lost, told.last), (vec![], 0, 3));
        let many = self::memory(KEPT as u64 + 5);
        let told = many.after(2);
        assert_eq!((told.notifications.len(), told.lost), (KEPT, 3));
        assert_eq!((many.after(7).lost, many.after(u64::MAX).lost), (0, 0));
    }
}
