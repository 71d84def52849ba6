//! Frames in DPDK's memory: every byte accounted for, none leaked, none freed twice.

use std::thread;

use sluice::dpdk::{Eal, EalOptions, Memory, Pool, PoolOptions};
use sluice::frame::Frame;

use crate::apart::own_process;

#[test]
fn frames_keep_their_octets_and_give_their_memory_back() {
    own_process!();
    let affinity = || std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let allowed = |status: String| {
        status.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap().to_string()
    };
    let before = allowed(affinity());
    let eal = Eal::start(&EalOptions { memory: Memory::NoHuge, ..EalOptions::default() }).unwrap();
    assert_eq!(allowed(affinity()), before, "EAL's pinning is undone");
    assert!(!eal.hugepages());

    let options = PoolOptions { frames: 1_000, max_frame: 1_522, cache: 64, ..Default::default() };
    let pool = Pool::new(&eal, &options).unwrap();
    assert_eq!((pool.available(), pool.in_use(), pool.stranded_max(2)), (1_000, 0, 192));
    octets_survive_every_operation(&pool);
    assert_eq!(pool.in_use(), 0);
    all_frames_can_be_had_and_no_more(&pool);
    assert_eq!(pool.in_use(), 0);

    // Allocated in one thread, freed in another, registered or not.
    let frames: Vec<_> = (0..300).map(|n| pool.frame(&[n as u8; 60]).unwrap()).collect();
    let (eal_there, pool_there) = (eal.clone(), pool.clone());
    thread::spawn(move || {
        drop(frames);
        let worker = eal_there.register_worker().unwrap();
        let more: Vec<_> = (0..300).map(|_| pool_there.alloc().unwrap()).collect();
        drop(more);
        drop(worker);
        let _again = eal_there.register_worker().unwrap();
    })
    .join()
    .unwrap();
    assert_eq!((pool.available(), pool.in_use()), (1_000, 0));
}

fn octets_survive_every_operation(pool: &Pool) {
    let octets: Vec<u8> = (0..1_518).map(|n| n as u8).collect();
    let mut frame = pool.frame(&octets).unwrap();
    assert_eq!((frame.head(), frame.wire_len(), frame.segments()), (&octets[..], 1_522, 1));

    // A VLAN tag: the addresses move to the front, the rest stays.
    assert!(frame.prepend(4));
    frame.head_mut().copy_within(4..16, 0);
    frame.head_mut()[12..16].copy_from_slice(&[0x81, 0, 0x60, 5]);
    assert_eq!((&frame.head()[..12], &frame.head()[16..]), (&octets[..12], &octets[12..]));
    assert_eq!(frame.wire_len(), 1_526);

    let mut copy = frame.duplicate().unwrap();
    copy.head_mut()[0] = 0xff;
    assert_eq!(frame.head()[0], 0);
    assert_eq!(copy.head()[1..], frame.head()[1..]);
    // The copy has as much room in front as the original.
    assert!(copy.prepend(8) && copy.trim_front(8));

    assert!(frame.trim_front(4));
    assert_eq!(frame.wire_len(), 1_522);
    assert!(frame.truncate(60) && !frame.truncate(61));
    assert!(!frame.trim_front(61) && frame.trim_front(60) && frame.head().is_empty());

    // Refusals change nothing, at either end.
    let mut small = pool.frame(&[1, 2, 3]).unwrap();
    assert!(!small.prepend(10_000) && small.append(10_000).is_none());
    assert_eq!((small.head(), small.wire_len()), (&[1, 2, 3][..], 7));
    while small.prepend(8) {}
    assert_eq!(&small.head()[small.head().len() - 3..], &[1, 2, 3]);
    let room = small.tailroom();
    small.append(room).unwrap().fill(9);
    assert!(small.tailroom() == 0 && small.append(1).is_none());
    assert!(pool.frame(&[0; 4_000]).is_none());
}

fn all_frames_can_be_had_and_no_more(pool: &Pool) {
    let mut all = Vec::new();
    while let Some(mut frame) = pool.frame(&[5; 60]) {
        assert_eq!(frame.head(), &[5; 60], "a frame that was used before is clean");
        frame.head_mut().fill(0xee);
        all.push(frame);
    }
    assert_eq!((all.len(), pool.available()), (1_000, 0));
    assert!(all[0].duplicate().is_none());
    let mut addresses: Vec<_> = all.iter().map(|frame| frame.head().as_ptr()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), 1_000, "no memory was given out twice");
}
