//! A SecY allocates its memory when it is made and when it gets keys: frames, valid or not,
//! allocate nothing.

use std::hint::black_box;

use sluice::secure::{CipherSuite, ReceiveScPlan, SaPlan, Sak, Sci, SciForm, Secy, SecyPlan};
use sluice::units::Mac;

const ALICE: Sci = Sci { mac: Mac([2, 0, 0, 0, 0, 1]), port: 1 };
const BOB: Sci = Sci { mac: Mac([2, 0, 0, 0, 0, 2]), port: 1 };

fn secy(own: Sci, peer: Sci, replay_window: Option<u32>) -> Secy {
    let association = |sci: Sci| {
        let key = Sak::new(&[sci.mac.0[5]; 32]).unwrap();
        let sa = SaPlan { key, pn: 1, ssci: sci.mac.0[5].into(), salt: [9; 12] };
        [Some(sa), None, None, None]
    };
    let plan = SecyPlan {
        sci_form: SciForm::Explicit,
        replay_window,
        transmit: association(own),
        receive: vec![ReceiveScPlan { sci: peer, associations: association(peer) }],
        ..SecyPlan::standard(CipherSuite::GcmAesXpn256, own)
    };
    Secy::new(&plan).unwrap()
}

#[test]
fn no_frame_costs_an_allocation_good_or_bad() {
    for window in [None, Some(0), Some(1_000)] {
        let (mut alice, mut bob) = (secy(ALICE, BOB, window), secy(BOB, ALICE, window));
        let mut room = [0x33; 16 + 100 + 16];
        let mut delivered = 0;
        let counted = allocation_counter::measure(|| {
            for n in 0..20_000_u32 {
                let inner = if n % 3 == 0 { [0x88, 0x08] } else { [0x08, 0x00] };
                room[28..30].copy_from_slice(&inner);
                assert!(alice.protects(&room[16..]));
                alice.protect(&mut room).unwrap();
                let mut forged = room;
                forged[n as usize % room.len()] ^= 1 << (n % 8);
                assert!(bob.accept(&mut forged).is_err());
                assert!(bob.accept(&mut room[..n as usize % 132]).is_err());
                let mut repeated = room;
                delivered += u32::from(bob.accept(&mut room).is_ok());
                _ = black_box(bob.accept(&mut repeated));
            }
            black_box(bob.snapshot());
        });
        // A truncated frame was decrypted in place in some cases, and so was lost.
        assert!(delivered > 10_000, "{delivered}");
        assert_eq!(counted.count_total, 0, "{counted:?}");
    }
    let control = allocation_counter::measure(|| drop(black_box(vec![0_u8; 100])));
    assert_eq!(control.count_total, 1, "the counter counts");
}
