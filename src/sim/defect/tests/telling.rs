//! Defects in LLDP.

use super::*;
use crate::defect::Telling;

fn port(defect: Telling) -> Port {
    Port::with(Defect::Telling(defect))
}

/// An LLDPDU with its mandatory TLVs left out, an ETS configuration, and a PFC TLV of this string.
fn lldpdu(pfc: &[u8]) -> Vec<u8> {
    let mut octets = vec![1, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 9, 0x88, 0xcc];
    octets.extend([0xfe, 25, 0x00, 0x80, 0xc2, 0x09, 0, 0, 0, 0, 0]);
    octets.extend([50, 50, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0]);
    octets.extend([0xfe, 4 + pfc.len() as u8, 0x00, 0x80, 0xc2, 0x0b]);
    octets.extend(pfc);
    octets.extend([0, 0, 0, 0]);
    octets
}

fn octets(frames: &[VirtualFrame]) -> Vec<Vec<u8>> {
    frames.iter().map(|frame| frame.head().to_vec()).collect()
}

#[test]
fn a_short_tlv_is_read_beyond_its_end() {
    let short = lldpdu(&[0x08]);
    let arrived = port(Telling::ReadsBeyondTlv).receives(0, VirtualFrame::whole(&short));
    let mut longer = short;
    longer[14 + 27 + 1] = 6;
    assert_eq!(octets(&arrived), [longer]);
    for other in [lldpdu(&[0x08, 0x08]), vec![2; 60]] {
        let arrived = port(Telling::ReadsBeyondTlv).receives(0, VirtualFrame::whole(&other));
        assert_eq!(octets(&arrived), [other]);
    }
}

#[test]
fn both_dialects_are_told() {
    let own = lldpdu(&[0x08, 0x08]);
    let sent = port(Telling::BothDialects).sends(0, VirtualFrame::whole(&own));
    let [both] = &octets(&sent)[..] else { panic!("{sent:?}") };
    let end = own.len() - 4;
    assert_eq!(both[..end], own[..end]);
    assert_eq!(both[end..end + 6], [0xfe, 0x10, 0x00, 0x1b, 0x21, 0x02]);
    assert_eq!(both[end + 18..], own[end..]);
}

#[test]
fn shares_have_another_sum() {
    let own = lldpdu(&[0x08, 0x08]);
    let sent = port(Telling::WrongShares).sends(0, VirtualFrame::whole(&own));
    let mut wrong = own;
    wrong[14 + 11] = 51;
    assert_eq!(octets(&sent), [wrong]);
}
