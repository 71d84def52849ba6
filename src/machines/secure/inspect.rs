//! Protected frames as an observer with the keys reads them: without state, so that replayed and
//! reordered frames are read, too. A port uses a [`Secy`](super::Secy).

use super::association::{Cipher, Kind, SaFault};
use super::receive::Tag;
use super::{An, CipherSuite, ConfidentialityOffset, Direction, SaPlan, Sci};
use ground::units::Mac;
use wire::EtherType;
use wire::macsec::{Channel, ICV_LEN, TAG_OFFSET};

/// Reads frames of known channels.
#[derive(Debug)]
pub struct Inspector {
    kind: Kind,
    /// Bytes after the SecTAG that are not encrypted in encrypted frames.
    offset: usize,
    keys: Vec<Key>,
}

#[derive(Debug)]
struct Key {
    sci: Sci,
    an: An,
    sa: SaPlan,
    cipher: Cipher,
}

/// A valid frame, without its protection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inspected {
    /// Addresses and contents, without SecTAG and ICV.
    pub octets: Vec<u8>,
    /// Channel of the key by which it is valid.
    pub sci: Sci,
    /// Association number.
    pub an: An,
    /// Packet number, all 64 bits with XPN suites.
    pub pn: u64,
    /// True if it was encrypted.
    pub encrypted: bool,
    /// Bytes that protection added.
    pub overhead: usize,
}

/// Checks that [`Inspector::reveal`] leaves out, beside that of the ICV.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lenience {
    /// Keys of other association numbers are tried.
    pub any_an: bool,
    /// Keys of other channels are tried, with the SCI of the frame.
    pub any_channel: bool,
}

impl Inspector {
    /// Creates an inspector without keys.
    #[must_use]
    pub fn new(suite: CipherSuite, confidentiality: Option<ConfidentialityOffset>) -> Self {
        let offset = confidentiality.map_or(0, ConfidentialityOffset::octets);
        Self { kind: Kind { suite, readable: [0; 2], foreign: None }, offset, keys: Vec::new() }
    }

    /// Adds a key. Older keys of the same association are kept.
    ///
    /// # Errors
    /// The key is not one of the suite.
    pub fn add(&mut self, sci: Sci, an: An, sa: &SaPlan) -> Result<(), SaFault> {
        let cipher = Cipher::new(&self.kind, Direction::Open, sci, sa)?;
        self.keys.push(Key { sci, an, sa: sa.clone(), cipher });
        Ok(())
    }

    /// Reads a frame without FCS; `None` for one that is not protected, or valid by no key.
    #[must_use]
    pub fn open(&self, frame: &[u8]) -> Option<Inspected> {
        let tag = self.tag(frame)?;
        // The last key is the most likely.
        let keys = self.keys.iter().rev().filter(|key| key.an == tag.an);
        let named = sci_of(&tag, frame);
        for key in keys.filter(|key| named.is_none_or(|sci| sci == key.sci)) {
            for pn in self.numbers(key, &tag) {
                // A copy for each attempt, because one that fails wipes the text.
                let mut octets = frame[..tag.end()].to_vec();
                if key.cipher.open(pn, &mut octets, self.readable(&tag)) {
                    return Some(Inspected {
                        octets: stripped(octets, &tag),
                        sci: key.sci,
                        an: key.an,
                        pn,
                        encrypted: tag.encrypted,
                        overhead: tag.front + tag.back,
                    });
                }
            }
        }
        None
    }

    /// Returns the MAC control frame in a protected frame, valid or not: what a device reads that leaves
    /// checks out. `None` if no key gives one.
    #[must_use]
    pub fn reveal(&self, frame: &[u8], lenience: Lenience) -> Option<Vec<u8>> {
        let tag = self.tag(frame)?;
        let named = sci_of(&tag, frame);
        for key in self.keys.iter().rev().filter(|key| lenience.any_an || key.an == tag.an) {
            // The SCI is part of the nonce (14.5), so the key of another channel is prepared for the frame's SCI.
            let foreign = named.filter(|sci| *sci != key.sci);
            let cipher = match foreign {
                None => None,
                Some(_) if !lenience.any_channel => continue,
                Some(sci) => Some(Cipher::new(&self.kind, Direction::Open, sci, &key.sa).ok()?),
            };
            let cipher = cipher.as_ref().unwrap_or(&key.cipher);
            for pn in self.numbers(key, &tag) {
                let octets = stripped(self.decrypted(cipher, pn, frame, &tag), &tag);
                if octets.get(TAG_OFFSET..TAG_OFFSET + 2)
                    // A wrong key gives random bytes, which are this EtherType once in 65,536 times.
                    == Some(&EtherType::MAC_CONTROL.0.to_be_bytes())
                {
                    return Some(octets);
                }
            }
        }
        None
    }

    fn tag(&self, frame: &[u8]) -> Option<Tag> {
        Tag::read(frame, self.kind.suite.is_xpn()).ok()
    }

    /// Returns the number of first bytes of a frame that are not encrypted.
    fn readable(&self, tag: &Tag) -> usize {
        let clear = if tag.encrypted { self.offset.min(tag.secure_len) } else { tag.secure_len };
        TAG_OFFSET + tag.front + clear
    }

    /// Decrypts a frame without validation.
    fn decrypted(&self, cipher: &Cipher, pn: u64, frame: &[u8], tag: &Tag) -> Vec<u8> {
        let mut octets = frame[..tag.end()].to_vec();
        let text = self.readable(tag)..tag.end() - ICV_LEN;
        // GCM encrypts by exclusive or with a key stream, and the stream is what zeros are encrypted to.
        let mut stream = octets.clone();
        stream[text.clone()].fill(0);
        cipher.seal(pn, &mut stream, text.start);
        octets[text.clone()].iter_mut().zip(&stream[text]).for_each(|(octet, key)| *octet ^= key);
        octets
    }

    /// Returns the packet numbers that a frame may have: the upper half of extended ones is that of the
    /// key's first number, or the next.
    fn numbers(&self, key: &Key, tag: &Tag) -> impl Iterator<Item = u64> + use<> {
        // Without a window there is no latest number to recover the upper half from.
        let high = if self.kind.suite.is_xpn() { key.sa.pn >> 32 } else { 0 };
        let more = u64::from(self.kind.suite.is_xpn());
        let low = u64::from(tag.pn);
        (high..=high + more).map(move |high| high << 32 | low)
    }
}

/// Returns the channel that a frame names.
fn sci_of(tag: &Tag, frame: &[u8]) -> Option<Sci> {
    let source = Mac(*frame[6..].first_chunk().expect("the SecTAG was behind the addresses"));
    match tag.channel {
        Channel::Implied => None,
        Channel::Sci([a, b, c, d, e, f, port @ ..]) => {
            Some(Sci { mac: Mac([a, b, c, d, e, f]), port: u16::from_be_bytes(port) })
        }
        // ES and SCB imply the port numbers 00-01 and 00-00 (9.5).
        Channel::EndStation => Some(Sci { mac: source, port: 1 }),
        Channel::SingleCopy => Some(Sci { mac: source, port: 0 }),
    }
}

/// Removes SecTAG and ICV.
fn stripped(mut octets: Vec<u8>, tag: &Tag) -> Vec<u8> {
    octets.truncate(tag.end() - ICV_LEN);
    octets.drain(TAG_OFFSET..TAG_OFFSET + tag.front);
    octets
}
