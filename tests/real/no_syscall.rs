//! The path of a frame makes no system call and allocates nothing, also with DPDK's ports: a
//! million frames are polled by a thread that the kernel would kill for any system call.
//!
//! The thread runs in a separate process (this test started again), which dies with SIGSYS if it
//! makes one; a second one makes a call on purpose, to verify that.
#![cfg(all(feature = "dpdk", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::collections::BTreeMap;
use std::hint;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use sluice::dpdk::{
    DpdkPort, Eal, EalOptions, Mbuf, Memory, Pool, PoolOptions, PortOptions, RingOptions, TscClock,
    ring_pair,
};
use sluice::runtime::{LossWatch, Mesh, mesh};
use sluice::switch::Switch;
use sluice::units::PortId;
use sluice::world::World;

use crate::overload::Overload;
use crate::plan::{self, Pipeline};

/// Role of the process that is started again.
const ROLE: &str = "SLUICE_NO_SYSCALL_ROLE";

/// Least number of frames that the switch receives under the filter.
const FRAMES: u64 = 1_000_000;

/// Steps of the load, about 50 frames each.
const STEPS: u32 = 24 * 1_024;

/// SIGSYS on Linux, but for MIPS.
const SIGSYS: i32 = 31;

struct Real;

impl World for Real {
    type Frame = Mbuf;
    type Port = DpdkPort;
    type Events = LossWatch;
    type Handoff = Mesh<Mbuf>;
}

#[test]
fn no_frame_costs_a_system_call() {
    if let Ok(role) = std::env::var(ROLE) {
        return guarded(role == "caller");
    }
    let caller = again("caller");
    assert_eq!(caller.status.signal(), Some(SIGSYS), "{caller:?}");
    let poller = again("poller");
    assert!(poller.status.success(), "{poller:?}");
}

fn again(role: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "no_syscall::no_frame_costs_a_system_call", "--nocapture"])
        .env(ROLE, role)
        .output()
        .unwrap()
}

/// Polls in a thread that may make no system call, and ends the process afterwards.
fn guarded(caller: bool) {
    let eal = Eal::start(&EalOptions { memory: Memory::NoHuge, ..EalOptions::default() }).unwrap();
    let clock = TscClock::new();
    let result = Arc::new(Mutex::new(None));
    let done = Arc::new(AtomicBool::new(false));
    let (tell, answer) = (done.clone(), result.clone());
    thread::spawn(move || {
        let _worker = eal.register_worker().unwrap();
        let mut load = load(&eal);
        apply_filter(&no_calls()).unwrap();
        let counted = allocation_counter::measure(|| {
            for _ in 0..STEPS {
                load.step(clock.now());
            }
        });
        if caller {
            thread::yield_now();
        }
        // The lock has no other holder yet, so it is free; even the end of a thread would be a
        // call.
        *answer.lock().unwrap() = Some((load, counted));
        tell.store(true, Ordering::Release);
        loop {
            hint::spin_loop();
        }
    });
    while !done.load(Ordering::Acquire) {
        thread::sleep(Duration::from_millis(10));
    }
    let (mut load, counted) = result.lock().unwrap().take().unwrap();
    assert_eq!(counted.count_total, 0, "{counted:?}");
    let now = clock.now();
    load.check(now);
    let received: u64 = load.snapshot(now).ports.iter().map(|p| p.counters.rx_frames).sum();
    assert!(received > FRAMES, "{received}");
    std::process::exit(0);
}

fn no_calls() -> BpfProgram {
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let none = BTreeMap::new();
    let filter =
        SeccompFilter::new(none, SeccompAction::KillProcess, SeccompAction::Allow, arch).unwrap();
    filter.try_into().unwrap()
}

/// The switch between three ring devices, hosts at their other ends.
fn load(eal: &Eal) -> Overload<Real, impl FnMut(&[u8]) -> Option<Mbuf> + use<>> {
    let pool = Pool::new(eal, &PoolOptions { frames: 16_383, ..PoolOptions::default() }).unwrap();
    let (mut ports, mut hosts) = (Vec::new(), Vec::new());
    for n in 0..3 {
        let options = RingOptions { name: format!("link{n}"), ..RingOptions::default() };
        let (port, host) = ring_pair(eal, &options).unwrap();
        let start = |port: DpdkPort<_>| port.start(&PortOptions::default(), &pool).unwrap();
        ports.push((PortId::new(n).unwrap(), start(port)));
        hosts.push(start(host));
    }
    let hosts: [DpdkPort; 3] = hosts.try_into().ok().unwrap();
    let plan = plan::plan(3, Pipeline::Lossless, 1);
    let end = mesh(&[0; 3], 1, 1).pop().unwrap();
    let switch = Switch::<Real>::new(&plan, ports, end, LossWatch::new(&plan)).unwrap();
    Overload::new(switch, hosts, move |octets| pool.frame(octets))
}
