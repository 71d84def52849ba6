//! Counters by name: of a switch's congestion management, and of MACsec at a port, by their names in 802.1AE, with
//! its secure channels and associations. No keys.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use contracts::stats::{CongestionSnapshot, PortSnapshot};
use secure::{
    ChannelSnapshot, ReceiveSaSnapshot, ReceiveSnapshot, SecySnapshot, TransmitSaSnapshot,
};
use text::count;

/// Counters by name.
pub type Counters = BTreeMap<String, u64>;

/// Collects counters by name.
pub(super) fn by_name(all: impl Iterator<Item = (&'static str, u64)>) -> Counters {
    all.map(|(name, n)| (name.to_owned(), n)).collect()
}

/// Counters of Source Flow Control, its proxy, congestion isolation and congestion notification;
/// disabled features are absent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CongestionSummary {
    pub switch: Counters,
    /// Current number of flows in the tables.
    pub tables: Counters,
    pub ports: BTreeMap<String, Counters>,
}

impl CongestionSummary {
    /// Summarises a snapshot; `ports` gives the names of the ports.
    pub fn new(of: &CongestionSnapshot, ports: &[PortSnapshot]) -> Self {
        let by_port = ports.iter().enumerate();
        let by_port = by_port.map(|(n, port)| (port.name.clone(), by_name(of.of_port(n))));
        Self {
            switch: by_name(of.of_switch()),
            tables: by_name(of.tables()),
            // A port without a feature has no counters, and no entry.
            ports: by_port.filter(|(_, of)| !of.is_empty()).collect(),
        }
    }
}

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
    pub transmit: ChannelSummary<TransmitSaSnapshot>,
    /// The receive channels.
    pub receive: Vec<ChannelSummary<ReceiveSaSnapshot>>,
}

/// A secure channel of a port.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ChannelSummary<A> {
    /// The SCI: address and port of the sender.
    pub sci: String,
    /// The AN of the association in use, if there is one; for the transmit channel alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding_sa: Option<u8>,
    pub counters: Counters,
    pub associations: Vec<A>,
}

impl<A> ChannelSummary<A> {
    fn new<C>(
        channel: ChannelSnapshot<C, A>,
        encoding_sa: Option<u8>,
        counters: impl Fn(&C) -> Counters,
    ) -> Self {
        Self {
            sci: channel.sci.to_string(),
            encoding_sa,
            counters: counters(&channel.counters),
            associations: channel.associations.into_iter().flatten().collect(),
        }
    }
}

impl MacsecSummary {
    pub fn new(of: &SecySnapshot) -> Self {
        let receive = |channel: &ReceiveSnapshot| {
            ChannelSummary::new(*channel, None, |all| by_name(all.iter()))
        };
        Self {
            cipher_suite: of.suite.name().to_owned(),
            cipher: of.cipher.to_owned(),
            cipher_declined: of.declined,
            counters: by_name(of.counters.iter()),
            transmit: ChannelSummary::new(of.transmit, Some(of.encoding.get()), |all| {
                by_name(all.iter())
            }),
            receive: of.receive.iter().flatten().map(receive).collect(),
        }
    }

    /// Returns a warning for a transmit association that is exhausted or nearly so.
    pub fn alarm(&self) -> Option<String> {
        let sa = self.transmit.associations.iter().find(|sa| sa.in_use)?;
        // Associations are numbered in two bits, and follow each other in turn.
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
