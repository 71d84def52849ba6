//! Configurations of two matching `SecY`s, for tests.

use ground::units::Mac;
use secure::{CipherSuite, ReceiveScPlan, SaPlan, Sak, Sci, SecyPlan};

/// Returns an association with this key, from packet number 1 on.
#[must_use]
pub fn association(key: u8) -> SaPlan {
    SaPlan {
        key: Sak::new(&[key; 16]).expect("16 bytes make a key"),
        pn: 1,
        ssci: u32::from(key),
        salt: [7; 12],
    }
}

/// Returns the `SecY` at end `own` of a link whose other end is `peer`, both below 100: MAC control
/// is protected and must be, data too if `data`.
#[must_use]
pub fn secy(own: u8, peer: u8, data: bool) -> SecyPlan {
    let sci = |n| Sci { mac: Mac([2, 0, 0, 0xee, 0, n]), port: 1 };
    let only = |sa| [Some(sa), None, None, None];
    SecyPlan {
        protect_data: data,
        uncontrolled: vec![0x88cc],
        transmit: only(association(own + 100)),
        receive: vec![ReceiveScPlan {
            sci: sci(peer),
            associations: only(association(peer + 100)),
        }],
        ..SecyPlan::standard(CipherSuite::GcmAes128, sci(own))
    }
}
