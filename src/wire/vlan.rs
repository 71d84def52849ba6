//! VLAN tags (802.1Q clause 9): customer tags (0x8100) and service tags (0x88A8), alone or
//! stacked.
//!
//! The switch classifies by the outermost tag and skips the others only to find the network header.
//! Legacy stacking TPIDs such as 0x9100 are not treated as tags.

use core::fmt;

use super::{EtherType, WireError, be16, ethernet, room};
use ground::units::{Mac, Pcp, Vid};

/// Bytes of one tag: TPID and TCI.
pub const TAG_LEN: usize = 4;

/// Maximum number of stacked tags that [`walk`] skips. Our choice: provider bridging needs two, and
/// the bound keeps the network header within the bytes that every frame shows. Frames with more
/// tags are forwarded by their outermost tag and addresses alone.
pub const MAX_TAGS: usize = 4;

/// Offset of the tags: after the two addresses.
const TAG_OFFSET: usize = 12;

/// Kind of a tag.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tpid {
    /// Customer tag, 0x8100.
    C,
    /// Service tag, 0x88A8.
    S,
}

impl Tpid {
    /// Returns the kind of tag of `ethertype`, or `None` for any other EtherType.
    #[must_use]
    #[inline]
    pub const fn new(ethertype: EtherType) -> Option<Self> {
        match ethertype {
            EtherType::C_TAG => Some(Self::C),
            EtherType::S_TAG => Some(Self::S),
            _ => None,
        }
    }

    /// Returns the EtherType of this kind of tag.
    #[must_use]
    #[inline]
    pub const fn ethertype(self) -> EtherType {
        match self {
            Self::C => EtherType::C_TAG,
            Self::S => EtherType::S_TAG,
        }
    }
}

/// One tag: TPID and TCI.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    tag: &'a [u8; TAG_LEN],
    tpid: Tpid,
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Parses bytes from the TPID on.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 4 bytes, [`WireError::BadEthertype`] for no TPID.
    #[inline]
    pub fn new(octets: &'a [u8]) -> Result<Self, WireError> {
        let (tag, payload) = octets.split_first_chunk::<TAG_LEN>().ok_or(WireError::Truncated)?;
        let tpid = Tpid::new(EtherType(be16(tag, 0))).ok_or(WireError::BadEthertype)?;
        Ok(Self { tag, tpid, payload })
    }

    /// Returns the bytes after the tag: the next tag's TPID or the EtherType, and so on.
    #[must_use]
    #[inline]
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

fields! {
    View as v {
        /// The kind of tag.
        tpid: Tpid = v.tpid,
        /// Priority code point.
        pcp: Pcp = match Pcp::new(v.tag[2] >> 5) {
            Some(pcp) => pcp,
            None => unreachable!(),
        },
        /// Drop eligible indicator.
        dei: bool = v.tag[2] & 0x10 != 0,
        /// The twelve bits of the VLAN identifier, including 0 and 4095.
        vid_bits: u16 = be16(v.tag, 2) & 0x0fff,
    }
}

/// One tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repr {
    /// The kind of tag.
    pub tpid: Tpid,
    /// Priority code point.
    pub pcp: Pcp,
    /// Drop eligible indicator.
    pub dei: bool,
    /// VLAN, or `None` in a priority tag (VID 0), whose frame belongs to the port's VLAN.
    pub vid: Option<Vid>,
}

impl Repr {
    /// Parses the tag at the front of `octets`, which start with its TPID.
    ///
    /// # Errors
    /// As [`View::new`], and [`WireError::ReservedVid`] for 4095.
    #[inline]
    pub fn parse(octets: &[u8]) -> Result<Self, WireError> {
        let v = View::new(octets)?;
        // VID 0 makes a priority tag, whose frame belongs to the VLAN of its port (9.6).
        let vid = match v.vid_bits() {
            0 => None,
            n => Some(Vid::new(n).ok_or(WireError::ReservedVid)?),
        };
        Ok(Self { tpid: v.tpid(), pcp: v.pcp(), dei: v.dei(), vid })
    }

    /// Returns the number of bytes that [`Repr::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        TAG_LEN
    }

    /// Writes TPID and TCI at the front of `buf`.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] below 4 bytes.
    #[inline]
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), WireError> {
        *room(buf)? = self.octets();
        Ok(())
    }

    /// Returns the tag in wire format.
    #[inline]
    const fn octets(&self) -> [u8; TAG_LEN] {
        let vid = match self.vid {
            Some(vid) => vid.get(),
            None => 0,
        };
        // PCP, DEI and VID have 3, 1 and 12 bits (9.6).
        let tci = (self.pcp.get() as u16) << 13 | (self.dei as u16) << 12 | vid;
        let ([a, b], [c, d]) = (self.tpid.ethertype().0.to_be_bytes(), tci.to_be_bytes());
        [a, b, c, d]
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vid = self.vid.map_or(0, Vid::get);
        let dei = if self.dei { " dei" } else { "" };
        write!(f, "{:?}-tag vid {vid} pcp {}{dei}", self.tpid, self.pcp)
    }
}

/// Layer-2 header of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walk {
    /// Destination address.
    pub dst: Mac,
    /// Source address.
    pub src: Mac,
    /// The outermost tag, if there is one.
    pub outer: Option<Repr>,
    /// Number of tags skipped. Range 0 to [`MAX_TAGS`].
    pub tags: usize,
    /// EtherType after the tags; a TPID if there are more than [`MAX_TAGS`].
    pub ethertype: EtherType,
    /// Offset of the network header: never past the end of the frame.
    pub l3: usize,
}

/// Parses addresses, outermost tag and the EtherType after all tags.
///
/// # Errors
/// [`WireError::Truncated`] when the frame ends within the header or a tag,
/// [`WireError::ReservedVid`] if the outermost tag has VID 4095. Inner tags belong to the customer
/// and are only skipped.
#[inline]
pub fn walk(frame: &[u8]) -> Result<Walk, WireError> {
    let eth = ethernet::View::new(frame)?;
    let mut walk = Walk {
        dst: eth.dst(),
        src: eth.src(),
        outer: None,
        tags: 0,
        ethertype: eth.ethertype(),
        l3: ethernet::HEADER_LEN,
    };
    if Tpid::new(walk.ethertype).is_none() {
        return Ok(walk);
    }
    walk.outer = Some(Repr::parse(&frame[TAG_OFFSET..])?);
    // Inner tags are not decoded: they belong to the customer.
    while walk.tags < MAX_TAGS && Tpid::new(walk.ethertype).is_some() {
        let next: &[u8; 4] = frame[walk.l3..].first_chunk().ok_or(WireError::Truncated)?;
        walk.ethertype = EtherType(be16(next, 2));
        walk.l3 += TAG_LEN;
        walk.tags += 1;
    }
    Ok(walk)
}

/// Inserts `tag` before all tags of the frame whose first byte is `frame[4]`. The caller has
/// reserved [`TAG_LEN`] bytes in front; their contents are ignored.
///
/// # Errors
/// [`WireError::NoRoom`], without a change, if the two addresses are not there.
#[inline]
pub fn insert(frame: &mut [u8], tag: &Repr) -> Result<(), WireError> {
    let head: &mut [u8; TAG_OFFSET + TAG_LEN] = room(frame)?;
    // The twelve bytes of the addresses move, and not the frame behind them.
    head.copy_within(TAG_LEN.., 0);
    head[TAG_OFFSET..].copy_from_slice(&tag.octets());
    Ok(())
}

/// Removes the outermost tag: afterwards the frame starts at `frame[4]`, and the caller trims
/// [`TAG_LEN`] bytes from the front.
///
/// # Errors
/// As [`View::new`] on the tag; the state is then unchanged.
#[inline]
pub fn remove(frame: &mut [u8]) -> Result<(), WireError> {
    View::new(frame.get(TAG_OFFSET..).ok_or(WireError::Truncated)?)?;
    frame.copy_within(..TAG_OFFSET, TAG_LEN);
    Ok(())
}

/// Overwrites the outermost tag.
///
/// # Errors
/// As [`View::new`] on the old tag; the state is then unchanged.
#[inline]
pub fn replace(frame: &mut [u8], tag: &Repr) -> Result<(), WireError> {
    // What is overwritten must be a tag.
    let old = frame.get_mut(TAG_OFFSET..).ok_or(WireError::Truncated)?;
    View::new(old)?;
    tag.emit(old)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests;

    const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    const C_TAG: [u8; 4] = [0x81, 0x00, 0x7f, 0xfe];

    fn c_tag() -> Repr {
        Repr { tpid: Tpid::C, pcp: Pcp::new(3).unwrap(), dei: true, vid: Some(Vid::MAX) }
    }

    fn frame(tags: &[&[u8]]) -> Vec<u8> {
        [&ADDRESSES[..], &tags.concat(), &[0x08, 0x00], &[0x45; 8]].concat()
    }

    pub(super) fn any_tag() -> impl Strategy<Value = Repr> {
        (any::<bool>(), 0_u8..8, any::<bool>(), 0_u16..4095).prop_map(|(s, pcp, dei, vid)| Repr {
            tpid: if s { Tpid::S } else { Tpid::C },
            pcp: Pcp::new(pcp).unwrap(),
            dei,
            vid: Vid::new(vid),
        })
    }

    #[test]
    fn golden_bytes() {
        tests::hold(&c_tag(), &C_TAG, Repr::parse, Repr::emit);
        assert_eq!(c_tag().to_string(), "C-tag vid 4094 pcp 3 dei");
    }

    #[test]
    fn a_walk_through_tags_that_are_cut_is_refused() {
        let full = frame(&[&[0x88, 0xa8, 0, 1], &C_TAG]);
        for n in 0..22 {
            assert_eq!(walk(&full[..n]), Err(WireError::Truncated), "{n}");
        }
        assert_eq!(walk(&full[..22]).unwrap().l3, 22);
    }

    #[test]
    fn the_outermost_tag_classifies_and_the_others_are_walked_through() {
        let w = walk(&frame(&[])).unwrap();
        assert_eq!((w.outer, w.tags, w.ethertype, w.l3), (None, 0, EtherType::IPV4, 14));
        let w = walk(&frame(&[&C_TAG, &[0x88, 0xa8, 0, 1]])).unwrap();
        assert_eq!((w.outer, w.tags, w.ethertype, w.l3), (Some(c_tag()), 2, EtherType::IPV4, 22));
        assert_eq!((w.dst, w.src), (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2])));
    }

    #[test]
    fn a_walk_ends_after_its_bound() {
        let w = walk(&frame(&[&C_TAG[..]; MAX_TAGS + 1])).unwrap();
        assert_eq!((w.tags, w.ethertype), (MAX_TAGS, EtherType::C_TAG));
    }

    #[test]
    fn vid_0_is_a_priority_tag_and_4095_is_refused() {
        assert_eq!(Repr::parse(&[0x81, 0, 0xe0, 0]).unwrap().vid, None);
        assert_eq!(Repr::parse(&[0x81, 0, 0x0f, 0xff]), Err(WireError::ReservedVid));
        assert_eq!(walk(&frame(&[&[0x81, 0, 0xf, 0xff]])), Err(WireError::ReservedVid));
        assert!(walk(&frame(&[&C_TAG, &[0x81, 0, 0xf, 0xff]])).is_ok());
        assert_eq!(Repr::parse(&[0x91, 0, 0, 1]), Err(WireError::BadEthertype));
    }

    proptest! {
        #[test]
        fn what_is_emitted_parses_to_the_same(tag in any_tag()) {
            tests::round(&tag, TAG_LEN, Repr::parse, Repr::emit);
        }

        #[test]
        fn remove_undoes_insert_and_replace_touches_the_tag_alone(a in any_tag(), b in any_tag()) {
            let plain = frame(&[]);
            let mut tagged = [&[0; TAG_LEN][..], &plain].concat();
            insert(&mut tagged, &a).unwrap();
            prop_assert_eq!(walk(&tagged).unwrap().outer, Some(a));
            let first = tagged.clone();
            replace(&mut tagged, &b).unwrap();
            prop_assert_eq!(walk(&tagged).unwrap().outer, Some(b));
            replace(&mut tagged, &a).unwrap();
            prop_assert_eq!(&tagged, &first);
            remove(&mut tagged).unwrap();
            prop_assert_eq!(&tagged[TAG_LEN..], &plain[..]);
            let untouched = tagged.clone();
            prop_assert_eq!(remove(&mut tagged[TAG_LEN..]), Err(WireError::BadEthertype));
            prop_assert_eq!(tagged, untouched);
        }
    }
}
