//! Two ports back to back: order, refusal, accounting, and shutting down in any order.
//! EAL starts once per process, so each of these files holds one test.
#![cfg(feature = "dpdk")]

use sluice::dpdk::{
    Eal, EalOptions, Error, Memory, Pool, PoolOptions, PortOptions, RingOptions, ring_pair,
};
use sluice::frame::{BURST, Burst, Frame};
use sluice::port::Port;

const ENTRIES: u32 = 100;

#[test]
fn a_ring_pair_keeps_order_and_refuses_when_full() {
    let eal = Eal::start(&EalOptions { memory: Memory::NoHuge, ..EalOptions::default() }).unwrap();
    let pool = Pool::new(&eal, &PoolOptions { frames: 1_000, ..PoolOptions::default() }).unwrap();
    let options = RingOptions { name: "wire".into(), entries: ENTRIES, ..RingOptions::default() };
    let (a, b) = ring_pair(&eal, &options).unwrap();
    let again = ring_pair(&eal, &options);
    assert!(matches!(again, Err(Error::Option { .. })), "{again:?}");

    let mut a = a.start(&PortOptions::default(), &pool).unwrap();
    let mut b = b.start(&PortOptions::default(), &pool).unwrap();
    assert_eq!((a.driver(), a.is_virtual()), ("net_ring", true));
    assert_eq!(a.caps().link_rate, None);
    assert_eq!(b.caps().rx_backlog_max.0, u64::from(ENTRIES * 1_522));

    // As many as fit are sent, in order; the rest stays, in order.
    let mut next = 0_u32;
    let mut burst = Burst::new();
    loop {
        while burst.len() < BURST {
            burst.push(pool.frame(&numbered(next)).unwrap());
            next += 1;
        }
        a.tx_burst(&mut burst);
        if !burst.is_empty() {
            break;
        }
    }
    let sent = next - burst.len() as u32;
    assert_eq!(sent, ENTRIES);
    let left: Vec<u32> = burst.iter().map(number).collect();
    assert_eq!(left, (sent..next).collect::<Vec<_>>());
    assert_eq!(pool.in_use(), next);

    // They are received in the order in which they were sent, and no others.
    let mut got = Vec::new();
    let mut out = Burst::new();
    loop {
        out.clear();
        b.rx_burst(&mut out);
        if out.is_empty() {
            break;
        }
        got.extend(out.iter().map(number));
    }
    assert_eq!(got, (0..sent).collect::<Vec<_>>());
    assert_eq!(pool.in_use(), burst.len() as u32);
    assert_eq!((a.stats().tx_frames, b.stats().rx_frames), (sent.into(), sent.into()));

    // Control frames have separate memory when the pool is empty.
    let mut all = Vec::new();
    while let Some(frame) = pool.alloc() {
        all.push(frame);
    }
    let control = a.control_frame(&[7; 60]).expect("memory of its own");
    assert_eq!((control.wire_len(), control.head()), (64, &[7; 60][..]));
    let mut one: Burst<_> = [control].into_iter().collect();
    a.tx_burst(&mut one);
    b.rx_burst(&mut out);
    assert_eq!((one.len(), out.len()), (0, 1));

    // That memory runs out when all of its frames wait, and is complete again when they are gone.
    let mut waiting = Vec::new();
    while let Some(frame) = a.control_frame(&[7; 60]) {
        waiting.push(frame);
    }
    assert!(waiting.len() >= ENTRIES as usize + BURST, "{}", waiting.len());
    waiting.clear();
    assert!(a.control_frame(&[7; 60]).is_some());

    a.control().set_link(false).unwrap();
    assert!(!a.link().up && b.link().up);
    a.control().set_link(true).unwrap();
    assert!(a.link().up);

    // Frames left in the ring and out of it, dropped in any order: nothing is freed in use.
    burst.truncate(1);
    a.tx_burst(&mut burst);
    drop((a, all, eal));
    let kept = pool.alloc().unwrap();
    drop(pool);
    drop(b);
    assert_eq!(kept.wire_len(), 4);
    drop(kept);
}

fn numbered(n: u32) -> [u8; 60] {
    let mut octets = [0; 60];
    octets[..4].copy_from_slice(&n.to_be_bytes());
    octets
}

fn number(frame: &impl Frame) -> u32 {
    u32::from_be_bytes(frame.head()[..4].try_into().unwrap())
}
