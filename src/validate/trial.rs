//! A trial: what the ports of the tester send in a bounded time, and which pauses they obey.
//!
//! Times count from the start of the trial's own traffic; the frames by which the DUT learns the
//! tester's addresses are sent before it.

use ground::time::Duration;
use ground::units::{BitsPerSec, Mac, Priority, PrioritySet, Quanta};
use wire::ip::Ecn;
use wire::pfc;

/// Index of a tester port in [`crate::setup::Setup::ports`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Port(pub usize);

/// Index of a flow in [`Trial::flows`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowId(pub usize);

/// Traffic of a bounded time.
#[derive(Clone, PartialEq, Debug)]
pub struct Trial {
    /// Name in evidence.
    pub name: String,
    pub flows: Vec<Flow>,
    pub control: Vec<Control>,
    /// Changes of links, by time.
    pub links: Vec<LinkChange>,
    /// Pauses obeyed by each port of the tester; those that are not named obey all.
    pub obeys: Vec<(Port, Obeys)>,
    /// Time after which the recording ends.
    pub length: Duration,
    /// Number of the trial among equal ones: what is random in a virtual device differs between them.
    pub round: u32,
}

/// Data frames from one port to another.
#[derive(Clone, PartialEq, Debug)]
pub struct Flow {
    pub from: Port,
    pub to: Port,
    pub priority: Priority,
    /// Length in bytes, FCS included.
    pub size: u32,
    pub rate: Rate,
    /// Time at which the first frame is due.
    pub start: Duration,
    pub limit: Limit,
    pub ecn: Ecn,
}

/// Offered rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rate {
    /// Share of the line, preamble and gap included: 1.0 is line rate. At least 0.000001.
    Line(f64),
    /// Frames per second.
    Frames(u64),
}

/// End of a flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Limit {
    /// Time for which it sends.
    Time(Duration),
    /// Number of frames, at least 1.
    Frames(u32),
}

/// MAC control frames, or any other frames that are sent byte for byte.
#[derive(Clone, PartialEq, Debug)]
pub struct Control {
    pub port: Port,
    /// The frame from its destination address on, without FCS.
    pub octets: Vec<u8>,
    /// Time of the first one.
    pub start: Duration,
    /// Interval between two.
    pub every: Duration,
    /// Number of frames, at least 1.
    pub frames: u32,
}

/// A link of the tester that goes down or comes up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkChange {
    pub port: Port,
    pub at: Duration,
    pub up: bool,
}

/// Reaction of a tester port to pauses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obeys {
    /// PFC of all priorities, this long after the last bit of a pause.
    Pfc(Quanta),
    /// 802.3x PAUSE.
    Pause,
    /// Nothing.
    Nothing,
}

impl Trial {
    /// An empty trial.
    #[must_use]
    pub fn new(name: impl Into<String>, length: Duration) -> Self {
        Self {
            name: name.into(),
            flows: Vec::new(),
            control: Vec::new(),
            links: Vec::new(),
            obeys: Vec::new(),
            length,
            round: 0,
        }
    }

    /// Adds a flow.
    pub fn flow(&mut self, flow: Flow) -> FlowId {
        self.flows.push(flow);
        FlowId(self.flows.len() - 1)
    }

    /// Adds one frame that is sent byte for byte.
    pub fn frame(&mut self, port: Port, octets: Vec<u8>, at: Duration) {
        let every = Duration::from_millis(1);
        self.control.push(Control { port, octets, start: at, every, frames: 1 });
    }

    /// Adds a PFC frame with these times from a port of address `src`.
    pub fn pfc(&mut self, port: Port, src: Mac, times: &[(Priority, Quanta)], at: Duration) {
        self.frame(port, pfc_frame(src, times), at);
    }

    /// Adds a storm: PFC of the longest time for a set of priorities, repeated at half of the time
    /// that a pause lasts, so that no gap is left. The pauses end within `until`.
    pub fn storm(
        &mut self,
        (port, src, rate): (Port, Mac, BitsPerSec),
        set: PrioritySet,
        (from, until): (Duration, Duration),
    ) {
        let window = Quanta::MAX.at(rate);
        let every = window.div(2);
        let span = until.saturating_sub(from).saturating_sub(window);
        let frames = 1 + span.as_picos() / every.as_picos().max(1);
        let times: Vec<_> = set.iter().map(|p| (p, Quanta::MAX)).collect();
        let octets = pfc_frame(src, &times);
        self.control.push(Control { port, octets, start: from, every, frames: frames as u32 });
    }

    /// Returns the reaction of a port to pauses.
    #[must_use]
    pub fn reaction(&self, port: Port) -> Obeys {
        let named = self.obeys.iter().rev().find(|(named, _)| *named == port);
        named.map_or(Obeys::Pfc(Quanta(0)), |(_, obeys)| *obeys)
    }
}

impl Flow {
    /// A flow of frames of 1,024 bytes at line rate, without ECN.
    #[must_use]
    pub const fn new((from, to): (Port, Port), priority: Priority, limit: Limit) -> Self {
        Self {
            from,
            to,
            priority,
            size: 1024,
            rate: Rate::Line(1.0),
            start: Duration::ZERO,
            limit,
            ecn: Ecn::NotEct,
        }
    }

    #[must_use]
    pub const fn rate(self, rate: Rate) -> Self {
        Self { rate, ..self }
    }

    #[must_use]
    pub const fn size(self, size: u32) -> Self {
        Self { size, ..self }
    }

    #[must_use]
    pub const fn start(self, start: Duration) -> Self {
        Self { start, ..self }
    }

    #[must_use]
    pub const fn ecn(self, ecn: Ecn) -> Self {
        Self { ecn, ..self }
    }
}

/// Returns a PFC frame without FCS.
#[must_use]
pub fn pfc_frame(src: Mac, times: &[(Priority, Quanta)]) -> Vec<u8> {
    let mut repr = pfc::Repr::new(src);
    for (priority, time) in times {
        repr.set(*priority, *time);
    }
    let mut octets = vec![0; repr.buffer_len()];
    repr.emit(&mut octets).expect("the buffer has the frame's length");
    octets
}
