//! MACsec at a port: counters by their names in 802.1AE, secure channels and associations. No
//! keys.

use serde::{Deserialize, Serialize};

use super::summary::{Counters, by_name};
use super::table::Align::{Left, Right};
use super::table::{Table, count};
use crate::printable;
use crate::secure::{
    An, CipherSuite, ReceiveSaSnapshot, ReceiveSnapshot, SecySnapshot, TransmitSaSnapshot,
};

/// The used share of packet numbers from which a secure association is nearly exhausted, in
/// hundredths: the threshold of key agreement (PendingPNExhaustion, 802.1X 9.8).
const NEARLY: u128 = 75;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MacsecSummary {
    /// The cipher suite's name in configuration files.
    pub cipher_suite: String,
    /// The implementation of AES-GCM: the driver of a crypto device, or `aws-lc-rs`.
    pub cipher: String,
    /// Number of associations that use `aws-lc-rs` because the crypto device had no room for
    /// their keys.
    pub cipher_declined: u32,
    /// Counters of the SecY outside of any channel. Names that begin with a capital are those of
    /// 802.1AE-2018 10.7.
    pub counters: Counters,
    /// The transmit channel.
    pub transmit: TransmitSummary,
    /// The receive channels.
    pub receive: Vec<ReceiveSummary>,
}

/// The transmit secure channel of a port.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TransmitSummary {
    /// The SCI: address and port.
    pub sci: String,
    /// The AN of the association in use, if there is one.
    pub encoding_sa: u8,
    pub counters: Counters,
    pub associations: Vec<TransmitSaSummary>,
}

/// A transmit secure association.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TransmitSaSummary {
    /// The association number.
    pub an: u8,
    /// True for the association in use.
    pub in_use: bool,
    /// The packet number of the next frame; `None` if they are exhausted.
    pub next_pn: Option<u64>,
    /// Number of frames that it can still send.
    pub left: u64,
    /// True if three quarters of its packet numbers are used, so that a new key is due.
    pub nearly_used_up: bool,
}

/// A receive secure channel of a port.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReceiveSummary {
    /// The SCI: address and port of the sender.
    pub sci: String,
    pub counters: Counters,
    pub associations: Vec<ReceiveSaSummary>,
}

/// A receive secure association.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReceiveSaSummary {
    /// The association number.
    pub an: u8,
    /// The packet number after the highest accepted one; `None` after the last.
    pub next_pn: Option<u64>,
    /// The lowest acceptable packet number.
    pub lowest_pn: u64,
}

impl MacsecSummary {
    #[must_use]
    pub fn new(of: &SecySnapshot) -> Self {
        let sending = |(an, sa): (An, &Option<TransmitSaSnapshot>)| {
            Some(TransmitSaSummary::new(an, sa.as_ref()?, of.suite))
        };
        let receive = |channel: &ReceiveSnapshot| ReceiveSummary {
            sci: channel.sci.to_string(),
            counters: by_name(channel.counters.iter()),
            associations: An::ALL
                .into_iter()
                .zip(&channel.associations)
                .filter_map(received)
                .collect(),
        };
        Self {
            cipher_suite: of.suite.name().to_owned(),
            cipher: of.cipher.to_owned(),
            cipher_declined: of.declined,
            counters: by_name(of.counters.iter()),
            transmit: TransmitSummary {
                sci: of.transmit.sci.to_string(),
                encoding_sa: of.transmit.encoding.get(),
                counters: by_name(of.transmit.counters.iter()),
                associations: An::ALL
                    .into_iter()
                    .zip(&of.transmit.associations)
                    .filter_map(sending)
                    .collect(),
            },
            receive: of.receive.iter().flatten().map(receive).collect(),
        }
    }

    /// Returns a warning for a transmit association that is exhausted or nearly so.
    #[must_use]
    pub fn alarm(&self) -> Option<String> {
        let sa = self.transmit.associations.iter().find(|sa| sa.in_use)?;
        let next = (sa.an + 1) % 4;
        if sa.next_pn.is_none() {
            return Some(format!(
                "transmit association {} has used up its packet numbers: nothing protected leaves \
                 until another is installed and used",
                sa.an
            ));
        }
        sa.nearly_used_up.then(|| {
            format!(
                "transmit association {} can send {} more frames: install association {next} with \
                 another key, and use that",
                sa.an,
                count(sa.left)
            )
        })
    }

    /// Returns all counters: the channel's name, or empty for the whole SecY, then name and
    /// number.
    pub(super) fn counted(&self) -> impl Iterator<Item = (&str, &str, &u64)> {
        let whole = rows("", &self.counters);
        let sent = rows(&self.transmit.sci, &self.transmit.counters);
        whole.chain(sent).chain(self.receive.iter().flat_map(|sc| rows(&sc.sci, &sc.counters)))
    }
}

fn rows<'a>(
    channel: &'a str,
    of: &'a Counters,
) -> impl Iterator<Item = (&'a str, &'a str, &'a u64)> {
    of.iter().map(move |(name, n)| (channel, name.as_str(), n))
}

impl TransmitSaSummary {
    fn new(an: An, sa: &TransmitSaSnapshot, suite: CipherSuite) -> Self {
        let last = suite.last_pn();
        // The last packet number is usable as well.
        let left = sa.next_pn.map_or(0, |pn| (last - pn).saturating_add(1));
        let used = u128::from(last - left.min(last));
        Self {
            an: an.get(),
            in_use: sa.in_use,
            next_pn: sa.next_pn,
            left,
            nearly_used_up: used * 100 >= u128::from(last) * NEARLY,
        }
    }
}

fn received((an, sa): (An, &Option<ReceiveSaSnapshot>)) -> Option<ReceiveSaSummary> {
    let sa = sa.as_ref()?;
    Some(ReceiveSaSummary { an: an.get(), next_pn: sa.next_pn, lowest_pn: sa.lowest_pn })
}

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
    use crate::secure::{ReceiveCounters, Sci, SecyCounters, TransmitCounters, TransmitSnapshot};
    use crate::units::Mac;

    fn snapshot(suite: CipherSuite, next_pn: Option<u64>) -> SecySnapshot {
        let sci = |n| Sci { mac: Mac([2, 0, 0, 0, 0, n]), port: 1 };
        let sa = TransmitSaSnapshot { next_pn, in_use: true };
        let received = ReceiveSnapshot {
            sci: sci(2),
            counters: ReceiveCounters { in_pkts_late: 7, ..ReceiveCounters::default() },
            associations: [
                None,
                Some(ReceiveSaSnapshot { next_pn: Some(9), lowest_pn: 9 }),
                None,
                None,
            ],
        };
        let mut receive = [None; crate::secure::SecyPlan::CHANNELS_MAX];
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
