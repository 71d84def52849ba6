//! Every defect shown to change what the line carries, or what the node receives, as its name says.

use super::frame::{TIMES, VECTOR, set_time, time};
use super::{Defect, Forwarding, Holding, Make, Obeying, Part, Sending, Stage, Storing};
use crate::VirtualFrame;
use contracts::frame::Frame;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Priority, PrioritySet, Quanta};
use pfc::FlowControl;

mod forwarding;
mod holding;
mod link_wide;
mod obeying;
mod securing;
mod sending;
mod storing;
mod telling;

/// Memory for frames.
struct Memory;

impl Make<VirtualFrame> for Memory {
    fn control(&mut self, octets: &[u8]) -> Option<VirtualFrame> {
        Some(VirtualFrame::whole(octets))
    }

    fn damage(&mut self, frame: &mut VirtualFrame) {
        frame.damage();
    }
}

/// A port of 1 Gb/s with a defect; a quantum takes 512 ns.
struct Port(Stage<VirtualFrame>);

const P3: PrioritySet = PrioritySet::of(Priority::ALL[3]);
const P4: PrioritySet = PrioritySet::of(Priority::ALL[4]);

fn at(ns: u64) -> Instant {
    Instant::ZERO + Duration::from_nanos(ns)
}

/// Returns the octets of a PFC frame with these times.
fn pfc_octets(times: &[(usize, u16)]) -> Vec<u8> {
    let mut octets = vec![1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 1, 1];
    octets.resize(60, 0);
    for (p, quanta) in times {
        octets[VECTOR] |= 1 << p;
        set_time(&mut octets, *p, *quanta);
    }
    octets
}

/// A PFC frame with these times of priorities.
fn pfc(times: &[(usize, u16)]) -> VirtualFrame {
    VirtualFrame::whole(&pfc_octets(times))
}

/// A data frame of a priority, with a number.
fn data(priority: u8, number: u8) -> VirtualFrame {
    let mut octets = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0x00, priority << 5, 1];
    octets.extend([0x88, 0xb5, number]);
    VirtualFrame::new(&octets, 1_000)
}

/// Returns a frame in words: its vector and times, or its priority and number.
fn told(frame: &VirtualFrame) -> String {
    let head = frame.head();
    let what = if head[12] == 0x81 {
        format!("data {} {}", head[14] >> 5, head[18])
    } else if head.get(12..16) == Some(&[0x88, 0x08, 1, 1]) && head.len() >= TIMES.end {
        let times = (0..8).map(|p| (p, time(head, p))).filter(|(_, time)| *time > 0);
        let times: Vec<_> = times.map(|(p, time)| format!(" {p}:{time}")).collect();
        format!("pfc {:08b}{}", head[VECTOR], times.concat())
    } else {
        format!("{:02x?}", &head[12..head.len().min(20)])
    };
    what + if frame.is_damaged() { " damaged" } else { "" }
}

fn all_told(frames: &[VirtualFrame]) -> Vec<String> {
    frames.iter().map(told).collect()
}

impl Port {
    fn with(defect: Defect) -> Self {
        let set = PrioritySet::ALL;
        Self::of(FlowControl::Pfc { send: set, obey: set }, defect)
    }

    fn of(flow_control: FlowControl, defect: Defect) -> Self {
        let mut stage = Stage::new(BitsPerSec::gbps(1), flow_control);
        stage.add(defect);
        Self(stage)
    }

    /// Returns the frames that leave when the node sends one.
    fn tx(&mut self, ns: u64, frame: VirtualFrame) -> Vec<String> {
        all_told(&self.sends(ns, frame))
    }

    fn sends(&mut self, ns: u64, frame: VirtualFrame) -> Vec<VirtualFrame> {
        let mut sent = vec![frame];
        self.0.tx(at(ns), &mut sent, &mut Memory);
        sent
    }

    /// Returns the frames that the node receives when one arrives.
    fn rx(&mut self, ns: u64, frame: VirtualFrame) -> Vec<String> {
        all_told(&self.receives(ns, frame))
    }

    fn receives(&mut self, ns: u64, frame: VirtualFrame) -> Vec<VirtualFrame> {
        let mut arrived = vec![frame];
        self.0.rx(at(ns), &mut arrived, &mut Memory);
        arrived
    }

    /// Returns the time in nanoseconds at which the defects act next, if at all.
    fn next(&self) -> Option<u64> {
        Some(self.0.next_at()).filter(|at| *at != Instant::NEVER).map(Instant::as_nanos)
    }

    /// Lets the defects act, and returns the frames that the node receives.
    fn due(&mut self, ns: u64) -> Vec<String> {
        self.0.due(at(ns), &mut Memory);
        all_told(&self.0.take_for_node())
    }

    /// Returns the frames added to the port's line and to those of the others.
    fn added(&mut self) -> [Vec<String>; 2] {
        let lines = self.0.take_for_lines();
        [all_told(&lines.line), all_told(&lines.others)]
    }

    /// The link goes down and comes up.
    fn flap(&mut self, ns: u64) {
        self.0.link(at(ns), false, &mut Memory);
        self.0.link(at(ns + 1), true, &mut Memory);
    }
}
