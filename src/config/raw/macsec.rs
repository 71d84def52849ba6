//! MACsec (802.1AE) of a port: what it protects, what it demands, and its keys.

mod parts;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use parts::{EtherTypeName, HexText, MacsecSci};

use super::Range;
use crate::config::quantity::Span;

/// MACsec (IEEE 802.1AE) of a port. The shortest has a `key` and, in a switch file, the `sci` of
/// the peer in `receive`: both ends then send and receive with that key, association 0.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Macsec {
    /// The cipher suite, the same at both ends. Default: `gcm-aes-128`, that of 802.1AE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cipher_suite: Option<CipherSuiteName>,
    /// The name of the channel that the port sends on. Default: the port's MAC address, port 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sci: Option<MacsecSci>,
    /// Whether frames carry the whole SCI, eight octets (alwaysIncludeSCI). Needed where more than two
    /// stations share a medium. Default: `false`, as 802.1AE has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_sci: Option<bool>,
    /// Whether frames say by their source address whose they are (ES bit). For hosts, and for ports
    /// that protect PFC alone. Default: `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub use_es: Option<bool>,
    /// Whether frames say that they are EPON's single copy broadcast (SCB bit). Default: `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub use_scb: Option<bool>,
    /// Whether frames are encrypted, or protected from change alone. Default: `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidentiality: Option<bool>,
    /// How many octets behind the SecTAG stay readable: 0, or without XPN 30 or 50. Default: `0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidentiality_offset: Option<u8>,
    /// What leaves protected.
    #[serde(default, skip_serializing_if = "MacsecProtect::is_silent")]
    pub protect: MacsecProtect,
    /// Which PFC and PAUSE frames are obeyed: `protected` ones alone, `both`, or `plain` ones alone.
    /// Default: `protected`, and plain where `protect.pfc` is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_pfc: Option<AcceptPfcName>,
    /// What becomes of data that does not validate: `strict` discards it, `check` counts it and
    /// delivers what can be read, `disabled` validates nothing. PFC frames are always held to
    /// `strict`. Default: `strict`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validate: Option<ValidateName>,
    /// Protection from frames that are sent again.
    #[serde(default, skip_serializing_if = "MacsecReplay::is_silent")]
    pub replay: MacsecReplay,
    /// What passes beside MACsec both ways, at most 8: `lldp`, `ptp`, `slow` (LACP), or EtherTypes.
    /// Default: none but EAPOL (MKA), which always does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncontrolled: Vec<EtherTypeName>,
    /// The packet number at which sending goes on with the next association, if that is there.
    /// Default: never; when the numbers are used up the port sends no more protected frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollover_at: Option<u64>,
    /// What the layer takes, where it is a machine of its own. A term of the headroom; in the virtual
    /// world frames take so much longer.
    #[serde(default, skip_serializing_if = "MacsecDelay::is_silent")]
    pub delay: MacsecDelay,
    /// The one key for both directions, as 32 or 64 hexadecimal digits, for labs: whoever reads the
    /// file has it. Default: none; `key_file`, or `transmit` and `receive`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<HexText>,
    /// The file with the one key for both directions: hexadecimal digits, readable by its owner alone.
    /// Relative to this file. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// The salt of `key` or `key_file`, 24 hexadecimal digits, for XPN suites alone. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub salt: Option<HexText>,
    /// The associations for sending.
    #[serde(default, skip_serializing_if = "MacsecTransmit::is_silent")]
    pub transmit: MacsecTransmit,
    /// The channels that are received, at most 16. Default: none in a switch file; in a lab the one
    /// of the other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive: Option<Vec<MacsecReceive>>,
}

/// What leaves protected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacsecProtect {
    /// Data, and all else but PFC and PAUSE. What comes in has to be protected then, too. Default:
    /// `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<bool>,
    /// PFC and PAUSE frames. Default: `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pfc: Option<bool>,
}

/// Protection from frames that are sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacsecReplay {
    /// Whether frames that are too old are discarded. Default: `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protect: Option<bool>,
    /// How far behind the latest a frame may be, in packet numbers: 0 to 4294967295, with XPN up to
    /// 1073741824. Default: `0`, strict order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

/// What the layer takes, up to 1 s each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacsecDelay {
    /// To send a frame. Default: `0s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx: Option<Span>,
    /// To receive one. Default: `0s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx: Option<Span>,
}

/// The associations for sending.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacsecTransmit {
    /// The association that is used at first, 0 to 3. Default: the lowest that there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub using: Option<u8>,
    /// Association number to association. Default: none, or number 0 with `key` or `key_file`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub associations: BTreeMap<Range, MacsecAssociation>,
}

/// A channel that is received.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacsecReceive {
    /// Its name: the sender's address and port. Default: none in a switch file, where it must be
    /// given; in a lab that of the other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sci: Option<MacsecSci>,
    /// Association number to association. Default: none, or number 0 with `key` or `key_file`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub associations: BTreeMap<Range, MacsecAssociation>,
}

/// A secure association: exactly one of `key` and `key_file`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacsecAssociation {
    /// The key, 32 or 64 hexadecimal digits, for labs: whoever reads the file has it. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<HexText>,
    /// The file with the key: hexadecimal digits, readable by its owner alone. Relative to this file.
    /// Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// The packet number of the first frame sent, or the lowest accepted; at least 1. A key that has
    /// sent before must not begin at 1 again. Default: `1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_pn: Option<u64>,
    /// The short name of the channel's sender, above 0, for XPN suites alone. Default: 1 for the channel
    /// with the greatest SCI, 2 for the next, as key agreement (802.1X) has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssci: Option<u32>,
    /// What nonces of XPN suites are mixed with, 24 hexadecimal digits, for these suites alone.
    /// Default: the `salt` beside `key` at the top.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub salt: Option<HexText>,
}

/// The cipher suites of 802.1AE-2018.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub enum CipherSuiteName {
    /// Keys of 16 octets, packet numbers of 32 bits.
    #[default]
    #[serde(rename = "gcm-aes-128")]
    GcmAes128,
    /// Keys of 32 octets, packet numbers of 32 bits.
    #[serde(rename = "gcm-aes-256")]
    GcmAes256,
    /// Keys of 16 octets, packet numbers of 64 bits.
    #[serde(rename = "gcm-aes-xpn-128")]
    GcmAesXpn128,
    /// Keys of 32 octets, packet numbers of 64 bits.
    #[serde(rename = "gcm-aes-xpn-256")]
    GcmAesXpn256,
}

/// Which PFC and PAUSE frames are obeyed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AcceptPfcName {
    /// Protected ones alone.
    Protected,
    /// Protected and plain ones.
    Both,
    /// Plain ones alone.
    Plain,
}

/// What becomes of data that does not validate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ValidateName {
    /// It is discarded.
    #[default]
    Strict,
    /// It is counted and delivered where it can be read.
    Check,
    /// Nothing is validated.
    Disabled,
}

/// Says of sections whether they say nothing, so that they are not written.
macro_rules! silent {
    ($($name:ident)*) => {$(
        impl $name {
            fn is_silent(&self) -> bool {
                *self == Self::default()
            }
        }
    )*};
}

silent!(MacsecProtect MacsecReplay MacsecDelay MacsecTransmit);
