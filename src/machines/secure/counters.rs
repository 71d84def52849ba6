//! Counters of a SecY (802.1AE-2018 10.7.9, 10.7.18 and, for transmission, 10.7.9 and 10.7.19), and
//! its snapshots: packet numbers and counters, never a key.

use serde::{Deserialize, Serialize};

use ground::counters;

use super::{An, CipherSuite, Sci, SecyPlan};

counters! {
    /// Counters of the SecY as a whole. A counter of this file whose name in results is its field's
    /// is not a managed object.
    SecyCounters {
        /// Plain data frames delivered although protection is required (validation is not strict).
        in_pkts_untagged = "InPktsUntagged",
        /// Plain data frames discarded, because protection is required.
        in_pkts_no_tag = "InPktsNoTag",
        /// Frames discarded for an invalid SecTAG (9.12), or a packet number of 0.
        in_pkts_bad_tag = "InPktsBadTag",
        /// Frames without an association, delivered nevertheless (validation is not strict).
        in_pkts_no_sa = "InPktsNoSA",
        /// Frames without an association, discarded.
        in_pkts_no_sa_error = "InPktsNoSAError",
        /// Frames discarded because their bytes are not contiguous. Never for lack of cipher
        /// capacity: excess frames wait in the port and are counted there.
        in_pkts_overrun = "InPktsOverrun",
        /// Received frames discarded: too short for an EtherType.
        in_pkts_runt,
        /// Plain MAC control frames discarded, because they must be protected.
        in_pause_plain,
        /// Valid protected MAC control frames discarded, because they must be plain.
        in_pause_protected,
        /// Data frames sent plain, because the port does not protect data.
        out_pkts_untagged = "OutPktsUntagged",
        /// Frames not sent, because there is no room for SecTAG and ICV.
        out_pkts_too_long = "OutPktsTooLong",
        /// Frames not sent: too short for an EtherType.
        out_pkts_runt,
        /// Frames not sent: there is no transmit association.
        out_pkts_no_sa,
        /// Frames not sent: the association's packet numbers are exhausted.
        out_pn_exhausted,
    }
}

counters! {
    /// Counters of the transmit channel.
    TransmitCounters {
        /// Frames sent with integrity only.
        out_pkts_protected = "OutPktsProtected",
        /// Frames sent encrypted.
        out_pkts_encrypted = "OutPktsEncrypted",
        /// Bytes after the addresses in frames with integrity only.
        out_octets_protected = "OutOctetsProtected",
        /// Bytes after the addresses in encrypted frames.
        out_octets_encrypted = "OutOctetsEncrypted",
    }
}

counters! {
    /// Counters of a receive channel.
    ReceiveCounters {
        /// Valid frames.
        in_pkts_ok = "InPktsOK",
        /// Frames delivered without validation (validation is disabled).
        in_pkts_unchecked = "InPktsUnchecked",
        /// Valid frames below the lowest acceptable number without replay protection.
        in_pkts_delayed = "InPktsDelayed",
        /// Frames discarded, below the lowest acceptable number; a MAC control frame also if a
        /// later one was accepted.
        in_pkts_late = "InPktsLate",
        /// Frames discarded: within the window, and accepted before.
        in_pkts_replayed,
        /// Invalid frames, delivered nevertheless (validation is check).
        in_pkts_invalid = "InPktsInvalid",
        /// Invalid frames, discarded.
        in_pkts_not_valid = "InPktsNotValid",
        /// Bytes of user data in frames with integrity only, valid or not.
        in_octets_validated = "InOctetsValidated",
        /// Bytes of user data in encrypted frames, valid or not.
        in_octets_decrypted = "InOctetsDecrypted",
    }
}

/// Snapshot of a SecY.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SecySnapshot {
    /// Name of the external ciphers, or of the built-in library.
    pub cipher: &'static str,
    /// Live associations that use the built-in library because the external ciphers declined them.
    pub declined: u32,
    /// Suite of all associations.
    pub suite: CipherSuite,
    /// Counters of the SecY as a whole.
    pub counters: SecyCounters,
    /// Transmit channel.
    pub transmit: ChannelSnapshot<TransmitCounters, TransmitSaSnapshot>,
    /// Number of the association used for transmission, if it exists.
    pub encoding: An,
    /// Receive channels, in order of creation; `None` after the last.
    pub receive: [Option<ReceiveSnapshot>; SecyPlan::CHANNELS_MAX],
}

/// Snapshot of a channel, with its counters and its associations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChannelSnapshot<C, A> {
    /// SCI of the channel.
    pub sci: Sci,
    /// Counters of the channel.
    pub counters: C,
    /// Associations, by number.
    pub associations: [Option<A>; 4],
}

/// Snapshot of a receive channel.
pub type ReceiveSnapshot = ChannelSnapshot<ReceiveCounters, ReceiveSaSnapshot>;

/// Snapshot of a transmit association, as in results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TransmitSaSnapshot {
    /// Association number.
    pub an: u8,
    /// True if it is in use.
    pub in_use: bool,
    /// Packet number of the next frame; `None` when exhausted.
    pub next_pn: Option<u64>,
    /// Number of frames that it can still send.
    pub left: u64,
    /// True if three quarters of its packet numbers are used, so that a new key is due.
    pub nearly_used_up: bool,
}

/// The used share of packet numbers from which an association is nearly exhausted, in hundredths:
/// the threshold of key agreement (PendingPNExhaustion, 802.1X 9.8).
const NEARLY: u128 = 75;

impl TransmitSaSnapshot {
    /// Creates the snapshot of an association whose last packet number is `last`.
    #[must_use]
    pub fn new(an: An, in_use: bool, next_pn: Option<u64>, last: u64) -> Self {
        // The last packet number is usable as well.
        let left = next_pn.map_or(0, |pn| (last - pn).saturating_add(1));
        let used = u128::from(last - left.min(last));
        let nearly_used_up = used * 100 >= u128::from(last) * NEARLY;
        Self { an: an.get(), in_use, next_pn, left, nearly_used_up }
    }
}

/// Snapshot of a receive association, as in results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReceiveSaSnapshot {
    /// Association number.
    pub an: u8,
    /// Packet number after the highest accepted; `None` after the last.
    pub next_pn: Option<u64>,
    /// Lowest acceptable packet number.
    pub lowest_pn: u64,
}
