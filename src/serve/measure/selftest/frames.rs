//! Frames of the self-test. Each is unique, so that a frame that arrives is one that was sent.

use ground::units::{Mac, Quanta};
use wire::{mac_control, pause, pfc};

/// Local experimental EtherType (IEEE 802 9.2.3).
const EXPERIMENTAL: [u8; 2] = [0x88, 0xb5];

/// Shortest frame without FCS.
const SHORTEST: usize = 60;

/// Group of IPv4 multicast, 224.0.0.251 (RFC 1112 6.4).
const MULTICAST: Mac = Mac([0x01, 0x00, 0x5e, 0x00, 0x00, 0xfb]);

/// An address that belongs to neither end.
const FOREIGN: Mac = Mac([0x02, 0x51, 0x64, 0x74, 9, 9]);

/// Addresses of a frame, and the next number.
pub(super) struct Maker {
    pub(super) dst: Mac,
    pub(super) src: Mac,
    next: u32,
}

/// VLAN tags of a test, outer first: their name and bytes.
pub(super) const TAGS: &[(&str, &[u8])] = &[
    ("PCP 5, VID 100", &[0x81, 0x00, 0xa0, 0x64]),
    ("PCP 3, VID 0", &[0x81, 0x00, 0x60, 0x00]),
    ("PCP 7, DEI, VID 4094", &[0x81, 0x00, 0xff, 0xfe]),
];

/// Tags that begin with a service tag.
pub(super) const SERVICE_TAGS: &[(&str, &[u8])] = &[
    ("S-tag", &[0x88, 0xa8, 0x60, 0x0a]),
    ("S-tag and C-tag", &[0x88, 0xa8, 0x60, 0x0a, 0x81, 0x00, 0x60, 0x64]),
];

impl Maker {
    pub(super) const fn new(dst: Mac, src: Mac) -> Self {
        Self { dst, src, next: 0 }
    }

    /// A frame of `bytes`, FCS included, with these bytes between the addresses and the EtherType.
    pub(super) fn tagged(&mut self, dst: Mac, tags: &[u8], bytes: u32) -> Vec<u8> {
        self.next += 1;
        let mut frame = [&dst.0[..], &self.src.0, tags, &EXPERIMENTAL].concat();
        frame.extend(b"sluice selftest");
        frame.extend(self.next.to_be_bytes());
        let len = (bytes as usize).saturating_sub(4).max(SHORTEST);
        // A pattern that does not repeat at powers of two, so that swapped parts are seen.
        let fill = (frame.len()..len).map(|n| (n % 251) as u8);
        frame.extend(fill);
        frame
    }

    /// `n` frames of this size.
    pub(super) fn plain(&mut self, bytes: u32, n: usize) -> Vec<Vec<u8>> {
        (0..n).map(|_| self.tagged(self.dst, &[], bytes)).collect()
    }

    /// `n` frames with these tags.
    pub(super) fn with_tags(&mut self, tags: &[u8], bytes: u32, n: usize) -> Vec<Vec<u8>> {
        (0..n).map(|_| self.tagged(self.dst, tags, bytes)).collect()
    }

    /// Frames to addresses of three kinds, with their names.
    pub(super) fn addressed(&mut self, n: usize) -> [(&'static str, Vec<Vec<u8>>); 3] {
        let mut to = |dst| (0..n).map(|_| self.tagged(dst, &[], 64)).collect();
        [
            ("unicast to others", to(FOREIGN)),
            ("multicast", to(MULTICAST)),
            ("broadcast", to(Mac([0xff; 6]))),
        ]
    }
}

/// PFC frames that pause nothing, each with another source address in place of a number.
pub(super) fn pfc_of_nothing(n: u8) -> Vec<u8> {
    emit(|buf| pfc::Repr::new(numbered(n)).emit(buf).is_ok())
}

/// PFC frames that pause all priorities for this time.
pub(super) fn pfc_of_all(n: u8, time: Quanta) -> Vec<u8> {
    let mut repr = pfc::Repr::new(numbered(n));
    for priority in ground::units::Priority::ALL {
        repr.set(priority, time);
    }
    emit(|buf| repr.emit(buf).is_ok())
}

/// A PAUSE frame for this time.
pub(super) fn pause(n: u8, time: Quanta) -> Vec<u8> {
    emit(|buf| pause::Repr::new(numbered(n), time).emit(buf).is_ok())
}

/// A MAC control frame with an opcode that no standard assigns.
pub(super) fn unassigned(n: u8) -> Vec<u8> {
    let mut frame = pfc_of_nothing(n);
    frame[14..16].copy_from_slice(&[0x7f, 0xff]);
    frame
}

fn numbered(n: u8) -> Mac {
    Mac([0x02, 0x51, 0x64, 0x74, 2, n])
}

fn emit(write: impl FnOnce(&mut [u8]) -> bool) -> Vec<u8> {
    let mut frame = vec![0; mac_control::FRAME_LEN];
    assert!(write(&mut frame), "a MAC control frame has {} bytes", mac_control::FRAME_LEN);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_their_size_and_differ() {
        let mut maker = Maker::new(Mac([2; 6]), Mac([4; 6]));
        let frames = maker.plain(64, 3);
        assert!(frames.iter().all(|frame| frame.len() == 60));
        assert!(frames[0] != frames[1] && frames[1] != frames[2]);
        assert_eq!(maker.plain(9_018, 1)[0].len(), 9_014);
        let tagged = maker.with_tags(TAGS[0].1, 1_522, 1);
        assert_eq!((tagged[0].len(), &tagged[0][12..16]), (1_518, TAGS[0].1));
    }

    #[test]
    fn control_frames_are_what_the_standards_parsers_read() {
        let all = pfc_of_all(1, Quanta(9));
        let parsed = pfc::Repr::parse(&all).unwrap();
        assert!(ground::units::Priority::ALL.iter().all(|p| parsed.time(*p) == Some(Quanta(9))));
        assert!(pfc::Repr::parse(&pfc_of_nothing(1)).unwrap().enabled.is_empty());
        let port = Mac([6; 6]);
        assert_eq!(pause::Repr::parse(&pause(3, Quanta(7)), port).unwrap().time, Quanta(7));
        assert!(pfc::Repr::parse(&unassigned(1)).is_err());
        assert_ne!(pause(1, Quanta(1)), pause(2, Quanta(1)));
    }
}
