//! Checks that hold for every frame format, and tests of what the formats share.

use core::fmt::Debug;

use ground::units::Mac;

use crate::{EtherType, WireError, group};

/// Checks that `repr` is written as `octets` and read from them, and that there is neither room for
/// it nor a whole frame in any octet less.
pub(crate) fn hold<'a, R: PartialEq + Debug>(
    repr: &R,
    octets: &'a [u8],
    parse: impl Fn(&'a [u8]) -> Result<R, WireError>,
    emit: impl Fn(&R, &mut [u8]) -> Result<(), WireError>,
) {
    assert_eq!(parse(octets).as_ref(), Ok(repr));
    let mut out = vec![0xff; octets.len()];
    assert_eq!(emit(repr, &mut out), Ok(()));
    assert_eq!(out, octets);
    for n in 0..octets.len() {
        assert_eq!(parse(&octets[..n]), Err(WireError::Truncated), "{n}");
        assert_eq!(emit(repr, &mut out[..n]), Err(WireError::NoRoom), "{n}");
    }
}

/// Checks that what is written for `repr` in `len` octets is read as the same, as [`hold`] does.
pub(crate) fn round<R: PartialEq + Debug>(
    repr: &R,
    len: usize,
    parse: impl Fn(&[u8]) -> Result<R, WireError>,
    emit: impl Fn(&R, &mut [u8]) -> Result<(), WireError>,
) {
    let mut octets = vec![0xff; len];
    assert_eq!(emit(repr, &mut octets), Ok(()));
    hold(repr, &octets, parse, emit);
}

#[test]
fn the_sixteen_reserved_addresses_and_no_others_are_reserved() {
    for last in 0..=0xff {
        assert_eq!(group::is_reserved(Mac([1, 0x80, 0xc2, 0, 0, last])), last < 16, "{last}");
    }
    assert!(!group::is_reserved(Mac([1, 0x80, 0xc2, 0, 1, 0])));
    assert!(!group::is_reserved(Mac::BROADCAST));
}

#[test]
fn a_type_is_written_in_hexadecimal() {
    assert_eq!(EtherType::MAC_CONTROL.to_string(), "0x8808");
}
