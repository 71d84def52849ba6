//! Counters of a SecY (802.1AE-2018 10.7.9, 10.7.18 and, for transmission, 10.7.9 and 10.7.19), and
//! its snapshots: packet numbers and counters, never a key.

use super::{An, CipherSuite, Sci, SecyPlan};

/// Counters of the SecY as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SecyCounters {
    /// InPktsUntagged: plain data frames delivered although protection is required (validation is
    /// not strict).
    pub in_pkts_untagged: u64,
    /// InPktsNoTag: plain data frames discarded, because protection is required.
    pub in_pkts_no_tag: u64,
    /// InPktsBadTag: frames discarded for an invalid SecTAG (9.12), or a packet number of 0.
    pub in_pkts_bad_tag: u64,
    /// InPktsNoSA: frames without an association, delivered nevertheless (validation is not
    /// strict).
    pub in_pkts_no_sa: u64,
    /// InPktsNoSAError: frames without an association, discarded.
    pub in_pkts_no_sa_error: u64,
    /// InPktsOverrun: frames discarded because their bytes are not contiguous. Never for lack of
    /// cipher capacity: excess frames wait in the port and are counted there.
    pub in_pkts_overrun: u64,
    /// Received frames discarded: too short for an EtherType. Not a managed object.
    pub in_pkts_runt: u64,
    /// Plain MAC control frames discarded, because they must be protected. Not a managed object.
    pub in_pause_plain: u64,
    /// Valid protected MAC control frames discarded, because they must be plain. Not a managed
    /// object.
    pub in_pause_protected: u64,
    /// OutPktsUntagged: data frames sent plain, because the port does not protect data.
    pub out_pkts_untagged: u64,
    /// OutPktsTooLong: frames not sent, because there is no room for SecTAG and ICV.
    pub out_pkts_too_long: u64,
    /// Frames not sent: too short for an EtherType. Not a managed object.
    pub out_pkts_runt: u64,
    /// Frames not sent: there is no transmit association. Not a managed object.
    pub out_pkts_no_sa: u64,
    /// Frames not sent: the association's packet numbers are exhausted. Not a managed object.
    pub out_pn_exhausted: u64,
}

/// Counters of the transmit channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransmitCounters {
    /// OutPktsProtected: frames sent with integrity only.
    pub out_pkts_protected: u64,
    /// OutPktsEncrypted: frames sent encrypted.
    pub out_pkts_encrypted: u64,
    /// OutOctetsProtected: bytes after the addresses in frames with integrity only.
    pub out_octets_protected: u64,
    /// OutOctetsEncrypted: bytes after the addresses in encrypted frames.
    pub out_octets_encrypted: u64,
}

/// Counters of a receive channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiveCounters {
    /// InPktsOK: valid frames.
    pub in_pkts_ok: u64,
    /// InPktsUnchecked: frames delivered without validation (validation is disabled).
    pub in_pkts_unchecked: u64,
    /// InPktsDelayed: valid frames below the lowest acceptable number without replay protection.
    pub in_pkts_delayed: u64,
    /// InPktsLate: frames discarded, below the lowest acceptable number; a MAC control frame also
    /// if a later one was accepted.
    pub in_pkts_late: u64,
    /// Frames discarded: within the window, and accepted before. Not a managed object.
    pub in_pkts_replayed: u64,
    /// InPktsInvalid: invalid frames, delivered nevertheless (validation is check).
    pub in_pkts_invalid: u64,
    /// InPktsNotValid: invalid frames, discarded.
    pub in_pkts_not_valid: u64,
    /// InOctetsValidated: bytes of user data in frames with integrity only, valid or not.
    pub in_octets_validated: u64,
    /// InOctetsDecrypted: bytes of user data in encrypted frames, valid or not.
    pub in_octets_decrypted: u64,
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
    pub transmit: TransmitSnapshot,
    /// Receive channels, in order of creation; `None` after the last.
    pub receive: [Option<ReceiveSnapshot>; SecyPlan::CHANNELS_MAX],
}

/// Snapshot of the transmit channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransmitSnapshot {
    /// SCI of the channel.
    pub sci: Sci,
    /// Number of the association used for transmission, if it exists.
    pub encoding: An,
    /// Counters of the channel.
    pub counters: TransmitCounters,
    /// Associations, by number.
    pub associations: [Option<TransmitSaSnapshot>; 4],
}

/// Snapshot of a transmit association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransmitSaSnapshot {
    /// Packet number of the next frame; `None` when exhausted.
    pub next_pn: Option<u64>,
    /// True if it is in use.
    pub in_use: bool,
}

/// Snapshot of a receive channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiveSnapshot {
    /// SCI of the channel.
    pub sci: Sci,
    /// Counters of the channel.
    pub counters: ReceiveCounters,
    /// Associations, by number.
    pub associations: [Option<ReceiveSaSnapshot>; 4],
}

/// Snapshot of a receive association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiveSaSnapshot {
    /// Packet number after the highest accepted; `None` after the last.
    pub next_pn: Option<u64>,
    /// Lowest acceptable packet number.
    pub lowest_pn: u64,
}
