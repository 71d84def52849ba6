//! Two ports back to back: order, refusal, accounting, and shutting down in any order.
//! EAL starts once per process, so each of these files holds one test.

use sluice::dpdk::{
    DpdkPort, Eal, EalOptions, Error, Memory, Pool, PoolOptions, PortOptions, RingOptions,
    ring_pair,
};
use sluice::frame::{BURST, Burst, Frame};
use sluice::port::Port;
use sluice::units::PrioritySet;

use crate::apart::own_process;

const ENTRIES: u32 = 100;

#[test]
fn a_ring_pair_keeps_order_and_refuses_when_full() {
    own_process!();
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

    queues_by_priority(&eal);

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

/// A port with a queue for each priority: a full one holds up no other, and control frames pass.
fn queues_by_priority(eal: &Eal) {
    let pool = PoolOptions { name: "lanes".into(), frames: 1_000, ..PoolOptions::default() };
    let pool = &Pool::new(eal, &pool).unwrap();
    let lanes = RingOptions { name: "lanes".into(), entries: 64, queues: 9 };
    let (a, b) = ring_pair(eal, &lanes).unwrap();
    let options = PortOptions { queues: Some(PrioritySet(0xff)), ..PortOptions::default() };
    let (mut a, mut b) = (a.start(&options, pool).unwrap(), b.start(&options, pool).unwrap());
    assert!(a.has_queues());
    let send = |a: &mut DpdkPort, queue: u8, frames: std::ops::Range<u32>| {
        let one = |n| {
            let mut frame = pool.frame(&numbered(u32::from(queue) << 16 | n)).unwrap();
            frame.set_queue(queue);
            frame
        };
        let mut burst: Burst<_> = frames.map(one).collect();
        a.tx_burst(&mut burst);
        burst.len()
    };
    // 64 fit into the ring, and a burst waits at the port.
    let left: Vec<_> = (0..4).map(|n| send(&mut a, 3, n * 32..n * 32 + 32)).collect();
    assert_eq!((left, a.held()), (vec![0, 0, 0, 32], PrioritySet(0b1000)));
    assert_eq!((send(&mut a, 5, 0..32), a.held()), (0, PrioritySet(0b1000)));
    let mut control: Burst<_> = a.control_frame(&[9; 60]).into_iter().collect();
    a.tx_burst(&mut control);
    assert!(control.is_empty());

    let all = |b: &mut DpdkPort| {
        let mut got = Vec::new();
        loop {
            let mut out = Burst::new();
            b.rx_burst(&mut out);
            if out.is_empty() {
                return got;
            }
            got.extend(out.iter().map(number));
        }
    };
    let of = |got: &[u32], queue: u32| -> Vec<u32> {
        got.iter().filter(|n| **n >> 16 == queue).map(|n| n & 0xffff).collect()
    };
    let got = all(&mut b);
    assert_eq!((of(&got, 3), of(&got, 5)), ((0..64).collect(), (0..32).collect()));
    assert_eq!(of(&got, 0x0909).len(), 1, "the control frame");
    // The next poll passes on what waits.
    a.rx_burst(&mut Burst::new());
    assert_eq!((of(&all(&mut b), 3), a.held()), ((64..96).collect(), PrioritySet::EMPTY));
    // More queues than the device has are refused.
    let few = RingOptions { name: "few".into(), entries: 64, queues: 2 };
    let (few, _) = ring_pair(eal, &few).unwrap();
    assert!(few.start(&options, pool).is_err());
}

fn numbered(n: u32) -> [u8; 60] {
    let mut octets = [0; 60];
    octets[..4].copy_from_slice(&n.to_be_bytes());
    octets
}

fn number(frame: &impl Frame) -> u32 {
    u32::from_be_bytes(frame.head()[..4].try_into().unwrap())
}
