//! The channel that is sent on (802.1AE 10.5).

use arrayvec::ArrayVec;

use super::association::{Associations, Cipher, Live, SaFault};
use super::cipher::part;
use super::{
    An, BATCH, ConfidentialityOffset, Job, SaPlan, Sci, SciForm, SecyPlan, TransmitCounters,
    TransmitSaSnapshot, TransmitSnapshot,
};
use crate::wire::macsec::{self, Channel, ICV_LEN, SHORT, TAG_OFFSET};

/// Why a frame was not protected, and so must not be sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no association to send with.
    #[error("no association to send with")]
    NoSa,
    /// The association's packet numbers are used up.
    #[error("packet numbers used up")]
    Exhausted,
    /// The frame has no EtherType.
    #[error("too short")]
    TooShort,
}

/// One association for sending.
#[derive(Debug)]
pub(super) struct TransmitSa {
    cipher: Cipher,
    /// The next frame's number; 0 when they are used up.
    next: u64,
    last: u64,
}

impl TransmitSa {
    /// Takes the next number, for good.
    #[inline]
    fn draw(&mut self) -> Option<u64> {
        let pn = self.next;
        self.next = if pn == self.last { 0 } else { pn + u64::from(pn != 0) };
        (pn != 0).then_some(pn)
    }
}

impl Live for TransmitSa {
    fn next_pn(&self) -> Option<u64> {
        (self.next != 0).then_some(self.next)
    }
}

/// What a frame with its SecTAG is to be sealed with.
struct Ready {
    an: An,
    pn: u64,
    readable: usize,
}

/// The channel.
#[derive(Debug)]
pub(super) struct Transmit {
    sci: Sci,
    form: SciForm,
    /// Octets of SecTAG.
    front: usize,
    /// Octets behind the SecTAG that stay readable; nothing where all do.
    offset: Option<usize>,
    encoding: An,
    rollover_at: Option<u64>,
    associations: Associations<TransmitSa>,
    counters: TransmitCounters,
}

impl Transmit {
    /// The channel without its associations.
    pub(super) fn new(plan: &SecyPlan) -> Self {
        Self {
            sci: plan.sci,
            form: plan.sci_form,
            front: plan.overhead() as usize - ICV_LEN,
            offset: plan.confidentiality.map(ConfidentialityOffset::octets),
            encoding: plan.encoding,
            rollover_at: plan.rollover_at,
            associations: Associations::new(),
            counters: TransmitCounters::default(),
        }
    }

    #[inline]
    pub(super) const fn front(&self) -> usize {
        self.front
    }

    pub(super) const fn encoding(&self) -> An {
        self.encoding
    }

    pub(super) const fn associations(&self) -> &Associations<TransmitSa> {
        &self.associations
    }

    /// How many associations have the built-in cipher.
    pub(super) fn built_in(&self) -> u32 {
        self.associations.count(|sa| sa.cipher.is_built_in())
    }

    /// Installs an association that was checked by its caller against those that are received.
    pub(super) fn install(
        &mut self,
        an: An,
        plan: &SaPlan,
        cipher: Cipher,
        last: u64,
    ) -> Result<(), SaFault> {
        if self.associations.reuses(an, plan) {
            return Err(SaFault::KeyReused);
        }
        self.associations.install(an, plan, TransmitSa { cipher, next: plan.pn, last });
        Ok(())
    }

    /// Sends with `an` from now on. False if it is not there.
    pub(super) fn encode_with(&mut self, an: An) -> bool {
        let there = self.associations.get(an).is_some();
        if there {
            self.encoding = an;
        }
        there
    }

    pub(super) fn remove(&mut self, an: An) -> bool {
        self.associations.remove(an)
    }

    /// Protects the frame that starts `front` octets into `room` and ends 16 octets before its end.
    #[inline]
    pub(super) fn protect(&mut self, room: &mut [u8]) -> Result<(), Refusal> {
        let Ready { an, pn, readable } = self.tag(room)?;
        self.cipher(an).seal(pn, room, readable);
        Ok(())
    }

    /// As [`Self::protect`], each of up to [`BATCH`] frames, and says of each that was refused why.
    pub(super) fn protect_all(
        &mut self,
        rooms: &mut [&mut [u8]],
        mut refused: impl FnMut(usize, Refusal),
    ) {
        let mut jobs: ArrayVec<Job<'_>, BATCH> = ArrayVec::new();
        // What the frames in `jobs` have in common.
        let mut common = (self.encoding, None);
        for (n, room) in rooms.iter_mut().enumerate() {
            let Ready { an, pn, readable } = match self.tag(room) {
                Ok(ready) => ready,
                Err(why) => {
                    refused(n, why);
                    continue;
                }
            };
            let part = part(room.len(), readable);
            if common != (an, part) {
                self.seal_all(common, &mut jobs);
                common = (an, part);
            }
            jobs.push((self.cipher(an).nonce(pn), room));
        }
        self.seal_all(common, &mut jobs);
    }

    #[inline]
    fn seal_all(&self, (an, part): (An, Option<usize>), jobs: &mut ArrayVec<Job<'_>, BATCH>) {
        if !jobs.is_empty() {
            self.cipher(an).seal_all(jobs, part);
            jobs.clear();
        }
    }

    #[inline]
    fn cipher(&self, an: An) -> &Cipher {
        &self.associations.get(an).expect("a number was drawn from it").cipher
    }

    /// Makes all of a protected frame but what is encrypted and the check value.
    #[inline]
    fn tag(&mut self, room: &mut [u8]) -> Result<Ready, Refusal> {
        let taken = TAG_OFFSET + self.front + ICV_LEN;
        let user = room.len().checked_sub(taken).filter(|&n| n >= 2).ok_or(Refusal::TooShort)?;
        let (an, pn) = self.draw()?;
        let moved: [u8; TAG_OFFSET] =
            *room[self.front..].first_chunk().expect("more than the addresses was counted");
        room[..TAG_OFFSET].copy_from_slice(&moved);
        let tag = macsec::Repr {
            channel: self.channel(&moved),
            encrypted: self.offset.is_some(),
            an: an.get(),
            short_len: if user < SHORT { user as u8 } else { 0 },
            pn: pn as u32,
        };
        tag.emit(&mut room[TAG_OFFSET..]).expect("all fields are in range");
        let readable = TAG_OFFSET + self.front + self.offset.unwrap_or(user).min(user);
        let counters = &mut self.counters;
        if self.offset.is_some() {
            counters.out_pkts_encrypted += 1;
            counters.out_octets_encrypted += user as u64;
        } else {
            counters.out_pkts_protected += 1;
            counters.out_octets_protected += user as u64;
        }
        Ok(Ready { an, pn, readable })
    }

    /// The association that is sent with and its next number, after a rollover that is due.
    #[inline]
    fn draw(&mut self) -> Result<(An, u64), Refusal> {
        if let Some(at) = self.rollover_at {
            self.roll_over(at);
        }
        let sa = self.associations.get_mut(self.encoding).ok_or(Refusal::NoSa)?;
        let pn = sa.draw().ok_or(Refusal::Exhausted)?;
        Ok((self.encoding, pn))
    }

    /// Goes on with the next association where the one in use has reached `at` and the next has not.
    fn roll_over(&mut self, at: u64) {
        let reached = |sa: &TransmitSa| sa.next == 0 || sa.next >= at;
        let due = self.associations.get(self.encoding).is_some_and(reached);
        let next = self.encoding.next();
        if due && self.associations.get(next).is_some_and(|sa| !reached(sa)) {
            self.encoding = next;
        }
    }

    /// How this frame names the channel. A source address names it only where it is the channel's: a
    /// bridge's frames of other stations leave the name out (9.5).
    #[inline]
    fn channel(&self, addresses: &[u8; TAG_OFFSET]) -> Channel {
        let own = || addresses[6..] == self.sci.mac.0;
        match self.form {
            SciForm::Explicit => Channel::Sci(self.sci.octets()),
            SciForm::EndStation if own() => Channel::EndStation,
            SciForm::SingleCopyBroadcast if own() => Channel::SingleCopy,
            SciForm::Implied | SciForm::EndStation | SciForm::SingleCopyBroadcast => {
                Channel::Implied
            }
        }
    }

    pub(super) fn snapshot(&self) -> TransmitSnapshot {
        let show = |an: An| {
            let in_use = an == self.encoding;
            let sa = self.associations.get(an)?;
            Some(TransmitSaSnapshot { next_pn: sa.next_pn(), in_use })
        };
        TransmitSnapshot {
            sci: self.sci,
            encoding: self.encoding,
            counters: self.counters,
            associations: An::ALL.map(show),
        }
    }
}
