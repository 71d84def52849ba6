//! What a SecY is told: its suite, its associations, and what it demands of MAC control frames.

use core::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::time::Duration;
use crate::units::Mac;

/// The cipher suites of 802.1AE-2018 14.5 to 14.8.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CipherSuite {
    /// GCM-AES-128, the default suite; packet numbers have 32 bits.
    GcmAes128,
    /// GCM-AES-256; packet numbers have 32 bits.
    GcmAes256,
    /// GCM-AES-XPN-128; packet numbers have 64 bits, of which a frame carries the lower half.
    GcmAesXpn128,
    /// GCM-AES-XPN-256.
    GcmAesXpn256,
}

impl CipherSuite {
    /// Its name, as files have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GcmAes128 => "gcm-aes-128",
            Self::GcmAes256 => "gcm-aes-256",
            Self::GcmAesXpn128 => "gcm-aes-xpn-128",
            Self::GcmAesXpn256 => "gcm-aes-xpn-256",
        }
    }

    /// Octets of its keys: 16 or 32.
    #[must_use]
    pub const fn key_len(self) -> usize {
        match self {
            Self::GcmAes128 | Self::GcmAesXpn128 => 16,
            Self::GcmAes256 | Self::GcmAesXpn256 => 32,
        }
    }

    /// Whether packet numbers have 64 bits.
    #[must_use]
    pub const fn is_xpn(self) -> bool {
        matches!(self, Self::GcmAesXpn128 | Self::GcmAesXpn256)
    }

    /// The last packet number; behind it an association can send no more.
    #[must_use]
    pub const fn last_pn(self) -> u64 {
        if self.is_xpn() { u64::MAX } else { u32::MAX as u64 }
    }
}

/// The name of a secure channel: the address of its sender and the number of a port there (802.1AE 9.9).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Sci {
    /// The sender's address.
    pub mac: Mac,
    /// The number of its port. 1 for a port without virtual ports.
    pub port: u16,
}

impl Sci {
    /// As frames carry it.
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

/// The number of an association in its channel, 0 to 3 (802.1AE 9.6).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct An(u8);

impl An {
    /// The four there are.
    pub const ALL: [Self; 4] = [Self(0), Self(1), Self(2), Self(3)];

    /// An association's number, or nothing above 3.
    #[must_use]
    pub const fn new(n: u8) -> Option<Self> {
        if n < 4 { Some(Self(n)) } else { None }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Its place in a table of four.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The one that follows in a rollover: 0 behind 3.
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

/// A secure association key. It shows itself to nobody and is wiped when it is dropped.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Sak {
    octets: [u8; 32],
    len: usize,
}

impl Sak {
    /// A key of 16 or 32 octets, or nothing of another length.
    #[must_use]
    pub fn new(key: &[u8]) -> Option<Self> {
        let fits = matches!(key.len(), 16 | 32);
        fits.then(|| {
            let mut sak = Self { octets: [0; 32], len: key.len() };
            sak.octets[..key.len()].copy_from_slice(key);
            sak
        })
    }

    /// Its octets, for the machine that encrypts.
    #[must_use]
    pub(crate) fn octets(&self) -> &[u8] {
        &self.octets[..self.len]
    }

    /// How many octets it has: 16 or 32.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Never: a key has 16 octets at least.
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
    /// Its key, as long as the suite's.
    pub key: Sak,
    /// The packet number of the next frame sent, or the lowest accepted. At least 1.
    pub pn: u64,
    /// The short name of the channel's sender, which takes the SCI's place in the nonce of XPN suites
    /// (802.1AE 9.9); not used by others.
    pub ssci: u32,
    /// What the nonce of XPN suites is mixed with (802.1AE 10.7.8); not used by others.
    pub salt: [u8; 12],
}

/// A channel that is received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceiveScPlan {
    /// Its name.
    pub sci: Sci,
    /// Its associations.
    pub associations: [Option<SaPlan>; 4],
}

/// What is done with frames that do not validate (802.1AE 10.7.8, validateFrames). MAC control frames
/// are always held to `Strict`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Validate {
    /// They are discarded.
    #[default]
    Strict,
    /// They are counted and, where they can be read, delivered.
    Check,
    /// Nothing is validated: SecTAG and ICV are taken off.
    Disabled,
}

/// How a frame says whose it is (802.1AE 10.5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SciForm {
    /// It does not: the receiver has one channel alone (point to point).
    #[default]
    Implied,
    /// With its whole SCI (alwaysIncludeSCI): eight octets more.
    Explicit,
    /// By its source address, port number 1 (useES).
    EndStation,
    /// By its source address, port number 0, over EPON's single copy broadcast (useSCB).
    SingleCopyBroadcast,
}

/// How many of the first octets behind the SecTAG stay readable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfidentialityOffset {
    /// None.
    Zero,
    /// 30 octets: the addresses of IPv4. Not with XPN suites.
    Thirty,
    /// 50 octets: the addresses of IPv6. Not with XPN suites.
    Fifty,
}

impl ConfidentialityOffset {
    /// In octets.
    #[must_use]
    pub const fn octets(self) -> usize {
        match self {
            Self::Zero => 0,
            Self::Thirty => 30,
            Self::Fifty => 50,
        }
    }
}

/// Which MAC control frames (PFC, PAUSE) a port obeys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PfcAccept {
    /// Protected ones alone.
    Protected,
    /// Protected and plain ones.
    Both,
    /// Plain ones alone.
    Plain,
}

/// One SecY: what a port protects, and what it demands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SecyPlan {
    /// The suite of all its associations.
    pub suite: CipherSuite,
    /// The name of the channel it sends on.
    pub sci: Sci,
    /// How its frames say so.
    pub sci_form: SciForm,
    /// What is encrypted, or nothing for integrity alone.
    pub confidentiality: Option<ConfidentialityOffset>,
    /// Whether data that leaves is protected, and data that comes in has to be.
    pub protect_data: bool,
    /// Whether MAC control frames that leave are protected.
    pub protect_pfc: bool,
    /// Which MAC control frames are obeyed.
    pub accept_pfc: PfcAccept,
    /// What is done with data that does not validate.
    pub validate: Validate,
    /// How far a frame may be behind the latest, if replay protection is on. 0 demands strict order;
    /// up to 2^32 - 1, with XPN suites 2^30.
    pub replay_window: Option<u32>,
    /// EtherTypes that pass beside the SecY, both ways, besides EAPOL (88-8E), which always does. Never
    /// 88-08 nor 88-E5. At most [`SecyPlan::UNCONTROLLED_MAX`].
    pub uncontrolled: Vec<u16>,
    /// The association that is used for sending.
    pub encoding: An,
    /// The associations for sending.
    pub transmit: [Option<SaPlan>; 4],
    /// The packet number at which sending goes on with the next association, if that is there.
    pub rollover_at: Option<u64>,
    /// The channels that are received. At most [`SecyPlan::CHANNELS_MAX`].
    pub receive: Vec<ReceiveScPlan>,
    /// How much later a protected frame leaves. In the virtual world alone.
    pub tx_delay: Duration,
    /// How much later a protected frame is received. In the virtual world alone.
    pub rx_delay: Duration,
}

impl SecyPlan {
    /// The most channels that a SecY receives; a choice, as what it holds is set aside at the start.
    pub const CHANNELS_MAX: usize = 16;

    /// The most EtherTypes that pass beside a SecY besides EAPOL; a choice.
    pub const UNCONTROLLED_MAX: usize = 8;

    /// The widest replay window of XPN suites (10.7.8): beyond it the upper half of a packet number could
    /// not be recovered.
    pub const XPN_WINDOW_MAX: u32 = 1 << 30;

    /// A SecY as the managed objects are at the start (802.1AE 10.7), which demands of MAC control what
    /// it demands of data: both protected both ways and encrypted, all validated, in strict order.
    /// It has no association and no channel to receive yet.
    #[must_use]
    pub const fn standard(suite: CipherSuite, sci: Sci) -> Self {
        Self {
            suite,
            sci,
            sci_form: SciForm::Implied,
            confidentiality: Some(ConfidentialityOffset::Zero),
            protect_data: true,
            protect_pfc: true,
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

    /// Octets that protection adds to a frame: SecTAG and ICV, 24 or 32.
    #[must_use]
    pub const fn overhead(&self) -> u32 {
        if matches!(self.sci_form, SciForm::Explicit) { 32 } else { 24 }
    }

    /// Octets that every frame is to be given more on the line: [`SecyPlan::overhead`] where data is
    /// protected. Where MAC control alone is, its frames say themselves how long they are.
    #[must_use]
    pub const fn line_overhead(&self) -> u32 {
        if self.protect_data { self.overhead() } else { 0 }
    }
}
