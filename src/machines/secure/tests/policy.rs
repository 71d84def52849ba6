//! Protection, policy for received frames, and invalid plans.

use super::*;
use wire::headroom;

/// Returns both ends, with integrity only and `validate`.
fn readable(validate: Validate) -> (Secy, Secy) {
    pair(CipherSuite::GcmAes128, |plan| {
        plan.confidentiality = None;
        plan.validate = validate;
    })
}

#[test]
fn strictness_says_what_becomes_of_data_that_is_not_valid() {
    let forged = |frame: &[u8]| {
        let mut sealed = protect(&mut readable(Validate::Strict).0, frame).unwrap();
        *sealed.last_mut().unwrap() ^= 1;
        sealed
    };
    let frame = data(80);
    let deliver = |validate, sealed: &[u8]| {
        let mut bob = readable(validate).1;
        (accept(&mut bob, sealed), received(&bob), bob.snapshot().counters)
    };
    let ours = forged(&frame);
    let (strict, counters, _) = deliver(Validate::Strict, &ours);
    assert_eq!((strict, counters.in_pkts_not_valid), (Err(Discard::NotValid), 1));
    let (check, counters, _) = deliver(Validate::Check, &ours);
    assert_eq!((check, counters.in_pkts_invalid), (Ok(frame.clone()), 1));
    assert_eq!(counters.in_octets_validated, 68, "valid or not");
    let (disabled, counters, _) = deliver(Validate::Disabled, &ours);
    assert_eq!((disabled, counters.in_pkts_unchecked), (Ok(frame.clone()), 1));

    let mut unknown = ours;
    unknown[14] |= 3;
    let (strict, _, counters) = deliver(Validate::Strict, &unknown);
    assert_eq!((strict, counters.in_pkts_no_sa_error), (Err(Discard::NoSa), 1));
    for validate in [Validate::Check, Validate::Disabled] {
        let (lax, _, counters) = deliver(validate, &unknown);
        assert_eq!((lax, counters.in_pkts_no_sa), (Ok(frame.clone()), 1));
        let (lax, _, counters) = deliver(validate, &frame);
        assert_eq!((lax, counters.in_pkts_untagged), (Ok(frame.clone()), 1));
    }
    let (strict, _, counters) = deliver(Validate::Strict, &frame);
    assert_eq!((strict, counters.in_pkts_no_tag), (Err(Discard::NoTag), 1));
}

#[test]
fn what_cannot_be_read_is_valid_or_not_delivered() {
    for validate in [Validate::Strict, Validate::Check, Validate::Disabled] {
        let (mut alice, mut bob) = pair(CipherSuite::GcmAes128, |plan| plan.validate = validate);
        let sealed = protect(&mut alice, &data(80)).unwrap();
        let mut forged = sealed.clone();
        forged[50] ^= 1;
        assert_eq!(accept(&mut bob, &forged), Err(Discard::NotValid));
        forged[14] ^= 1;
        assert_eq!(accept(&mut bob, &forged), Err(Discard::NoSa));
        assert_eq!(accept(&mut bob, &sealed), Ok(data(80)));
    }
}

#[test]
fn pauses_are_always_held_to_strictness() {
    for validate in [Validate::Strict, Validate::Check, Validate::Disabled] {
        let (mut alice, mut bob) = readable(validate);
        let sealed = protect(&mut alice, &pause()).unwrap();
        for at in [14, 45, sealed.len() - 1] {
            let mut forged = sealed.clone();
            forged[at] ^= 1;
            let named = if at == 14 { Discard::NoSa } else { Discard::NotValid };
            assert_eq!(accept(&mut bob, &forged), Err(named), "{validate:?}");
        }
        assert_eq!(accept(&mut bob, &pause()), Err(Discard::PausePlain));
        assert_eq!(accept(&mut bob, &sealed), Ok(pause()));
        assert!(accept(&mut bob, &sealed).is_err(), "{validate:?}");
        assert_eq!(bob.snapshot().counters.in_pause_plain, 1);
    }
}

#[test]
fn a_port_obeys_the_pauses_that_it_is_told_to() {
    for (accepts, plain, protected) in [
        (PfcAccept::Protected, Err(Discard::PausePlain), Ok(pause())),
        (PfcAccept::Both, Ok(pause()), Ok(pause())),
        (PfcAccept::Plain, Ok(pause()), Err(Discard::PauseProtected)),
    ] {
        for protect_data in [true, false] {
            let (mut alice, mut bob) = pair(CipherSuite::GcmAesXpn256, |plan| {
                plan.accept_pfc = accepts;
                plan.protect_data = protect_data;
            });
            let sealed = protect(&mut alice, &pause()).unwrap();
            assert_eq!(accept(&mut bob, &pause()), plain);
            assert_eq!(accept(&mut bob, &sealed), protected);
            let counters = bob.snapshot().counters;
            assert_eq!(counters.in_pause_plain, u64::from(plain.is_err()));
            assert_eq!(counters.in_pause_protected, u64::from(protected.is_err()));
        }
    }
}

/// A tester makes frames that are wrong on purpose; a station protects what it forwards once more.
#[test]
fn a_frame_that_is_protected_already_leaves_as_it_is_if_told_so() {
    for pass_protected in [true, false] {
        let (mut alice, tester) =
            pair(CipherSuite::GcmAes128, |plan| plan.pass_protected = pass_protected);
        let sealed = protect(&mut alice, &pause()).unwrap();
        assert_eq!(tester.protects(&sealed), !pass_protected);
        assert!(tester.protects(&pause()) && tester.protects(&data(60)));
    }
}

#[test]
fn every_second_measurement_is_protected_where_data_is_not_if_told_so() {
    for (protects, data_too) in [(true, false), (false, false), (true, true)] {
        let (mut alice, mut bob) = pair(CipherSuite::GcmAes128, |plan| {
            plan.protect_data = data_too;
            plan.protect_measurements = protects;
        });
        for psn in [6, 7] {
            let request = headroom::Message::Request(headroom::Request { t1: 5, psn });
            let (src, dst) = (Mac([2, 0, 0, 0, 0, 1]), headroom::DESTINATION);
            let mut message = vec![0; 60];
            let repr = headroom::Repr { src, dst, message: request };
            repr.emit(&mut message, &headroom::Dialect::default()).unwrap();
            let expected = data_too || protects && psn == 7;
            assert_eq!(alice.protects(&message), expected, "{psn}");
            if expected {
                let sealed = protect(&mut alice, &message).unwrap();
                assert_eq!(accept(&mut bob, &sealed), Ok(message));
            } else {
                assert_eq!(accept(&mut bob, &message), Ok(message));
            }
        }
        // Other messages of the same EtherType are data.
        let cim = [&data(12)[..], &[0x89, 0xa2, 0x00], &[0xff; 45]].concat();
        assert_eq!(alice.protects(&cim), data_too);
    }
}

#[test]
fn a_port_protects_what_it_is_told_to() {
    let (eapol, lldp, tagged) = ([0x88, 0x8e], [0x88, 0xcc], [0x81, 0x00]);
    let frame = |ty: [u8; 2]| [&data(12)[..], &ty, &[0; 46]].concat();
    for protect_data in [true, false] {
        for protect_pfc in [true, false] {
            let (_, mut bob) = pair(CipherSuite::GcmAes128, |plan| {
                plan.protect_data = protect_data;
                plan.protect_pfc = protect_pfc;
                plan.uncontrolled = vec![0x88cc];
            });
            assert_eq!(bob.protects(&pause()), protect_pfc);
            assert_eq!(bob.protects(&data(60)), protect_data);
            assert_eq!(bob.protects(&frame(tagged)), protect_data);
            assert_eq!(bob.protects(&data(13)), protect_data, "and then not sent");
            for beside in [eapol, lldp] {
                assert!(!bob.protects(&frame(beside)));
                assert_eq!(accept(&mut bob, &frame(beside)), Ok(frame(beside)));
            }
            let plain = if protect_data { Err(Discard::NoTag) } else { Ok(frame(tagged)) };
            assert_eq!(accept(&mut bob, &frame(tagged)), plain);
            assert_eq!(bob.snapshot().counters.in_pkts_untagged, 0);
        }
    }
}

#[test]
fn each_form_of_sci_finds_its_channel() {
    for (form, port, front) in [
        (SciForm::Implied, 9, 8),
        (SciForm::Explicit, 9, 16),
        (SciForm::EndStation, 1, 8),
        (SciForm::SingleCopyBroadcast, 0, 8),
    ] {
        let suite = CipherSuite::GcmAes128;
        let sci = Sci { port, ..ALICE };
        let sender = SecyPlan { sci_form: form, ..plan(suite, sci, BOB) };
        let mut alice = Secy::new(&sender).unwrap();
        assert_eq!(alice.front(), front);
        let mut receiver = plan(suite, BOB, sci);
        receiver.receive[0].associations = sender.transmit.clone();
        receiver.transmit = [const { None }; 4];
        let mut bob = Secy::new(&receiver).unwrap();
        let sealed = protect(&mut alice, &data(60)).unwrap();
        assert_eq!(accept(&mut bob, &sealed), Ok(data(60)));

        // With a second channel, a frame without identification has no channel.
        receiver.receive.push(ReceiveScPlan {
            sci: Sci { port: 77, ..BOB },
            associations: [const { None }; 4],
        });
        let mut bob = Secy::new(&receiver).unwrap();
        let named = if form == SciForm::Implied { Err(Discard::NoSa) } else { Ok(data(60)) };
        assert_eq!(accept(&mut bob, &sealed), named);

        // A bridge's frames have other sources, which identify no channel.
        let mut foreign = data(60);
        foreign[11] ^= 0x40;
        let sealed = protect(&mut alice, &foreign).unwrap();
        let mut only = receiver.clone();
        only.receive.truncate(1);
        assert_eq!(accept(&mut Secy::new(&only).unwrap(), &sealed), Ok(foreign));
    }
}

#[test]
fn a_plan_that_contradicts_itself_is_refused() {
    let refused = |suite, tune: fn(&mut SecyPlan)| {
        let mut plan = plan(suite, ALICE, BOB);
        tune(&mut plan);
        Secy::new(&plan).err()
    };
    let (short, xpn) = (CipherSuite::GcmAes128, CipherSuite::GcmAesXpn256);
    let transmit = |fault| Some(SecyError::Transmit(an(0), ChangeRefused::Sa(fault)));
    let longer = |plan: &mut SecyPlan| plan.transmit[0] = Some(sa(CipherSuite::GcmAes256, 1, 1));
    assert_eq!(refused(short, longer), transmit(SaFault::KeyLength(short)));
    let zero = |plan: &mut SecyPlan| plan.transmit[0].as_mut().unwrap().pn = 0;
    assert_eq!(refused(short, zero), transmit(SaFault::PacketNumber(short)));
    let above = |plan: &mut SecyPlan| plan.transmit[0].as_mut().unwrap().pn = 1 << 32;
    assert_eq!(refused(short, above), transmit(SaFault::PacketNumber(short)));
    assert_eq!(refused(xpn, above), None);
    let offset = |plan: &mut SecyPlan| plan.confidentiality = Some(ConfidentialityOffset::Fifty);
    assert_eq!(refused(xpn, offset), Some(SecyError::Offset));
    assert_eq!(refused(short, offset), None);
    let wide = |plan: &mut SecyPlan| plan.replay_window = Some((1 << 30) + 1);
    assert_eq!(refused(xpn, wide), Some(SecyError::Window));
    assert_eq!(refused(short, wide), None);
    let station = |plan: &mut SecyPlan| {
        (plan.sci_form, plan.sci.port) = (SciForm::EndStation, 2);
    };
    assert_eq!(refused(short, station), Some(SecyError::SciPort));
    for ty in [0x8808, 0x88e5] {
        let mut bad = plan(short, ALICE, BOB);
        bad.uncontrolled = vec![ty];
        assert_eq!(Secy::new(&bad).err(), Some(SecyError::Uncontrolled));
    }
    let many = |plan: &mut SecyPlan| plan.uncontrolled = vec![0x88cc; 9];
    assert_eq!(refused(short, many), Some(SecyError::Uncontrolled));
    let twice = |plan: &mut SecyPlan| plan.receive.push(plan.receive[0].clone());
    assert_eq!(refused(short, twice), Some(SecyError::DuplicateChannel(BOB)));
    let own = |plan: &mut SecyPlan| plan.receive[0].sci = ALICE;
    let why = Some(SecyError::Receive(ALICE, ChangeRefused::OwnChannel(ALICE)));
    assert_eq!(refused(short, own), why);
    let shared = |plan: &mut SecyPlan| {
        plan.receive[0].associations[2] = plan.transmit[0].clone();
    };
    assert_eq!(refused(short, shared), None, "the SCI tells the nonces apart");
    let why = Some(SecyError::Receive(BOB, ChangeRefused::SharedSsci));
    assert_eq!(refused(xpn, shared), why);
    let crowd = |plan: &mut SecyPlan| {
        for port in 2..18 {
            let sci = Sci { port, ..BOB };
            plan.receive.push(ReceiveScPlan { sci, associations: [const { None }; 4] });
        }
    };
    let last = Sci { port: 17, ..BOB };
    assert_eq!(refused(short, crowd), Some(SecyError::Receive(last, ChangeRefused::Full)));
}

#[test]
fn channels_and_associations_come_and_go() {
    let suite = CipherSuite::GcmAes128;
    let (mut alice, mut bob) = pair(suite, |_| {});
    let third = Sci { port: 3, ..ALICE };
    let install = SecyChange::InstallReceive { sci: third, an: an(2), sa: sa(suite, 33, 1) };
    bob.change(&install).unwrap();
    assert_eq!(bob.snapshot().receive[1].unwrap().sci, third);
    bob.change(&SecyChange::RemoveReceive { sci: third, an: an(2) }).unwrap();
    let gone = SecyChange::RemoveReceive { sci: third, an: an(2) };
    assert_eq!(bob.change(&gone), Err(ChangeRefused::NoSa(an(2))));
    bob.change(&SecyChange::RemoveChannel(third)).unwrap();
    let gone = SecyChange::RemoveChannel(third);
    assert_eq!(bob.change(&gone), Err(ChangeRefused::NoChannel(third)));
    let absent = SecyChange::UseTransmit(an(3));
    assert_eq!(alice.change(&absent), Err(ChangeRefused::NoSa(an(3))));
    let sealed = protect(&mut alice, &data(60)).unwrap();
    assert_eq!(accept(&mut bob, &sealed), Ok(data(60)), "and the others were left alone");
}
