//! Secure associations: initialized keys, and the record of the keys and packet numbers used.

use core::fmt;
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

/// A used key, as its digest, and its packet numbers. Debug does not show the digest, because a
/// guessed key could be verified with it.
#[derive(Clone, Copy)]
struct Used {
    print: [u8; 32],
    ssci: u32,
    /// First packet number that was not used with it; `None` if all were.
    next: Option<u64>,
}

impl fmt::Debug for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Used(.., below {:?})", self.next)
    }
}

/// The four associations of a channel. Each number keeps its last key, even after removal.
#[derive(Debug)]
pub(super) struct Associations<S> {
    live: [Option<S>; 4],
    used: [Option<Used>; 4],
}

impl<S: Live> Associations<S> {
    pub(super) const fn new() -> Self {
        Self { live: [const { None }; 4], used: [None; 4] }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, an: An) -> Option<&mut S> {
        self.live[an.index()].as_mut()
    }

    pub(super) fn get(&self, an: An) -> Option<&S> {
        self.live[an.index()].as_ref()
    }

    /// Returns the number of live associations for which `holds` is true.
    pub(super) fn count(&self, holds: impl Fn(&S) -> bool) -> u32 {
        self.live.iter().flatten().filter(|sa| holds(sa)).count() as u32
    }

    /// Returns true if a key was used such that continuing with it as `plan` says could repeat a
    /// packet number.
    pub(super) fn reuses(&self, an: An, plan: &SaPlan) -> bool {
        let print = print(&plan.key);
        An::ALL.into_iter().any(|other| {
            let slot = other.index();
            let Some(used) = self.used[slot].filter(|used| used.print == print) else {
                return false;
            };
            let live = self.live[slot].as_ref();
            let next = live.map_or(used.next, Live::next_pn);
            // Two live associations of one key would draw the same numbers. One that has ended may be continued
            // behind its last.
            (live.is_some() && other != an) || next.is_none_or(|next| plan.pn < next)
        })
    }

    /// Returns true if a live association has this key and this SSCI.
    pub(super) fn shares(&self, plan: &SaPlan) -> bool {
        let print = print(&plan.key);
        let mut used = self
            .used
            .iter()
            .zip(&self.live)
            .filter_map(|(used, live)| live.as_ref().and(used.as_ref()));
        used.any(|used| used.print == print && used.ssci == plan.ssci)
    }

    /// Installs `sa`, made from `plan`, replacing the previous one.
    pub(super) fn install(&mut self, an: An, plan: &SaPlan, sa: S) {
        let next = sa.next_pn();
        self.used[an.index()] = Some(Used { print: print(&plan.key), ssci: plan.ssci, next });
        self.live[an.index()] = Some(sa);
    }

    /// Removes an association. Returns false if there is none.
    pub(super) fn remove(&mut self, an: An) -> bool {
        let removed = self.live[an.index()].take();
        if let (Some(sa), Some(used)) = (&removed, &mut self.used[an.index()]) {
            // Kept after the removal: the key must not begin again below it.
            used.next = sa.next_pn();
        }
        removed.is_some()
    }
}

/// Returns a digest that identifies a key without revealing it.
fn print(key: &Sak) -> [u8; 32] {
    // The record outlives the key, which is wiped.
    Sha256::digest(key.octets()).into()
}
