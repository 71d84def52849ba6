//! Configuration of a SecY: its suite, its associations, and its policy for MAC control frames; and
//! changes while frames pass, the interface of key agreement to a SecY (802.1AE 10.7.22, 10.7.28).

use core::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::association::SaFault;
use ground::named;
use ground::time::Duration;
use ground::units::Mac;

named! {
    /// The cipher suites of 802.1AE-2018 14.5 to 14.8.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum CipherSuite {
        /// GCM-AES-128, the default suite: keys of 16 bytes, packet numbers of 32 bits.
        #[default]
        GcmAes128 = "gcm-aes-128",
        /// GCM-AES-256: keys of 32 bytes, packet numbers of 32 bits.
        GcmAes256 = "gcm-aes-256",
        /// GCM-AES-XPN-128: keys of 16 bytes, packet numbers of 64 bits, of which a frame carries the lower half.
        GcmAesXpn128 = "gcm-aes-xpn-128",
        /// GCM-AES-XPN-256: keys of 32 bytes, packet numbers of 64 bits.
        GcmAesXpn256 = "gcm-aes-xpn-256",
    }
}

impl CipherSuite {
    /// Returns the key length in bytes: 16 or 32.
    #[must_use]
    pub const fn key_len(self) -> usize {
        match self {
            Self::GcmAes128 | Self::GcmAesXpn128 => 16,
            Self::GcmAes256 | Self::GcmAesXpn256 => 32,
        }
    }

    /// Returns true if packet numbers have 64 bits.
    #[must_use]
    pub const fn is_xpn(self) -> bool {
        matches!(self, Self::GcmAesXpn128 | Self::GcmAesXpn256)
    }

    /// Returns the last packet number; after it an association cannot send.
    #[must_use]
    pub const fn last_pn(self) -> u64 {
        if self.is_xpn() { u64::MAX } else { u32::MAX as u64 }
    }
}

/// Secure channel identifier: the address of its sender and the number of a port there (802.1AE
/// 9.9).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Sci {
    /// MAC address of the sender.
    pub mac: Mac,
    /// Port number of the sender. 1 for a port without virtual ports.
    pub port: u16,
}

impl Sci {
    /// Returns the SCI in wire format.
    #[must_use]
    pub fn octets(self) -> [u8; 8] {
        let mut octets = [0; 8];
        octets[..6].copy_from_slice(&self.mac.0);
        octets[6..].copy_from_slice(&self.port.to_be_bytes());
        octets
    }
}

impl fmt::Display for Sci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.mac, self.port)
    }
}

/// Number of an association in its channel, 0 to 3 (802.1AE 9.6).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct An(u8);

impl An {
    /// All four numbers.
    pub const ALL: [Self; 4] = [Self(0), Self(1), Self(2), Self(3)];

    /// Creates an association number; `None` above 3.
    #[must_use]
    pub const fn new(n: u8) -> Option<Self> {
        if n < 4 { Some(Self(n)) } else { None }
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Returns the index in a table of four.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the number after this one in a rollover: 0 after 3.
    #[must_use]
    pub const fn next(self) -> Self {
        Self((self.0 + 1) % 4)
    }
}

impl fmt::Display for An {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A secure association key. Debug does not show it, and it is wiped when it is dropped.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Sak {
    octets: [u8; 32],
    len: usize,
}

impl Sak {
    /// Creates a key of 16 or 32 bytes; `None` for another length.
    #[must_use]
    pub fn new(key: &[u8]) -> Option<Self> {
        let fits = matches!(key.len(), 16 | 32);
        fits.then(|| {
            let mut sak = Self { octets: [0; 32], len: key.len() };
            sak.octets[..key.len()].copy_from_slice(key);
            sak
        })
    }

    /// Returns the bytes, for the cipher.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets[..self.len]
    }

    /// Returns the length in bytes: 16 or 32.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns false: a key has at least 16 bytes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }
}

impl fmt::Debug for Sak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sak({} octets)", self.len)
    }
}

/// One secure association.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SaPlan {
    /// Key, with the length of the suite's keys.
    pub key: Sak,
    /// Packet number of the next frame sent, or the lowest accepted. At least 1.
    pub pn: u64,
    /// SSCI of the channel's sender, which replaces the SCI in the nonce of XPN suites (802.1AE
    /// 9.9); not used by others.
    pub ssci: u32,
    /// Salt of the nonce of XPN suites (802.1AE 10.7.8); not used by others.
    pub salt: [u8; 12],
}

/// A receive channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceiveScPlan {
    /// SCI of the channel.
    pub sci: Sci,
    /// Associations, by number.
    pub associations: [Option<SaPlan>; 4],
}

named! {
    /// Handling of frames that fail validation (802.1AE 10.7.8, validateFrames). MAC control frames are
    /// always treated as `Strict`.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Validate {
        /// Invalid frames are discarded.
        #[default]
        Strict = "strict",
        /// Invalid frames are counted and, if readable, delivered.
        Check = "check",
        /// Frames are not validated: SecTAG and ICV are removed.
        Disabled = "disabled",
    }
}

/// Identification of the channel in a frame (802.1AE 10.5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SciForm {
    /// None: the receiver has only one channel (point to point).
    #[default]
    Implied,
    /// Explicit SCI (alwaysIncludeSCI): eight more bytes.
    Explicit,
    /// Source address, port number 1 (useES).
    EndStation,
    /// Source address, port number 0, over EPON's single copy broadcast (useSCB).
    SingleCopyBroadcast,
}

/// Number of bytes after the SecTAG that are not encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfidentialityOffset {
    /// None.
    Zero,
    /// 30 bytes: the addresses of IPv4. Not with XPN suites.
    Thirty,
    /// 50 bytes: the addresses of IPv6. Not with XPN suites.
    Fifty,
}

impl ConfidentialityOffset {
    /// Returns the offset in bytes.
    #[must_use]
    pub const fn octets(self) -> usize {
        match self {
            Self::Zero => 0,
            Self::Thirty => 30,
            Self::Fifty => 50,
        }
    }
}

named! {
    /// MAC control frames (PFC, PAUSE) that a port obeys.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum PfcAccept {
        /// Protected frames only.
        Protected = "protected",
        /// Protected and plain frames.
        Both = "both",
        /// Plain frames only.
        Plain = "plain",
    }
}

/// Configuration of one SecY: protection of transmitted frames, and policy for received ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SecyPlan {
    /// Suite of all associations.
    pub suite: CipherSuite,
    /// SCI of the transmit channel.
    pub sci: Sci,
    /// Identification of the channel in its frames.
    pub sci_form: SciForm,
    /// Confidentiality offset; `None` for integrity only.
    pub confidentiality: Option<ConfidentialityOffset>,
    /// True if transmitted data is protected, and received data must be.
    pub protect_data: bool,
    /// True if transmitted MAC control frames are protected.
    pub protect_pfc: bool,
    /// True if measurement messages of odd number are protected even if data is not, so that their delay
    /// shows that of MACsec.
    pub protect_measurements: bool,
    /// True if frames that have a SecTAG already leave as they are: those that a tester protects by
    /// itself, right or wrong.
    pub pass_protected: bool,
    /// MAC control frames that are obeyed.
    pub accept_pfc: PfcAccept,
    /// Handling of data that fails validation.
    pub validate: Validate,
    /// Maximum distance of a frame behind the latest, if replay protection is on. 0 requires strict
    /// order; up to 2^32 - 1, with XPN suites 2^30.
    pub replay_window: Option<u32>,
    /// EtherTypes that bypass the SecY, both ways, in addition to EAPOL (88-8E), which always does.
    /// Never 88-08 nor 88-E5. At most [`SecyPlan::UNCONTROLLED_MAX`].
    pub uncontrolled: Vec<u16>,
    /// Number of the association used for transmission.
    pub encoding: An,
    /// Transmit associations, by number.
    pub transmit: [Option<SaPlan>; 4],
    /// Packet number at which transmission continues with the next association, if it exists.
    pub rollover_at: Option<u64>,
    /// Receive channels. At most [`SecyPlan::CHANNELS_MAX`].
    pub receive: Vec<ReceiveScPlan>,
    /// Transmit delay of a protected frame. In the virtual world only.
    pub tx_delay: Duration,
    /// Receive delay of a protected frame. In the virtual world only.
    pub rx_delay: Duration,
}

impl SecyPlan {
    /// Maximum number of receive channels; our choice, as their memory is reserved at the start.
    pub const CHANNELS_MAX: usize = 16;

    /// Maximum number of EtherTypes that bypass a SecY, in addition to EAPOL; our choice.
    pub const UNCONTROLLED_MAX: usize = 8;

    /// Maximum replay window of XPN suites (10.7.8): beyond it the upper half of a packet number
    /// could not be recovered.
    pub const XPN_WINDOW_MAX: u32 = 1 << 30;

    /// Creates a SecY with the initial values of the managed objects (802.1AE 10.7), with the same
    /// policy for MAC control as for data: protected both ways and encrypted, all validated, in
    /// strict order. It has no association and no receive channel.
    #[must_use]
    pub const fn standard(suite: CipherSuite, sci: Sci) -> Self {
        Self {
            suite,
            sci,
            sci_form: SciForm::Implied,
            // The YANG module's defaults (ieee802-dot1ae-secy): require-confidentiality, validate strict, window 0.
            confidentiality: Some(ConfidentialityOffset::Zero),
            protect_data: true,
            protect_pfc: true,
            protect_measurements: false,
            pass_protected: false,
            accept_pfc: PfcAccept::Protected,
            validate: Validate::Strict,
            replay_window: Some(0),
            uncontrolled: Vec::new(),
            encoding: An::ALL[0],
            transmit: [const { None }; 4],
            rollover_at: None,
            receive: Vec::new(),
            tx_delay: Duration::from_picos(0),
            rx_delay: Duration::from_picos(0),
        }
    }

    /// Returns the bytes that protection adds to a frame: SecTAG and ICV, 24 or 32.
    #[must_use]
    pub const fn overhead(&self) -> u32 {
        // SecTAG of 8 bytes, or 16 with the SCI, and ICV of 16.
        if matches!(self.sci_form, SciForm::Explicit) { 32 } else { 24 }
    }

    /// Returns the bytes to add to every frame on the line: [`SecyPlan::overhead`] if data is
    /// protected. If only MAC control is, its frames include their overhead.
    #[must_use]
    pub const fn line_overhead(&self) -> u32 {
        if self.protect_data { self.overhead() } else { 0 }
    }
}

/// One change. Keys in it are wiped when it is dropped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SecyChange {
    /// Installs a transmit association. Not over the one in use.
    InstallTransmit {
        /// Association number.
        an: An,
        /// Key and parameters.
        sa: SaPlan,
    },
    /// Transmits with this association from now on.
    UseTransmit(An),
    /// Removes a transmit association. If it is the one in use, no protected frame is sent until
    /// another is used.
    RemoveTransmit(An),
    /// Installs a receive association, and its channel if it is new.
    InstallReceive {
        /// SCI of its channel.
        sci: Sci,
        /// Association number.
        an: An,
        /// Key and parameters.
        sa: SaPlan,
    },
    /// Removes a receive association.
    RemoveReceive {
        /// SCI of its channel.
        sci: Sci,
        /// Association number.
        an: An,
    },
    /// Removes a channel with all its associations.
    RemoveChannel(Sci),
    /// Raises an association's lowest acceptable packet number; a lower one changes nothing.
    SetLowestPn {
        /// SCI of its channel.
        sci: Sci,
        /// Association number.
        an: An,
        /// New lowest packet number. At least 1, at most the suite's last.
        pn: u64,
    },
}

/// Reason for refusing a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ChangeRefused {
    /// The association is invalid.
    #[error(transparent)]
    Sa(#[from] SaFault),
    /// The association is in use for transmission; install the next one and use that.
    #[error("association {0} is in use; install another one, and use that")]
    InUse(An),
    /// The association does not exist.
    #[error("there is no association {0}")]
    NoSa(An),
    /// The channel does not exist.
    #[error("there is no channel {0}")]
    NoChannel(Sci),
    /// The channel is the port's own: its frames would be accepted when they are reflected.
    #[error("channel {0} is the port's own")]
    OwnChannel(Sci),
    /// The SecY has the maximum number of receive channels.
    #[error("no more than {} channels are received", SecyPlan::CHANNELS_MAX)]
    Full,
    /// The key and the SSCI are those of an association in the other direction.
    #[error("sender and receiver have the same key and SSCI; give each sender a different SSCI")]
    SharedSsci,
}
