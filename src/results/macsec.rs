//! MACsec at a port: counters by their names in 802.1AE, secure channels and associations. No
//! keys.

use serde::{Deserialize, Serialize};

use super::counters::{Counters, by_name};
use secure::{
    An, CipherSuite, ReceiveSaSnapshot, ReceiveSnapshot, SecySnapshot, TransmitSaSnapshot,
};
use text::count;

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
    pub fn counted(&self) -> impl Iterator<Item = (&str, &str, &u64)> {
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
