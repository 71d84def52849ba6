//! MACsec (802.1AE) of a port: protection, acceptance and keys.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use secure::{CipherSuite, PfcAccept, Validate};
use serde::{Deserialize, Serialize};

use super::{EtherTypeName, HexText, MacsecSci, Range};
use crate::quantity::Span;

/// MACsec (IEEE 802.1AE) of a port. The shortest form has a `key` and, in a switch file, the `sci`
/// of the peer in `receive`: both ends then send and receive with that key, association 0.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Macsec {
    /// Cipher suite, the same at both ends. Default: `gcm-aes-128`, that of 802.1AE.
    pub cipher_suite: Option<CipherSuite>,
    /// SCI of the transmit channel. Default: the port's MAC address, port 1.
    pub sci: Option<MacsecSci>,
    /// True to send the whole SCI of eight octets in frames (alwaysIncludeSCI). Required if more
    /// than two stations share a medium. Default: `false`, as in 802.1AE.
    pub include_sci: Option<bool>,
    /// True if frames identify their sender by their source address (ES bit). For hosts, and for
    /// ports that protect PFC only. Default: `false`.
    pub use_es: Option<bool>,
    /// True for the single copy broadcast of EPON (SCB bit). Default: `false`.
    pub use_scb: Option<bool>,
    /// True to encrypt frames, false to protect their integrity only. Default: `true`.
    pub confidentiality: Option<bool>,
    /// Octets after the SecTAG that are not encrypted: 0, or without XPN 30 or 50. Default: `0`.
    pub confidentiality_offset: Option<u8>,
    /// Frames that are sent protected.
    #[serde(default, skip_serializing_if = "MacsecProtect::is_default")]
    pub protect: MacsecProtect,
    /// True to protect every second measurement message where PFC alone is protected, so that `headroom: auto`
    /// measures the delay of MACsec that a pause meets at both ends, in place of `delay`. At both ends of a
    /// link, and for `round_trip`. Default: `false`.
    pub measure: Option<bool>,
    /// PFC and PAUSE frames that are obeyed: only `protected` ones, `both`, or only `plain` ones.
    /// Default: `protected`, and plain if `protect.pfc` is false.
    pub accept_pfc: Option<PfcAccept>,
    /// Treatment of data that fails validation: `strict` discards it, `check` counts it and
    /// delivers what is readable, `disabled` validates nothing. PFC frames are always validated as
    /// in `strict`. Default: `strict`.
    pub validate: Option<Validate>,
    /// Replay protection.
    #[serde(default, skip_serializing_if = "MacsecReplay::is_default")]
    pub replay: MacsecReplay,
    /// Traffic that bypasses MACsec in both directions, at most 8 entries: `lldp`, `ptp`, `slow`
    /// (LACP), or EtherTypes. Default: none except EAPOL (MKA), which always does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncontrolled: Vec<EtherTypeName>,
    /// Packet number at which transmission changes to the next association, if it is installed.
    /// Default: never; when the numbers are exhausted the port sends no more protected frames.
    pub rollover_at: Option<u64>,
    /// Delay of the MACsec layer, if it is a separate device. A term of the headroom; in the
    /// virtual world frames take that much longer.
    #[serde(default, skip_serializing_if = "MacsecDelay::is_default")]
    pub delay: MacsecDelay,
    /// Key for both directions, 32 or 64 hexadecimal digits, for labs: every reader of the file has
    /// it. Default: none; `key_file`, or `transmit` and `receive`.
    pub key: Option<HexText>,
    /// File with the key for both directions: hexadecimal digits, readable by its owner alone.
    /// Relative to this file. Default: none.
    pub key_file: Option<String>,
    /// Salt of `key` or `key_file`, 24 hexadecimal digits, for XPN suites only. Default: none.
    pub salt: Option<HexText>,
    /// Transmit associations.
    #[serde(default, skip_serializing_if = "MacsecTransmit::is_default")]
    pub transmit: MacsecTransmit,
    /// Receive channels, at most 16. Default: none in a switch file; in a lab that of the link
    /// partner.
    pub receive: Option<Vec<MacsecReceive>>,
}

/// Frames that are sent protected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacsecProtect {
    /// True for data, and all other frames except PFC and PAUSE. Received ones must be protected
    /// then, too. Default: `true`.
    pub data: Option<bool>,
    /// True for PFC and PAUSE frames. Default: `true`.
    pub pfc: Option<bool>,
}

/// Replay protection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacsecReplay {
    /// True to discard frames that are too old. Default: `true`.
    pub protect: Option<bool>,
    /// Largest distance of a frame behind the latest, in packet numbers: 0 to 4294967295, with XPN
    /// up to 1073741824. Default: `0`, strict order.
    pub window: Option<u64>,
}

/// Delay of the MACsec layer, up to 1 s each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacsecDelay {
    /// Transmit delay of a frame. Default: `0s`.
    pub tx: Option<Span>,
    /// Receive delay of a frame. Default: `0s`.
    pub rx: Option<Span>,
}

/// Transmit associations.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacsecTransmit {
    /// Association number for transmission at the start, 0 to 3. Default: the lowest that is
    /// configured.
    pub using: Option<u8>,
    /// Associations by number. Default: none, or number 0 with `key` or `key_file`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub associations: BTreeMap<Range, MacsecAssociation>,
}

/// A receive channel.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacsecReceive {
    /// SCI: the sender's address and port number. Default: none in a switch file, where it is
    /// required; in a lab that of the link partner.
    pub sci: Option<MacsecSci>,
    /// Associations by number. Default: none, or number 0 with `key` or `key_file`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub associations: BTreeMap<Range, MacsecAssociation>,
}

/// A secure association: exactly one of `key` and `key_file`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacsecAssociation {
    /// Key, 32 or 64 hexadecimal digits, for labs: every reader of the file has it. Default: none.
    pub key: Option<HexText>,
    /// File with the key: hexadecimal digits, readable by its owner alone. Relative to this file.
    /// Default: none.
    pub key_file: Option<String>,
    /// Packet number of the first frame sent, or the lowest accepted; at least 1. A key that was
    /// used to send before must not start at 1 again. Default: `1`.
    pub next_pn: Option<u64>,
    /// Short SCI of the channel's sender, above 0, for XPN suites only. Default: 1 for the channel
    /// with the greatest SCI, 2 for the next, as in key agreement (802.1X).
    pub ssci: Option<u32>,
    /// Salt of the nonces of XPN suites, 24 hexadecimal digits, for these suites only. Default: the
    /// `salt` beside `key` in `macsec`.
    pub salt: Option<HexText>,
}

/// Tests that a section has only defaults, so that it is not written.
macro_rules! is_default {
    ($($name:ident)*) => {$(
        impl $name {
            fn is_default(&self) -> bool {
                *self == Self::default()
            }
        }
    )*};
}

is_default!(MacsecProtect MacsecReplay MacsecDelay MacsecTransmit);
