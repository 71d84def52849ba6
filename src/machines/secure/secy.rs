//! The SecY: protection, validation, and changes.

use std::sync::Arc;

use arrayvec::ArrayVec;

use super::association::{Cipher, Kind, SaFault};
use super::receive::Receive;
use super::transmit::Transmit;
use super::{
    Accepted, An, ChangeRefused, Ciphers, ConfidentialityOffset, Direction, Discard, Refusal,
    SaPlan, Sci, SciForm, SecyChange, SecyCounters, SecyPlan, SecySnapshot,
};
use wire::macsec::{ICV_LEN, SCI_LEN, TAG_LEN, TAG_OFFSET};
use wire::{EtherType, headroom};

/// Error in a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SecyError {
    /// A transmit association is invalid.
    #[error("transmit association {0}: {1}")]
    Transmit(An, ChangeRefused),
    /// A receive association, or its channel, is invalid.
    #[error("receive channel {0}: {1}")]
    Receive(Sci, ChangeRefused),
    /// Two channels have the same SCI.
    #[error("receive channel {0}: there are two of that name")]
    DuplicateChannel(Sci),
    /// A confidentiality offset with an extended packet number suite (14.7, 14.8).
    #[error("XPN suites have no confidentiality offset")]
    Offset,
    /// The window exceeds the range of the suite's packet numbers (10.7.8).
    #[error("a replay window of an XPN suite is 0 to {}", SecyPlan::XPN_WINDOW_MAX)]
    Window,
    /// The port number is not the one implied by the form of the SCI.
    #[error("this form of SCI implies another port number")]
    SciPort,
    /// More uncontrolled EtherTypes than can be stored, or one that is not allowed.
    #[error(
        "up to {} EtherTypes are uncontrolled, none of them 0x8808 or 0x88e5",
        SecyPlan::UNCONTROLLED_MAX
    )]
    Uncontrolled,
}

/// The security entity of one port.
#[derive(Debug)]
pub struct Secy {
    kind: Kind,
    sci: Sci,
    protect_data: bool,
    protect_pfc: bool,
    protect_measurements: bool,
    pass_protected: bool,
    /// EtherTypes that bypass the SecY, EAPOL first.
    uncontrolled: ArrayVec<EtherType, { SecyPlan::UNCONTROLLED_MAX + 1 }>,
    counters: SecyCounters,
    transmit: Transmit,
    receive: Receive,
}

impl Secy {
    /// Bytes that protection adds behind a frame: the ICV.
    pub const BACK: usize = ICV_LEN;

    /// Maximum number of bytes that protection adds.
    pub const OVERHEAD_MAX: usize = TAG_LEN + SCI_LEN + ICV_LEN;

    /// Creates a SecY and initializes all keys.
    ///
    /// # Errors
    /// [`SecyError`], the first error of the plan.
    pub fn new(plan: &SecyPlan) -> Result<Self, SecyError> {
        Self::with_ciphers(plan, None)
    }

    /// Creates a SecY that prefers these external ciphers for all keys, now and later.
    ///
    /// # Errors
    /// [`SecyError`], the first error of the plan.
    pub fn with_ciphers(
        plan: &SecyPlan,
        foreign: Option<Arc<dyn Ciphers>>,
    ) -> Result<Self, SecyError> {
        check(plan)?;
        let offset = plan.confidentiality.map_or(0, ConfidentialityOffset::octets);
        // A device fixes the length of the clear part with the key; a frame has one of these two.
        let readable = [TAG_LEN, TAG_LEN + SCI_LEN].map(|tag| TAG_OFFSET + tag + offset);
        let uncontrolled = plan.uncontrolled.iter().copied().map(EtherType);
        let mut secy = Self {
            kind: Kind { suite: plan.suite, readable, foreign },
            sci: plan.sci,
            protect_data: plan.protect_data,
            protect_pfc: plan.protect_pfc,
            protect_measurements: plan.protect_measurements,
            pass_protected: plan.pass_protected,
            // Key agreement has to pass before there is a key.
            uncontrolled: core::iter::once(EtherType::EAPOL).chain(uncontrolled).collect(),
            counters: SecyCounters::default(),
            transmit: Transmit::new(plan),
            receive: Receive::new(plan),
        };
        for (an, sa) in present(&plan.transmit) {
            secy.install_transmit(an, sa).map_err(|why| SecyError::Transmit(an, why))?;
        }
        for sc in &plan.receive {
            secy.open_channel(sc.sci).map_err(|why| SecyError::Receive(sc.sci, why))?;
            for (an, sa) in present(&sc.associations) {
                let done = secy.install_receive(sc.sci, an, sa);
                done.map_err(|why| SecyError::Receive(sc.sci, why))?;
            }
        }
        Ok(secy)
    }

    /// Returns the bytes that protection adds in front: 8, or 16 with an SCI.
    #[must_use]
    #[inline]
    pub const fn front(&self) -> usize {
        self.transmit.front()
    }

    /// Returns true if a transmitted frame that begins with `head` must be protected.
    #[must_use]
    #[inline]
    pub fn protects(&self, head: &[u8]) -> bool {
        match ethertype(head) {
            Some(EtherType::MAC_CONTROL) => self.protect_pfc,
            // A frame without an EtherType cannot be protected, and then is not sent.
            None => self.protect_data,
            Some(EtherType::MACSEC) if self.pass_protected => false,
            Some(EtherType::CIM) if self.protect_measurements && !self.protect_data => {
                headroom::number_of(head).is_some_and(headroom::is_protected)
            }
            Some(other) => self.protect_data && !self.passes(other),
        }
    }

    /// Protects a frame. `room` consists of [`Secy::front`] bytes, the frame without FCS, and
    /// [`Secy::BACK`] bytes; all of it is to be sent.
    ///
    /// # Errors
    /// [`Refusal`], which is counted; the frame must not be sent, and is unchanged.
    #[inline]
    pub fn protect(&mut self, room: &mut [u8]) -> Result<(), Refusal> {
        self.transmit.protect(room).inspect_err(|&why| self.counters.refuse(why))
    }

    /// Protects up to [`BATCH`](super::BATCH) frames in order; faster if the ciphers process
    /// several at once. Returns a bit mask of the refused ones, the first in the lowest bit.
    #[inline]
    pub fn protect_all(&mut self, rooms: &mut [&mut [u8]]) -> u32 {
        let (mut refused, counters) = (0, &mut self.counters);
        self.transmit.protect_all(rooms, |n, why| {
            // A batch has 32 frames at most, one for each bit.
            refused |= 1 << n;
            counters.refuse(why);
        });
        refused
    }

    /// Counts data frames sent plain, because the port does not protect data.
    #[inline]
    pub const fn note_untagged(&mut self, frames: u64) {
        self.counters.out_pkts_untagged += frames;
    }

    /// Counts a frame that is not sent, because there is no room to protect it.
    #[inline]
    pub const fn note_too_long(&mut self) {
        self.counters.out_pkts_too_long += 1;
    }

    /// Counts a received protected frame that is discarded, because its bytes are not contiguous.
    #[inline]
    pub const fn note_overrun(&mut self) {
        self.counters.in_pkts_overrun += 1;
    }

    /// Accepts or discards a received frame, complete and without FCS. An accepted frame is
    /// decrypted in place, and its addresses are moved behind the bytes to remove from its front.
    ///
    /// # Errors
    /// [`Discard`], which is counted. The contents of the frame are then undefined.
    #[inline]
    pub fn accept(&mut self, frame: &mut [u8]) -> Result<Accepted, Discard> {
        match ethertype(frame) {
            Some(EtherType::MACSEC) => self.receive.protected(frame, &mut self.counters),
            Some(other) => {
                let beside = self.passes(other);
                self.receive.plain(other, beside, &mut self.counters)
            }
            None => {
                self.counters.in_pkts_runt += 1;
                Err(Discard::Runt)
            }
        }
    }

    /// Changes keys and their parameters. Allocates memory, unlike the processing of frames.
    ///
    /// # Errors
    /// [`ChangeRefused`]; the state is then unchanged.
    pub fn change(&mut self, change: &SecyChange) -> Result<(), ChangeRefused> {
        let found = |there: bool, an| if there { Ok(()) } else { Err(ChangeRefused::NoSa(an)) };
        match *change {
            SecyChange::InstallTransmit { an, ref sa } => {
                let live = self.transmit.associations().get(an).is_some();
                // Frames are being sent with it: a new key goes to another number, which is used then.
                if live && an == self.transmit.encoding() {
                    return Err(ChangeRefused::InUse(an));
                }
                self.install_transmit(an, sa)
            }
            SecyChange::UseTransmit(an) => found(self.transmit.encode_with(an), an),
            SecyChange::RemoveTransmit(an) => found(self.transmit.remove(an), an),
            SecyChange::InstallReceive { sci, an, ref sa } => self.install_receive(sci, an, sa),
            SecyChange::RemoveReceive { sci, an } => found(self.receive.remove(sci, an), an),
            SecyChange::RemoveChannel(sci) => {
                let there = self.receive.close_channel(sci);
                if there { Ok(()) } else { Err(ChangeRefused::NoChannel(sci)) }
            }
            SecyChange::SetLowestPn { sci, an, pn } => {
                if pn == 0 || pn > self.kind.suite.last_pn() {
                    return Err(SaFault::PacketNumber(self.kind.suite).into());
                }
                found(self.receive.raise(sci, an, pn), an)
            }
        }
    }

    /// Returns the counters and the state of the associations.
    #[must_use]
    pub fn snapshot(&self) -> SecySnapshot {
        let built_in = self.transmit.built_in() + self.receive.built_in();
        SecySnapshot {
            cipher: self.kind.name(),
            declined: if self.kind.foreign.is_some() { built_in } else { 0 },
            suite: self.kind.suite,
            counters: self.counters,
            transmit: self.transmit.snapshot(),
            encoding: self.transmit.encoding(),
            receive: self.receive.snapshot(),
        }
    }

    #[inline]
    fn passes(&self, ethertype: EtherType) -> bool {
        self.uncontrolled.contains(&ethertype)
    }

    fn install_transmit(&mut self, an: An, sa: &SaPlan) -> Result<(), ChangeRefused> {
        let cipher = Cipher::new(&self.kind, Direction::Seal, self.sci, sa)?;
        // The nonce of XPN has the SSCI and no SCI: one key and SSCI in both directions would repeat nonces.
        if self.kind.suite.is_xpn() && self.receive.shares(sa) {
            return Err(ChangeRefused::SharedSsci);
        }
        Ok(self.transmit.install(an, sa, cipher, self.kind.suite.last_pn())?)
    }

    fn install_receive(&mut self, sci: Sci, an: An, sa: &SaPlan) -> Result<(), ChangeRefused> {
        let cipher = Cipher::new(&self.kind, Direction::Open, sci, sa)?;
        // Frames of this port that are reflected would pass as a peer's.
        if sci == self.sci {
            return Err(ChangeRefused::OwnChannel(sci));
        }
        if self.kind.suite.is_xpn() && self.transmit.associations().shares(sa) {
            return Err(ChangeRefused::SharedSsci);
        }
        let room = self.receive.install(sci, an, sa, cipher)?;
        if room { Ok(()) } else { Err(ChangeRefused::Full) }
    }

    fn open_channel(&mut self, sci: Sci) -> Result<(), ChangeRefused> {
        if sci == self.sci {
            return Err(ChangeRefused::OwnChannel(sci));
        }
        self.receive.open_channel(sci).map(|_| ()).ok_or(ChangeRefused::Full)
    }
}

impl SecyCounters {
    /// Counts a frame that is not sent.
    const fn refuse(&mut self, why: Refusal) {
        match why {
            Refusal::NoSa => self.out_pkts_no_sa += 1,
            Refusal::Exhausted => self.out_pn_exhausted += 1,
            Refusal::TooShort => self.out_pkts_runt += 1,
        }
    }
}

/// Checks the parts of a plan that concern more than one association.
fn check(plan: &SecyPlan) -> Result<(), SecyError> {
    let xpn = plan.suite.is_xpn();
    let window = plan.replay_window.unwrap_or(0);
    let port = match plan.sci_form {
        SciForm::Implied | SciForm::Explicit => None,
        SciForm::EndStation => Some(1),
        SciForm::SingleCopyBroadcast => Some(0),
    };
    // PFC has a separate policy, and protected frames must not pass unchecked.
    let bad = |&ty: &u16| matches!(EtherType(ty), EtherType::MAC_CONTROL | EtherType::MACSEC);
    let passing = &plan.uncontrolled;
    if xpn && plan.confidentiality.is_some_and(|offset| offset.octets() != 0) {
        return Err(SecyError::Offset);
    }
    if xpn && window > SecyPlan::XPN_WINDOW_MAX {
        return Err(SecyError::Window);
    }
    if port.is_some_and(|port| port != plan.sci.port) {
        return Err(SecyError::SciPort);
    }
    if passing.len() > SecyPlan::UNCONTROLLED_MAX || passing.iter().any(bad) {
        return Err(SecyError::Uncontrolled);
    }
    let twice =
        |slot: usize| plan.receive[..slot].iter().any(|sc| sc.sci == plan.receive[slot].sci);
    match (0..plan.receive.len()).find(|&slot| twice(slot)) {
        Some(slot) => Err(SecyError::DuplicateChannel(plan.receive[slot].sci)),
        None => Ok(()),
    }
}

/// Returns the associations that exist.
fn present(all: &[Option<SaPlan>; 4]) -> impl Iterator<Item = (An, &SaPlan)> {
    An::ALL.into_iter().zip(all).filter_map(|(an, sa)| Some((an, sa.as_ref()?)))
}

/// Returns the type or length field after the addresses, if present.
#[inline]
fn ethertype(frame: &[u8]) -> Option<EtherType> {
    let octets: &[u8; 2] = frame.get(12..)?.first_chunk()?;
    Some(EtherType(u16::from_be_bytes(*octets)))
}
