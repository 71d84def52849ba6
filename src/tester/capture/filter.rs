//! Which frames a capture wants.

use crate::tester::plan::{Filter, Part};
use crate::wire::EtherType;

/// Offset of a frame's EtherType.
const TYPE_AT: usize = 12;

impl Filter {
    /// Whether a frame passes. One without the field, or that ends before it does, has no value
    /// there, so that only a filter that asks for *not* having one lets it pass.
    #[must_use]
    pub fn passes(&self, frame: &[u8]) -> bool {
        self.has(frame) != self.negate
    }

    fn has(&self, frame: &[u8]) -> bool {
        let part = match self.part {
            Part::Frame => Some(frame),
            Part::Tag => frame.get(TYPE_AT + 2..).filter(|_| is_tag(kind(frame, TYPE_AT))),
            Part::Packet(wanted) => packet(frame, wanted),
        };
        let at = usize::from(self.at);
        let Some(octets) = part.and_then(|p| p.get(at..at + self.value.len())) else {
            return false;
        };
        octets.iter().zip(&self.value).zip(&self.mask).all(|((o, v), m)| (o ^ v) & m == 0)
    }
}

/// The packet of a frame behind all of its tags, if it is of this type.
fn packet(frame: &[u8], wanted: EtherType) -> Option<&[u8]> {
    let mut at = TYPE_AT;
    while is_tag(kind(frame, at)) {
        at += 4;
    }
    frame.get(at + 2..).filter(|_| kind(frame, at) == Some(wanted))
}

/// The type at a place of a frame.
fn kind(frame: &[u8], at: usize) -> Option<EtherType> {
    let octets = frame.get(at..)?.first_chunk()?;
    Some(EtherType(u16::from_be_bytes(*octets)))
}

/// True if a type is that of a VLAN tag (802.1Q, 802.1ad, and what was used before it).
fn is_tag(kind: Option<EtherType>) -> bool {
    const OLDER: [u16; 3] = [0x9100, 0x9200, 0x9300];
    kind.is_some_and(|k| k == EtherType::C_TAG || k == EtherType::S_TAG || OLDER.contains(&k.0))
}
