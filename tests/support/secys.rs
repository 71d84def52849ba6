//! Plans of two `SecY`s that understand each other.

use sluice::secure::*;
use sluice::time::Duration;
use sluice::units::Mac;

/// The `SecY` at end `own` of a link whose other end is `peer`: pauses are protected and have to be,
/// data too if `data`.
pub fn secy(own: u8, peer: u8, data: bool) -> SecyPlan {
    let sci = |n| Sci { mac: Mac([2, 0, 0, 0xee, 0, n]), port: 1 };
    let only = |key: u8| {
        let key = Sak::new(&[key; 16]).unwrap();
        [Some(SaPlan { key, pn: 1, ssci: 1, salt: [0; 12] }), None, None, None]
    };
    SecyPlan {
        suite: CipherSuite::GcmAes128,
        sci: sci(own),
        sci_form: SciForm::Implied,
        confidentiality: Some(ConfidentialityOffset::Zero),
        protect_data: data,
        protect_pfc: true,
        accept_pfc: PfcAccept::Protected,
        validate: Validate::Strict,
        replay_window: Some(0),
        uncontrolled: vec![],
        encoding: An::ALL[0],
        transmit: only(own),
        rollover_at: None,
        receive: vec![ReceiveScPlan { sci: sci(peer), associations: only(peer) }],
        tx_delay: Duration::ZERO,
        rx_delay: Duration::ZERO,
    }
}
