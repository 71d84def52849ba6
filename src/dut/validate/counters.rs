//! Counters of a device, and those of a switch of this program in the same form.

use std::collections::BTreeMap;

use contracts::stats::PortSnapshot;
use ground::units::{PRIORITIES, Priority};
use results::{MacsecSummary, PortSummary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::trial::Port;

/// Declares the counters once: variant, name, unit, and if it is of a priority and a maximum.
macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $unit:literal, $of:ident;)+) => {
        /// A counter of a device's port, or of one of its priorities.
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize, Serialize, JsonSchema,
        )]
        pub enum Counter {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+
        }

        impl Counter {
            /// All counters.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the name in results and files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the unit in results.
            pub const fn unit(self) -> &'static str {
                match self { $(Self::$variant => $unit,)+ }
            }

            /// Returns its kind.
            const fn kind(self) -> Kind {
                match self { $(Self::$variant => Kind::$of,)+ }
            }
        }
    };
}

/// Kind of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A sum of a port.
    Port,
    /// A sum of a priority.
    Priority,
    /// A maximum of a priority.
    Peak,
}

counters! {
    /// Data frames received, MAC control excluded (RX_OK).
    RxOk = "rx_ok", "frames", Port;
    /// Received frames dropped (RX_DRP).
    RxDrop = "rx_drop", "frames", Port;
    /// Data frames sent, MAC control excluded (TX_OK).
    TxOk = "tx_ok", "frames", Port;
    /// PFC frames received, each once (802.1Q 12.23, ieee8021PfcIndications).
    PfcRxAll = "pfc_rx_all", "frames", Port;
    /// PFC frames sent, each once, those that resume included (ieee8021PfcRequests).
    PfcTxAll = "pfc_tx_all", "frames", Port;
    /// 802.3x PAUSE frames received.
    PauseRx = "pause_rx", "frames", Port;
    /// Received frames that MACsec rejected: too late, replayed, not valid, or without an association
    /// (InPktsLate, InPktsNotValid, InPktsNoSAError).
    MacsecRejected = "macsec_rejected", "frames", Port;
    /// PFC frames received with the priority's bit set.
    PfcRx = "pfc_rx", "frames", Priority;
    /// Those of them with a time of zero, if they are counted apart.
    PfcRxXon = "pfc_rx_xon", "frames", Priority;
    /// PFC frames sent with the priority's bit set.
    PfcTx = "pfc_tx", "frames", Priority;
    /// Time for which the peer had paused the priority, in nanoseconds.
    Paused = "paused_ns", "ns", Priority;
    /// Maximum of buffered bytes of the priority group, headroom included.
    BufferPeak = "buffer_peak", "bytes", Peak;
    /// Maximum of buffered bytes of the priority group, without headroom.
    SharedPeak = "shared_peak", "bytes", Peak;
    /// Maximum of bytes in the headroom of the priority group.
    HeadroomPeak = "headroom_peak", "bytes", Peak;
    /// Pause storms that the watchdog detected on the priority's queue.
    StormsDetected = "storms_detected", "storms", Priority;
    /// Pause storms after which it restored the queue.
    StormsRestored = "storms_restored", "storms", Priority;
}

impl Counter {
    /// Returns true for a counter of a priority, false for one of the port.
    pub fn is_of_priority(self) -> bool {
        self.kind() != Kind::Port
    }
}

/// Counters of a port of the device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PortCounters {
    /// Those of the port; an absent one is unknown.
    pub port: BTreeMap<Counter, u64>,
    /// Those of each priority.
    pub priorities: [BTreeMap<Counter, u64>; PRIORITIES],
    /// Dropped frames by the device's reasons; `None` if it has no such counters.
    pub drops: Option<BTreeMap<String, u64>>,
}

/// Counters of the device's ports, in the order of the tester's ports that they are cabled to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters(pub Vec<PortCounters>);

impl PortCounters {
    /// Returns a counter; `None` if it is unknown. One of a priority needs its `priority`.
    pub fn get(&self, priority: Option<Priority>, counter: Counter) -> Option<u64> {
        let all = match (counter.kind(), priority) {
            (Kind::Port, _) => &self.port,
            (_, priority) => &self.priorities[priority?.index()],
        };
        all.get(&counter).copied()
    }

    /// Returns the counters since `base`. Maxima that did not grow are unknown, because they may be older.
    pub fn since(&self, base: &Self) -> Self {
        let drops = self.drops.as_ref().map(|drops| {
            let before = base.drops.as_ref();
            // A reason that was not there before has dropped nothing before.
            let old = |name| before.and_then(|all| all.get(name)).copied().unwrap_or(0);
            drops.iter().map(|(name, n)| (name.clone(), n.saturating_sub(old(name)))).collect()
        });
        Self {
            port: since(&self.port, &base.port),
            priorities: core::array::from_fn(|n| since(&self.priorities[n], &base.priorities[n])),
            drops,
        }
    }
}

fn since(now: &BTreeMap<Counter, u64>, base: &BTreeMap<Counter, u64>) -> BTreeMap<Counter, u64> {
    let since = |(counter, n): (&Counter, &u64)| {
        let old = *base.get(counter)?;
        let value = match counter.kind() {
            // A maximum that did not grow may be from before the trial.
            Kind::Peak if old > 0 && *n <= old => return None,
            Kind::Peak => *n,
            // A sum that shrank was cleared in between, so the difference is unknown.
            Kind::Port | Kind::Priority => n.checked_sub(old)?,
        };
        Some((*counter, value))
    };
    now.iter().filter_map(since).collect()
}

/// A counter of a port, or of one of its priorities.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CounterPlace {
    pub port: Port,
    pub priority: Option<Priority>,
    pub counter: Counter,
}

impl Counter {
    /// Returns this counter of a port.
    pub const fn at(self, port: Port) -> CounterPlace {
        CounterPlace { port, priority: None, counter: self }
    }

    /// Returns this counter of a priority of a port.
    pub const fn of(self, port: Port, priority: Priority) -> CounterPlace {
        CounterPlace { port, priority: Some(priority), counter: self }
    }
}

impl Counters {
    /// Returns the counters since `base`. One that is less than before was cleared, so it is unknown.
    pub fn since(&self, base: &Self) -> Self {
        Self(self.0.iter().zip(&base.0).map(|(now, base)| now.since(base)).collect())
    }

    /// Returns a counter of a port; `None` if it is unknown.
    pub fn get(&self, port: Port, priority: Option<Priority>, counter: Counter) -> Option<u64> {
        self.0.get(port.0)?.get(priority, counter)
    }

    /// Returns the sum of the named drops of all ports; `None` if a port has no such counters.
    pub fn dropped(&self) -> Option<u64> {
        self.0.iter().map(|port| Some(port.drops.as_ref()?.values().sum::<u64>())).sum()
    }
}

/// Returns the counters of a port. Its XON are among its PFC frames, and the shared part of a group has no
/// separate maximum.
pub fn of_snapshot(port: &PortSnapshot) -> PortCounters {
    let all = &port.counters;
    let sum = |value: fn(&contracts::stats::PriorityCounters) -> u64| {
        all.priorities.iter().map(value).sum()
    };
    let priorities = all.priorities.map(|priority| {
        BTreeMap::from([
            (Counter::PfcRx, priority.pfc_rx_frames),
            (Counter::PfcTx, priority.pfc_tx_frames),
            (Counter::Paused, priority.pfc_rx_paused.as_nanos()),
            (Counter::BufferPeak, priority.buffer_peak_bytes),
            (Counter::HeadroomPeak, priority.headroom_peak_bytes),
            (Counter::StormsDetected, priority.storms_detected),
            (Counter::StormsRestored, priority.storms_restored),
        ])
    });
    let mut sums = BTreeMap::from([
        (Counter::RxOk, sum(|priority| priority.rx_frames)),
        (Counter::RxDrop, all.drops.total()),
        (Counter::TxOk, sum(|priority| priority.tx_frames)),
        (Counter::PfcRxAll, all.pfc_rx_frames),
        (Counter::PfcTxAll, all.pfc_tx_frames),
        (Counter::PauseRx, all.pause_rx_frames),
    ]);
    // Without MACsec the counter is unknown, not 0.
    if let Some(secy) = &port.secy {
        sums.insert(Counter::MacsecRejected, rejected(&MacsecSummary::new(secy)));
    }
    let drops = all.drops.by_name().into_iter().map(|(name, n)| (name.to_owned(), n));
    PortCounters { port: sums, priorities, drops: Some(drops.collect()) }
}

/// Returns the counters of a port in a summary, which has those of MACsec beside the others.
pub fn of_summary(port: &PortSummary) -> PortCounters {
    let mut counters = of_snapshot(&port.port);
    if port.hardware_pfc {
        // What the device sends and obeys is not counted here.
        for counter in [Counter::PfcRxAll, Counter::PfcTxAll] {
            counters.port.remove(&counter);
        }
        for of in &mut counters.priorities {
            of.retain(|counter, _| {
                !matches!(counter, Counter::PfcRx | Counter::PfcTx | Counter::Paused)
            });
        }
    }
    if let Some(macsec) = &port.macsec {
        counters.port.insert(Counter::MacsecRejected, rejected(macsec));
    }
    counters
}

/// Returns the frames that a SecY rejected as not its peer's, or not new.
fn rejected(macsec: &MacsecSummary) -> u64 {
    let sum = |counters: &BTreeMap<String, u64>, names: &[&str]| {
        names.iter().filter_map(|name| counters.get(*name)).sum::<u64>()
    };
    let late = ["InPktsLate", "in_pkts_replayed", "InPktsNotValid"];
    let channels = macsec.receive.iter().map(|channel| sum(&channel.counters, &late));
    channels.sum::<u64>() + sum(&macsec.counters, &["InPktsNoSAError"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(counter: Counter, n: u64) -> Counters {
        let mut port = PortCounters::default();
        match counter.is_of_priority() {
            true => port.priorities[3].insert(counter, n),
            false => port.port.insert(counter, n),
        };
        Counters(vec![port])
    }

    fn since(counter: Counter, before: u64, after: u64) -> Option<u64> {
        let all = port(counter, after).since(&port(counter, before));
        all.get(Port(0), Priority::new(3), counter)
    }

    #[test]
    fn a_sum_is_a_difference_and_one_that_was_cleared_is_unknown() {
        assert_eq!(since(Counter::RxOk, 5, 12), Some(7));
        assert_eq!(since(Counter::PfcRx, 5, 5), Some(0));
        assert_eq!(since(Counter::PfcRx, 5, 4), None);
        let unknown = port(Counter::RxOk, 5).since(&port(Counter::TxOk, 5));
        assert_eq!(unknown.get(Port(0), None, Counter::RxOk), None);
    }

    #[test]
    fn a_maximum_is_known_if_it_grew_or_was_zero() {
        assert_eq!(since(Counter::BufferPeak, 0, 0), Some(0));
        assert_eq!(since(Counter::BufferPeak, 416, 832), Some(832));
        assert_eq!(since(Counter::BufferPeak, 832, 832), None);
    }

    #[test]
    fn drops_are_known_if_all_ports_have_them() {
        let with = |n| PortCounters {
            drops: Some([("full".to_owned(), n)].into()),
            ..PortCounters::default()
        };
        assert_eq!(
            Counters(vec![with(7), with(9)]).since(&Counters(vec![with(3), with(9)])).dropped(),
            Some(4)
        );
        assert_eq!(Counters(vec![with(7), PortCounters::default()]).dropped(), None);
    }

    #[test]
    fn a_counter_has_one_name() {
        for counter in Counter::ALL {
            let name = serde_json::to_value(counter).unwrap();
            assert_eq!(name, counter.name());
        }
    }
}
