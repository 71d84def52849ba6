//! Plans of two `SecY`s at one link.

use sluice::secure::*;
use sluice::units::Mac;

/// The `SecY` at end `own` of a link whose other end is `peer`: pauses are protected and must be,
/// data too if `data`.
pub fn secy(own: u8, peer: u8, data: bool) -> SecyPlan {
    let sci = |n| Sci { mac: Mac([2, 0, 0, 0xee, 0, n]), port: 1 };
    let only = |key: u8| {
        let key = Sak::new(&[key; 16]).unwrap();
        [Some(SaPlan { key, pn: 1, ssci: 1, salt: [0; 12] }), None, None, None]
    };
    SecyPlan {
        protect_data: data,
        transmit: only(own),
        receive: vec![ReceiveScPlan { sci: sci(peer), associations: only(peer) }],
        ..SecyPlan::standard(CipherSuite::GcmAes128, sci(own))
    }
}
