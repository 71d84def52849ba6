//! AES-GCM: the built-in implementation, and the interface for external ones.
//!
//! A SecY can be given external [`Ciphers`] (such as a crypto device); for each association they
//! provide a cipher or decline, and declined ones use the built-in implementation. The frames are
//! identical, byte for byte.

use core::fmt;

#[cfg(feature = "aws-lc")]
use self::aws_lc::Key;
#[cfg(not(feature = "aws-lc"))]
use self::rust_crypto::Key;
use super::Sak;
use wire::macsec::ICV_LEN;

/// Direction of a cipher; each has only one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Encrypts and generates ICVs.
    Seal,
    /// Verifies ICVs and decrypts.
    Open,
}

/// The nonce to use, and a frame with its ICV, or room for it, in its last 16 bytes.
pub type Job<'a> = ([u8; 12], &'a mut [u8]);

/// Maximum number of frames passed to a cipher at once.
pub const BATCH: usize = 32;

/// AES-GCM with one key and one direction, implemented externally. It wipes its key when it is
/// dropped.
pub trait Aead: Send {
    /// Seals or opens a frame in place: its first `readable` bytes are authenticated, and those
    /// between them and the ICV encrypted; with `None`, none are encrypted. `readable` is one of
    /// the values passed to [`Ciphers::make`].
    ///
    /// Returns false on failure: when opening, because the frame is not authentic, and then the
    /// encrypted part is wiped; when sealing, because the device failed.
    fn apply(&self, job: Job<'_>, readable: Option<usize>) -> bool;

    /// Applies [`Self::apply`] to each of up to [`BATCH`] frames. Returns a bit mask of the
    /// successful ones, the first in the lowest bit.
    fn apply_all(&self, jobs: &mut [Job<'_>], readable: Option<usize>) -> u32;
}

/// A factory of external ciphers.
pub trait Ciphers: fmt::Debug + Send + Sync {
    /// Returns the name shown in snapshots.
    fn name(&self) -> &'static str;

    /// Returns a cipher for frames with one of these numbers of `readable` bytes, and for frames
    /// that are not encrypted; `None` if it is not supported or there is no room for another.
    fn make(&self, direction: Direction, key: &Sak, readable: [usize; 2]) -> Option<Box<dyn Aead>>;
}

/// Name of the built-in implementation.
pub(super) const BUILT_IN: &str = Key::NAME;

/// AES-GCM with one key.
pub(super) enum Engine {
    /// The built-in cipher, for both directions.
    BuiltIn(Key),
    /// External cipher.
    Foreign(Box<dyn Aead>),
}

impl Engine {
    /// Creates the built-in cipher, or `None` for a key that has not 16 or 32 bytes.
    pub(super) fn built_in(key: &Sak) -> Option<Self> {
        Key::new(key).map(Self::BuiltIn)
    }

    /// Encrypts the bytes after `readable` and writes the ICV over the last 16.
    #[inline]
    pub(super) fn seal(&self, nonce: [u8; 12], frame: &mut [u8], readable: usize) {
        match self {
            Self::BuiltIn(key) => {
                let (readable, text) = frame.split_at_mut(readable);
                let (text, icv) = text.split_at_mut(text.len() - ICV_LEN);
                key.seal(nonce, readable, text, icv);
            }
            // A frame that was not sealed must not be sent, and a device fails here only without
            // memory.
            Self::Foreign(cipher) => {
                let part = part(frame.len(), readable);
                let done = cipher.apply((nonce, frame), part);
                assert!(done, "the cipher's machine failed");
            }
        }
    }

    /// Seals up to [`BATCH`] frames; `readable` bytes of each are not encrypted, or with `None`
    /// none are encrypted.
    #[inline]
    pub(super) fn seal_all(&self, jobs: &mut [Job<'_>], readable: Option<usize>) {
        match self {
            Self::BuiltIn(_) => {
                for (nonce, frame) in jobs {
                    // Integrity only: all but the ICV is readable.
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

    /// Decrypts the bytes from `readable` to the ICV, which is the last 16. Returns false if the
    /// frame is not authentic; the encrypted part is then wiped.
    #[inline]
    pub(super) fn open(&self, nonce: [u8; 12], frame: &mut [u8], readable: usize) -> bool {
        match self {
            Self::BuiltIn(key) => {
                let (readable, text) = frame.split_at_mut(readable);
                key.open(nonce, readable, text)
            }
            Self::Foreign(cipher) => {
                let part = part(frame.len(), readable);
                cipher.apply((nonce, frame), part)
            }
        }
    }
}

/// Returns the number of readable bytes of a frame of `len` bytes, ICV included; `None` if all are.
#[inline]
pub(super) fn part(len: usize, readable: usize) -> Option<usize> {
    (readable + ICV_LEN != len).then_some(readable)
}

/// AES-GCM by aws-lc-rs.
#[cfg(feature = "aws-lc")]
mod aws_lc {
    use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

    use crate::Sak;

    /// A key for both directions.
    pub(crate) struct Key(LessSafeKey);

    impl Key {
        /// Name shown in snapshots.
        pub(crate) const NAME: &str = "aws-lc-rs";

        /// Returns `None` for a key that has not 16 or 32 bytes.
        pub(crate) fn new(key: &Sak) -> Option<Self> {
            let algorithm = match key.len() {
                16 => &AES_128_GCM,
                // `UnboundKey` refuses a key of any other length.
                _ => &AES_256_GCM,
            };
            UnboundKey::new(algorithm, key.octets()).ok().map(LessSafeKey::new).map(Self)
        }

        /// Encrypts `text`, authenticates it and `readable`, and writes the ICV.
        #[inline]
        pub(crate) fn seal(
            &self,
            nonce: [u8; 12],
            readable: &[u8],
            text: &mut [u8],
            icv: &mut [u8],
        ) {
            // Unique, because a packet number is used once per key.
            let nonce = Nonce::assume_unique_for_key(nonce);
            self.0
                .seal_in_place_scatter(nonce, Aad::from(readable), text, &[], icv)
                .expect("GCM takes frames of any length there is");
        }

        /// Decrypts `text`, of which the last 16 bytes are the ICV. Returns false if it is not authentic;
        /// it is wiped then.
        #[inline]
        pub(crate) fn open(&self, nonce: [u8; 12], readable: &[u8], text: &mut [u8]) -> bool {
            self.0
                .open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(readable), text)
                .is_ok()
        }
    }
}

/// AES-GCM by the crate aes-gcm: slower than aws-lc-rs, and built in a tenth of the time.
#[cfg(any(test, not(feature = "aws-lc")))]
mod rust_crypto {
    use aes_gcm::aead::AeadInPlace;
    use aes_gcm::{Aes128Gcm, Aes256Gcm, KeyInit, Nonce, Tag};

    use crate::Sak;
    use wire::macsec::ICV_LEN;

    /// A key for both directions.
    pub(crate) enum Key {
        Aes128(Box<Aes128Gcm>),
        Aes256(Box<Aes256Gcm>),
    }

    impl Key {
        /// Name shown in snapshots.
        #[cfg_attr(
            feature = "aws-lc",
            expect(dead_code, reason = "aws-lc-rs is the built-in cipher")
        )]
        pub(crate) const NAME: &str = "aes-gcm";

        /// Returns `None` for a key that has not 16 or 32 bytes.
        pub(crate) fn new(key: &Sak) -> Option<Self> {
            match key.len() {
                16 => {
                    Aes128Gcm::new_from_slice(key.octets()).ok().map(|key| Self::Aes128(key.into()))
                }
                _ => {
                    Aes256Gcm::new_from_slice(key.octets()).ok().map(|key| Self::Aes256(key.into()))
                }
            }
        }

        /// Encrypts `text`, authenticates it and `readable`, and writes the ICV.
        pub(crate) fn seal(
            &self,
            nonce: [u8; 12],
            readable: &[u8],
            text: &mut [u8],
            icv: &mut [u8],
        ) {
            let nonce = Nonce::from_slice(&nonce);
            let tag = match self {
                Self::Aes128(key) => key.encrypt_in_place_detached(nonce, readable, text),
                Self::Aes256(key) => key.encrypt_in_place_detached(nonce, readable, text),
            };
            icv.copy_from_slice(&tag.expect("GCM takes frames of any length there is"));
        }

        /// Decrypts `text`, of which the last 16 bytes are the ICV. Returns false if it is not authentic;
        /// it is wiped then.
        pub(crate) fn open(&self, nonce: [u8; 12], readable: &[u8], text: &mut [u8]) -> bool {
            let Some(len) = text.len().checked_sub(ICV_LEN) else { return false };
            let (text, icv) = text.split_at_mut(len);
            let (nonce, tag) = (Nonce::from_slice(&nonce), Tag::from_slice(icv));
            let opened = match self {
                Self::Aes128(key) => key.decrypt_in_place_detached(nonce, readable, text, tag),
                Self::Aes256(key) => key.decrypt_in_place_detached(nonce, readable, text, tag),
            };
            // Nothing of a forged frame may be readable, as with aws-lc-rs.
            if opened.is_err() {
                text.fill(0);
                icv.fill(0);
            }
            opened.is_ok()
        }
    }
}

#[cfg(all(test, feature = "aws-lc"))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Seals a frame in three parts: readable, text, ICV.
    type Seal<'s> = &'s dyn Fn(&[u8], &mut [u8], &mut [u8]);

    proptest! {
        #[test]
        fn both_built_in_ciphers_make_the_same_frames_and_refuse_changed_ones(
            key in prop_oneof![prop::collection::vec(any::<u8>(), 16), prop::collection::vec(any::<u8>(), 32)],
            nonce in any::<[u8; 12]>(),
            frame in prop::collection::vec(any::<u8>(), ICV_LEN..200),
            readable in any::<prop::sample::Index>(),
            flipped in any::<prop::sample::Index>(),
        ) {
            let key = Sak::new(&key).unwrap();
            let (fast, small) = (aws_lc::Key::new(&key).unwrap(), rust_crypto::Key::new(&key).unwrap());
            let readable = readable.index(frame.len() - ICV_LEN + 1);
            let sealed = |seal: Seal<'_>| {
                let mut frame = frame.clone();
                let (head, text) = frame.split_at_mut(readable);
                let (text, icv) = text.split_at_mut(text.len() - ICV_LEN);
                seal(head, text, icv);
                frame
            };
            let by_fast = sealed(&|head, text, icv| fast.seal(nonce, head, text, icv));
            let by_small = sealed(&|head, text, icv| small.seal(nonce, head, text, icv));
            prop_assert_eq!(&by_fast, &by_small);

            let mut opened = by_fast.clone();
            let (head, text) = opened.split_at_mut(readable);
            prop_assert!(small.open(nonce, head, text));
            let end = frame.len() - ICV_LEN;
            prop_assert_eq!(&opened[..end], &frame[..end]);

            let mut forged = by_fast;
            let at = flipped.index(forged.len());
            forged[at] ^= 1;
            let (head, text) = forged.split_at_mut(readable);
            prop_assert!(!small.open(nonce, head, text));
            prop_assert!(text.iter().all(|octet| *octet == 0), "nothing of it can be read");
        }
    }
}
