//! AES-GCM by aws-lc-rs.

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
            _ => &AES_256_GCM,
        };
        UnboundKey::new(algorithm, key.octets()).ok().map(LessSafeKey::new).map(Self)
    }

    /// Encrypts `text`, authenticates it and `readable`, and writes the ICV.
    #[inline]
    pub(crate) fn seal(&self, nonce: [u8; 12], readable: &[u8], text: &mut [u8], icv: &mut [u8]) {
        let nonce = Nonce::assume_unique_for_key(nonce);
        self.0
            .seal_in_place_scatter(nonce, Aad::from(readable), text, &[], icv)
            .expect("GCM takes frames of any length there is");
    }

    /// Decrypts `text`, of which the last 16 bytes are the ICV. Returns false if it is not authentic;
    /// it is wiped then.
    #[inline]
    pub(crate) fn open(&self, nonce: [u8; 12], readable: &[u8], text: &mut [u8]) -> bool {
        self.0.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(readable), text).is_ok()
    }
}
