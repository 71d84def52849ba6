//! AES-GCM: the built-in one, and the place for another machine's.
//!
//! A SecY is given [`Ciphers`] where there are any (a world may have a device); for each association
//! they may give a cipher or decline, and what they decline is done by the built-in one. Frames come
//! out the same, octet for octet.

use core::fmt;

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use super::Sak;
use crate::wire::macsec::ICV_LEN;

/// What a cipher is for: every one goes one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// It encrypts and makes check values.
    Seal,
    /// It checks, and decrypts.
    Open,
}

/// A frame with its check value in its last 16 octets, or room for it, and the nonce to use.
pub type Job<'a> = ([u8; 12], &'a mut [u8]);

/// The most frames that are given to a cipher at once.
pub const BATCH: usize = 32;

/// AES-GCM with one key and one way, made elsewhere. It wipes its key when it is dropped.
pub trait Aead: Send {
    /// Seals or opens a frame in place: its first `readable` octets are authenticated, and those between
    /// them and the check value encrypted; none are encrypted where that is nothing. It is one of those
    /// that [`Ciphers::make`] was told.
    ///
    /// False if that was not done: when opening, because the frame is not what was sealed, and then what
    /// was encrypted is wiped; when sealing, because the machine failed.
    fn apply(&self, job: Job<'_>, readable: Option<usize>) -> bool;

    /// As [`Self::apply`], each of up to [`BATCH`] frames. Bits of those that were done, the first in the
    /// lowest.
    fn apply_all(&self, jobs: &mut [Job<'_>], readable: Option<usize>) -> u32;
}

/// A maker of ciphers.
pub trait Ciphers: fmt::Debug + Send + Sync {
    /// What it is called in a snapshot.
    fn name(&self) -> &'static str;

    /// A cipher for the frames of which `readable` octets stay readable, one or other of them, and for
    /// those of which all do. Nothing where it has none of this kind, or no room for another.
    fn make(&self, direction: Direction, key: &Sak, readable: [usize; 2]) -> Option<Box<dyn Aead>>;
}

/// The name of the built-in one.
pub(super) const BUILT_IN: &str = "aws-lc-rs";

/// AES-GCM with one key.
pub(super) enum Engine {
    /// That of aws-lc-rs, which goes both ways.
    BuiltIn(LessSafeKey),
    /// Another machine's.
    Foreign(Box<dyn Aead>),
}

impl Engine {
    /// The built-in one, or nothing for a key that has not 16 or 32 octets.
    pub(super) fn built_in(key: &Sak) -> Option<Self> {
        let algorithm = match key.len() {
            16 => &AES_128_GCM,
            _ => &AES_256_GCM,
        };
        UnboundKey::new(algorithm, key.octets()).ok().map(LessSafeKey::new).map(Self::BuiltIn)
    }

    /// Encrypts what is behind `readable` octets and writes the check value over the last 16.
    #[inline]
    pub(super) fn seal(&self, nonce: [u8; 12], frame: &mut [u8], readable: usize) {
        match self {
            Self::BuiltIn(key) => {
                let (readable, text) = frame.split_at_mut(readable);
                let (text, icv) = text.split_at_mut(text.len() - ICV_LEN);
                let nonce = Nonce::assume_unique_for_key(nonce);
                key.seal_in_place_scatter(nonce, Aad::from(&*readable), text, &[], icv)
                    .expect("GCM takes frames of any length there is");
            }
            // What was not sealed must not be sent, and a machine that fails at this has no memory.
            Self::Foreign(cipher) => {
                let part = part(frame.len(), readable);
                let done = cipher.apply((nonce, frame), part);
                assert!(done, "the cipher's machine failed");
            }
        }
    }

    /// As [`Self::seal`], each of up to [`BATCH`] frames, of all of which `readable` octets stay so, or
    /// all of them where it is nothing.
    #[inline]
    pub(super) fn seal_all(&self, jobs: &mut [Job<'_>], readable: Option<usize>) {
        match self {
            Self::BuiltIn(_) => {
                for (nonce, frame) in jobs {
                    let readable = readable.unwrap_or(frame.len() - ICV_LEN);
                    self.seal(*nonce, frame, readable);
                }
            }
            Self::Foreign(cipher) => {
                let done = cipher.apply_all(jobs, readable).count_ones() as usize;
                assert_eq!(done, jobs.len(), "the cipher's machine failed");
            }
        }
    }

    /// Decrypts what is behind `readable` octets and before the check value, which is the last 16.
    /// False where the frame is not what was sealed; what was encrypted is then wiped.
    #[inline]
    pub(super) fn open(&self, nonce: [u8; 12], frame: &mut [u8], readable: usize) -> bool {
        match self {
            Self::BuiltIn(key) => {
                let (readable, text) = frame.split_at_mut(readable);
                let nonce = Nonce::assume_unique_for_key(nonce);
                key.open_in_place(nonce, Aad::from(&*readable), text).is_ok()
            }
            Self::Foreign(cipher) => {
                let part = part(frame.len(), readable);
                cipher.apply((nonce, frame), part)
            }
        }
    }
}

/// How much of a frame of `len` octets, check value included, stays readable, if not all does.
#[inline]
pub(super) fn part(len: usize, readable: usize) -> Option<usize> {
    (readable + ICV_LEN != len).then_some(readable)
}
