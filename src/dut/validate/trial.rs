//! A trial: what the ports of the tester send in a bounded time, and which pauses they obey.
//!
//! Times count from the start of the trial's own traffic; the frames by which the DUT learns the
//! tester's addresses are sent before it.

use core::net::Ipv4Addr;

use crate::setup::{LINE_OVERHEAD, Setup};
use ground::time::Duration;
use ground::units::{BitsPerSec, Dscp, Mac, PRIORITIES, Pcp, Priority, PrioritySet, Quanta, Vid};
use schemars::JsonSchema;
use secure::SecyChange;
use serde::{Deserialize, Serialize};
use wire::ip::Ecn;
use wire::{pause, pfc};

/// Offset of the priority enable vector of a PFC frame.
pub const VECTOR: usize = 16;

/// Number of frames by which the DUT learns each port's address.
pub const LEARNING: u32 = 3;

/// Name of the setting of the watchdog's detection time.
pub const DETECTION: &str = "watchdog.detection";

/// Name of the setting by which the host of a NIC reads what arrives, `on`, or does not, `off`.
pub const READING: &str = "host.reading";

/// First of the numbers in the frames for a NIC's queue pairs, to which the queue pair's is added: by them
/// virtual NICs find the flow.
pub const QUEUE_PAIRS: u32 = 0x8000;

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
    /// Connections with acknowledgements.
    pub stateful: Vec<Stateful>,
    /// True if a storm is what the trial is about: its pauses may last until the DUT's watchdog acts.
    pub storms: bool,
    /// Changes of links, by time.
    pub links: Vec<LinkChange>,
    /// Changes of settings of the device while the traffic runs.
    pub changes: Vec<Change>,
    /// Changes of the DUT's MACsec keys while the traffic runs.
    pub keys: Vec<KeyChange>,
    /// Ports with MACsec whose `control` leaves as it is: plain, or protected by the test.
    pub made: Vec<Port>,
    /// Pauses obeyed by each port of the tester; those that are not named obey those of the DUT's kind.
    pub obeys: Vec<(Port, Obeys)>,
    /// Spans in which all frames that a port sends have a wrong FCS.
    pub damage: Vec<Damage>,
    /// True if the first bytes of data frames are recorded as well.
    pub keep: bool,
    /// Ports that send with a gap of 88 bits instead of 96 (RFC 2889, 5.6).
    pub short_gap: Vec<Port>,
    /// True if frames that are no data are recorded whole, and not their headers alone.
    pub whole: bool,
    /// True if the device's counters are read before and after.
    pub counters: bool,
    /// Settings of the device that are changed before the traffic, and restored after it.
    pub settings: Vec<Setting>,
    /// Time after which the recording ends.
    pub length: Duration,
    /// Reset of the device while the traffic runs.
    pub reset: Option<Reset>,
    /// True if the device hears no frame of the tester before the flows, so that it knows no addresses.
    pub unknown: bool,
    /// Number of the trial among equal ones: what is random in a virtual device differs between them.
    pub round: u32,
}

/// Data frames from one port to another. From a port to itself they are those that the NIC under test at
/// this port sends: the tester awaits them, and they have no numbers. Such flows stand behind all others.
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
    pub version: Version,
    /// VLAN of a tag whose PCP is the priority, where the priority is in the DSCP.
    pub tag: Option<Vid>,
    /// Priority whose pauses hold the frames at the tester; `None` for that of the frames.
    pub held_by: Option<Priority>,
    /// Field with its own value instead of that of the priority.
    pub mark: Option<Mark>,
    pub addresses: Addresses,
}

/// A connection with acknowledgements, which sends as fast as its congestion control lets it, from the start
/// of the trial on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stateful {
    pub ends: (Port, Port),
    pub priority: Priority,
    /// Length of full frames in bytes, FCS included.
    pub size: u32,
    /// Time for which it sends.
    pub length: Duration,
}

/// MAC addresses of a flow's frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Addresses {
    /// Those of its two ports.
    #[default]
    Ports,
    /// From its port to all: every other port receives it.
    Broadcast,
    /// From this number of addresses, one after the other, to its port.
    Sources(u32),
    /// From its port to the same addresses. Frames that the device floods are received by every other
    /// port.
    Destinations(u32),
    /// From its port to the NIC under test at this port.
    Nic(Mac, Ipv4Addr),
}

/// Value of the field that carries the priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// DSCP of untagged packets.
    Dscp(Dscp),
    /// PCP of a tag of this VLAN. The DSCP is zero.
    Pcp(Pcp, Vid),
}

/// Version of IP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    V4,
    V6,
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
    /// Bursts of frames, which are sent at the flow's rate.
    Bursts(Bursts),
}

/// Bursts of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bursts {
    /// Number of bursts, at least 1.
    pub count: u32,
    /// Frames of a burst, at least 1.
    pub frames: u32,
    /// Time from the first frame of a burst to that of the next, at least the time of a burst.
    pub every: Duration,
}

impl Bursts {
    /// Returns the number of frames of all bursts.
    pub const fn frames_in_all(self) -> u64 {
        self.count as u64 * self.frames as u64
    }
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

/// Another value of a setting of the running device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Tester port at the port of the device.
    pub port: Port,
    /// Name of the setting, such as [`DETECTION`].
    pub name: &'static str,
    /// Value with its unit: `500us`.
    pub value: String,
    /// Value that it has before and after.
    pub restored: String,
}

/// A setting of the running device that gets another value at a time of the trial, and has the first one
/// again after it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    pub at: Duration,
    /// Tester port at the port of the device.
    pub port: Port,
    /// Name of the setting: [`weight`] of a traffic class.
    pub name: String,
    pub value: String,
    /// Value before the trial and after it.
    pub restored: String,
}

/// Another MACsec key of the DUT.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyChange {
    pub at: Duration,
    /// Tester port at the port of the DUT.
    pub port: Port,
    pub change: SecyChange,
}

/// Returns the name of the setting of a traffic class's weight, as in a switch file: `queues.3.weight`.
pub fn weight(class: Priority) -> String {
    format!("queues.{class}.weight")
}

/// A reset of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reset {
    pub at: Duration,
    pub kind: ResetKind,
}

/// Kind of a reset (RFC 6201, section 4).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ResetKind {
    /// Hardware is reset, as by a button.
    Hardware,
    /// The operating system, or a process, is restarted by a command.
    Software,
    /// Power is interrupted.
    Power,
}

impl ResetKind {
    pub const ALL: [Self; 3] = [Self::Hardware, Self::Software, Self::Power];

    /// Returns the name in files and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Software => "software",
            Self::Power => "power",
        }
    }
}

/// A span in which the frames of a port have a wrong FCS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damage {
    pub port: Port,
    pub from: Duration,
    pub until: Duration,
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
    pub fn new(name: impl Into<String>, length: Duration) -> Self {
        Self {
            name: name.into(),
            flows: Vec::new(),
            control: Vec::new(),
            stateful: Vec::new(),
            storms: false,
            links: Vec::new(),
            changes: Vec::new(),
            keys: Vec::new(),
            made: Vec::new(),
            obeys: Vec::new(),
            damage: Vec::new(),
            short_gap: Vec::new(),
            keep: false,
            whole: false,
            counters: false,
            settings: Vec::new(),
            length,
            reset: None,
            unknown: false,
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
        // One frame has no interval; any will do.
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
        port: Port,
        src: Mac,
        rate: BitsPerSec,
        set: PrioritySet,
        span: (Duration, Duration),
    ) {
        let times: Vec<_> = set.iter().map(|p| (p, Quanta::MAX)).collect();
        let pause = Quanta::MAX.at(rate);
        // A renewal that is late by less than half of the time leaves no gap.
        self.repeat(port, pause, pfc_frame(src, &times), pause.div(2), span);
    }

    /// Adds a frame that pauses for a time, and is repeated at an interval. The last pause ends within `until`.
    pub fn repeat(
        &mut self,
        port: Port,
        pause: Duration,
        octets: Vec<u8>,
        every: Duration,
        (start, until): (Duration, Duration),
    ) {
        // The last pause ends within the span, so its own time is not for renewals.
        let span = until.saturating_sub(start).saturating_sub(pause);
        let frames = (1 + span.as_picos() / every.as_picos().max(1)) as u32;
        self.control.push(Control { port, octets, start, every, frames });
    }

    /// Returns the number of flows that the tester sends: the first ones.
    pub fn own_flows(&self) -> usize {
        self.flows.iter().take_while(|flow| !flow.is_awaited()).count()
    }

    /// Returns the reaction of a port to pauses if the trial names one.
    pub fn reaction(&self, port: Port) -> Option<Obeys> {
        // The last entry of a port counts.
        let named = self.obeys.iter().rev().find(|(named, _)| *named == port);
        named.map(|(_, obeys)| *obeys)
    }
}

impl Flow {
    /// A flow of IPv4 frames of 1,024 bytes at line rate, without ECN.
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
            version: Version::V4,
            tag: None,
            mark: None,
            held_by: None,
            addresses: Addresses::Ports,
        }
    }

    /// Returns true if the NIC under test sends it, and not the tester.
    pub const fn is_awaited(&self) -> bool {
        // A flow to a NIC has one port, too, but the tester sends it.
        self.from.0 == self.to.0 && !self.is_to_nic()
    }

    /// Returns true if the NIC under test is its destination.
    pub const fn is_to_nic(&self) -> bool {
        matches!(self.addresses, Addresses::Nic(..))
    }

    /// Returns the frames per second at which its sender sends. Shares are those of lines with MACsec if any port
    /// has it, as [`Setup::overhead`] says.
    pub fn frames_per_second(&self, setup: &Setup) -> f64 {
        match self.rate {
            Rate::Line(share) => {
                let line = setup.port(self.from).rate;
                let bits = 8 * u64::from(self.size + LINE_OVERHEAD + setup.overhead());
                share * (line.get() as f64 / bits as f64)
            }
            Rate::Frames(rate) => rate as f64,
        }
    }

    /// Returns the number of frames that its sender is to send.
    pub fn intended(&self, setup: &Setup) -> u64 {
        match self.limit {
            Limit::Frames(frames) => frames.into(),
            Limit::Bursts(bursts) => bursts.frames_in_all(),
            Limit::Time(time) => {
                // The first frame is sent however short the time is.
                ((self.frames_per_second(setup) * time.as_secs_f64()).floor() as u64).max(1)
            }
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

    #[must_use]
    pub const fn version(self, version: Version) -> Self {
        Self { version, ..self }
    }

    #[must_use]
    pub const fn tag(self, tag: Option<Vid>) -> Self {
        Self { tag, ..self }
    }

    #[must_use]
    pub const fn mark(self, mark: Mark) -> Self {
        Self { mark: Some(mark), ..self }
    }

    #[must_use]
    pub const fn addresses(self, addresses: Addresses) -> Self {
        Self { addresses, ..self }
    }

    #[must_use]
    pub const fn held_by(self, priority: Priority) -> Self {
        Self { held_by: Some(priority), ..self }
    }
}

/// Returns a PAUSE frame without FCS.
pub fn pause_frame(src: Mac, time: Quanta) -> Vec<u8> {
    let repr = pause::Repr::new(src, time);
    let mut octets = vec![0; repr.buffer_len()];
    repr.emit(&mut octets).expect("the buffer has the frame's length");
    octets
}

/// Returns a PFC frame without FCS.
pub fn pfc_frame(src: Mac, times: &[(Priority, Quanta)]) -> Vec<u8> {
    let mut repr = pfc::Repr::new(src);
    for (priority, time) in times {
        repr.set(*priority, *time);
    }
    let mut octets = vec![0; repr.buffer_len()];
    repr.emit(&mut octets).expect("the buffer has the frame's length");
    octets
}

/// Returns a PFC frame without FCS whose fields are any: a vector with its reserved half, and the
/// times of all priorities, enabled or not.
pub fn pfc_fields(src: Mac, vector: u16, times: [u16; PRIORITIES]) -> Vec<u8> {
    // A `Repr` sends reserved bits as 0, so the fields are written into a finished frame.
    let mut octets = pfc_frame(src, &[]);
    octets[VECTOR..VECTOR + 2].copy_from_slice(&vector.to_be_bytes());
    for (n, time) in times.iter().enumerate() {
        let offset = VECTOR + 2 + 2 * n;
        octets[offset..offset + 2].copy_from_slice(&time.to_be_bytes());
    }
    octets
}
