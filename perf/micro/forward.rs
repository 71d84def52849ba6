//! How long one worker needs per frame between two `net_null` ports.
//!
//! `net_null` gives out frames of its pool as they are, so each port has a pool of its own, filled
//! with frames for the other port's hosts: the switch learns, looks up and forwards as it would
//! any frame. Prints one line per run: pipeline, frames per second, ns per frame.
//!
//! `cargo bench --bench forward -- [plain|lossless|raw|macswap] [seconds] [runs] [--huge|--no-huge]`

use std::time::Instant as Wall;

use sluice::buffer::{Alpha, BufferPlan, GroupKind, GroupPlan, SharedLimit};
use sluice::congestion::{EcnPlan, MarkAt, NotEct};
use sluice::dpdk::{
    DpdkPort, Eal, EalOptions, Mbuf, Memory, Pool, PoolOptions, PortOptions, TscClock,
};
use sluice::frame::{Burst, Frame};
use sluice::pfc::{FlowControl, PfcPlan};
use sluice::port::Port;
use sluice::schedule::{ClassPlan, SchedulePlan};
use sluice::switch::*;
use sluice::time::Duration;
use sluice::units::*;
use sluice::world::{Alone, World};

struct Real;

impl World for Real {
    type Frame = Mbuf;
    type Port = DpdkPort;
    type Events = ();
    type Handoff = Alone;
}

const FLOWS: u8 = 64;
const POOL: u32 = 2048;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let flag = |name: &str| args.iter().any(|a| a == name);
    let words: Vec<_> = args.iter().filter(|a| !a.starts_with("--")).collect();
    let pipeline = words.first().map_or("plain", |s| s.as_str());
    let seconds: f64 = words.get(1).map_or(1.0, |s| s.parse().expect("seconds"));
    let runs: u32 = words.get(2).map_or(3, |s| s.parse().expect("runs"));
    let memory = match (flag("--huge"), flag("--no-huge")) {
        (true, _) => Memory::Hugepages,
        (_, true) => Memory::NoHuge,
        _ => Memory::Auto,
    };
    let eal = Eal::start(&EalOptions { memory, ..EalOptions::default() }).expect("EAL");
    let cores = core_affinity::get_core_ids().expect("cores");
    core_affinity::set_for_current(*cores.last().expect("a core"));
    let _worker = eal.register_worker().expect("a worker");
    let ports: Vec<_> = (0..2u8).map(|n| null_port(&eal, n)).collect();
    match pipeline {
        "raw" | "macswap" => raw(ports, pipeline == "macswap", seconds, runs),
        _ => switch(ports, pipeline == "lossless", seconds, runs),
    }
}

/// A null port whose pool holds frames from this side's hosts to the other's.
fn null_port(eal: &Eal, n: u8) -> DpdkPort {
    let pool = Pool::new(
        eal,
        &PoolOptions { name: format!("null{n}"), frames: POOL, ..PoolOptions::default() },
    )
    .expect("a pool");
    let mut all = Vec::new();
    let mut flow = 0;
    while let Some(frame) = pool.frame(&template(n, flow)) {
        all.push(frame);
        flow = (flow + 1) % FLOWS;
    }
    drop(all);
    let port = DpdkPort::open(eal, &format!("net_null{n},size=60")).expect("net_null");
    port.start(&PortOptions::default(), &pool).expect("started")
}

fn mac(side: u8, flow: u8) -> [u8; 6] {
    [2, 0, 0, side, 0, flow]
}

/// 64 octets on the wire: a tag of VLAN 1 with PCP 3, IPv4 with ECT(0), UDP.
fn template(side: u8, flow: u8) -> [u8; 60] {
    let mut f = [0; 60];
    f[..6].copy_from_slice(&mac(1 - side, flow));
    f[6..12].copy_from_slice(&mac(side, flow));
    f[12..18].copy_from_slice(&[0x81, 0, 3 << 5, 1, 8, 0]);
    f[18..38].copy_from_slice(&[
        0x45,
        2,
        0,
        42,
        0,
        0,
        0,
        0,
        64,
        17,
        0,
        0,
        10,
        0,
        side,
        flow,
        10,
        0,
        1 - side,
        flow,
    ]);
    f
}

fn plan(lossless: bool) -> SwitchPlan {
    let p3 = PrioritySet::of(Priority::ALL[3]);
    let kind = |g: usize| match (lossless, g) {
        (true, 3) => {
            GroupKind::Lossless { headroom: Cells(500), xon: Cells(100), xon_offset: Cells(8) }
        }
        _ => GroupKind::Lossy,
    };
    let limit = match lossless {
        true => SharedLimit::Dynamic(Alpha::new(0).expect("in range")),
        false => SharedLimit::Unlimited,
    };
    let groups = core::array::from_fn(|g| GroupPlan { reserved: Cells(16), limit, kind: kind(g) });
    let ecn = EcnPlan {
        kmin: Bytes(20_000),
        kmax: Bytes(80_000),
        pmax: 6554,
        at: MarkAt::Enqueue,
        not_ect: NotEct::Pass,
    };
    let port = |n: u8| PortPlan {
        name: format!("p{n}"),
        mac: Mac([2, 0, 0, n, 1, 0]),
        rate: BitsPerSec::gbps(100),
        shaped: false,
        classify: ClassifyPlan {
            trust: if lossless { Trust::PcpThenDscp } else { Trust::Pcp },
            pcp: Priority::ALL,
            dscp: core::array::from_fn(|d| Priority::ALL[d / 8]),
            default: Priority::MIN,
            group: PriorityGroup::ALL,
            class: TrafficClass::ALL,
        },
        pfc: PfcPlan {
            mode: if lossless { FlowControl::Pfc { send: p3, obey: p3 } } else { FlowControl::Off },
            quanta: Quanta::MAX,
            refresh: Duration::from_micros(100),
        },
        watchdog: [None; 8],
        schedule: SchedulePlan {
            classes: [ClassPlan::Dwrr { weight: 12 }; 8],
            shaper_burst: Bytes(0),
        },
        ecn: [lossless.then_some(ecn); 8],
        queue_limits: [SharedLimit::Unlimited; 8],
        vlan: VlanPlan {
            pvid: Some(Vid::MIN),
            members: vec![VlanMember { vid: Vid::MIN, tagged: true }],
        },
    };
    SwitchPlan {
        name: "bench".into(),
        ports: (0..2).map(port).collect(),
        buffer: BufferPlan {
            cell_bytes: 256,
            total: Cells(8192),
            groups: vec![groups; 2],
            slack: Cells(0),
        },
        bridge: BridgePlan { table_size: 4096, ageing: Duration::from_secs(300), statics: vec![] },
        routing: RoutingPlan::default(),
        max_frame: 1522,
        seed: 1,
    }
}

fn switch(ports: Vec<DpdkPort>, lossless: bool, seconds: f64, runs: u32) {
    let plan = plan(lossless);
    let ports = ports
        .into_iter()
        .enumerate()
        .map(|(n, p)| (PortId::new(n as u16).expect("small"), p))
        .collect();
    let mut sw: Switch<Real> = Switch::new(&plan, ports, Alone::default(), ()).expect("a switch");
    let clock = TscClock::new();
    let mut before = 0;
    for _ in 0..=runs {
        let start = Wall::now();
        while start.elapsed().as_secs_f64() < seconds {
            for _ in 0..4096 {
                sw.poll(clock.now());
            }
        }
        let took = start.elapsed().as_secs_f64();
        let snap = sw.snapshot(clock.now());
        let sent: u64 = snap.ports.iter().map(|p| p.counters.tx_frames).sum();
        assert!(
            snap.balance().holds() && snap.drops().total() < 100,
            "{:?}",
            snap.drops().iter().collect::<Vec<_>>()
        );
        let n = sent - before;
        before = sent;
        println!(
            "{} {:.2} Mpps {:.2} ns",
            if lossless { "lossless" } else { "plain" },
            n as f64 / took / 1e6,
            took * 1e9 / n as f64
        );
    }
}

/// What the two ports cost without a switch between them; with `swap`, as testpmd's macswap.
fn raw(mut ports: Vec<DpdkPort>, swap: bool, seconds: f64, runs: u32) {
    let mut burst: Burst<Mbuf> = Burst::new();
    for _ in 0..=runs {
        let (start, mut n) = (Wall::now(), 0u64);
        while start.elapsed().as_secs_f64() < seconds {
            for _ in 0..4096 {
                for side in 0..2 {
                    ports[side].rx_burst(&mut burst);
                    n += burst.len() as u64;
                    if swap {
                        for f in &mut burst {
                            let (dst, src) = f.head_mut()[..12].split_at_mut(6);
                            dst.swap_with_slice(src);
                        }
                    }
                    ports[1 - side].tx_burst(&mut burst);
                    burst.clear();
                }
            }
        }
        let took = start.elapsed().as_secs_f64();
        println!(
            "{} {:.2} Mpps {:.2} ns",
            if swap { "macswap" } else { "raw" },
            n as f64 / took / 1e6,
            took * 1e9 / n as f64
        );
    }
}
