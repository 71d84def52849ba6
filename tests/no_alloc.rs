//! The path of a frame allocates nothing: counted by an allocator, with ports in memory, while the
//! switch floods, learns, drops, marks, pauses and is paused, and while stations send, answer and
//! repeat.

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
use sluice::congestion::DcqcnPlan;
use sluice::frame::{Burst, Frame};
use sluice::host::{
    FlowId, Message, Recovery, RocePlan, Station, StationPlan, TcpPlan, Transport, TransportPlan,
};
use sluice::pfc::FlowControl;
use sluice::port::Port;
use sluice::runtime::{LossWatch, Mesh, mesh};
use sluice::schedule::LinePlan;
use sluice::switch::Switch;
use sluice::time::{Duration, Instant};
use sluice::units::{BitsPerSec, Bytes, Dscp, Mac, PortId, Priority};
use sluice::wire::ip::{self, Ecn};
use sluice::wire::roce::U24;
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

/// A flow of stations 1 and 2, of frames of 200 octets.
fn answered(id: u32, kind: Transport) -> TransportPlan {
    let mac = |n| Mac([2, 0, 0, 0, 0, n]);
    TransportPlan {
        id: FlowId(id),
        src: mac(1),
        dst: mac(2),
        src_ip: [10, 0, 0, 1].into(),
        dst_ip: [10, 0, 0, 2].into(),
        tag: None,
        priority: Priority::MIN,
        dscp: Dscp::MIN,
        ecn: Ecn::Ect0,
        size: 200,
        rate: None,
        start: Instant::ZERO,
        stop: Instant::NEVER,
        message: Some(Message { bytes: 1_000, count: u64::MAX, every: Duration::ZERO }),
        kind,
    }
}

#[test]
fn no_answer_costs_an_allocation_either() {
    memory::stock(16_384);
    let qp = |n| U24::new(n).unwrap();
    let dcqcn = RocePlan { dcqcn: Some(DcqcnPlan::ns3()), ..RocePlan::new(qp(1), qp(1)) };
    let selective = RocePlan { recovery: Recovery::SelectiveRepeat, ..RocePlan::new(qp(2), qp(2)) };
    let timeout_min = Duration::from_micros(20);
    let tcp = TcpPlan { timeout_min, ..TcpPlan::new(1_000, 9) };
    let flows = [Transport::Roce(dcqcn), Transport::Roce(selective), Transport::TcpLike(tcp)];
    let flows: Vec<_> = (0..).zip(flows).map(|(n, kind)| answered(n, kind)).collect();
    let station = |n: u8, senders: &[TransportPlan], receivers: &[TransportPlan]| StationPlan {
        name: "host".into(),
        mac: Mac([2, 0, 0, 0, 0, n]),
        rate: BitsPerSec::gbps(100),
        flow_control: FlowControl::Off,
        shaper_burst: Bytes(0),
        line: LinePlan::ETHERNET,
        backlog: Duration::ZERO,
        flows: vec![],
        expects: vec![],
        senders: senders.to_vec(),
        receivers: receivers.to_vec(),
        pauses: vec![],
        tester: Default::default(),
    };
    let (here, mut out) = MemPort::pair(256);
    let (mut back, there) = MemPort::pair(256);
    let mut sender = Station::new(&station(1, &flows, &[]), here).unwrap();
    let mut receiver = Station::new(&station(2, &[], &flows), there).unwrap();
    let (mut now, mut n, mut burst) = (Instant::ZERO, 0_u32, Burst::new());
    let counted = allocation_counter::measure(|| {
        for _ in 0..200_000 {
            now += Duration::from_nanos(18);
            sender.poll(now);
            receiver.poll(now);
            // The wire between them loses and marks some.
            out.rx_burst(&mut burst);
            burst.retain(|frame| {
                n += 1;
                if n % 97 == 0 {
                    ip::mark_ce_in_frame(frame.head_mut());
                }
                n % 301 != 0
            });
            back.tx_burst(&mut burst);
            back.rx_burst(&mut burst);
            out.tx_burst(&mut burst);
            assert!(burst.is_empty(), "the wires hold what is on them");
        }
    });
    assert_eq!((counted.count_total, counted.count_current), (0, 0), "{counted:?}");
    let (sent, got) = (sender.snapshot(now), receiver.snapshot(now));
    for (s, r) in sent.senders.iter().zip(&got.receivers) {
        assert!(s.retransmitted > 10 && s.acknowledged > 100_000, "{s:?}");
        assert!(s.completions.messages > 100 && r.messages >= s.completions.messages, "{r:?}");
    }
    assert!(got.receivers[0].cnps > 10 && got.receivers[1].naks > 10, "{:?}", got.receivers);
}
