//! What a SecY counts (802.1AE-2018 10.7.9, 10.7.18 and, for what leaves, 10.7.9 and 10.7.19), and
//! what it shows of itself: numbers alone, never a key.

use super::{An, CipherSuite, Sci, SecyPlan};

/// Of the SecY as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SecyCounters {
    /// InPktsUntagged: plain data that was delivered though it should be protected (validation is not
    /// strict).
    pub in_pkts_untagged: u64,
    /// InPktsNoTag: plain data that was discarded, as it should be protected.
    pub in_pkts_no_tag: u64,
    /// InPktsBadTag: discarded for a SecTAG that is none (9.12), or a packet number of 0.
    pub in_pkts_bad_tag: u64,
    /// InPktsNoSA: of no association, and delivered all the same (validation is not strict).
    pub in_pkts_no_sa: u64,
    /// InPktsNoSAError: discarded, of no association.
    pub in_pkts_no_sa_error: u64,
    /// InPktsOverrun: discarded, as their octets are not in one piece. Never for want of cipher capacity:
    /// what comes in faster than it is deciphered waits in the port and is counted there.
    pub in_pkts_overrun: u64,
    /// Discarded: too short for an EtherType. Not a managed object.
    pub in_pkts_runt: u64,
    /// Plain MAC control frames that were discarded, as they have to be protected. Not a managed
    /// object.
    pub in_pause_plain: u64,
    /// Valid protected MAC control frames that were discarded, as they have to be plain. Not a managed
    /// object.
    pub in_pause_protected: u64,
    /// OutPktsUntagged: data that left plain, as the port protects none.
    pub out_pkts_untagged: u64,
    /// OutPktsTooLong: not sent, as there is no room for SecTAG and check value.
    pub out_pkts_too_long: u64,
    /// Not sent: too short to have an EtherType. Not a managed object.
    pub out_pkts_runt: u64,
    /// Not sent: there is no association to send with. Not a managed object.
    pub out_pkts_no_sa: u64,
    /// Not sent: the association's packet numbers are used up. Not a managed object.
    pub out_pn_exhausted: u64,
}

/// Of the channel that is sent on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransmitCounters {
    /// OutPktsProtected: sent with integrity alone.
    pub out_pkts_protected: u64,
    /// OutPktsEncrypted: sent encrypted.
    pub out_pkts_encrypted: u64,
    /// OutOctetsProtected: octets behind the addresses in the former.
    pub out_octets_protected: u64,
    /// OutOctetsEncrypted: octets behind the addresses in the latter.
    pub out_octets_encrypted: u64,
}

/// Of a channel that is received.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiveCounters {
    /// InPktsOK: valid.
    pub in_pkts_ok: u64,
    /// InPktsUnchecked: delivered and not validated (validation is disabled).
    pub in_pkts_unchecked: u64,
    /// InPktsDelayed: valid, and below the lowest acceptable number without replay protection.
    pub in_pkts_delayed: u64,
    /// InPktsLate: discarded, below the lowest acceptable number; a MAC control frame also when a younger
    /// one was accepted.
    pub in_pkts_late: u64,
    /// Discarded: within the window, and accepted before. Not a managed object.
    pub in_pkts_replayed: u64,
    /// InPktsInvalid: not valid, and delivered all the same (validation is check).
    pub in_pkts_invalid: u64,
    /// InPktsNotValid: discarded, not valid.
    pub in_pkts_not_valid: u64,
    /// InOctetsValidated: octets of user data in frames of integrity alone, valid or not.
    pub in_octets_validated: u64,
    /// InOctetsDecrypted: octets of user data in encrypted frames, valid or not.
    pub in_octets_decrypted: u64,
}

/// A SecY at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SecySnapshot {
    /// The suite of all its associations.
    pub suite: CipherSuite,
    /// Whose AES-GCM its associations have: the name of the ciphers it was given, or of the built-in
    /// library.
    pub cipher: &'static str,
    /// Live associations that have the built-in library's all the same, as the ciphers declined them.
    pub declined: u32,
    /// Of the SecY as a whole.
    pub counters: SecyCounters,
    /// The channel that is sent on.
    pub transmit: TransmitSnapshot,
    /// The channels that are received, in the order in which they came; nothing behind the last.
    pub receive: [Option<ReceiveSnapshot>; SecyPlan::CHANNELS_MAX],
}

/// The channel that is sent on, at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransmitSnapshot {
    /// Its name.
    pub sci: Sci,
    /// The association that is sent with, if it is there.
    pub encoding: An,
    /// What it counted.
    pub counters: TransmitCounters,
    /// The associations.
    pub associations: [Option<TransmitSaSnapshot>; 4],
}

/// An association for sending, at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransmitSaSnapshot {
    /// The next frame's packet number; nothing when they are used up.
    pub next_pn: Option<u64>,
    /// Whether it is the one that is sent with.
    pub in_use: bool,
}

/// A channel that is received, at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiveSnapshot {
    /// Its name.
    pub sci: Sci,
    /// What it counted.
    pub counters: ReceiveCounters,
    /// The associations.
    pub associations: [Option<ReceiveSaSnapshot>; 4],
}

/// An association that is received, at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiveSaSnapshot {
    /// The packet number behind the highest that was accepted; nothing behind the last there is.
    pub next_pn: Option<u64>,
    /// The lowest that is acceptable.
    pub lowest_pn: u64,
}
