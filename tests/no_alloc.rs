//! The path of a frame allocates nothing: counted by an allocator, with ports in memory, while the
//! switch floods, learns, drops, marks, pauses and is paused.

#[path = "../perf/micro/shared/memory.rs"]
mod memory;
#[path = "support/overload.rs"]
mod overload;
#[path = "../perf/micro/shared/plan.rs"]
#[allow(dead_code)] // the benches use more of it
mod plan;

use memory::{MemFrame, MemPort};
use overload::Overload;
use plan::Pipeline;
use sluice::runtime::{LossWatch, Mesh, mesh};
use sluice::switch::Switch;
use sluice::time::{Duration, Instant};
use sluice::units::PortId;
use sluice::world::World;

/// What a burst of 32 minimal frames takes at 100 Gb/s.
const STEP: Duration = Duration::from_nanos(32 * 672 / 100);

struct Memory;

impl World for Memory {
    type Frame = MemFrame;
    type Port = MemPort;
    type Events = LossWatch;
    type Handoff = Mesh<MemFrame>;
}

#[test]
fn no_frame_costs_an_allocation() {
    memory::stock(16_384);
    let pairs = [(); 3].map(|()| MemPort::pair(256));
    let (mut ports, mut hosts) = (Vec::new(), Vec::new());
    for (n, (port, host)) in (0..).zip(pairs) {
        ports.push((PortId::new(n).unwrap(), port));
        hosts.push(host);
    }
    let hosts: [MemPort; 3] = hosts.try_into().ok().unwrap();
    let plan = plan::plan(3, Pipeline::Lossless, 1);
    let end = mesh(&[0; 3], 1, 1).pop().unwrap();
    let switch = Switch::<Memory>::new(&plan, ports, end, LossWatch::new(&plan)).unwrap();
    let mut load = Overload::new(switch, hosts, MemFrame::new);
    let mut now = Instant::ZERO;
    // Not even the first frames allocate: all that a switch needs, it has when it is built.
    let counted = allocation_counter::measure(|| {
        for _ in 0..8 * 1_024 {
            now += STEP;
            load.step(now);
        }
    });
    assert_eq!((counted.count_total, counted.count_current), (0, 0), "{counted:?}");
    load.check(now);
    let control = allocation_counter::measure(|| drop(std::hint::black_box(vec![0_u8; 100])));
    assert_eq!(control.count_total, 1, "the counter counts");
}
