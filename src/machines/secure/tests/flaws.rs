//! Frames that are not authentic: discarded, each with its reason, and never delivered.

use proptest::prelude::*;

use super::*;

/// Returns the number of frames that `secy` discarded for this reason.
fn counted(secy: &Secy, why: Discard) -> u64 {
    let all = secy.snapshot();
    let channels = || all.receive.iter().flatten().map(|sc| sc.counters);
    match why {
        Discard::Runt => all.counters.in_pkts_runt,
        Discard::NoTag => all.counters.in_pkts_no_tag,
        Discard::BadTag => all.counters.in_pkts_bad_tag,
        Discard::NoSa => all.counters.in_pkts_no_sa_error,
        Discard::PausePlain => all.counters.in_pause_plain,
        Discard::PauseProtected => all.counters.in_pause_protected,
        Discard::Late => channels().map(|sc| sc.in_pkts_late).sum(),
        Discard::Replayed => channels().map(|sc| sc.in_pkts_replayed).sum(),
        Discard::NotValid => channels().map(|sc| sc.in_pkts_not_valid).sum(),
    }
}

/// Returns the reason for which `secy` discards `frame`, and checks its counter.
fn refused(secy: &mut Secy, frame: &[u8]) -> Discard {
    let before = secy.snapshot();
    let why = accept(secy, frame).expect_err("not what was sent");
    let after = counted(secy, why);
    assert_ne!(secy.snapshot(), before, "{why:?} is counted");
    assert!(after > 0);
    why
}

/// One frame of each kind: data and pauses, short and long, in each form and with each offset.
fn each_kind(mut check: impl FnMut(&mut Secy, &[u8], &[u8])) {
    let offsets = [
        None,
        Some(ConfidentialityOffset::Zero),
        Some(ConfidentialityOffset::Thirty),
        Some(ConfidentialityOffset::Fifty),
    ];
    for suite in SUITES {
        for form in [SciForm::Implied, SciForm::Explicit, SciForm::EndStation] {
            for offset in offsets {
                let confidentiality = offset.filter(|at| !suite.is_xpn() || at.octets() == 0);
                for frame in [pause(), data(14), data(42), data(60), data(110)] {
                    let (mut alice, mut bob) = pair(suite, |plan| {
                        plan.confidentiality = confidentiality;
                        plan.sci_form = form;
                    });
                    let sealed = protect(&mut alice, &frame).unwrap();
                    check(&mut bob, &frame, &sealed);
                }
            }
        }
    }
}

#[test]
fn no_truncated_frame_is_delivered() {
    each_kind(|bob, frame, sealed| {
        for n in 0..sealed.len() {
            let why = refused(bob, &sealed[..n]);
            match why {
                Discard::Runt => assert!(n < 14),
                Discard::BadTag => assert!(n >= 14),
                // If the SL field is 0, a shorter frame may be well formed.
                Discard::NotValid => assert!(n >= 12 + 8 + 48 + 16),
                other => panic!("{n} octets: {other:?}"),
            }
        }
        assert_eq!(accept(bob, sealed).as_deref(), Ok(frame), "the whole frame still is");
    });
}

#[test]
fn no_longer_frame_is_delivered() {
    each_kind(|bob, frame, sealed| {
        for more in 1..20 {
            let longer = [sealed, &vec![0; more]].concat();
            if sealed[15] != 0 && longer.len() <= 60 {
                continue; // Padding.
            }
            let why = refused(bob, &longer);
            let named = if sealed[15] == 0 { Discard::NotValid } else { Discard::BadTag };
            assert_eq!(why, named);
        }
        assert_eq!(accept(bob, sealed).as_deref(), Ok(frame));
    });
}

#[test]
fn no_frame_with_a_flipped_bit_is_delivered() {
    each_kind(|bob, frame, sealed| {
        let explicit = sealed[14] & 0x20 != 0;
        for bit in 0..8 * sealed.len() {
            let mut flipped = sealed.to_vec();
            flipped[bit / 8] ^= 0x80 >> (bit % 8);
            let why = refused(bob, &flipped);
            let named: &[Discard] = match bit / 8 {
                6..12 if sealed[14] & 0x40 != 0 => &[Discard::NoSa],
                12..14 => &[Discard::NoTag],
                14 => &[Discard::BadTag, Discard::NoSa, Discard::NotValid],
                15 => &[Discard::BadTag],
                // Number 1 becomes 0, or another number.
                16..20 => &[Discard::BadTag, Discard::Late, Discard::NotValid],
                20..28 if explicit => &[Discard::NoSa],
                _ => &[Discard::NotValid],
            };
            assert!(named.contains(&why), "bit {bit}: {why:?}");
        }
        assert_eq!(accept(bob, sealed).as_deref(), Ok(frame));
    });
}

#[test]
fn each_wrong_thing_has_its_name() {
    for suite in SUITES {
        let (mut alice, _) = pair(suite, |_| {});
        let sealed = protect(&mut alice, &pause()).unwrap();
        let mirrored = || {
            let mut bob = plan(suite, BOB, ALICE);
            core::mem::swap(&mut bob.transmit, &mut bob.receive[0].associations);
            bob
        };
        let refused_by = |bob: &SecyPlan| refused(&mut Secy::new(bob).unwrap(), &sealed);
        let with = |tune: fn(&mut SaPlan)| {
            let mut bob = mirrored();
            tune(bob.receive[0].associations[0].as_mut().unwrap());
            bob
        };

        let wrong_key = with(|sa| sa.key = Sak::new(&vec![11; sa.key.len()]).unwrap());
        assert_eq!(refused_by(&wrong_key), Discard::NotValid);
        let mut wrong_sci = mirrored();
        wrong_sci.receive[0].sci.port = 2;
        assert_eq!(refused_by(&wrong_sci), Discard::NoSa);
        let mut wrong_an = mirrored();
        wrong_an.receive[0].associations.swap(0, 1);
        assert_eq!(refused_by(&wrong_an), Discard::NoSa);
        let mut nobody = mirrored();
        nobody.receive.clear();
        assert_eq!(refused_by(&nobody), Discard::NoSa);
        let old = with(|sa| sa.pn = 2);
        assert_eq!(refused_by(&old), Discard::Late);
        for wrong in [with(|sa| sa.ssci += 1), with(|sa| sa.salt[3] ^= 1)] {
            let verdict = accept(&mut Secy::new(&wrong).unwrap(), &sealed);
            let of_xpn = if suite.is_xpn() { Err(Discard::NotValid) } else { Ok(pause()) };
            assert_eq!(verdict, of_xpn, "other suites have no SSCI and no salt");
        }
        let mut zero = sealed.clone();
        zero[16..20].fill(0);
        let why = refused(&mut Secy::new(&mirrored()).unwrap(), &zero);
        assert_eq!(why, if suite.is_xpn() { Discard::Late } else { Discard::BadTag });
    }
}

#[test]
fn a_frame_that_is_thrown_back_is_nobodys() {
    for form in [SciForm::Implied, SciForm::Explicit, SciForm::EndStation] {
        let (mut alice, _) = pair(CipherSuite::GcmAes128, |plan| plan.sci_form = form);
        let sealed = protect(&mut alice, &pause()).unwrap();
        assert!(matches!(refused(&mut alice, &sealed), Discard::NoSa | Discard::NotValid));
    }
}

/// Frames that resemble a protected one, as built without the key.
fn forged() -> impl Strategy<Value = Vec<u8>> {
    let plausible = (
        proptest::sample::select(&[0x20_u8, 0x2c, 0x00, 0x0c, 0x40, 0x4c, 0x10, 0x1c][..]),
        0_u8..4,
        prop_oneof![0_u32..20, any::<u32>()],
        any::<bool>(),
        proptest::collection::vec(any::<u8>(), 2..120),
    );
    let plausible = plausible.prop_map(|(tci, number, pn, control, mut secure)| {
        if control {
            secure[..2].copy_from_slice(&[0x88, 0x08]);
        }
        let short = if secure.len() < 48 { secure.len() as u8 } else { 0 };
        let mut frame = data(12);
        frame.extend([0x88, 0xe5, tci | number, short]);
        frame.extend(pn.to_be_bytes());
        frame.extend(ALICE.octets().iter().filter(|_| tci & 0x20 != 0));
        [frame, secure, vec![0x99; 16]].concat()
    });
    let any = proptest::collection::vec(any::<u8>(), 0..140);
    let addressed = any.clone().prop_map(|behind| [data(12), behind].concat());
    prop_oneof![3 => plausible, 1 => any, 1 => addressed]
}

proptest! {
    #[test]
    fn nothing_that_is_forged_is_delivered_and_all_of_it_is_counted(
        suite in proptest::sample::select(&SUITES[..]),
        window in proptest::sample::select(&[None, Some(0), Some(100)][..]),
        frames in proptest::collection::vec(forged(), 1..30),
    ) {
        let (mut alice, mut bob) = pair(suite, |plan| plan.replay_window = window);
        for frame in &frames {
            let eapol = frame.get(12..14) == Some(&[0x88, 0x8e]);
            prop_assert_eq!(accept(&mut bob, frame).is_ok(), eapol);
        }
        let names = [
            Discard::Runt, Discard::NoTag, Discard::BadTag, Discard::NoSa, Discard::Late,
            Discard::Replayed, Discard::NotValid, Discard::PausePlain, Discard::PauseProtected,
        ];
        let eapol = frames.iter().filter(|frame| frame.get(12..14) == Some(&[0x88, 0x8e])).count();
        let discarded: u64 = names.iter().map(|&why| counted(&bob, why)).sum();
        prop_assert_eq!(discarded, (frames.len() - eapol) as u64);
        // Valid frames are still accepted.
        let sealed = protect(&mut alice, &pause()).unwrap();
        prop_assert_eq!(accept(&mut bob, &sealed), Ok(pause()));
        prop_assert!(accept(&mut bob, &sealed).is_err(), "a replay");
    }
}
