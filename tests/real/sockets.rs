//! Devices connected by a socket: both ends of a memif, and of vhost and virtio-user, in one
//! process without hugepages.

use std::thread;
use std::time::{Duration, Instant};

use sluice::dpdk::{DpdkPort, Eal, EalOptions, Memory, Pool, PoolOptions, PortOptions};
use sluice::frame::{Burst, Frame};
use sluice::port::Port;

use crate::apart::own_process;
use crate::run::Dir;

const WAIT: Duration = Duration::from_secs(10);

#[test]
fn both_ends_of_a_socket_exchange_frames() {
    own_process!();
    let eal = Eal::start(&EalOptions { memory: Memory::NoHuge, ..EalOptions::default() }).unwrap();
    let pool = Pool::new(&eal, &PoolOptions { frames: 8_000, ..PoolOptions::default() }).unwrap();
    let dir = Dir::new("sockets");
    let socket = |name: &str| dir.path(name).display().to_string();
    let path = socket("memif");
    pair(
        &eal,
        &pool,
        &format!("net_memif0,role=server,socket={path},socket-abstract=no,rsize=9"),
        &format!("net_memif1,role=client,socket={path},socket-abstract=no,rsize=9"),
    );
    assert_eq!(pool.in_use(), 0);
    let path = socket("vhost");
    pair(
        &eal,
        &pool,
        &format!("net_vhost0,iface={path}"),
        &format!("net_virtio_user0,path={path},queue_size=512"),
    );
    assert_eq!(pool.in_use(), 0);
}

fn pair(eal: &Eal, pool: &Pool, first: &str, second: &str) {
    let start = |device: &str| {
        let port = DpdkPort::open(eal, device).unwrap();
        port.start(&PortOptions::default(), pool).unwrap()
    };
    let mut a = start(first);
    let mut b = start(second);
    let deadline = Instant::now() + WAIT;
    while !(a.link().up && b.link().up) {
        assert!(Instant::now() < deadline, "{first}: {:?}, {second}: {:?}", a.link(), b.link());
        thread::sleep(Duration::from_millis(10));
    }
    passes(pool, &mut a, &mut b);
    passes(pool, &mut b, &mut a);
}

fn passes(pool: &Pool, from: &mut DpdkPort, to: &mut DpdkPort) {
    let sent: Vec<Vec<u8>> = (0..40_u8).map(|n| vec![n; 60 + usize::from(n) * 36]).collect();
    let mut got: Vec<Vec<u8>> = Vec::new();
    let mut waiting = sent.iter();
    let (mut out, mut burst) = (Burst::new(), Burst::new());
    let deadline = Instant::now() + WAIT;
    while got.len() < sent.len() && Instant::now() < deadline {
        if out.is_empty() {
            out.extend(waiting.next().map(|octets| pool.frame(octets).unwrap()));
        }
        from.tx_burst(&mut out);
        to.rx_burst(&mut burst);
        got.extend(burst.drain(..).map(|frame| frame.head().to_vec()));
    }
    assert_eq!(got.len(), sent.len(), "{} to {}", from.device(), to.device());
    assert_eq!(got, sent);
}
