//! Filters of captures.

use crate::plan::{Filter, Part};
use wire::EtherType;

const TYPE_AT: usize = 12;

impl Filter {
    /// Returns true if a frame matches. A frame without the field, or that ends before it, has no
    /// value there, so only a negated filter matches it.
    #[must_use]
    #[inline]
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

/// Returns the packet behind all tags of a frame, if it has this EtherType.
fn packet(frame: &[u8], wanted: EtherType) -> Option<&[u8]> {
    let mut at = TYPE_AT;
    while is_tag(kind(frame, at)) {
        at += 4;
    }
    frame.get(at + 2..).filter(|_| kind(frame, at) == Some(wanted))
}

/// Returns the EtherType at an offset of a frame.
fn kind(frame: &[u8], at: usize) -> Option<EtherType> {
    let octets = frame.get(at..)?.first_chunk()?;
    Some(EtherType(u16::from_be_bytes(*octets)))
}

/// True for the EtherType of a VLAN tag (802.1Q, 802.1ad, and those used before it).
fn is_tag(kind: Option<EtherType>) -> bool {
    const OLDER: [u16; 3] = [0x9100, 0x9200, 0x9300];
    kind.is_some_and(|k| k == EtherType::C_TAG || k == EtherType::S_TAG || OLDER.contains(&k.0))
}
