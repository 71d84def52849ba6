//! The transmit channel (802.1AE 10.5).

use arrayvec::ArrayVec;

use super::association::{Associations, Cipher, Live, SaFault, UsedKeys};
use super::cipher::part;
use super::{
    An, BATCH, ChannelSnapshot, ConfidentialityOffset, Job, SaPlan, Sci, SciForm, SecyPlan,
    TransmitCounters, TransmitSaSnapshot,
};
use wire::macsec::{self, Channel, ICV_LEN, SHORT, TAG_OFFSET};

/// Reason for not protecting a frame, which then must not be sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no transmit association.
    #[error("no association to send with")]
    NoSa,
    /// The association's packet numbers are exhausted.
    #[error("packet numbers used up")]
    Exhausted,
    /// The frame has no EtherType.
    #[error("too short")]
    TooShort,
}

/// A transmit association.
#[derive(Debug)]
pub(super) struct TransmitSa {
    cipher: Cipher,
    /// Packet number of the next frame; 0 when exhausted.
    next: u64,
    last: u64,
}

impl TransmitSa {
    /// Takes the next packet number.
    #[inline]
    fn draw(&mut self) -> Option<u64> {
        let pn = self.next;
        // 0 behind the last number, from which it never moves: numbers do not wrap (10.5.2).
        self.next = if pn == self.last { 0 } else { pn + u64::from(pn != 0) };
        (pn != 0).then_some(pn)
    }
}

impl Live for TransmitSa {
    fn next_pn(&self) -> Option<u64> {
        (self.next != 0).then_some(self.next)
    }
}

/// Parameters to seal a frame that has its SecTAG.
struct Ready {
    an: An,
    pn: u64,
    readable: usize,
}

/// The transmit channel.
#[derive(Debug)]
pub(super) struct Transmit {
    sci: Sci,
    form: SciForm,
    /// Bytes of SecTAG.
    front: usize,
    /// Bytes after the SecTAG that are not encrypted; `None` if none are encrypted.
    offset: Option<usize>,
    encoding: An,
    rollover_at: Option<u64>,
    associations: Associations<TransmitSa>,
    used: UsedKeys,
    counters: TransmitCounters,
}

impl Transmit {
    /// Creates the channel without its associations.
    pub(super) fn new(plan: &SecyPlan) -> Self {
        Self {
            sci: plan.sci,
            form: plan.sci_form,
            front: plan.overhead() as usize - ICV_LEN,
            offset: plan.confidentiality.map(ConfidentialityOffset::octets),
            encoding: plan.encoding,
            rollover_at: plan.rollover_at,
            associations: Associations::new(plan.sci),
            used: UsedKeys::new(),
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

    /// Returns the number of associations with the built-in cipher.
    pub(super) fn built_in(&self) -> u32 {
        self.associations.count(|sa| sa.cipher.is_built_in())
    }

    /// Installs an association that its caller checked against the receive associations.
    pub(super) fn install(
        &mut self,
        an: An,
        plan: &SaPlan,
        cipher: Cipher,
        last: u64,
    ) -> Result<(), SaFault> {
        self.associations.check(an, plan, &self.used)?;
        let sa = TransmitSa { cipher, next: plan.pn, last };
        self.associations.install(an, plan, sa, &mut self.used);
        Ok(())
    }

    /// Transmits with `an` from now on. Returns false if it does not exist.
    pub(super) fn encode_with(&mut self, an: An) -> bool {
        let there = self.associations.get(an).is_some();
        if there {
            self.encoding = an;
        }
        there
    }

    pub(super) fn remove(&mut self, an: An) -> bool {
        self.associations.remove(an, &mut self.used)
    }

    /// Protects the frame that starts `front` bytes into `room` and ends 16 bytes before its end.
    #[inline]
    pub(super) fn protect(&mut self, room: &mut [u8]) -> Result<(), Refusal> {
        let Ready { an, pn, readable } = self.tag(room)?;
        self.cipher(an).seal(pn, room, readable);
        Ok(())
    }

    /// Protects up to [`BATCH`] frames, and reports the reason for each refused one.
    pub(super) fn protect_all(
        &mut self,
        rooms: &mut [&mut [u8]],
        mut refused: impl FnMut(usize, Refusal),
    ) {
        let mut jobs: ArrayVec<Job<'_>, BATCH> = ArrayVec::new();
        // Common parameters of the frames in `jobs`.
        let (mut common_an, mut common_part) = (self.encoding, None);
        for (n, room) in rooms.iter_mut().enumerate() {
            let Ready { an, pn, readable } = match self.tag(room) {
                Ok(ready) => ready,
                Err(why) => {
                    refused(n, why);
                    continue;
                }
            };
            let part = part(room.len(), readable);
            // A rollover, or a frame with another clear part, ends the batch.
            if (common_an, common_part) != (an, part) {
                self.seal_all(common_an, common_part, &mut jobs);
                (common_an, common_part) = (an, part);
            }
            jobs.push((self.cipher(an).nonce(pn), room));
        }
        self.seal_all(common_an, common_part, &mut jobs);
    }

    #[inline]
    fn seal_all(&self, an: An, part: Option<usize>, jobs: &mut ArrayVec<Job<'_>, BATCH>) {
        if !jobs.is_empty() {
            self.cipher(an).seal_all(jobs, part);
            jobs.clear();
        }
    }

    #[inline]
    fn cipher(&self, an: An) -> &Cipher {
        &self.associations.get(an).expect("a number was drawn from it").cipher
    }

    /// Writes the SecTAG and clear parts of a protected frame, without encryption and ICV.
    #[inline]
    fn tag(&mut self, room: &mut [u8]) -> Result<Ready, Refusal> {
        let taken = TAG_OFFSET + self.front + ICV_LEN;
        let user = room.len().checked_sub(taken).filter(|&n| n >= 2).ok_or(Refusal::TooShort)?;
        // After the other checks: a refused frame uses up no number.
        let (an, pn) = self.draw()?;
        // The addresses move to the front, and the user data stays where it is.
        let moved: [u8; TAG_OFFSET] =
            *room[self.front..].first_chunk().expect("more than the addresses was counted");
        room[..TAG_OFFSET].copy_from_slice(&moved);
        let tag = macsec::Repr {
            channel: self.channel(&moved),
            encrypted: self.offset.is_some(),
            an: an.get(),
            // SL states lengths below 48; 0 means that the frame's length tells (9.7).
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

    /// Returns the association in use and its next packet number, after a rollover that is due.
    #[inline]
    fn draw(&mut self) -> Result<(An, u64), Refusal> {
        if let Some(threshold) = self.rollover_at {
            self.roll_over(threshold);
        }
        let sa = self.associations.get_mut(self.encoding).ok_or(Refusal::NoSa)?;
        let pn = sa.draw().ok_or(Refusal::Exhausted)?;
        Ok((self.encoding, pn))
    }

    /// Rolls over to the next association if the one in use has reached `threshold` and the next has not.
    fn roll_over(&mut self, threshold: u64) {
        // 0 is exhausted, which is behind every threshold.
        let reached = |sa: &TransmitSa| sa.next == 0 || sa.next >= threshold;
        let due = self.associations.get(self.encoding).is_some_and(reached);
        let next = self.encoding.next();
        if due && self.associations.get(next).is_some_and(|sa| !reached(sa)) {
            self.encoding = next;
        }
    }

    /// Returns the identification of the channel in this frame. A source address identifies it only
    /// if it is the channel's: a bridge's frames of other stations omit it (9.5).
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

    pub(super) fn snapshot(&self) -> ChannelSnapshot<TransmitCounters, TransmitSaSnapshot> {
        let show = |an: An| {
            let sa = self.associations.get(an)?;
            Some(TransmitSaSnapshot::new(an, an == self.encoding, sa.next_pn(), sa.last))
        };
        ChannelSnapshot { sci: self.sci, counters: self.counters, associations: An::ALL.map(show) }
    }
}
