//! No frame of a flow and priority overtakes another while isolation goes on and off, under paused,
//! flushed or full queues, and on every path through the switch.

use proptest::prelude::*;

use super::*;
use crate::Switch;
use crate::tests::workers::Meshed;
use ::buffer::{Alpha, SharedLimit};
use ::congestion::{EcnPlan, MarkAt, NotEct};
use ::pfc::{StormAction, WatchdogPlan};
use contracts::mesh::mesh;
use ground::time::{Duration, Instant};
use schedule::ClassPlan;

const FLOWS: u16 = 6;

/// One step of a random run.
#[derive(Clone, Debug)]
enum Step {
    /// Packets of a flow arrive.
    Arrive {
        flow: u16,
        packets: usize,
        len: usize,
    },
    /// The peer of port 3 pauses priority 3 or 5.
    Pause {
        priority: usize,
        quanta: u16,
    },
    /// Port 3 accepts this number of frames.
    Room(usize),
    Poll,
    /// Frames arrive without time to send: what is handed over waits for the next poll.
    Wait(u64),
    Enable(bool),
    /// The monitored and the congesting class are swapped.
    Swap(bool),
    /// The link of port 3 goes down and comes up.
    Flap,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(
        prop_oneof![
            12 => (1..=FLOWS, 1..6_usize, 64..1_400_usize)
                .prop_map(|(flow, packets, len)| Step::Arrive { flow, packets, len }),
            2 => (prop::sample::select(vec![3, 5]), 0..400_u16)
                .prop_map(|(priority, quanta)| Step::Pause { priority, quanta }),
            4 => (0..12_usize).prop_map(Step::Room),
            10 => Just(Step::Poll),
            4 => (1..30_u64).prop_map(Step::Wait),
            1 => prop::bool::weighted(0.8).prop_map(Step::Enable),
            1 => any::<bool>().prop_map(Step::Swap),
            1 => prop::bool::weighted(0.2).prop_map(|flap| if flap { Step::Flap } else { Step::Poll }),
        ],
        1..300,
    )
}

/// Parameters of a switch under test.
#[derive(Clone, Copy, Debug)]
struct Setting {
    shaped: bool,
    strict: bool,
    watchdog: bool,
    limited: bool,
    marks: bool,
    workers: bool,
    /// The congesting class has a dedicated lossless priority.
    guarded: bool,
    /// Capacity of the flow table.
    streams: usize,
}

fn settings() -> impl Strategy<Value = Setting> {
    (any::<[bool; 7]>(), 1..8_usize).prop_map(
        |([shaped, strict, watchdog, limited, marks, workers, guarded], streams)| Setting {
            shaped,
            strict,
            watchdog,
            limited,
            marks,
            workers,
            guarded,
            streams,
        },
    )
}

fn plan_of(setting: &Setting) -> SwitchPlan {
    let mut plan = isolating_switch();
    plan.buffer.total = Cells(900);
    if setting.guarded {
        apart::guarded(&mut plan);
        plan.buffer.total = Cells(2_100);
    }
    let machine = &mut plan.congestion.isolation.as_mut().unwrap().machine;
    machine.streams = setting.streams;
    machine.max_flow_life = Duration::from_micros(40);
    let egress = &mut plan.ports[3];
    egress.shaped = setting.shaped;
    if setting.strict {
        egress.schedule.classes[5] = ClassPlan::Strict;
    }
    if setting.watchdog {
        egress.watchdog[3] = Some(WatchdogPlan {
            enabled: true,
            detection: Duration::from_micros(10),
            restoration: Duration::from_micros(10),
            action: StormAction::Drop,
        });
    }
    if setting.limited {
        egress.queue_limits[5] = SharedLimit::Dynamic(Alpha::new(-4).unwrap());
    }
    if setting.marks {
        egress.ecn[3] = Some(EcnPlan {
            kmin: Bytes(1_000),
            kmax: Bytes(6_000),
            pmax: 30_000,
            at: MarkAt::Dequeue,
            not_ect: NotEct::Drop,
        });
    }
    plan
}

/// A switch of one or two workers, whose ports the test holds.
struct Chain {
    /// With two, the first has the ingress ports and the second the egress port.
    parts: Vec<Switch<Meshed>>,
    now: Instant,
    sent: [u32; FLOWS as usize],
    left: [u32; FLOWS as usize],
    out: usize,
}

impl Chain {
    fn new(setting: &Setting) -> Self {
        let plan = plan_of(setting);
        let owners = if setting.workers { vec![0, 0, 0, 1] } else { vec![0; 4] };
        let workers = 1 + usize::from(setting.workers);
        let parts = mesh(&owners, workers, 8).into_iter().enumerate();
        let parts = parts.map(|(me, handoff)| {
            let mine = (0..4).filter(|n| owners[usize::from(*n)] == me);
            let ports = mine.map(|n| (port(n), MemPort::endless())).collect();
            Switch::new(&plan, ports, handoff, ()).unwrap()
        });
        let mut chain = Self {
            parts: parts.collect(),
            now: Instant::ZERO,
            sent: [0; FLOWS as usize],
            left: [0; FLOWS as usize],
            out: 0,
        };
        chain.learn();
        chain
    }

    fn port(&mut self, n: u16) -> &mut MemPort {
        let parts = self.parts.iter_mut();
        parts.filter_map(|part| part.port_mut(port(n))).next().unwrap()
    }

    /// Teaches every worker that host 9 is behind port 3.
    fn learn(&mut self) {
        self.port(3).rx.push_back(MemFrame::new(&frame(host(8), host(9), None, 60)));
        for _ in 0..4 {
            self.poll();
        }
        for n in 0..4 {
            self.port(n).tx.clear();
        }
    }

    fn poll(&mut self) {
        for part in &mut self.parts {
            part.poll(self.now);
        }
    }

    fn apply(&mut self, change: Change) {
        self.parts.iter_mut().for_each(|part| part.apply(self.now, change).unwrap());
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Arrive { flow, packets, len } => {
                for _ in 0..packets {
                    let number = &mut self.sent[usize::from(flow) - 1];
                    *number += 1;
                    let from = flow as u8;
                    let octets = packet(from, flow, *number, len);
                    self.port(flow % 3).rx.push_back(MemFrame::new(&octets));
                }
            }
            Step::Pause { priority, quanta } => {
                let octets = pause(host(9), Priority::ALL[priority], quanta);
                self.port(3).rx.push_back(MemFrame::new(&octets));
            }
            Step::Room(frames) => self.port(3).room = frames,
            Step::Poll => self.poll(),
            Step::Wait(micros) => self.now += Duration::from_micros(micros),
            Step::Enable(enabled) => {
                self.apply(object("ci-master-enable", At::default(), &enabled.to_string()));
            }
            Step::Swap(swapped) => {
                let map = if swapped { "0,0,0,6,0,-4,0,0" } else { "0,0,0,-6,0,4,0,0" };
                self.apply(object("queue-map", At::default(), map));
            }
            Step::Flap => {
                for up in [false, true] {
                    let last = self.parts.len() - 1;
                    let change = Change::Link { port: port(3), up, rate: None };
                    self.parts[last].apply(self.now, change).unwrap();
                    self.poll();
                }
                self.learn();
            }
        }
    }

    /// Returns true if the frames that left so far are in order, although some may be missing.
    fn is_in_order(&mut self) -> bool {
        let left: Vec<_> = self.port(3).tx.drain(..).collect();
        left.iter().all(|frame| {
            use contracts::frame::Frame;
            self.out += 1;
            let (flow, number) = read(frame.head());
            let last = &mut self.left[usize::from(flow) - 1];
            let later = number > *last;
            *last = number;
            later
        })
    }

    fn held(&self) -> u64 {
        self.parts.iter().map(Switch::held).sum()
    }

    /// Lets everything leave.
    fn drain(&mut self) {
        self.port(3).room = usize::MAX;
        for _ in 0..2_000 {
            self.now += Duration::from_micros(10);
            self.poll();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn frames_of_a_flow_stay_in_order_and_none_stays_behind(
        setting in settings(), steps in steps(),
    ) {
        let mut chain = Chain::new(&setting);
        for step in &steps {
            chain.step(step);
            prop_assert!(chain.is_in_order(), "{step:?}");
        }
        chain.drain();
        prop_assert!(chain.is_in_order());
        prop_assert_eq!(chain.held(), 0, "frames that nobody lets go");
        let now = chain.now;
        for part in &mut chain.parts {
            let balance = part.snapshot(now).balance();
            prop_assert!(balance.holds(), "{:?}", balance);
            part.ledger().check();
        }
    }
}

/// Most of these runs must isolate, hold and return flows, or the property is vacuous.
#[test]
fn runs_as_above_isolate_hold_and_bring_back() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut isolated, mut held, mut returned) = (0, 0, 0);
    for _ in 0..60 {
        let setting = settings().new_tree(&mut runner).unwrap().current();
        let steps = steps().new_tree(&mut runner).unwrap().current();
        let mut chain = Chain::new(&setting);
        steps.iter().for_each(|step| chain.step(step));
        chain.drain();
        let last = chain.parts.len() - 1;
        let counters = chain.parts[last].isolation().unwrap().counters();
        isolated += u32::from(counters.isolated_frames > 10);
        held += u32::from(counters.held_frames > 0);
        returned += u32::from(counters.returned > 0);
    }
    assert!(isolated > 30 && held > 20 && returned > 15, "{isolated} {held} {returned}");
}
