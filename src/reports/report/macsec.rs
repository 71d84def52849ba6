//! Text tables of MACsec at ports.

use ::text::Align::{Left, Right};
use ::text::{Table, count};
use ground::printable;
use results::MacsecSummary;

/// Prints MACsec of ports as tables, with warnings; empty if no port has it.
#[must_use]
pub fn macsec_text<'a>(
    ports: impl Iterator<Item = (&'a str, &'a MacsecSummary)> + Clone,
) -> String {
    if ports.clone().next().is_none() {
        return String::new();
    }
    let mut out = format!("\n{}", associations(ports.clone()));
    let counters = counters(ports.clone());
    if !counters.is_empty() {
        out += &format!("\n{counters}");
    }
    for (name, summary) in ports {
        if let Some(alarm) = summary.alarm() {
            out += &format!("\n{}", printable::lines([format!("WARNING: {name}: {alarm}")]));
        }
    }
    out
}

/// Returns a row per association, and one per channel without associations.
fn associations<'a>(ports: impl Iterator<Item = (&'a str, &'a MacsecSummary)>) -> Table {
    let mut t = Table::new([
        ("macsec", Left),
        ("suite", Left),
        ("cipher", Left),
        ("channel", Left),
        ("way", Left),
        ("an", Right),
        ("next pn", Right),
        ("state", Left),
    ]);
    let pn = |pn: Option<u64>| pn.map_or_else(|| "used up".to_owned(), count);
    for (port, s) in ports {
        let mut row = |sci: &str, way: &str, an: String, next: String, state: String| {
            let (port, suite, cipher) = (port.to_owned(), s.cipher_suite.clone(), s.cipher.clone());
            t.row([port, suite, cipher, sci.to_owned(), way.to_owned(), an, next, state]);
        };
        let none =
            |row: &mut dyn FnMut(&str, &str, String, String, String), sci: &str, way: &str| {
                row(sci, way, "-".into(), "-".into(), "no key".into());
            };
        if s.transmit.associations.is_empty() {
            none(&mut row, &s.transmit.sci, "tx");
        }
        for sa in &s.transmit.associations {
            let state = match (sa.in_use, sa.nearly_used_up) {
                (true, false) => "in use",
                (true, true) => "in use, nearly used up",
                (false, _) => "installed",
            };
            row(&s.transmit.sci, "tx", sa.an.to_string(), pn(sa.next_pn), state.into());
        }
        for sc in &s.receive {
            if sc.associations.is_empty() {
                none(&mut row, &sc.sci, "rx");
            }
            for sa in &sc.associations {
                let state = format!("lowest {}", count(sa.lowest_pn));
                row(&sc.sci, "rx", sa.an.to_string(), pn(sa.next_pn), state);
            }
        }
    }
    t
}

/// Returns the counters that are not 0.
fn counters<'a>(ports: impl Iterator<Item = (&'a str, &'a MacsecSummary)>) -> Table {
    let mut t =
        Table::new([("counter", Left), ("port", Left), ("channel", Left), ("count", Right)]);
    for (port, summary) in ports {
        for (channel, name, n) in summary.counted().filter(|(.., n)| **n > 0) {
            t.row([name.to_owned(), port.to_owned(), channel.to_owned(), count(*n)]);
        }
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::units::Mac;
    use secure::{
        An, CipherSuite, ReceiveCounters, ReceiveSaSnapshot, ReceiveSnapshot, Sci, SecyCounters,
        SecySnapshot, TransmitCounters, TransmitSaSnapshot, TransmitSnapshot,
    };

    fn snapshot(suite: CipherSuite, next_pn: Option<u64>) -> SecySnapshot {
        let sci = |n| Sci { mac: Mac([2, 0, 0, 0, 0, n]), port: 1 };
        let sa = TransmitSaSnapshot::new(An::ALL[0], true, next_pn, suite.last_pn());
        let received = ReceiveSnapshot {
            sci: sci(2),
            counters: ReceiveCounters { in_pkts_late: 7, ..ReceiveCounters::default() },
            associations: [
                None,
                Some(ReceiveSaSnapshot { an: 1, next_pn: Some(9), lowest_pn: 9 }),
                None,
                None,
            ],
        };
        let mut receive = [None; secure::SecyPlan::CHANNELS_MAX];
        receive[0] = Some(received);
        SecySnapshot {
            suite,
            cipher: "aws-lc-rs",
            declined: 0,
            counters: SecyCounters { in_pause_plain: 3, ..SecyCounters::default() },
            transmit: TransmitSnapshot {
                sci: sci(1),
                encoding: An::ALL[0],
                counters: TransmitCounters { out_pkts_encrypted: 5, ..TransmitCounters::default() },
                associations: [Some(sa), None, None, None],
            },
            receive,
        }
    }

    #[test]
    fn counters_have_the_names_of_the_standard_and_those_that_counted_are_in_the_table() {
        let summary = MacsecSummary::new(&snapshot(CipherSuite::GcmAes128, Some(6)));
        assert_eq!(summary.transmit.counters["OutPktsEncrypted"], 5);
        assert_eq!(summary.receive[0].counters["InPktsLate"], 7);
        assert_eq!(summary.counters["in_pause_plain"], 3);
        assert_eq!(summary.alarm(), None);
        let text = macsec_text([("p0", &summary)].into_iter());
        for part in ["InPktsLate", "in_pause_plain", "02:00:00:00:00:02/1", "in use", "lowest 9"] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
        assert!(!text.contains("InPktsOK") && !text.contains("WARNING"), "{text}");
        assert_eq!(macsec_text(core::iter::empty()), "");
        // The JSON parses to the same summary.
        let json = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<MacsecSummary>(&json).unwrap(), summary);
    }

    #[test]
    fn an_association_near_its_end_is_said_aloud() {
        let of = |suite, pn| MacsecSummary::new(&snapshot(suite, pn));
        use CipherSuite::{GcmAes128, GcmAesXpn256};
        let quarters = |last: u64| (u128::from(last) * 3 / 4) as u64;
        for suite in [GcmAes128, GcmAesXpn256] {
            let last = suite.last_pn();
            assert_eq!(of(suite, Some(quarters(last) - 2)).alarm(), None);
            let due = of(suite, Some(quarters(last) + 3)).alarm().unwrap();
            assert!(due.contains("install association 1"), "{due}");
            assert_eq!(of(suite, Some(last)).transmit.associations[0].left, 1);
            let over = of(suite, None).alarm().unwrap();
            assert!(over.contains("nothing protected leaves"), "{over}");
        }
        // An XPN suite has 2^64 - 1 packet numbers.
        assert_eq!(of(GcmAesXpn256, Some(1)).transmit.associations[0].left, u64::MAX);
    }
}
