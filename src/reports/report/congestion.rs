//! A table of the counters of a switch's congestion management.

use ::text::Align::{Left, Right};
use ::text::{Table, count};
use results::CongestionSummary;

/// Returns the counters as a table.
pub(super) fn table(of: &CongestionSummary) -> Table {
    let mut table = Table::new([("congestion", Left), ("port", Left), ("count", Right)]);
    let whole = of.switch.iter().chain(&of.tables).map(|of| ("", of));
    let ports = of.ports.iter().flat_map(|(name, of)| of.iter().map(|of| (name.as_str(), of)));
    for (port, (name, n)) in whole.chain(ports).filter(|(_, (_, n))| **n > 0) {
        table.row([name.clone(), port.to_owned(), count(*n)]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use contracts::stats::{
        CongestionSnapshot, PortCounters, PortSnapshot, ProxyPortCounters, ProxySnapshot,
        SfcCounters, SfcSnapshot,
    };

    #[test]
    fn counters_of_what_is_on_are_there_under_their_names_and_the_table_has_those_that_counted() {
        let port = |name: &str| PortSnapshot {
            name: name.into(),
            up: true,
            rate_bps: 1,
            counters: PortCounters::default(),
            waiting: [None; 8],
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
        let text = table(&summary).to_string();
        assert!(text.contains("sfcTransmittedSFCMs") && text.contains("sfc_proxy_accepted"));
        assert!(!text.contains("sfc_proxy_sender"), "{text}");
        let nothing = CongestionSummary::new(&CongestionSnapshot::default(), &ports);
        assert_eq!(nothing, CongestionSummary::default());
    }
}
