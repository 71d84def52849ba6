//! What a switch did about congesting flows, by the names of its counters.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::table::Align::{Left, Right};
use super::table::{Table, count};
use crate::stats::{CongestionSnapshot, PortSnapshot};

/// Counters by name.
type Counters = BTreeMap<String, u64>;

/// Counters of source flow control, its proxy, and notifications; those of features that are off are
/// not there.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CongestionSummary {
    /// Of the whole switch.
    pub switch: Counters,
    /// By port.
    pub ports: BTreeMap<String, Counters>,
}

impl CongestionSummary {
    /// What a snapshot says; `ports` name its ports.
    pub(super) fn new(of: &CongestionSnapshot, ports: &[PortSnapshot]) -> Self {
        let mut switch = Counters::new();
        let mut by_port = vec![Counters::new(); ports.len()];
        if let Some(sfc) = &of.sfc {
            add(&mut switch, sfc.counters.iter());
            add(&mut switch, [("sfc_streams", sfc.streams)].into_iter());
            for (n, port) in by_port.iter_mut().enumerate() {
                add(port, sfc.of_port(n).iter());
            }
        }
        if let Some(proxy) = &of.proxy {
            add(&mut switch, proxy.counters.iter());
            for (port, counters) in by_port.iter_mut().zip(&proxy.ports) {
                add(port, counters.iter());
            }
        }
        if let Some(cnp) = &of.fast_cnp {
            add(&mut switch, cnp.iter());
        }
        if let Some(qcn) = &of.qcn {
            add(&mut switch, qcn.total().iter());
            for (port, queues) in by_port.iter_mut().zip(&qcn.queues) {
                queues.iter().for_each(|queue| add(port, queue.iter()));
            }
        }
        let names = ports.iter().map(|port| port.name.clone());
        Self { switch, ports: names.zip(by_port).filter(|(_, of)| !of.is_empty()).collect() }
    }

    /// What has happened, as a table.
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new([("congestion", Left), ("port", Left), ("count", Right)]);
        let whole = self.switch.iter().map(|of| ("", of));
        let ports =
            self.ports.iter().flat_map(|(name, of)| of.iter().map(|of| (name.as_str(), of)));
        for (port, (name, n)) in whole.chain(ports).filter(|(_, (_, n))| **n > 0) {
            table.row([name.clone(), port.to_owned(), count(*n)]);
        }
        table
    }
}

/// Adds counters to those of the same names.
fn add(to: &mut Counters, counters: impl Iterator<Item = (&'static str, u64)>) {
    counters.for_each(|(name, n)| *to.entry(name.to_owned()).or_default() += n);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{PortCounters, ProxyPortCounters, ProxySnapshot, SfcCounters, SfcSnapshot};

    #[test]
    fn counters_of_what_is_on_are_there_under_their_names_and_the_table_has_those_that_counted() {
        let port = |name: &str| PortSnapshot {
            name: name.into(),
            up: true,
            rate_bps: 1,
            paused: 0,
            counters: PortCounters::default(),
            secy: None,
        };
        let ports = [port("a"), port("b")];
        let counters = SfcCounters { transmitted_sfcms: 7, ..SfcCounters::default() };
        let sfc = SfcSnapshot { counters, ..SfcSnapshot::default() };
        let accepted = ProxyPortCounters { accepted: 3, ..ProxyPortCounters::default() };
        let proxied = vec![ProxyPortCounters::default(), accepted];
        let proxy = ProxySnapshot { ports: proxied, ..ProxySnapshot::default() };
        let of = CongestionSnapshot {
            sfc: Some(sfc),
            proxy: Some(proxy),
            ..CongestionSnapshot::default()
        };
        let summary = CongestionSummary::new(&of, &ports);
        assert_eq!(summary.switch["sfcTransmittedSFCMs"], 7);
        assert_eq!(summary.switch["sfc_proxy_sender"], 0);
        assert_eq!(summary.ports["b"]["sfc_proxy_accepted"], 3);
        assert!(!summary.switch.contains_key("cpTransmittedCnms"));
        let text = summary.table().to_string();
        assert!(text.contains("sfcTransmittedSFCMs") && text.contains("sfc_proxy_accepted"));
        assert!(!text.contains("sfc_proxy_sender"), "{text}");
        let nothing = CongestionSummary::new(&CongestionSnapshot::default(), &ports);
        assert_eq!(nothing, CongestionSummary::default());
    }
}
