//! Errors of devices and options state the cause and the remedy; nothing is left behind.

use sluice::dpdk::{
    DpdkPort, Eal, EalOptions, Error, HardwarePfc, Memory, Pool, PoolOptions, PortOptions,
};
use sluice::units::{PrioritySet, Quanta};

use crate::apart::own_process;

#[test]
fn every_bad_device_and_option_has_its_own_error() {
    own_process!();
    let no_huge = EalOptions { memory: Memory::NoHuge, ..EalOptions::default() };
    let absent_cpu = EalOptions { main_cpu: Some(1_000), ..no_huge.clone() };
    assert!(matches!(Eal::start(&absent_cpu), Err(Error::Option { .. })), "no such CPU");
    let eal = Eal::start(&no_huge).unwrap();
    assert_eq!(Eal::start(&no_huge).err(), Some(Error::AlreadyStarted));
    let open = |device: &str| DpdkPort::open(&eal, device);

    let err = open("net_af_packet0,iface=dpdknosuch").unwrap_err();
    assert!(matches!(err, Error::Absent { .. }) && err.to_string().contains("ip link"), "{err}");
    for unknown in ["net_nosuch0", "veth0", "net_null"] {
        let err = open(unknown);
        match unknown {
            // DPDK accepts a virtual device without a number too.
            "net_null" => assert!(err.is_ok()),
            _ => {
                let err = err.unwrap_err();
                assert!(matches!(err, Error::NoDriver { .. }), "{unknown}: {err:?}");
                assert!(err.to_string().contains("net_af_packet"), "{err}");
            }
        }
    }
    let err = open("0000:7f:1f.7").unwrap_err();
    assert!(matches!(err, Error::Absent { .. }) && err.to_string().contains("devbind"), "{err}");
    let err = open("net_pcap0,rx_pcap=/nonexistent/x.pcap").unwrap_err();
    assert!(matches!(err, Error::Device { .. }) && err.to_string().contains("DPDK:"), "{err}");

    // One device is one port, until it is closed.
    let first = open("net_null7").unwrap();
    let err = open("net_null7").unwrap_err();
    assert!(matches!(&err, Error::InUse { by, .. } if by == "net_null7"), "{err}");
    drop(first);
    let port = open("net_null7").expect("closed, so free again");

    // Pools and frames.
    let pool_of = |frames, max_frame| {
        Pool::new(&eal, &PoolOptions { frames, max_frame, ..PoolOptions::default() })
    };
    assert!(matches!(pool_of(0, 1_522), Err(Error::Option { .. })));
    assert!(matches!(pool_of(100, 70_000), Err(Error::Option { .. })));
    let err = pool_of(10_000_000, 1_522).unwrap_err();
    assert!(matches!(err, Error::NoMemory { need_kib, .. } if need_kib > 20_000_000), "{err}");
    let pool = pool_of(1_000, 1_522).unwrap();
    assert!(matches!(pool_of(1_000, 1_522), Err(Error::Option { .. })), "the name is taken");

    let jumbo = PortOptions { max_frame: Some(9_216), ..PortOptions::default() };
    let err = port.start(&jumbo, &pool).unwrap_err();
    assert!(matches!(err, Error::Option { .. }) && err.to_string().contains("1522"), "{err}");
    let pfc = HardwarePfc { priorities: PrioritySet(0b1000), pause: Quanta::MAX };
    let hard = PortOptions { hardware_pfc: Some(pfc), ..PortOptions::default() };
    let err = open("net_null7").unwrap().start(&hard, &pool).unwrap_err();
    assert!(matches!(err, Error::NoHardwarePfc { .. }), "{err}");

    // The failed starts released everything.
    open("net_null7").unwrap().start(&PortOptions::default(), &pool).unwrap();
    assert_eq!(pool.in_use(), 0);
}
