//! AES-GCM by the crate aes-gcm: slower than aws-lc-rs, and built in a tenth of the time.

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
    #[cfg_attr(feature = "aws-lc", expect(dead_code, reason = "aws-lc-rs is the built-in cipher"))]
    pub(crate) const NAME: &str = "aes-gcm";

    /// Returns `None` for a key that has not 16 or 32 bytes.
    pub(crate) fn new(key: &Sak) -> Option<Self> {
        match key.len() {
            16 => Aes128Gcm::new_from_slice(key.octets()).ok().map(|key| Self::Aes128(key.into())),
            _ => Aes256Gcm::new_from_slice(key.octets()).ok().map(|key| Self::Aes256(key.into())),
        }
    }

    /// Encrypts `text`, authenticates it and `readable`, and writes the ICV.
    pub(crate) fn seal(&self, nonce: [u8; 12], readable: &[u8], text: &mut [u8], icv: &mut [u8]) {
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
        if opened.is_err() {
            text.fill(0);
            icv.fill(0);
        }
        opened.is_ok()
    }
}
