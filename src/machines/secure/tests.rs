//! The SecY as used by its port: frames in a buffer with room, and the result at the other end.

mod ciphers;
mod cross;
mod flaws;
mod inspect;
mod numbers;
mod policy;
mod vectors;
mod window;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::*;
use ground::units::{Mac, Priority, Quanta};
use wire::pfc;

pub(super) const ALICE: Sci = Sci { mac: Mac([2, 0, 0, 0, 0, 0xa]), port: 1 };
pub(super) const BOB: Sci = Sci { mac: Mac([2, 0, 0, 0, 0, 0xb]), port: 1 };
pub(super) const SUITES: [CipherSuite; 4] = [
    CipherSuite::GcmAes128,
    CipherSuite::GcmAes256,
    CipherSuite::GcmAesXpn128,
    CipherSuite::GcmAesXpn256,
];

pub(super) fn an(n: u8) -> An {
    An::new(n).unwrap()
}

/// Returns a key of `suite`, different for each `n`.
pub(super) fn sa(suite: CipherSuite, n: u8, pn: u64) -> SaPlan {
    let key = Sak::new(&vec![n; suite.key_len()]).unwrap();
    SaPlan { key, pn, ssci: u32::from(n), salt: [n ^ 0x55; 12] }
}

/// Returns a plan that sends on `own` with key 10 at number 0, and receives `peer` with key 20.
pub(super) fn plan(suite: CipherSuite, own: Sci, peer: Sci) -> SecyPlan {
    SecyPlan {
        sci_form: SciForm::Explicit,
        transmit: [Some(sa(suite, 10, 1)), None, None, None],
        receive: vec![ReceiveScPlan {
            sci: peer,
            associations: [Some(sa(suite, 20, 1)), None, None, None],
        }],
        ..SecyPlan::standard(suite, own)
    }
}

/// Returns two ends of a link, Alice's and Bob's, after `tune` changed both plans.
pub(super) fn pair(suite: CipherSuite, tune: impl Fn(&mut SecyPlan)) -> (Secy, Secy) {
    let mut alice = plan(suite, ALICE, BOB);
    let mut bob = plan(suite, BOB, ALICE);
    core::mem::swap(&mut bob.transmit, &mut bob.receive[0].associations);
    tune(&mut alice);
    tune(&mut bob);
    (Secy::new(&alice).unwrap(), Secy::new(&bob).unwrap())
}

/// Returns a data frame from Alice of `len` bytes.
pub(super) fn data(len: usize) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..len).map(|n| n as u8).collect();
    let addressed = BOB.mac.0.into_iter().chain(ALICE.mac.0).chain([0x08, 0x00]);
    frame.iter_mut().zip(addressed).for_each(|(octet, said)| *octet = said);
    frame
}

/// Returns a PFC frame from Alice that pauses priority 3.
pub(super) fn pause() -> Vec<u8> {
    let mut repr = pfc::Repr::new(ALICE.mac);
    repr.set(Priority::new(3).unwrap(), Quanta::MAX);
    let mut frame = vec![0; repr.buffer_len()];
    repr.emit(&mut frame).unwrap();
    frame
}

/// Returns the protected `frame`.
pub(super) fn protect(secy: &mut Secy, frame: &[u8]) -> Result<Vec<u8>, Refusal> {
    let mut room = [&vec![0xee; secy.front()], frame, &[0xee; Secy::BACK]].concat();
    secy.protect(&mut room).map(|()| room)
}

/// Returns the frame that `secy` delivers.
pub(super) fn accept(secy: &mut Secy, frame: &[u8]) -> Result<Vec<u8>, Discard> {
    let mut octets = frame.to_vec();
    let Accepted { front, back } = secy.accept(&mut octets)?;
    Ok(octets[front..octets.len() - back].to_vec())
}

/// Returns the counters of the first receive channel of `secy`.
pub(super) fn received(secy: &Secy) -> ReceiveCounters {
    secy.snapshot().receive[0].unwrap().counters
}

#[test]
fn a_pause_travels_protected_and_comes_out_as_it_was() {
    for suite in SUITES {
        let (mut alice, mut bob) = pair(suite, |_| {});
        let frame = pause();
        assert!(alice.protects(&frame));
        let sealed = protect(&mut alice, &frame).unwrap();
        assert_eq!(sealed.len(), frame.len() + Secy::OVERHEAD_MAX);
        assert_eq!(sealed[..12], frame[..12], "the addresses are in front");
        assert_eq!(sealed[12..16], [0x88, 0xe5, 0x2c, 0], "48 octets need no length");
        assert_eq!(sealed[16..28], [&[0, 0, 0, 1][..], &ALICE.octets()].concat());
        assert_eq!(accept(&mut bob, &sealed), Ok(frame));
        assert_eq!(received(&bob).in_pkts_ok, 1);
        assert_eq!(received(&bob).in_octets_decrypted, 48);
        let sent = alice.snapshot().transmit;
        assert_eq!((sent.counters.out_pkts_encrypted, sent.counters.out_octets_encrypted), (1, 48));
        let shown = Some(TransmitSaSnapshot::new(An::ALL[0], true, Some(2), suite.last_pn()));
        assert_eq!(sent.associations, [shown, None, None, None]);
    }
}

#[test]
fn a_key_is_wiped_with_all_that_carries_it() {
    fn wiped_on_drop<T: ZeroizeOnDrop>(_: &T) {}
    let mut key = Sak::new(&[0xc7; 32]).unwrap();
    wiped_on_drop(&key);
    assert!(core::mem::needs_drop::<SaPlan>() && core::mem::needs_drop::<SecyChange>());
    key.zeroize();
    assert!(key.octets().iter().all(|&octet| octet == 0));
    for len in (0..40).filter(|len| ![16, 32].contains(len)) {
        assert_eq!(Sak::new(&vec![1; len]), None, "{len} octets");
    }
}

#[test]
fn nothing_shows_a_key() {
    let mut plan = plan(CipherSuite::GcmAes128, ALICE, BOB);
    plan.transmit[0].as_mut().unwrap().key = Sak::new(&[0xc7; 16]).unwrap();
    let change = SecyChange::InstallTransmit { an: an(1), sa: plan.transmit[0].clone().unwrap() };
    let secy = Secy::new(&plan).unwrap();
    for shown in [format!("{plan:?}"), format!("{change:?}"), format!("{secy:?}")] {
        // In decimal and in hexadecimal, and no bytes of its digest either.
        assert!(!shown.contains("199") && !shown.contains("c7, c7"), "{shown}");
        assert!(shown.contains("octets)") || shown.contains("Cipher(..)"), "{shown}");
    }
}
