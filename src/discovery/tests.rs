//! An agent alone, and two against each other.

use super::*;
use crate::time::{Duration, Instant};
use crate::units::{Mac, Priority, PrioritySet};

fn agent(last: u8, willing: bool, enable: u8) -> Lldp {
    let mac = Mac([2, 0, 0, 0, 0, last]);
    let lldp = LldpPlan::new(mac, mac, format!("port{last}"));
    let mut dcbx = DcbxPlan::new(mac);
    dcbx.pfc = Some(DcbxPfcPlan {
        willing,
        macsec_bound: false,
        capability: 8,
        enable: PrioritySet(enable),
        form: PfcForm::Published,
    });
    Lldp::new(&lldp, Some(&dcbx))
}

fn exchange(now: Instant, from: &mut Lldp, to: &mut Lldp) -> usize {
    let mut buf = [0; FRAME_MAX];
    let mut sent = 0;
    while from.is_due(now) {
        if let Some(len) = from.take(now, &mut buf) {
            to.on_frame(now, &buf[..len]);
            sent += 1;
        }
    }
    sent
}

#[test]
fn the_willing_port_takes_what_the_unwilling_one_says() {
    let (mut a, mut b) = (agent(1, true, 0x00), agent(2, false, 1 << 3));
    a.start(Instant::ZERO);
    b.start(Instant::ZERO);
    for s in 0..3 {
        let now = Instant::ZERO + Duration::from_secs(s);
        exchange(now, &mut a, &mut b);
        exchange(now, &mut b, &mut a);
    }
    let want = PrioritySet::of(Priority::new(3).unwrap());
    let pfc = |l: &Lldp| l.resolved().unwrap().pfc.unwrap();
    assert_eq!((pfc(&a).enable, pfc(&a).from), (want, Party::Peer));
    assert_eq!((pfc(&b).enable, pfc(&b).from), (want, Party::Local));
    assert_eq!(a.next_event(), Some(Event::NeighbourNew(Mac([2, 0, 0, 0, 0, 2]))));
    assert_eq!(a.next_event(), Some(Event::Negotiated));
    assert_eq!(a.next_event(), None);
}
