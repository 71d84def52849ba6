//! Packet numbers: never reused, never wrapped, and accepted within the window.

use super::*;

/// Returns both ends with `suite`, Alice's numbers starting at `pn`.
fn starting_at(suite: CipherSuite, pn: u64, tune: impl Fn(&mut SecyPlan)) -> (Secy, Secy) {
    pair(suite, |plan| {
        let alice = plan.sci == ALICE;
        let theirs = &mut plan.receive[0].associations;
        let associations = if alice { &mut plan.transmit } else { theirs };
        associations[0].as_mut().unwrap().pn = pn;
        tune(plan);
    })
}

fn next_pn(secy: &Secy, number: u8) -> Option<u64> {
    secy.snapshot().transmit.associations[usize::from(number)].unwrap().next_pn
}

#[test]
fn numbers_end_and_never_wrap() {
    for suite in SUITES {
        let (mut alice, mut bob) = starting_at(suite, suite.last_pn() - 2, |_| {});
        for _ in 0..3 {
            let sealed = protect(&mut alice, &pause()).unwrap();
            assert_eq!(accept(&mut bob, &sealed), Ok(pause()));
            assert!(accept(&mut bob, &sealed).is_err(), "once");
        }
        for n in 1..4 {
            assert_eq!(protect(&mut alice, &pause()), Err(Refusal::Exhausted));
            assert_eq!(alice.snapshot().counters.out_pn_exhausted, n);
        }
        assert_eq!(next_pn(&alice, 0), None);
        assert_eq!(alice.snapshot().transmit.counters.out_pkts_encrypted, 3);

        let next = SecyChange::InstallTransmit { an: an(1), sa: sa(suite, 30, 1) };
        alice.change(&next).unwrap();
        assert_eq!(protect(&mut alice, &pause()), Err(Refusal::Exhausted), "not before its turn");
        alice.change(&SecyChange::UseTransmit(an(1))).unwrap();
        let sci = ALICE;
        bob.change(&SecyChange::InstallReceive { sci, an: an(1), sa: sa(suite, 30, 1) }).unwrap();
        let sealed = protect(&mut alice, &pause()).unwrap();
        assert_eq!(accept(&mut bob, &sealed), Ok(pause()));
    }
}

#[test]
fn a_refused_frame_is_as_it_was_and_takes_no_number() {
    let (mut alice, _) = pair(CipherSuite::GcmAes128, |_| {});
    let mut room = vec![0xee; 16 + 13 + 16];
    assert_eq!(alice.protect(&mut room), Err(Refusal::TooShort));
    assert_eq!(alice.protect(&mut []), Err(Refusal::TooShort));
    assert_eq!(next_pn(&alice, 0), Some(1));
    alice.change(&SecyChange::RemoveTransmit(an(0))).unwrap();
    room.extend([0xee; 80]);
    assert_eq!(alice.protect(&mut room), Err(Refusal::NoSa));
    assert!(room.iter().all(|&octet| octet == 0xee));
    let counters = alice.snapshot().counters;
    assert_eq!((counters.out_pkts_runt, counters.out_pkts_no_sa), (2, 1));
}

#[test]
fn sending_rolls_over_where_the_next_association_is_fresh() {
    let suite = CipherSuite::GcmAes256;
    let (mut alice, mut bob) = pair(suite, |plan| {
        let associations =
            if plan.sci == ALICE { &mut plan.transmit } else { &mut plan.receive[0].associations };
        for n in 1..4_u8 {
            associations[usize::from(n)] = Some(sa(suite, 10 + n, 1));
        }
        plan.rollover_at = Some(11);
    });
    for number in 0..4 {
        for pn in 1..=10_u8 {
            let sealed = protect(&mut alice, &data(60)).unwrap();
            assert_eq!((sealed[14] & 3, sealed[19]), (number, pn));
            assert_eq!(accept(&mut bob, &sealed), Ok(data(60)));
        }
    }
    // Number 0 was used up to there before, so transmission stays with the last.
    let sealed = protect(&mut alice, &data(60)).unwrap();
    assert_eq!((sealed[14] & 3, sealed[19]), (3, 11));
    alice.change(&SecyChange::InstallTransmit { an: an(0), sa: sa(suite, 40, 1) }).unwrap();
    let sealed = protect(&mut alice, &data(60)).unwrap();
    assert_eq!((sealed[14] & 3, sealed[19]), (0, 1), "a fresh key's turn");
}

#[test]
fn extended_numbers_cross_the_halves_even_out_of_order() {
    let start = (7 << 32) - 8;
    let suite = CipherSuite::GcmAesXpn128;
    let (mut alice, mut bob) = starting_at(suite, start, |plan| plan.replay_window = Some(4));
    let mut sealed: Vec<_> = (0..16).map(|_| protect(&mut alice, &data(70)).unwrap()).collect();
    assert_eq!(sealed[8][16..20], [0; 4], "the lower half is 0 once");
    for pair in sealed.chunks_mut(3) {
        pair.reverse();
    }
    for frame in &sealed {
        assert_eq!(accept(&mut bob, frame), Ok(data(70)));
        assert_eq!(accept(&mut bob, frame), Err(Discard::Replayed));
    }
    let shown = bob.snapshot().receive[0].unwrap().associations[0].unwrap();
    assert_eq!(
        shown,
        ReceiveSaSnapshot { an: 0, next_pn: Some(start + 16), lowest_pn: start + 12 }
    );
}

#[test]
fn a_receiver_far_behind_catches_up_when_it_is_told() {
    let suite = CipherSuite::GcmAesXpn256;
    let far = (1 << 40) + 5;
    let (mut alice, _) = starting_at(suite, far, |_| {});
    let (_, mut bob) = pair(suite, |_| {});
    let sealed = protect(&mut alice, &pause()).unwrap();
    assert_eq!(accept(&mut bob, &sealed), Err(Discard::NotValid), "another upper half");
    let lift = |pn| SecyChange::SetLowestPn { sci: ALICE, an: an(0), pn };
    bob.change(&lift(far - 3)).unwrap();
    assert_eq!(accept(&mut bob, &sealed), Ok(pause()));
    bob.change(&lift(1)).unwrap();
    assert_eq!(accept(&mut bob, &sealed), Err(Discard::Late), "a lower one changes nothing");
    let none = ChangeRefused::Sa(SaFault::PacketNumber(suite));
    assert_eq!(bob.change(&lift(0)), Err(none));
}

#[test]
fn without_replay_protection_data_repeats_and_pauses_do_not() {
    let suite = CipherSuite::GcmAes128;
    let (mut alice, mut bob) = pair(suite, |plan| plan.replay_window = None);
    let sealed = protect(&mut alice, &data(64)).unwrap();
    let first = protect(&mut alice, &pause()).unwrap();
    let second = protect(&mut alice, &pause()).unwrap();
    for _ in 0..3 {
        assert_eq!(accept(&mut bob, &sealed), Ok(data(64)));
    }
    assert_eq!(accept(&mut bob, &second), Ok(pause()));
    assert_eq!(accept(&mut bob, &second), Err(Discard::Replayed));
    assert_eq!(accept(&mut bob, &first), Err(Discard::Late), "older than what it would undo");
    let counters = received(&bob);
    assert_eq!((counters.in_pkts_ok, counters.in_pkts_delayed), (2, 2));
    assert_eq!((counters.in_pkts_replayed, counters.in_pkts_late), (1, 1));
}

#[test]
fn a_pause_that_was_held_back_is_late_within_the_window() {
    let (mut alice, mut bob) = pair(CipherSuite::GcmAes128, |plan| plan.replay_window = Some(64));
    let held = protect(&mut alice, &pause()).unwrap();
    let newer = protect(&mut alice, &pause()).unwrap();
    let behind = protect(&mut alice, &data(64)).unwrap();
    assert_eq!(accept(&mut bob, &behind), Ok(data(64)));
    assert_eq!(accept(&mut bob, &newer), Ok(pause()), "overtaken by data, which is allowed");
    assert_eq!(accept(&mut bob, &held), Err(Discard::Late));
}

/// Removing the channel is no way around [`a_key_does_not_start_again`].
#[test]
fn a_channel_that_returns_accepts_no_old_frame() {
    for suite in SUITES {
        let (mut alice, mut bob) = pair(suite, |_| {});
        let old: Vec<_> = (0..3).map(|_| protect(&mut alice, &data(64)).unwrap()).collect();
        for sealed in &old {
            assert_eq!(accept(&mut bob, sealed), Ok(data(64)));
        }
        let install =
            |pn| SecyChange::InstallReceive { sci: ALICE, an: an(0), sa: sa(suite, 10, pn) };
        for _ in 0..2 {
            bob.change(&SecyChange::RemoveChannel(ALICE)).unwrap();
            let reused = Err(ChangeRefused::Sa(SaFault::KeyReused));
            assert_eq!(bob.change(&install(1)), reused);
            assert_eq!(bob.change(&install(3)), reused);
            assert!(bob.snapshot().receive.iter().flatten().next().is_none(), "no empty channel");
            bob.change(&install(4)).unwrap();
            for sealed in &old {
                assert_eq!(accept(&mut bob, sealed), Err(Discard::Late));
            }
        }
        let sealed = protect(&mut alice, &data(64)).unwrap();
        assert_eq!(accept(&mut bob, &sealed), Ok(data(64)));
    }
}

#[test]
fn a_key_does_not_start_again() {
    for suite in SUITES {
        let (mut alice, mut bob) = pair(suite, |_| {});
        for _ in 0..5 {
            let sealed = protect(&mut alice, &data(64)).unwrap();
            assert!(accept(&mut bob, &sealed).is_ok());
        }
        let reused = Err(ChangeRefused::Sa(SaFault::KeyReused));
        let install =
            |number, pn| SecyChange::InstallTransmit { an: an(number), sa: sa(suite, 10, pn) };
        let listen = |number, pn| SecyChange::InstallReceive {
            sci: ALICE,
            an: an(number),
            sa: sa(suite, 10, pn),
        };
        assert_eq!(alice.change(&install(0, 100)), Err(ChangeRefused::InUse(an(0))));
        assert_eq!(alice.change(&install(1, 100)), reused, "another number, the same nonces");
        assert_eq!(bob.change(&listen(1, 100)), reused);
        assert_eq!(bob.change(&listen(0, 1)), reused, "all that was heard would be heard again");
        alice.change(&SecyChange::RemoveTransmit(an(0))).unwrap();
        bob.change(&SecyChange::RemoveReceive { sci: ALICE, an: an(0) }).unwrap();
        for number in 0..4 {
            assert_eq!(alice.change(&install(number, 5)), reused);
            assert_eq!(bob.change(&listen(number, 5)), reused);
        }
        alice.change(&install(0, 6)).unwrap();
        bob.change(&listen(0, 6)).unwrap();
        let sealed = protect(&mut alice, &data(64)).unwrap();
        assert_eq!(accept(&mut bob, &sealed), Ok(data(64)));
    }
}

/// Neither later keys of the number nor the removal of the channel makes an older key good again.
#[test]
fn a_key_of_generations_ago_does_not_start_again() {
    for suite in SUITES {
        let (mut alice, mut bob) = pair(suite, |_| {});
        let old = protect(&mut alice, &data(64)).unwrap();
        assert_eq!(accept(&mut bob, &old), Ok(data(64)));
        let reused = Err(ChangeRefused::Sa(SaFault::KeyReused));
        let listen =
            |n, pn| SecyChange::InstallReceive { sci: ALICE, an: an(0), sa: sa(suite, n, pn) };
        for n in 30..34 {
            bob.change(&listen(n, 1)).unwrap();
            assert_eq!(bob.change(&listen(10, 1)), reused);
            bob.change(&SecyChange::RemoveChannel(ALICE)).unwrap();
            assert_eq!(bob.change(&listen(10, 1)), reused);
        }
        bob.change(&listen(10, 2)).unwrap();
        assert_eq!(accept(&mut bob, &old), Err(Discard::Late));
        let send = |n, pn| SecyChange::InstallTransmit { an: an(1), sa: sa(suite, n, pn) };
        for n in 30..34 {
            alice.change(&send(n, 1)).unwrap();
            alice.change(&SecyChange::UseTransmit(an(1))).unwrap();
            protect(&mut alice, &data(64)).unwrap();
            alice.change(&SecyChange::UseTransmit(an(0))).unwrap();
            assert_eq!(alice.change(&send(30, 1)), reused, "after {n}");
        }
        alice.change(&send(30, 2)).unwrap();
    }
}
