//! Protected ports allocate nothing on the path of a frame: the switch of `no_alloc`, overloaded
//! and paused, with MACsec on every link.

use sluice::port::Secured;
use sluice::runtime::{LossWatch, Mesh, mesh};
use sluice::secure::{PfcAccept, SecyPlan};
use sluice::switch::Switch;
use sluice::time::{Duration, Instant};
use sluice::units::PortId;
use sluice::world::World;

use crate::memory::{self, MemFrame, MemPort};
use crate::overload::Overload;
use crate::plan::{self, Pipeline};
use crate::secys::secy;

/// Duration of a burst of 32 minimal frames at 100 Gb/s.
const STEP: Duration = Duration::from_nanos(32 * 672 / 100);

struct Memory;

impl World for Memory {
    type Frame = MemFrame;
    type Port = Secured<MemPort>;
    type Events = LossWatch;
    type Handoff = Mesh<MemFrame>;
}

/// Runs the overload with `SecY`s at both ends of each link; returns the counters of the switch's
/// ports.
fn overload(at_switch: impl Fn(u8) -> SecyPlan, at_host: impl Fn(u8) -> SecyPlan) -> Vec<u64> {
    memory::stock(16_384);
    let mut plan = plan::plan(3, Pipeline::Lossless, 1);
    let (mut ports, mut hosts) = (Vec::new(), Vec::new());
    for n in 0..3 {
        let (port, host) = MemPort::pair(256);
        plan.ports[usize::from(n)].secy = Some(Box::new(at_switch(n)));
        let port = Secured::new(port, plan.ports[usize::from(n)].secy.as_deref()).unwrap();
        ports.push((PortId::new(n.into()).unwrap(), port));
        hosts.push(Secured::new(host, Some(&at_host(n))).unwrap());
    }
    let hosts: [_; 3] = hosts.try_into().ok().unwrap();
    let end = mesh(&[0; 3], 1, 1).pop().unwrap();
    let switch = Switch::<Memory>::new(&plan, ports, end, LossWatch::new(&plan)).unwrap();
    let mut load = Overload::new(switch, hosts, MemFrame::new);
    let mut now = Instant::ZERO;
    let counted = allocation_counter::measure(|| {
        for _ in 0..4 * 1_024 {
            now += STEP;
            load.step(now);
        }
    });
    assert_eq!((counted.count_total, counted.count_current), (0, 0), "{counted:?}");
    let protected = |port: &sluice::stats::PortSnapshot| {
        let secy = port.secy.as_ref().unwrap();
        secy.transmit.counters.out_pkts_encrypted
    };
    load.snapshot(now).ports.iter().map(protected).collect()
}

#[test]
fn protected_frames_cost_no_allocation() {
    let sent = overload(|n| secy(n + 1, n + 11, true), |n| secy(n + 11, n + 1, true));
    assert!(sent.iter().all(|frames| *frames > 100), "{sent:?}");
}

#[test]
fn protected_pauses_beside_plain_data_cost_no_allocation() {
    // These hosts make their pauses themselves, unprotected.
    let accept_pfc = PfcAccept::Both;
    let at_switch = |n| SecyPlan { accept_pfc, ..secy(n + 1, n + 11, false) };
    let sent = overload(at_switch, |n| secy(n + 11, n + 1, false));
    assert!(sent.iter().sum::<u64>() > 10, "{sent:?}");
}
