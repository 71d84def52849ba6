//! Protected frames as an observer with the keys reads them.

use super::*;

/// Returns an inspector with Alice's key.
fn inspector(suite: CipherSuite, pn: u64) -> Inspector {
    let zero = Some(ConfidentialityOffset::Zero);
    let mut inspector = Inspector::new(suite, zero);
    inspector.add(ALICE, an(0), &sa(suite, 10, pn)).unwrap();
    inspector
}

#[test]
fn every_copy_of_a_frame_is_read_in_any_order() {
    for suite in SUITES {
        let (mut alice, _) = pair(suite, |_| {});
        let frames = [pause(), data(200), data(20)];
        let sealed = frames.each_ref().map(|frame| protect(&mut alice, frame).unwrap());
        let inspector = inspector(suite, 1);
        for n in [2, 0, 1, 0] {
            let read = inspector.open(&sealed[n]).unwrap();
            assert_eq!(read.octets, frames[n]);
            assert_eq!((read.sci, read.an, read.pn), (ALICE, an(0), n as u64 + 1));
            assert!(read.encrypted && read.overhead == Secy::OVERHEAD_MAX);
        }
        assert_eq!(inspector.open(&frames[0]), None, "it is not protected");
        for at in [13, 30, sealed[0].len() - 1] {
            let mut changed = sealed[0].clone();
            changed[at] ^= 1;
            assert_eq!(inspector.open(&changed), None, "octet {at}");
        }
    }
}

/// The upper half of an extended number is that of the key's first, or the next one.
#[test]
fn numbers_are_read_across_the_end_of_their_lower_half() {
    for suite in [CipherSuite::GcmAesXpn128, CipherSuite::GcmAesXpn256] {
        let first = 0x7_ffff_fffe;
        let (mut alice, _) = pair(suite, |plan| {
            plan.transmit.iter_mut().flatten().for_each(|sa| sa.pn = first);
        });
        let inspector = inspector(suite, first);
        for n in 0..4 {
            let sealed = protect(&mut alice, &pause()).unwrap();
            assert_eq!(inspector.open(&sealed).unwrap().pn, first + n);
        }
    }
}

#[test]
fn older_keys_of_an_association_are_kept() {
    let suite = CipherSuite::GcmAes128;
    let (mut alice, _) = pair(suite, |_| {});
    let old = protect(&mut alice, &pause()).unwrap();
    let mut inspector = inspector(suite, 1);
    inspector.add(ALICE, an(0), &sa(suite, 11, 1)).unwrap();
    assert_eq!(inspector.open(&old).unwrap().octets, pause());
    let wrong = inspector.add(ALICE, an(0), &sa(CipherSuite::GcmAes256, 11, 1));
    assert_eq!(wrong, Err(SaFault::KeyLength(suite)));
}

#[test]
fn a_device_without_checks_reads_what_a_secy_rejects() {
    let none = Lenience::default();
    for suite in SUITES {
        let inspector = inspector(suite, 1);
        let (mut alice, mut bob) = pair(suite, |_| {});
        let mut forged = protect(&mut alice, &pause()).unwrap();
        *forged.last_mut().unwrap() ^= 1;
        assert_eq!(accept(&mut bob, &forged), Err(Discard::NotValid));
        assert_eq!(inspector.reveal(&forged, none), Some(pause()));

        let (mut other, _) = pair(suite, |plan| {
            plan.transmit.swap(0, 2);
            plan.encoding = an(2);
        });
        let unknown = protect(&mut other, &pause()).unwrap();
        assert_eq!(inspector.reveal(&unknown, none), None);
        let any_an = Lenience { any_an: true, ..none };
        assert_eq!(inspector.reveal(&unknown, any_an), Some(pause()));

        let (mut carol, _) = pair(suite, |plan| plan.sci.mac = Mac([2, 0, 0, 0, 0, 0xc]));
        let foreign = protect(&mut carol, &pause()).unwrap();
        assert_eq!(inspector.reveal(&foreign, none), None);
        let any_channel = Lenience { any_channel: true, ..none };
        assert_eq!(inspector.reveal(&foreign, any_channel), Some(pause()));
        assert_eq!(inspector.reveal(&protect(&mut alice, &data(80)).unwrap(), none), None, "data");
    }
}

#[test]
fn no_key_is_shown() {
    let suite = CipherSuite::GcmAes128;
    let mut inspector = Inspector::new(suite, None);
    let key = Sak::new(&[0xc7; 16]).unwrap();
    inspector.add(ALICE, an(0), &SaPlan { key, ..sa(suite, 1, 1) }).unwrap();
    let shown = format!("{inspector:?}");
    assert!(!shown.contains("199") && !shown.contains("c7, c7"), "{shown}");
}
