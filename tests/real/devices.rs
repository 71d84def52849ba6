//! Devices without a wire: null generates and discards frames, pcap writes and reads files.

use std::path::Path;

use sluice::dpdk::{DpdkPort, Eal, EalOptions, MacControl, Memory, Pool, PoolOptions, PortOptions};
use sluice::frame::{BURST, Burst, Frame};
use sluice::port::Port;

use crate::apart::own_process;
use crate::run::Dir;

#[test]
fn null_and_pcap_ports_carry_frames() {
    own_process!();
    let eal = Eal::start(&EalOptions { memory: Memory::NoHuge, ..EalOptions::default() }).unwrap();
    let _worker = eal.register_worker().unwrap();
    let pool = Pool::new(&eal, &PoolOptions { frames: 1_000, ..PoolOptions::default() }).unwrap();
    null(&eal, &pool);
    assert_eq!(pool.in_use(), 0);
    pcap(&eal, &pool, &Dir::new("dpdk-pcap").path("sent.pcap"));
    assert_eq!(pool.in_use(), 0);
}

fn null(eal: &Eal, pool: &Pool) {
    let port = DpdkPort::open(eal, "net_null0,size=60").unwrap();
    let mut port = port.start(&PortOptions::default(), pool).unwrap();
    assert_eq!((port.driver(), port.device()), ("net_null", "net_null0,size=60"));
    assert!(port.mac().is_some() && port.link().up);
    assert!(matches!(port.info().mac_control, MacControl::NoSetting { is_virtual: true, .. }));

    let mut burst = Burst::new();
    port.rx_burst(&mut burst);
    assert_eq!(burst.len(), BURST);
    assert!(burst.iter().all(|frame| frame.wire_len() == 64));
    port.tx_burst(&mut burst);
    assert!(burst.is_empty());
    let stats = port.control().stats();
    assert_eq!((stats.rx_frames, stats.tx_frames), (BURST as u64, BURST as u64));

    // Stopped and started again, it is the same port.
    let mut port = port.stop().start(&PortOptions::default(), pool).unwrap();
    port.rx_burst(&mut burst);
    assert_eq!(burst.len(), BURST);
}

fn pcap(eal: &Eal, pool: &Pool, file: &Path) {
    let sent: Vec<Vec<u8>> = (0..50_u8).map(|n| vec![n; 60 + usize::from(n) * 29]).collect();
    let device = format!("net_pcap0,tx_pcap={}", file.display());
    let port = DpdkPort::open(eal, &device).unwrap();
    let mut out = port.start(&PortOptions::default(), pool).unwrap();
    for octets in &sent {
        let mut one: Burst<_> = [pool.frame(octets).unwrap()].into_iter().collect();
        out.tx_burst(&mut one);
        assert!(one.is_empty());
    }
    drop(out);

    let device = format!("net_pcap0,rx_pcap={}", file.display());
    let port = DpdkPort::open(eal, &device).unwrap();
    let mut input = port.start(&PortOptions::default(), pool).unwrap();
    let mut got = Vec::new();
    let mut burst = Burst::new();
    while got.len() < sent.len() {
        input.rx_burst(&mut burst);
        assert!(!burst.is_empty(), "the file ended after {} frames", got.len());
        got.extend(burst.drain(..).map(|frame| frame.head().to_vec()));
    }
    assert_eq!(got, sent);
}
