//! Protected ports on DPDK's frames: between rings in memory, with the longest frames, and with a
//! full ring.

use sluice::dpdk::{
    DpdkPort, Eal, EalOptions, Mbuf, Memory, Pool, PoolOptions, PortOptions, RingOptions, ring_pair,
};
use sluice::frame::{BURST, Burst, Frame};
use sluice::port::{Port, Secured};
use sluice::units::{Mac, Priority, Quanta};
use sluice::wire::mac_control::FRAME_LEN;
use sluice::wire::pfc;

use crate::apart::own_process;
use crate::secys::secy;

/// Longest frame, FCS included, and slots of a ring, of which one stays free.
const LONGEST: u32 = 9_018;
const ENTRIES: u32 = 64;

fn pause() -> [u8; FRAME_LEN] {
    let mut repr = pfc::Repr::new(Mac([2, 0, 0, 0, 0, 1]));
    repr.set(Priority::ALL[3], Quanta(100));
    let mut octets = [0; FRAME_LEN];
    repr.emit(&mut octets).unwrap();
    octets
}

fn data(n: u32, len: usize) -> Vec<u8> {
    let mut octets = vec![n as u8; len];
    octets[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    octets
}

/// All frames that a port accepts.
fn read(port: &mut impl Port<Frame = Mbuf>) -> Vec<Vec<u8>> {
    let (mut read, mut burst) = (vec![], Burst::new());
    loop {
        port.rx_burst(&mut burst);
        if burst.is_empty() {
            return read;
        }
        read.extend(burst.drain(..).map(|frame| frame.head().to_vec()));
    }
}

/// Frames carried protected over a link are received unchanged, at any length.
fn carries(pool: &Pool, a: &mut Secured<DpdkPort>, b: &mut Secured<DpdkPort>) {
    for len in [60, 61, 1_020, 1_518, 4_096, LONGEST as usize - 4] {
        let octets = data(1, len);
        let mut out = Burst::new();
        out.push(a.control_frame(&pause()).unwrap());
        out.push(pool.frame(&octets).unwrap());
        a.tx_burst(&mut out);
        assert!(out.is_empty());
        assert_eq!(read(b), [pause().to_vec(), octets], "{len}");
    }
}

/// A full ring makes frames wait, and loses none.
fn waits(pool: &Pool, a: &mut Secured<DpdkPort>, b: &mut Secured<DpdkPort>) {
    let (mut hand, mut sent, mut arrived) = (Burst::<Mbuf>::new(), 0, vec![]);
    for turn in 0..40 {
        while !hand.is_full() {
            hand.push(pool.frame(&data(sent, 100)).unwrap());
            sent += 1;
        }
        a.tx_burst(&mut hand);
        if turn % 5 == 4 {
            arrived.extend(read(b));
        }
    }
    let full = ENTRIES as usize - 1 + BURST;
    assert!(a.waiting() > 0 && arrived.len() >= full, "{} {}", a.waiting(), arrived.len());
    while a.waiting() > 0 || !hand.is_empty() {
        arrived.extend(read(b));
        a.tx_burst(&mut hand);
    }
    arrived.extend(read(b));
    let expected: Vec<_> = (0..sent).map(|n| data(n, 100)).collect();
    assert_eq!(arrived, expected);
    let channel = b.secy().unwrap().snapshot().receive[0].unwrap();
    assert_eq!(channel.counters.in_pkts_late, 0, "strict order was demanded and kept");
}

#[test]
fn frames_of_devices_are_protected_in_place() {
    own_process!();
    let eal = Eal::start(&EalOptions { memory: Memory::NoHuge, ..EalOptions::default() }).unwrap();
    let room = LONGEST + sluice::secure::Secy::OVERHEAD_MAX as u32;
    let options = PoolOptions { frames: 1_000, max_frame: room, ..PoolOptions::default() };
    let pool = Pool::new(&eal, &options).unwrap();
    for (name, data) in [("pauses", false), ("all", true)] {
        let options = RingOptions { name: name.into(), entries: ENTRIES, ..RingOptions::default() };
        let (a, b) = ring_pair(&eal, &options).unwrap();
        let start = |port: DpdkPort<_>, own, peer| {
            let port = port.start(&PortOptions::default(), &pool).unwrap();
            Secured::new(port, Some(&secy(own, peer, data))).unwrap()
        };
        let (mut a, mut b) = (start(a, 1, 2), start(b, 2, 1));
        carries(&pool, &mut a, &mut b);
        if data {
            waits(&pool, &mut a, &mut b);
        }
        // Frames injected into the line are discarded.
        let mut forged = Burst::new();
        forged.push(pool.frame(&pause()).unwrap());
        a.port_mut().tx_burst(&mut forged);
        assert!(read(&mut b).is_empty());
        assert_eq!(b.secy().unwrap().snapshot().counters.in_pause_plain, 1);
    }
    let free = pool.available();
    assert_eq!(free, pool.frames(), "no frame was lost");
}
