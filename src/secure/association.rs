//! Secure associations: keys made ready, and the memory of which keys were used and how far.

use core::fmt;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};

use super::cipher::{BUILT_IN, Engine};
use super::{An, CipherSuite, Ciphers, Direction, Job, SaPlan, Sak, Sci};

/// What is wrong with an association's plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SaFault {
    /// The key is not as long as the suite's keys are.
    #[error("a key of this suite has {} octets", .0.key_len())]
    KeyLength(CipherSuite),
    /// The packet number is 0 or past the suite's last.
    #[error("packet numbers of this suite are 1 to {}", .0.last_pn())]
    PacketNumber(CipherSuite),
    /// Packet numbers from there on were used with this key already, or another association of the
    /// channel has it: two frames would be encrypted with the same nonce, which gives both away.
    #[error("this key was used already, with these packet numbers")]
    KeyReused,
}

/// What the ciphers of a SecY's associations have in common.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    pub(super) suite: CipherSuite,
    /// How much of an encrypted frame stays readable, with the shorter SecTAG and the longer.
    pub(super) readable: [usize; 2],
    /// Who makes them besides the built-in one.
    pub(super) foreign: Option<Arc<dyn Ciphers>>,
}

impl Kind {
    /// The name of whoever is asked first.
    pub(super) fn name(&self) -> &'static str {
        self.foreign.as_ref().map_or(BUILT_IN, |foreign| foreign.name())
    }

    fn engine(&self, direction: Direction, key: &Sak) -> Option<Engine> {
        let make = |foreign: &Arc<dyn Ciphers>| foreign.make(direction, key, self.readable);
        let foreign = self.foreign.as_ref().and_then(make);
        foreign.map(Engine::Foreign).or_else(|| Engine::built_in(key))
    }
}

/// A key that is ready, and what its nonces are made of. It shows neither.
pub(super) struct Cipher {
    engine: Engine,
    /// The nonce's first four octets.
    head: [u8; 4],
    /// Its last eight, without the packet number.
    tail: u64,
}

impl Cipher {
    /// `sa` as part of the channel `sci`, once its key and packet number are checked.
    pub(super) fn new(
        kind: &Kind,
        direction: Direction,
        sci: Sci,
        sa: &SaPlan,
    ) -> Result<Self, SaFault> {
        let suite = kind.suite;
        if sa.pn == 0 || sa.pn > suite.last_pn() {
            return Err(SaFault::PacketNumber(suite));
        }
        if sa.key.len() != suite.key_len() {
            return Err(SaFault::KeyLength(suite));
        }
        let engine = kind.engine(direction, &sa.key).ok_or(SaFault::KeyLength(suite))?;
        // Where the suite has 32-bit packet numbers, the number is the nonce's last four octets and
        // the SCI the others (14.5). With extended ones all of SSCI and number is mixed with the salt
        // (14.7). Both ways the number is added, without carry, to octets that never change.
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

    /// Whether it is the built-in one.
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

    /// Encrypts what is behind `readable` octets and writes the check value over the last 16.
    #[inline]
    pub(super) fn seal(&self, pn: u64, frame: &mut [u8], readable: usize) {
        self.engine.seal(self.nonce(pn), frame, readable);
    }

    /// As [`Self::seal`], frames with nonces of this cipher, of which so much stays readable, or all.
    #[inline]
    pub(super) fn seal_all(&self, jobs: &mut [Job<'_>], readable: Option<usize>) {
        self.engine.seal_all(jobs, readable);
    }

    /// Decrypts what is behind `readable` octets and before the check value, which is the last 16.
    /// False where the frame is not what was sealed; what was encrypted is then wiped.
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

/// An association that is live: the packet number it goes on with.
pub(super) trait Live {
    /// The next number sent, or the one behind the highest received; nothing behind the last.
    fn next_pn(&self) -> Option<u64>;
}

/// A key that was used, as its digest, and how far. It does not show the digest, as a key that somebody
/// thought of could be guessed from it.
#[derive(Clone, Copy)]
struct Used {
    print: [u8; 32],
    ssci: u32,
    /// The first packet number that was not used with it; nothing when all were.
    next: Option<u64>,
}

impl fmt::Debug for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Used(.., below {:?})", self.next)
    }
}

/// The four associations of a channel. A number remembers its last key, also when that was removed.
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

    /// How many are live of which this holds.
    pub(super) fn count(&self, holds: impl Fn(&S) -> bool) -> u32 {
        self.live.iter().flatten().filter(|sa| holds(sa)).count() as u32
    }

    /// Whether a key was used such that going on with it as `plan` says could repeat a number.
    pub(super) fn reuses(&self, an: An, plan: &SaPlan) -> bool {
        let print = print(&plan.key);
        An::ALL.into_iter().any(|other| {
            let at = other.index();
            let Some(used) = self.used[at].filter(|used| used.print == print) else {
                return false;
            };
            let live = self.live[at].as_ref();
            let next = live.map_or(used.next, Live::next_pn);
            (live.is_some() && other != an) || next.is_none_or(|next| plan.pn < next)
        })
    }

    /// Whether a live association has this key and this short name.
    pub(super) fn shares(&self, plan: &SaPlan) -> bool {
        let print = print(&plan.key);
        let mut used = self
            .used
            .iter()
            .zip(&self.live)
            .filter_map(|(used, live)| live.as_ref().and(used.as_ref()));
        used.any(|used| used.print == print && used.ssci == plan.ssci)
    }

    /// Puts `sa`, made of `plan`, in the place of what was there.
    pub(super) fn install(&mut self, an: An, plan: &SaPlan, sa: S) {
        let next = sa.next_pn();
        self.used[an.index()] = Some(Used { print: print(&plan.key), ssci: plan.ssci, next });
        self.live[an.index()] = Some(sa);
    }

    /// Takes an association out. False if there is none.
    pub(super) fn remove(&mut self, an: An) -> bool {
        let removed = self.live[an.index()].take();
        if let (Some(sa), Some(used)) = (&removed, &mut self.used[an.index()]) {
            used.next = sa.next_pn();
        }
        removed.is_some()
    }
}

/// What a key is recognized by, which says nothing about it.
fn print(key: &Sak) -> [u8; 32] {
    let mut print = [0; 32];
    print.copy_from_slice(digest(&SHA256, key.octets()).as_ref());
    print
}
