//! Defects between a port of DPDK and its line.

use sluice::dpdk::{
    Eal, EalOptions, Memory, Pool, PoolOptions, PortOptions, RingOptions, TscClock, ring_pair,
};
use sluice::frame::{Burst, Frame};
use sluice::pfc::FlowControl;
use sluice::port::Port;
use sluice::sim::defect::{Broken, Defect, Forwarding, Obeying, Part, Sending, Storing};
use sluice::units::{BitsPerSec, Mac, Priority, PrioritySet, Quanta};
use sluice::wire::pfc;

use crate::apart::own_process;

const P3: Priority = Priority::ALL[3];
const P4: Priority = Priority::ALL[4];

/// Returns a PFC frame for priorities.
fn pause(priorities: &[Priority]) -> Vec<u8> {
    let mut repr = pfc::Repr::new(Mac([2, 0, 0, 0, 0, 9]));
    priorities.iter().for_each(|priority| repr.set(*priority, Quanta(9)));
    let mut octets = vec![0; repr.buffer_len()];
    repr.emit(&mut octets).unwrap();
    octets
}

fn sends(port: &mut impl Port, octets: &[u8]) {
    let frame = port.control_frame(octets).unwrap();
    let mut burst: Burst<_> = [frame].into_iter().collect();
    port.tx_burst(&mut burst);
    assert!(burst.is_empty());
}

/// Returns the first bytes of the frames that a port receives.
fn received(port: &mut impl Port) -> Vec<Vec<u8>> {
    let mut burst = Burst::new();
    port.rx_burst(&mut burst);
    burst.drain(..).map(|frame| frame.head()[..60].to_vec()).collect()
}

#[test]
fn a_ring_port_has_the_defects_that_a_port_can_have() {
    own_process!();
    let eal = Eal::start(&EalOptions { memory: Memory::NoHuge, ..EalOptions::default() }).unwrap();
    let pool = Pool::new(&eal, &PoolOptions { frames: 1_000, ..PoolOptions::default() }).unwrap();
    let (a, b) = ring_pair(
        &eal,
        &RingOptions { name: "cable".into(), entries: 64, ..RingOptions::default() },
    )
    .unwrap();
    let options = PortOptions { clock: Some(TscClock::new()), ..PortOptions::default() };
    let mut peer = b.start(&options, &pool).unwrap();
    let mode = FlowControl::Pfc { send: PrioritySet::ALL, obey: PrioritySet::ALL };
    let mut port = Broken::over(a.start(&options, &pool).unwrap(), BitsPerSec::gbps(1), mode);

    // Without a defect frames pass as they are.
    sends(&mut peer, &pause(&[P3, P4]));
    assert_eq!(received(&mut port), [pause(&[P3, P4])]);
    sends(&mut port, &pause(&[P3]));
    assert_eq!(received(&mut peer), [pause(&[P3])]);

    port.add(Obeying::Ignores { priorities: PrioritySet::of(P3) }).unwrap();
    port.add(Sending::NeverPauses { priorities: PrioritySet::of(P4) }).unwrap();
    sends(&mut peer, &pause(&[P3, P4]));
    assert_eq!(received(&mut port), [pause(&[P4])]);
    sends(&mut port, &pause(&[P3, P4]));
    assert_eq!(received(&mut peer), [pause(&[P3])]);

    // A frame that a defect adds leaves beside the node's.
    port.add(Forwarding::DuplicatesData { every: 1 }).unwrap();
    sends(&mut port, &[7; 60]);
    assert_eq!(received(&mut peer), [[7; 60]; 2]);

    let others: [Defect; 4] = [
        Sending::OtherPorts.into(),
        Sending::Malformed(Part::Fcs).into(),
        Forwarding::DamagesData { every: 2 }.into(),
        Storing::LeaksHeadroom { cells: 1, priorities: PrioritySet::ALL }.into(),
    ];
    for defect in others {
        let refused = port.add(defect).unwrap_err();
        assert!(refused.to_string().contains("a virtual device alone"), "{refused}");
    }
}
