//! The SecY against another library's GCM and SecTAGs built by hand.

use aes_gcm::aead::{AeadInPlace, KeyInit};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use proptest::prelude::*;

use super::*;

pub(super) fn seal(key: &[u8], nonce: [u8; 12], readable: &[u8], text: &mut [u8]) -> Vec<u8> {
    let nonce = (&nonce).into();
    let tag = match key.len() {
        16 => {
            Aes128Gcm::new_from_slice(key).unwrap().encrypt_in_place_detached(nonce, readable, text)
        }
        _ => {
            Aes256Gcm::new_from_slice(key).unwrap().encrypt_in_place_detached(nonce, readable, text)
        }
    };
    tag.unwrap().to_vec()
}

/// Returns the frame by 802.1AE clauses 9 and 14: `association` is the one that `plan` sends with.
fn expected(plan: &SecyPlan, key: &[u8], association: &SaPlan, frame: &[u8]) -> Vec<u8> {
    let sci = plan.sci.octets();
    let pn = association.pn.to_be_bytes();
    let explicit = plan.sci_form == SciForm::Explicit;
    let mut tci = plan.encoding.get();
    tci |= match plan.sci_form {
        SciForm::Implied => 0,
        SciForm::Explicit => 0x20,
        SciForm::EndStation => 0x40,
        SciForm::SingleCopyBroadcast => 0x10,
    };
    tci |= if plan.confidentiality.is_some() { 0x0c } else { 0 };
    let user = frame.len() - 12;
    let short = if user < 48 { user as u8 } else { 0 };
    let mut out = frame[..12].to_vec();
    out.extend([0x88, 0xe5, tci, short]);
    out.extend(&pn[4..]);
    out.extend(sci.iter().filter(|_| explicit));
    let mut nonce = [0; 12];
    if plan.suite.is_xpn() {
        let plain = [&association.ssci.to_be_bytes()[..], &pn].concat();
        for (at, octet) in nonce.iter_mut().enumerate() {
            *octet = plain[at] ^ association.salt[at];
        }
    } else {
        nonce = [&sci[..], &pn[4..]].concat().try_into().unwrap();
    }
    let open = plan.confidentiality.map_or(user, |offset| offset.octets().min(user));
    out.extend(&frame[12..12 + open]);
    let mut text = frame[12 + open..].to_vec();
    let icv = seal(key, nonce, &out, &mut text);
    [out, text, icv].concat()
}

prop_compose! {
    fn settings()(
        suite in proptest::sample::select(&SUITES[..]),
        form in proptest::sample::select(&[
            (SciForm::Implied, 7), (SciForm::Explicit, 0xbeef), (SciForm::EndStation, 1),
            (SciForm::SingleCopyBroadcast, 0),
        ][..]),
        offset in proptest::sample::select(&[
            None, Some(ConfidentialityOffset::Zero), Some(ConfidentialityOffset::Thirty),
            Some(ConfidentialityOffset::Fifty),
        ][..]),
        number in 0_u8..4,
    ) -> SecyPlan {
        let (sci_form, port) = form;
        let readable = offset.is_some_and(|offset| offset.octets() != 0);
        let zero = Some(ConfidentialityOffset::Zero);
        SecyPlan {
            sci_form,
            sci: Sci { port, ..ALICE },
            confidentiality: if suite.is_xpn() && readable { zero } else { offset },
            encoding: an(number),
            ..plan(suite, ALICE, BOB)
        }
    }
}

proptest! {
    #[test]
    fn another_library_makes_the_same_frames_and_reads_ours(
        mut alice in settings(), key in any::<[u8; 32]>(), pn in 1..u64::MAX, ssci: u32,
        salt in any::<[u8; 12]>(), octets in proptest::collection::vec(any::<u8>(), 2..300),
    ) {
        let key = &key[..alice.suite.key_len()];
        let pn = if alice.suite.is_xpn() { pn } else { pn % 0xffff_ffff + 1 };
        let association = SaPlan { key: Sak::new(key).unwrap(), pn, ssci, salt };
        let mut bob = plan(alice.suite, BOB, alice.sci);
        bob.confidentiality = alice.confidentiality;
        bob.transmit = [const { None }; 4];
        bob.receive[0].associations = [const { None }; 4];
        bob.receive[0].associations[alice.encoding.index()] = Some(association.clone());
        alice.transmit = [const { None }; 4];
        alice.transmit[alice.encoding.index()] = Some(association.clone());
        alice.receive.clear();
        let frame = [&data(12)[..], &octets].concat();
        let theirs = expected(&alice, key, &association, &frame);
        let ours = protect(&mut Secy::new(&alice).unwrap(), &frame);
        prop_assert_eq!(ours.as_ref(), Ok(&theirs));
        let delivered = accept(&mut Secy::new(&bob).unwrap(), &theirs);
        prop_assert_eq!(delivered, Ok(frame));
    }
}
