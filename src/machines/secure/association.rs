//! Secure associations: initialized keys, the record of the keys and packet numbers used, and replay
//! protection (802.1AE 10.6.2, 10.6.5).
//!
//! The standard has only the lowest acceptable packet number: within its window a frame may arrive
//! any number of times. Here a number is accepted once, within the last [`REACH_MAX`].

use core::cmp::Ordering;
use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::cipher::{BUILT_IN, Engine};
use super::{An, CipherSuite, Ciphers, Direction, Job, SaPlan, Sak, Sci};

/// Error in an association's plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SaFault {
    /// The key does not have the length of the suite's keys.
    #[error("a key of this suite has {} octets", .0.key_len())]
    KeyLength(CipherSuite),
    /// The packet number is 0 or above the suite's last.
    #[error("packet numbers of this suite are 1 to {}", .0.last_pn())]
    PacketNumber(CipherSuite),
    /// Packet numbers from there on were already used with this key, or another association of the
    /// channel has it: two frames would be encrypted with the same nonce, which reveals both.
    #[error("this key was used already, with these packet numbers")]
    KeyReused,
    /// The record of used keys is full. A key that is not in it could be used again.
    #[error(
        "{0} keys were used since the start, and no more can be remembered; restart with new keys"
    )]
    Keys(usize),
}

/// Common parameters of the ciphers of a SecY's associations.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    pub(super) suite: CipherSuite,
    /// Number of readable bytes of an encrypted frame, with the shorter SecTAG and the longer.
    pub(super) readable: [usize; 2],
    /// External ciphers, preferred to the built-in one.
    pub(super) foreign: Option<Arc<dyn Ciphers>>,
}

impl Kind {
    /// Returns the name of the preferred ciphers.
    pub(super) fn name(&self) -> &'static str {
        self.foreign.as_ref().map_or(BUILT_IN, |foreign| foreign.name())
    }

    fn engine(&self, direction: Direction, key: &Sak) -> Option<Engine> {
        let make = |foreign: &Arc<dyn Ciphers>| foreign.make(direction, key, self.readable);
        let foreign = self.foreign.as_ref().and_then(make);
        // A device may have no room for a key; the built-in cipher makes the same frames.
        foreign.map(Engine::Foreign).or_else(|| Engine::built_in(key))
    }
}

/// An initialized key, and the fixed part of its nonces. Debug shows neither.
pub(super) struct Cipher {
    engine: Engine,
    /// First four bytes of the nonce.
    head: [u8; 4],
    /// Last eight bytes of the nonce, without the packet number.
    tail: u64,
}

impl Cipher {
    /// Creates the cipher of `sa` in the channel `sci`, after its key and packet number were
    /// checked.
    pub(super) fn new(
        kind: &Kind,
        direction: Direction,
        sci: Sci,
        sa: &SaPlan,
    ) -> Result<Self, SaFault> {
        let suite = kind.suite;
        // A receiver discards number 0 as an invalid SecTAG.
        if sa.pn == 0 || sa.pn > suite.last_pn() {
            return Err(SaFault::PacketNumber(suite));
        }
        if sa.key.len() != suite.key_len() {
            return Err(SaFault::KeyLength(suite));
        }
        let engine = kind.engine(direction, &sa.key).ok_or(SaFault::KeyLength(suite))?;
        // With 32-bit packet numbers, the number is the nonce's last four octets and the SCI the
        // others (14.5). With extended ones all of SSCI and number is XORed with the salt (14.7).
        // In both cases the number is XORed into bytes that are otherwise constant.
        let mut base = [0; 12];
        if suite.is_xpn() {
            base[..4].copy_from_slice(&sa.ssci.to_be_bytes());
            base.iter_mut().zip(sa.salt).for_each(|(octet, salt)| *octet ^= salt);
        } else {
            base[..8].copy_from_slice(&sci.octets());
        }
        let [a, b, c, d, tail @ ..] = base;
        Ok(Self { engine, head: [a, b, c, d], tail: u64::from_be_bytes(tail) })
    }

    /// Returns true for the built-in cipher.
    pub(super) const fn is_built_in(&self) -> bool {
        matches!(self.engine, Engine::BuiltIn(_))
    }

    #[inline]
    pub(super) fn nonce(&self, pn: u64) -> [u8; 12] {
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&self.head);
        nonce[4..].copy_from_slice(&(self.tail ^ pn).to_be_bytes());
        nonce
    }

    /// Encrypts the bytes after `readable` and writes the ICV over the last 16.
    #[inline]
    pub(super) fn seal(&self, pn: u64, frame: &mut [u8], readable: usize) {
        self.engine.seal(self.nonce(pn), frame, readable);
    }

    /// Seals several frames with nonces of this cipher; `readable` bytes of each are not encrypted,
    /// or none are encrypted.
    #[inline]
    pub(super) fn seal_all(&self, jobs: &mut [Job<'_>], readable: Option<usize>) {
        self.engine.seal_all(jobs, readable);
    }

    /// Decrypts the bytes from `readable` to the ICV, which is the last 16. Returns false if the
    /// frame is not authentic; the encrypted part is then wiped.
    #[inline]
    pub(super) fn open(&self, pn: u64, frame: &mut [u8], readable: usize) -> bool {
        self.engine.open(self.nonce(pn), frame, readable)
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cipher(..)")
    }
}

/// A live association.
pub(super) trait Live {
    /// Next packet number to send, or the one after the highest received; `None` after the last.
    fn next_pn(&self) -> Option<u64>;
}

/// Maximum number of keys that one direction of a port remembers. A choice: a key of GCM-AES-128 that protects the
/// shortest frames at 100 Gb/s lasts for 29 s, so these last for a year.
const KEYS_MAX: usize = 1 << 20;

/// The beginning of a key's digest, which tells keys apart without revealing them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Print(u64);

impl Print {
    fn of(key: &Sak) -> Self {
        let digest: [u8; 32] = Sha256::digest(key.octets()).into();
        Self(u64::from_be_bytes(*digest.first_chunk().expect("32 bytes")))
    }
}

/// The keys of all associations of one direction that have ended, with the first packet number that was not used with
/// each; `None` if all were. No key is forgotten, even when its channel is removed: frames protected with it would be
/// accepted again. Debug shows no digest, because a guessed key could be verified with it.
pub(super) struct UsedKeys {
    next: BTreeMap<(Sci, Print), Option<u64>>,
    max: usize,
}

impl UsedKeys {
    pub(super) const fn new() -> Self {
        Self::up_to(KEYS_MAX)
    }

    const fn up_to(max: usize) -> Self {
        Self { next: BTreeMap::new(), max }
    }
}

impl fmt::Debug for UsedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UsedKeys({} of {})", self.next.len(), self.max)
    }
}

/// A live association with its key.
struct Keyed<S> {
    sa: S,
    print: Print,
    ssci: u32,
}

/// The four associations of a channel.
pub(super) struct Associations<S> {
    sci: Sci,
    live: [Option<Keyed<S>>; 4],
}

impl<S: fmt::Debug> fmt::Debug for Associations<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.live.iter().flatten().map(|keyed| &keyed.sa)).finish()
    }
}

impl<S: Live> Associations<S> {
    pub(super) const fn new(sci: Sci) -> Self {
        Self { sci, live: [const { None }; 4] }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, an: An) -> Option<&mut S> {
        self.live[an.index()].as_mut().map(|keyed| &mut keyed.sa)
    }

    pub(super) fn get(&self, an: An) -> Option<&S> {
        self.live[an.index()].as_ref().map(|keyed| &keyed.sa)
    }

    /// Returns the number of live associations for which `holds` is true.
    pub(super) fn count(&self, holds: impl Fn(&S) -> bool) -> u32 {
        self.live.iter().flatten().filter(|keyed| holds(&keyed.sa)).count() as u32
    }

    /// Refuses a key with which continuing as `plan` says could repeat a packet number.
    pub(super) fn check(&self, an: An, plan: &SaPlan, used: &UsedKeys) -> Result<(), SaFault> {
        let print = Print::of(&plan.key);
        let is_same = |keyed: &&Keyed<S>| keyed.print == print;
        let others = An::ALL.into_iter().filter(|other| *other != an);
        // Two live associations of one key would draw the same numbers. One that has ended may be continued behind its
        // last.
        if others.filter_map(|n| self.live[n.index()].as_ref()).any(|keyed| is_same(&keyed)) {
            return Err(SaFault::KeyReused);
        }
        let live = self.live[an.index()].as_ref().filter(is_same).map(|keyed| keyed.sa.next_pn());
        match live.or_else(|| used.next.get(&(self.sci, print)).copied()) {
            Some(next) if next.is_none_or(|next| plan.pn < next) => Err(SaFault::KeyReused),
            None if used.next.len() >= used.max => Err(SaFault::Keys(used.max)),
            _ => Ok(()),
        }
    }

    /// Returns true if a live association has this key and this SSCI.
    pub(super) fn shares(&self, plan: &SaPlan) -> bool {
        let print = Print::of(&plan.key);
        self.live.iter().flatten().any(|keyed| keyed.print == print && keyed.ssci == plan.ssci)
    }

    /// Installs `sa`, made from `plan`, replacing the previous one.
    pub(super) fn install(&mut self, an: An, plan: &SaPlan, sa: S, used: &mut UsedKeys) {
        self.remove(an, used);
        let print = Print::of(&plan.key);
        self.live[an.index()] = Some(Keyed { sa, print, ssci: plan.ssci });
    }

    /// Removes an association, whose key must not begin again below its numbers. Returns false if there is none.
    pub(super) fn remove(&mut self, an: An, used: &mut UsedKeys) -> bool {
        let removed = self.live[an.index()].take();
        if let Some(keyed) = &removed {
            used.next.insert((self.sci, keyed.print), keyed.sa.next_pn());
        }
        removed.is_some()
    }
}

/// Maximum number of packet numbers that are recorded individually; those of a wider window that
/// are further back are accepted repeatedly, which the standard allows within the whole window.
const REACH_MAX: u64 = 1 << 16;

/// Result for a packet number, if the frame is valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Age {
    /// Accepted.
    Fresh,
    /// Below the lowest acceptable number, with replay protection off.
    Delayed,
    /// Below the lowest acceptable number.
    Late,
    /// Received before.
    Replayed,
}

/// Replay window of one association.
#[derive(Debug)]
pub(super) struct Window {
    /// Maximum distance behind the next number; `None` without replay protection.
    size: Option<u64>,
    /// Lowest number that was ever acceptable.
    floor: u64,
    /// Highest accepted number; numbers below the first floor count as accepted.
    highest: u64,
    /// Highest accepted number of a MAC control frame.
    control: u64,
    /// A bit for each of the latest numbers, by number modulo their count. A whole word is cleared
    /// when its first number is reached, so one word less is usable. Empty for a window of 0.
    accepted: Box<[u64]>,
}

impl Window {
    /// Creates a window whose lowest acceptable number is `lowest`, at least 1.
    pub(super) fn new(size: Option<u32>, lowest: u64) -> Self {
        let size = size.map(u64::from);
        let words = match size {
            // Without protection, and in strict order, the highest number alone decides.
            None | Some(0) => 0,
            Some(size) => (size.min(REACH_MAX).div_ceil(64) + 1).next_power_of_two(),
        };
        let accepted = vec![0; words as usize].into();
        Self { size, floor: lowest, highest: lowest - 1, control: lowest - 1, accepted }
    }

    /// Returns the lowest acceptable number.
    #[inline]
    pub(super) fn lowest(&self) -> u64 {
        let next = self.highest.saturating_add(1);
        self.floor.max(next.saturating_sub(self.size.unwrap_or(0)))
    }

    /// Returns the number after the highest accepted one; `None` after the last.
    pub(super) const fn next(&self) -> Option<u64> {
        self.highest.checked_add(1)
    }

    /// Raises the lowest acceptable number to `lowest`, if that is higher.
    pub(super) fn raise(&mut self, lowest: u64) {
        self.floor = self.floor.max(lowest);
        // A MAC control frame below the new floor is late, too.
        self.control = self.control.max(self.floor - 1);
        if self.floor > self.highest {
            self.advance(self.floor - 1);
        }
    }

    /// Recovers a packet number from its lower half: the upper half is that of the lowest
    /// acceptable number, or the next if the halves' top bits show that the lower one wrapped
    /// (10.6.2). After the last number the result wraps to the start, which is late.
    #[inline]
    pub(super) fn recover(&self, low: u32) -> u64 {
        const TOP: u32 = 1 << 31;
        let lowest = self.lowest();
        let round = lowest as u32 & TOP != 0 && low & TOP == 0;
        let upper = ((lowest >> 32) as u32).wrapping_add(u32::from(round));
        u64::from(upper) << 32 | u64::from(low)
    }

    /// Classifies a valid data frame.
    #[inline]
    pub(super) fn age(&self, pn: u64) -> Age {
        if pn > self.highest {
            return Age::Fresh;
        }
        // Without replay protection an old frame is delivered, and counted (InPktsDelayed).
        if self.size.is_none() {
            return Age::Delayed;
        }
        if pn < self.lowest() {
            return Age::Late;
        }
        // The highest is acceptable with a window of at least 1, or without a number after it.
        let again = pn == self.highest || self.remembers(pn) && self.bit(pn);
        if again { Age::Replayed } else { Age::Fresh }
    }

    /// Classifies a valid MAC control frame: each must be later than the last.
    #[inline]
    pub(super) fn control_age(&self, pn: u64) -> Age {
        match pn.cmp(&self.control) {
            Ordering::Greater => self.age(pn),
            Ordering::Equal => Age::Replayed,
            Ordering::Less => Age::Late,
        }
    }

    /// Records the number of an accepted frame.
    #[inline]
    pub(super) fn take(&mut self, pn: u64) {
        if pn > self.highest {
            self.advance(pn);
        }
        if self.remembers(pn) {
            let word = self.word(pn);
            self.accepted[word] |= 1 << (pn % 64);
        }
    }

    /// Records the number of an accepted MAC control frame.
    #[inline]
    pub(super) fn take_control(&mut self, pn: u64) {
        self.control = pn;
        self.take(pn);
    }

    /// Moves the highest number up to `pn`, and clears the bits of the numbers that leave the
    /// record.
    #[inline]
    fn advance(&mut self, pn: u64) {
        if !self.accepted.is_empty() {
            let entered = pn / 64 - self.highest / 64;
            // Words that are entered hold bits of numbers a whole record ago.
            for back in 0..entered.min(self.accepted.len() as u64) {
                let word = self.word(pn - 64 * back);
                self.accepted[word] = 0;
            }
        }
        self.highest = pn;
    }

    /// Returns true if `pn`, which is not above the highest, still has a bit.
    #[inline]
    fn remembers(&self, pn: u64) -> bool {
        self.highest / 64 - pn / 64 < self.accepted.len() as u64
    }

    #[inline]
    fn bit(&self, pn: u64) -> bool {
        self.accepted[self.word(pn)] & 1 << (pn % 64) != 0
    }

    /// Returns the word with the bit of `pn`: the number of words is a power of two.
    #[inline]
    fn word(&self, pn: u64) -> usize {
        (pn / 64) as usize & (self.accepted.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::units::Mac;

    struct At(u64);

    impl Live for At {
        fn next_pn(&self) -> Option<u64> {
            Some(self.0)
        }
    }

    #[test]
    fn no_key_is_forgotten_and_a_full_record_refuses_new_ones() {
        let plan =
            |n: u8, pn| SaPlan { key: Sak::new(&[n; 16]).unwrap(), pn, ssci: 0, salt: [0; 12] };
        let (an, mut used) = (An::ALL[0], UsedKeys::up_to(4));
        let mut channel = Associations::new(Sci { mac: Mac([2; 6]), port: 1 });
        for n in 1..=5 {
            channel.check(an, &plan(n, 1), &used).unwrap();
            channel.install(an, &plan(n, 1), At(10), &mut used);
        }
        assert_eq!(channel.check(an, &plan(6, 1), &used), Err(SaFault::Keys(4)));
        for n in 1..=5 {
            assert_eq!(channel.check(an, &plan(n, 9), &used), Err(SaFault::KeyReused), "{n}");
            assert_eq!(channel.check(an, &plan(n, 10), &used), Ok(()), "{n}");
        }
        // Another channel's numbers are of other nonces.
        let other = Associations::<At>::new(Sci { mac: Mac([2; 6]), port: 2 });
        assert_eq!(other.check(an, &plan(1, 1), &UsedKeys::new()), Ok(()));
    }
}
