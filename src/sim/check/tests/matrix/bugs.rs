//! The planted bugs of each check, and a network in which it has nothing to judge.

mod marks;

use super::*;
use crate::check::tests::agreed::{OFF, ON, agree};
use crate::check::tests::classes;
use crate::defect::{Defect, Forwarding, Obeying, Sending};
use crate::tests::secured::secure;
use ::host::{Demand, FlowId, Headers, PausePlan, Rate};
use ::pfc::FlowControl;
use ::wire::ip::Ecn;
use buffer::{GroupKind, SharedLimit};
use congestion::{EcnPlan, MarkAt, NotEct};
use contracts::frame::Frame;
use ground::time::Duration;
use ground::units::*;
use switch::Change;

/// Time in which shares are measured, flows that have to get equal ones, and how far off they may be.
pub(super) const WINDOW: (u64, u64) = (10, 80);
pub(super) const EQUAL: [FlowId; 3] = [FlowId(4), FlowId(104), FlowId(304)];
pub(super) const TOLERANCE: f64 = 0.2;

/// A port that swallows data.
const SWALLOWS: Forwarding = Forwarding::LosesData { every: 10 };

/// The line from the switch to the host that all others blast at.
const OUT: LinkId = LinkId(4);

fn defect(network: &mut Network<Watch>, node: u32, port: u16, what: impl Into<Defect>) {
    network.add_defect(End { node: NodeId(node), port: PortId::new(port).unwrap() }, what);
}

/// Four hosts blast at a fifth over one switch, which soon says again what it said and was lost.
fn healthy() -> NetworkPlan {
    let mut plan = incast(4, 400);
    for port in &mut the_switch(&mut plan).ports {
        port.pfc.refresh = Duration::from_micros(5);
    }
    plan
}

/// The same with short pauses, and a receiver that pauses the switch for long and now and then.
fn held() -> NetworkPlan {
    let mut plan = incast(4, 300);
    for port in &mut the_switch(&mut plan).ports {
        (port.pfc.quanta, port.pfc.refresh) = (Quanta(1_000), Duration::from_nanos(2_560));
    }
    let ask = Demand::pfc(PrioritySet::of(Priority::ALL[2]), Quanta(30_000));
    let other = PausePlan { ask, ..storm(0, 12, 50, 3) };
    host(&mut plan, 4).pauses = vec![storm(9_000, 10, 50, 3), other];
    plan
}

/// The first, with a switch that marks from three frames on.
fn marking() -> NetworkPlan {
    let mut plan = healthy();
    the_switch(&mut plan).ports[4].ecn[3] = Some(EcnPlan {
        kmin: Bytes(3_000),
        kmax: Bytes(3_000),
        pmax: 65_536,
        at: MarkAt::Enqueue,
        not_ect: NotEct::Pass,
    });
    (0..4).for_each(|n| ecn(&mut plan, n, Ecn::Ect0));
    plan
}

fn ecn(plan: &mut NetworkPlan, n: usize, ecn: Ecn) {
    for flow in &mut host(plan, n).flows {
        let Headers::Udp4(udp) = &mut flow.headers else { panic!("flows are of UDP") };
        udp.ecn = ecn;
    }
}

/// Hosts that send both ways over links that protect all, and respond to pauses late.
fn both_ways() -> NetworkPlan {
    let mut plan = incast(4, 300);
    let mut back = vec![];
    for n in 0..4 {
        let flow = &host(&mut plan, n).flows[0];
        let id = FlowId(n as u32 + 900);
        back.push(::host::FlowPlan { id, src: flow.dst, dst: flow.src, ..flow.clone() });
        host(&mut plan, n).expects.push(id);
    }
    host(&mut plan, 4).flows = back;
    for link in 0..5 {
        secure(&mut plan, link, true, |_| {});
        let response = Duration::from_nanos(614);
        (plan.links[link].ab.response, plan.links[link].ba.response) = (response, response);
    }
    plan
}

/// Hosts that send both ways, and a receiver that pauses the switch for long.
fn both_ways_held() -> NetworkPlan {
    let mut plan = both_ways();
    host(&mut plan, 4).pauses = host(&mut held(), 4).pauses.clone();
    plan
}

/// The network of `held`, which agrees on PFC while it runs.
fn agreeing() -> NetworkPlan {
    let mut plan = held();
    agree(&mut plan, OFF, ON);
    plan
}

/// The same, which agrees to do without.
fn disagreeing() -> NetworkPlan {
    let mut plan = held();
    agree(&mut plan, ON, OFF);
    plan
}

/// A switch that says that it runs PFC for what was agreed on, and goes on as `mode`.
const fn unchanged(name: &'static str, plan: fn(&mut NetworkPlan), seen: Seen) -> Bug {
    Bug { name, plan, seen, ..Bug::NONE }
}

/// The priorities that are agreed on.
const AGREED: PrioritySet = PrioritySet::of(P3);

/// Has the changes of PFC in a plan be to another mode.
fn stays(plan: &mut NetworkPlan, to: FlowControl) {
    for fault in &mut plan.faults {
        if let FaultKind::Change { change: Change::Pfc { mode, .. }, .. } = &mut fault.kind {
            *mode = to;
        }
    }
}

/// Shows a change of PFC as one to `set`.
fn told(event: Event, set: PrioritySet) -> Vec<Event> {
    vec![match event {
        Event::Noted(at, node, Note::PfcChanged { port, .. }) => {
            Event::Noted(at, node, Note::PfcChanged { port, send: set, obey: set })
        }
        event => event,
    }]
}

/// A ring in which every host sends to the next.
fn open_ring() -> NetworkPlan {
    ring(3, 1, 500)
}

fn obeys(plan: &mut NetworkPlan, obey: PrioritySet) {
    host(plan, 0).flow_control = FlowControl::Pfc { send: PrioritySet::EMPTY, obey };
}

/// True for each `every`th data frame that starts, or arrives, on a line; both counts go on apart.
fn is_data(count: &mut [u64; 4], event: &Event, line: Direction, every: u64) -> [bool; 2] {
    let (place, frame) = match event {
        Event::Sent(_, d, frame, _) if *d == line => (0, frame),
        Event::Arrived(_, d, frame) if *d == line => (1, frame),
        _ => return [false; 2],
    };
    if frame.wire_len() < 500 {
        return [false; 2];
    }
    count[place] += 1;
    let hit = count[place] % every == 0;
    [hit && place == 0, hit && place == 1]
}

/// The times of a PFC frame that starts on a line, for priority 3.
fn pause_of(event: &Event, line: Direction) -> Option<u16> {
    let Event::Sent(_, d, frame, _) = event else { return None };
    let is_pfc = *d == line && frame.head()[12..16] == [0x88, 0x08, 0x01, 0x01];
    is_pfc.then(|| u16::from_be_bytes([frame.head()[24], frame.head()[25]]))
}

fn resized(event: Event, by: i32) -> Event {
    let Event::Arrived(at, d, frame) = event else { return event };
    let len = frame.wire_len().saturating_add_signed(by);
    Event::Arrived(at, d, VirtualFrame::new(frame.head(), len))
}

/// The bugs of each check.
pub(super) fn rows(check: Check) -> Vec<Row> {
    match check {
        Check::Frames => vec![Row { plan: healthy, us: 400, bugs: frames() }],
        Check::Cells => vec![Row { plan: healthy, us: 400, bugs: cells() }],
        Check::Lossless => vec![
            Row { plan: healthy, us: 400, bugs: lossless() },
            Row { plan: both_ways, us: 400, bugs: vec![validated_late()] },
        ],
        Check::PauseLegality => vec![
            Row { plan: held, us: 400, bugs: pause_legality() },
            Row {
                plan: agreeing,
                us: 400,
                bugs: vec![unchanged(
                    "a switch that obeys nothing that it agreed on",
                    |p| stays(p, FlowControl::Pfc { send: AGREED, obey: PrioritySet::EMPTY }),
                    |_, event| told(event, AGREED),
                )],
            },
        ],
        Check::PausesSent => vec![
            Row { plan: held, us: 400, bugs: pauses_told() },
            Row {
                plan: agreeing,
                us: 400,
                bugs: vec![unchanged(
                    "a switch that pauses nobody though it agreed",
                    |p| stays(p, FlowControl::Pfc { send: PrioritySet::EMPTY, obey: AGREED }),
                    |_, event| told(event, AGREED),
                )],
            },
        ],
        Check::PausesEnd => vec![Row { plan: healthy, us: 320, bugs: pauses_end() }],
        Check::Deadlock => vec![Row { plan: open_ring, us: 500, bugs: deadlock() }],
        Check::IdleLines => vec![
            Row { plan: held, us: 500, bugs: idle_lines() },
            Row { plan: both_ways_held, us: 500, bugs: vec![refreshes_alone()] },
            Row {
                plan: disagreeing,
                us: 500,
                bugs: vec![unchanged(
                    "a switch that obeys what it agreed to do without",
                    |p| stays(p, ON),
                    |_, event| told(event, PrioritySet::EMPTY),
                )],
            },
            Row {
                plan: classes::separated,
                us: 500,
                bugs: vec![unchanged(
                    "a switch that keeps priorities in one class and says that each has one",
                    classes::in_one,
                    |_, event| classes::told_apart(event),
                )],
            },
        ],
        Check::EcnBeforePfc => vec![Row { plan: marking, us: 310, bugs: ecn_before_pfc() }],
        Check::Marks => vec![
            Row { plan: marks::marking_some, us: 310, bugs: marks::bugs() },
            Row {
                plan: marks::marking_v6,
                us: 310,
                bugs: vec![
                    Bug::built("packets of IPv6 that leave without their marks", |n| {
                        defect(n, 0, 4, Forwarding::Ipv6Unmarked);
                    })
                    .says(&["s: 0 frames came with CE", "and 0 left with it"]),
                ],
            },
        ],
        Check::Fairness => vec![Row { plan: healthy, us: 310, bugs: fairness() }],
    }
}

/// Gives a frame another source address.
fn from_another(mut event: Event) -> Event {
    if let Event::Sent(_, _, frame, _) | Event::Arrived(_, _, frame) = &mut event {
        frame.head_mut()[11] ^= 0x40;
    }
    event
}

fn frames() -> Vec<Bug> {
    vec![
        Bug::built("a port swallows data", |n| defect(n, 0, 4, SWALLOWS)),
        Bug::seen("a frame vanishes on its line", |n, event| {
            let [_, arrives] = is_data(n, &event, OUT.ab(), 50);
            if arrives { vec![] } else { vec![event] }
        })
        .says(&["32 frames of 32000 octets on the line from s:p4 never ended"]),
        Bug::seen("a frame arrives twice", |n, event| {
            let [_, arrives] = is_data(n, &event, OUT.ab(), 50);
            if arrives { vec![event.clone(), event] } else { vec![event] }
        })
        .says(&["never started there"]),
        Bug::seen("a switch swallows a frame", |n, event| {
            let hit = is_data(n, &event, OUT.ab(), 50);
            if hit.contains(&true) { vec![] } else { vec![event] }
        })
        .says(&["s: 1"]),
        Bug::seen("a switch sends a frame twice", |n, event| {
            let hit = is_data(n, &event, OUT.ab(), 50);
            if hit.contains(&true) { vec![event.clone(), event] } else { vec![event] }
        }),
        Bug::seen("a switch sends frames that never came in", |n, event| {
            let hit = is_data(n, &event, OUT.ab(), 50);
            vec![if hit.contains(&true) { from_another(event) } else { event }]
        })
        .says(&["sent a frame that never came in"]),
        Bug::seen("a frame shrinks on its line", |n, event| {
            let [_, arrives] = is_data(n, &event, OUT.ab(), 50);
            vec![if arrives { resized(event, -64) } else { event }]
        }),
    ]
}

fn cells() -> Vec<Bug> {
    vec![
        Bug::plan("cells of twice the size", |p| the_switch(p).buffer.cell_bytes *= 2),
        Bug::plan("cells of half the size", |p| the_switch(p).buffer.cell_bytes /= 2),
        Bug::plan("a priority charged to another group", |p| {
            the_switch(p).ports[0].classify.group[3] = PriorityGroup::ALL[4];
        }),
        Bug::built("a frame released that never left", |n| {
            defect(n, 0, 4, SWALLOWS);
        }),
        Bug::seen("a frame charged too little", |n, event| {
            let [_, arrives] = is_data(n, &event, LinkId(0).ba(), 3);
            vec![if arrives { resized(event, 64) } else { event }]
        })
        .says(&["s:p0 group 3 has"]),
        Bug::seen("a frame charged too much", |n, event| {
            let [_, arrives] = is_data(n, &event, LinkId(0).ba(), 3);
            vec![if arrives { resized(event, -64) } else { event }]
        })
        .says(&["s:p0 group 3 has"]),
    ]
}

fn lossless() -> Vec<Bug> {
    vec![
        Bug::plan("headroom of one cell", |p| headroom(p, 1)),
        Bug::plan("headroom of forty cells", |p| headroom(p, 40))
            .says(&["s:p0 dropped", "headroom_full, from h0 to h4"]),
        Bug::plan("a host that responds late", |p| {
            p.links[0].ab.response = Duration::from_micros(20);
        }),
        Bug::plan("a host that obeys nothing, in two bursts", |p| {
            obeys(p, PrioritySet::EMPTY);
            let flow = &mut host(p, 0).flows[0];
            flow.frames = Some(200);
            let later = ::host::FlowPlan { id: FlowId(5), start: at(100), ..flow.clone() };
            host(p, 0).flows.push(later);
        }),
        Bug::built("pauses of the next priority", |n| defect(n, 0, 0, Sending::NextPriority)),
    ]
}

/// Pauses so short that their refreshes take the whole line.
fn refreshes_alone() -> Bug {
    Bug::plan("refreshes without a gap", |p| {
        for port in &mut the_switch(p).ports {
            (port.pfc.quanta, port.pfc.refresh) = (Quanta(5), Duration::from_nanos(1));
        }
    })
}

fn validated_late() -> Bug {
    Bug::built("pauses validated after the data behind them", Network::validate_pauses_late)
}

fn pause_legality() -> Vec<Bug> {
    vec![
        Bug::plan("a host that obeys nothing", |p| obeys(p, PrioritySet::EMPTY))
            .says(&["h0 started a frame of priority 3"]),
        Bug::plan("a host that obeys another priority", |p| {
            obeys(p, PrioritySet::of(Priority::ALL[4]));
        }),
        Bug::plan("a host that obeys PAUSE and no PFC", |p| {
            host(p, 0).flow_control = FlowControl::Pause { send: false, obey: true };
        }),
        Bug::plan("a host that obeys late", |p| host(p, 0).tester.pause_delay = Quanta(100)),
        Bug::built("quanta read as octets", |n| {
            defect(n, 1, 0, Obeying::ScaledTimes { numerator: 1, denominator: 8 })
        }),
        Bug::built("a switch that reads quanta as octets", |n| {
            defect(n, 0, 4, Obeying::ScaledTimes { numerator: 1, denominator: 8 })
        })
        .says(&["s:p4 started a frame of priority 3"]),
        Bug::built("a pause taken for one of the next priority", |n| {
            defect(n, 1, 0, Obeying::NextPriority);
        }),
    ]
}

fn pauses_told() -> Vec<Bug> {
    vec![
        Bug::built("lost resumptions", |n| defect(n, 0, 0, Sending::LosesResumptions { every: 3 }))
            .says(&["s:p0 owed its peer a resumption of priority 3"]),
        Bug::built("refreshes that come late", |n| {
            defect(n, 0, 0, Sending::RefreshesLate { every: 3 })
        })
        .says(&["s:p0 needs priority 3 paused", "sent no pause for"]),
        Bug::built("pauses of the next priority", |n| defect(n, 0, 0, Sending::NextPriority)),
        Bug::built("pauses that wait for data", |n| {
            defect(n, 0, 0, Sending::BehindData { frames: 4 })
        })
        .says(&["owed its peer a pause of priority 3"]),
        Bug::plan("a port that pauses nobody", |p| {
            let obey = PrioritySet::of(P3);
            the_switch(p).ports[0].pfc.mode = FlowControl::Pfc { send: PrioritySet::EMPTY, obey };
        }),
        Bug::seen("pauses that never reach the line", |_, event| {
            match pause_of(&event, LinkId(0).ab()) {
                Some(1..) => vec![],
                _ => vec![event],
            }
        })
        .says(&["s:p0 owed its peer a pause of priority 3"]),
    ]
}

/// Two ports have each, as a link that goes down ends the pauses of one.
fn pauses_end() -> Vec<Bug> {
    vec![
        Bug::built("no resumptions", |n| {
            (0..2).for_each(|port| defect(n, 0, port, Sending::NeverResumes));
        }),
        Bug::built("a pause after each resumption", |n| {
            (0..2).for_each(|port| defect(n, 0, port, Sending::PausesAgain));
        }),
        Bug::built("resumptions of the next priority", |n| {
            (0..2).for_each(|port| defect(n, 0, port, Sending::ResumesNextPriority));
        }),
        Bug::plan("a receiver that pauses for ever", |p| {
            host(p, 4).pauses.push(storm(u16::MAX, 20, 100, 100));
        }),
        Bug::seen("resumptions that never reach the line", |_, event| {
            match pause_of(&event, LinkId(1).ab()) {
                Some(0) => vec![],
                _ => vec![event],
            }
        })
        .says(&["s:p1 has priority 3 paused since"]),
    ]
}

fn deadlock() -> Vec<Bug> {
    vec![
        Bug::known("every flow goes two switches on", |p| *p = ring(3, 2, 2_000)),
        Bug::known("the same with larger groups", |p| {
            *p = ring(3, 2, 2_000);
            for groups in p.nodes.iter_mut().filter_map(buffers) {
                groups.iter_mut().for_each(|g| g[3].limit = SharedLimit::Static(Cells(200)));
            }
        }),
        Bug::known("hosts that start one after another", |p| {
            *p = ring(3, 2, 2_000);
            for (n, start) in [(3, 0), (4, 20), (5, 40)] {
                host(p, n - 1).flows[0].start = at(start);
            }
        }),
        Bug::known("shorter links", |p| {
            *p = ring(3, 2, 2_000);
            let near = Duration::from_nanos(50);
            p.links.iter_mut().for_each(|link| (link.ab.delay, link.ba.delay) = (near, near));
        }),
        Bug::known("shorter frames", |p| {
            *p = ring(3, 2, 2_000);
            (2..5).for_each(|n| host(p, n).flows[0].size = 700);
        }),
    ]
}

fn buffers(node: &mut NodePlan) -> Option<&mut Vec<[buffer::GroupPlan; 8]>> {
    match &mut node.kind {
        NodeKind::Switch(switch) => Some(&mut switch.buffer.groups),
        NodeKind::Host(_) => None,
    }
}

fn idle_lines() -> Vec<Bug> {
    vec![
        Bug::built("pauses that never expire", |n| defect(n, 0, 4, Obeying::NeverExpires)),
        Bug::built("a pause taken for one of all", |n| defect(n, 0, 4, Obeying::AllPriorities)),
        Bug::built("a pause taken for one of the next priority", |n| {
            defect(n, 0, 4, Obeying::NextPriority);
        }),
        Bug::plan("a switch that nobody wakes", |p| {
            let kind = FaultKind::Stall { node: NodeId(0), span: Duration::from_micros(30) };
            p.faults.push(fault(at(165), kind));
        })
        .says(&["s:p4 is idle"]),
        Bug::seen("a switch that waits though it is not paused", |_, event| {
            let pause = |d: Direction, f: &VirtualFrame| d == OUT.ba() && f.wire_len() < 500;
            match &event {
                Event::Arrived(_, d, frame) if pause(*d, frame) => vec![],
                _ => vec![event],
            }
        })
        .says(&["s:p4 is idle", "in class"]),
    ]
}

fn ecn_before_pfc() -> Vec<Bug> {
    vec![
        Bug::plan("a curve that is too high", |p| {
            if let Some(curve) = &mut the_switch(p).ports[4].ecn[3] {
                (curve.kmin, curve.kmax) = (Bytes(10_000_000), Bytes(10_000_000));
            }
        }),
        Bug::plan("a curve that never rises", |p| {
            if let Some(curve) = &mut the_switch(p).ports[4].ecn[3] {
                (curve.kmin, curve.kmax, curve.pmax) = (Bytes(0), Bytes(10_000_000), 0);
            }
        }),
        Bug::plan("a curve at another class", |p| the_switch(p).ports[4].ecn.swap(3, 4)),
        Bug::plan("a curve at another port", |p| {
            let curve = the_switch(p).ports[4].ecn[3].take();
            the_switch(p).ports[0].ecn[3] = curve;
        }),
        Bug::plan("marks at hosts that are not asked for them", |p| {
            (0..4).for_each(|n| ecn(p, n, Ecn::NotEct));
        }),
        Bug::seen("marks that are lost", |_, event| match event {
            Event::Noted(_, _, Note::Marked { .. }) => vec![],
            event => vec![event],
        }),
    ]
}

fn fairness() -> Vec<Bug> {
    vec![
        Bug::plan("a host that sends slowly", |p| {
            host(p, 0).flows[0].rate = Rate::LineShare(100_000);
        }),
        Bug::plan("a host that starts late", |p| host(p, 0).flows[0].start = at(60)),
        Bug::plan("a host that stops early", |p| host(p, 0).flows[0].frames = Some(20)),
        Bug::built("a host that is not resumed", |n| defect(n, 0, 0, Sending::NeverResumes)),
        Bug::plan("a host with a second flow", |p| {
            let more = ::host::FlowPlan { id: FlowId(5), ..host(p, 0).flows[0].clone() };
            host(p, 0).flows.push(more);
        }),
    ]
}

/// A network, and flows, in which a check has nothing to judge.
pub(super) fn not_judged(check: Check) -> (Row, &'static [FlowId]) {
    let plan: fn() -> NetworkPlan = match check {
        Check::Frames | Check::IdleLines | Check::Marks => silent,
        Check::Cells => || {
            // A frame that nobody sent is held for ever.
            let mut plan = healthy();
            let forged = elsewhere::one_frame(&plan);
            plan.faults.extend(forged);
            plan
        },
        Check::Lossless | Check::PauseLegality | Check::PausesSent | Check::PausesEnd => lossy,
        Check::Deadlock => || {
            let mut plan = healthy();
            host(&mut plan, 4).pauses.push(storm(u16::MAX, 20, 100, 100));
            plan
        },
        Check::EcnBeforePfc | Check::Fairness => healthy,
    };
    let us = match check {
        Check::Cells => 60,
        _ => 400,
    };
    (Row { plan, us, bugs: vec![] }, &[])
}

/// Two hosts on one link, which have nothing to send.
fn silent() -> NetworkPlan {
    let hosts = (0..2).map(|n| NodeKind::Host(station(n, &[], 0, &[])));
    network(hosts.collect(), vec![link((0, 0), (1, 0))])
}

/// Nothing is lossless, and no node pauses another.
fn lossy() -> NetworkPlan {
    let mut plan = incast(2, 10);
    for port in &mut the_switch(&mut plan).ports {
        port.pfc.mode = FlowControl::Off;
    }
    for groups in &mut the_switch(&mut plan).buffer.groups {
        groups.iter_mut().for_each(|group| group.kind = GroupKind::Lossy);
    }
    (0..3).for_each(|n| host(&mut plan, n).flow_control = FlowControl::Off);
    plan
}
