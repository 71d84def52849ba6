//! Replays: streams with the frames of a pcap or pcapng file, at the recorded times, scaled
//! times, or a fixed rate. OTG has no field for them, so a generator file has a separate key
//! beside `flows`. Clients cannot send it, because it names a file of this machine.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration as StdDuration;

use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, PcapError};
use serde::Deserialize;

use super::plan::{FlowKind, FlowPlan, Metrics, TestPlan};
use config::tree::{Kind, Node};
use config::{self, Finding};
use ground::time::{Duration, Instant};
use ground::units::Priority;
use host::plan::stream::{Limit, Pace, Path as Way, StreamPlan, TemplatePlan};
use host::plan::{RECORDING_MAX, RecordingError};
use host::{FlowId, Rate, Recording};

/// The key in a generator file.
const KEY: &str = "replay";

/// Maximum factor by which a recording can be slowed down or sped up.
const SCALE_MAX: f64 = 1e6;

/// A replay, as a generator file has it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// The name, which must differ from those of flows.
    pub name: String,
    /// The sending port.
    pub port: String,
    /// The capture file, relative to the generator file.
    pub file: PathBuf,
    /// Factor for the recorded times: 0.5 is twice as fast. Default: 1.
    pub scale: Option<f64>,
    /// Frames per second, instead of the recorded times.
    pub pps: Option<u64>,
    /// Number of repetitions; 0 for no limit. Default: 1.
    #[serde(default = "once", rename = "loop")]
    pub times: u64,
    /// The priority whose pauses stop it. Default: 0.
    #[serde(default)]
    pub priority: u8,
}

const fn once() -> u64 {
    1
}

/// The reason for which a file cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It cannot be read.
    #[error("cannot read {0}: {1}; name a pcap or pcapng file, from the place of this one on")]
    Read(String, io::Error),
    /// It is of another format, or damaged.
    #[error("{0} is no pcap or pcapng file that can be read ({1}); `editcap -F pcapng` writes one")]
    Format(String, String),
    /// Its frames are not Ethernet frames.
    #[error("{0} has packets that were not captured on Ethernet, which is all that is sent here")]
    NotEthernet(String),
    /// It has no frames, too many, or frames of an invalid length.
    #[error("{0}: {1}; `editcap` cuts files, and takes packets out of them")]
    Frames(String, RecordingError),
}

/// Removes the replays from the text of a generator file, so that only OTG's fields are left.
/// File names are relative to `folder`.
///
/// # Errors
/// The first invalid field of a replay.
pub fn take(root: &mut Node, folder: &Path) -> Result<Vec<Replay>, Finding> {
    let Kind::Map(entries) = &mut root.kind else { return Ok(Vec::new()) };
    let Some(place) = entries.iter().position(|(key, _)| key.name == KEY) else {
        return Ok(Vec::new());
    };
    let (_, node) = entries.remove(place);
    let mut replays: Vec<Replay> = config::de::from_tree(&node).map_err(|mut finding| {
        let path = core::mem::take(&mut finding.path);
        let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
        Finding::new(finding.mark, &format!("{KEY}{dot}{path}"), &finding.what)
    })?;
    for replay in &mut replays {
        replay.file = folder.join(&replay.file);
    }
    Ok(replays)
}

/// Adds replays to a test as flows.
///
/// # Errors
/// All errors of the replays; nothing is added then.
pub fn add(plan: &mut TestPlan, replays: &[Replay]) -> Result<(), Vec<Finding>> {
    let (mut flows, mut findings) = (Vec::new(), Vec::new());
    for (n, replay) in replays.iter().enumerate() {
        let id = FlowId((plan.flows.len() + n) as u32);
        let names = plan.flows.iter().map(|flow| flow.name.as_str());
        let twice = names.chain(replays[..n].iter().map(|r| r.name.as_str()));
        match replay.flow(plan, id, twice) {
            Ok(flow) => flows.push(flow),
            Err((field, what)) => {
                let path = format!("{KEY}[{n}].{field}");
                findings.push(Finding::new(None, &path, &what));
            }
        }
    }
    if !findings.is_empty() {
        return Err(findings);
    }
    plan.flows.extend(flows);
    Ok(())
}

impl Replay {
    /// Returns the flow of a replay, or the invalid field and the reason.
    fn flow<'a>(
        &self,
        plan: &TestPlan,
        id: FlowId,
        mut taken: impl Iterator<Item = &'a str>,
    ) -> Result<FlowPlan, (&'static str, String)> {
        if taken.any(|name| name == self.name) {
            return Err(("name", format!("there is another flow {}; name this one", self.name)));
        }
        let tx = plan.ports.iter().position(|port| port.name == self.port).ok_or_else(|| {
            let names: Vec<_> = plan.ports.iter().map(|port| port.name.as_str()).collect();
            ("port", format!("there is no port {}; there are {}", self.port, names.join(", ")))
        })?;
        let priority = Priority::new(self.priority)
            .ok_or_else(|| ("priority", "a priority is 0 to 7".to_owned()))?;
        let scale = self.scale.unwrap_or(1.0);
        if !(1.0 / SCALE_MAX..=SCALE_MAX).contains(&scale) {
            return Err(("scale", "write a number of 0.000001 to 1000000".into()));
        }
        if self.scale.is_some() && self.pps.is_some() {
            return Err((
                "pps",
                "a rate takes the place of the recorded times: leave `scale` out, or \
                         this"
                    .into(),
            ));
        }
        let recording = load(&self.file, scale, self.pps.is_none())
            .map_err(|error| ("file", error.to_string()))?;
        let frames = self.times.checked_mul(recording.len() as u64).filter(|n| *n > 0);
        let stream = StreamPlan {
            id,
            path: Way::Data(priority),
            template: TemplatePlan::default(),
            sizes: recording.sizes(),
            recording: Some(recording),
            pace: Pace { rate: Rate::Frames(self.pps.unwrap_or(1)), gap: 12, burst: None },
            limit: Limit { frames, time: None },
            delay: Duration::ZERO,
            seed: 0,
        };
        Ok(FlowPlan {
            name: self.name.clone(),
            id,
            tx,
            rx: Vec::new(),
            kind: FlowKind::Stream(Box::new(stream)),
            metrics: Metrics::default(),
            resolve: Vec::new(),
        })
    }
}

/// Reads a pcap or pcapng file. Its times are multiplied by `scale`; `timed` as in [`Recording`].
///
/// # Errors
/// [`ReplayError`], with the name of the file and a remedy.
pub fn load(path: &Path, scale: f64, timed: bool) -> Result<Recording, ReplayError> {
    let name = || path.display().to_string();
    let read = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => ReplayError::Format(name(), "it ends too early".into()),
        _ => ReplayError::Read(name(), error),
    };
    let mut magic = [0; 4];
    File::open(path).and_then(|mut f| f.read_exact(&mut magic)).map_err(read)?;
    let file = BufReader::new(File::open(path).map_err(read)?);
    // The block type of pcapng's first block is the same in both byte orders.
    let packets = if magic == [0x0a, 0x0d, 0x0d, 0x0a] { pcapng(file) } else { pcap(file) };
    let packets = packets.map_err(|error| match error {
        Failed::File(PcapError::IoError(error)) => read(error),
        Failed::File(error) => ReplayError::Format(name(), error.to_string()),
        Failed::Link => ReplayError::NotEthernet(name()),
        Failed::TooLarge => ReplayError::Frames(name(), RecordingError::TooLarge),
    })?;
    let first = packets.first().map_or(StdDuration::ZERO, |packet| packet.at);
    let frames = packets.into_iter().map(|packet| {
        // A double holds days of nanoseconds and six digits of the scale.
        let ps = packet.at.saturating_sub(first).as_nanos() as f64 * 1_000.0 * scale;
        (Instant::from_picos(ps.round() as u128), packet.octets, packet.len)
    });
    Recording::new(frames, timed).map_err(|error| ReplayError::Frames(name(), error))
}

struct Packet {
    at: StdDuration,
    octets: Vec<u8>,
    len: u32,
}

/// The reason for which a file was not read to its end.
enum Failed {
    File(PcapError),
    Link,
    TooLarge,
}

impl From<PcapError> for Failed {
    fn from(error: PcapError) -> Self {
        Self::File(error)
    }
}

/// The packets of a file, bounded while they are read.
#[derive(Default)]
struct Packets {
    all: Vec<Packet>,
    octets: usize,
}

impl Packets {
    fn push(&mut self, packet: Packet) -> Result<(), Failed> {
        self.octets += packet.octets.len();
        if self.octets > RECORDING_MAX {
            return Err(Failed::TooLarge);
        }
        self.all.push(packet);
        Ok(())
    }
}

fn pcap(file: impl Read) -> Result<Vec<Packet>, Failed> {
    let mut reader = PcapReader::new(file)?;
    if reader.header().datalink != DataLink::ETHERNET {
        return Err(Failed::Link);
    }
    let mut packets = Packets::default();
    while let Some(packet) = reader.next_packet() {
        let packet = packet?;
        let (at, len) = (packet.timestamp, packet.orig_len);
        packets.push(Packet { at, octets: packet.data.into_owned(), len })?;
    }
    Ok(packets.all)
}

fn pcapng(file: impl Read) -> Result<Vec<Packet>, Failed> {
    let mut reader = PcapNgReader::new(file)?;
    let mut interfaces: Vec<(DataLink, Unit)> = Vec::new();
    let mut packets = Packets::default();
    while let Some(block) = reader.next_block() {
        match block? {
            Block::SectionHeader(_) => interfaces.clear(),
            Block::InterfaceDescription(block) => interfaces.push((block.linktype, unit(&block))),
            Block::EnhancedPacket(packet) => {
                let interface = interfaces.get(packet.interface_id as usize);
                let (link, unit) =
                    *interface.ok_or(PcapError::InvalidField("no such interface"))?;
                if link != DataLink::ETHERNET {
                    return Err(Failed::Link);
                }
                // The reader returns the count as nanoseconds, in any unit.
                let at = unit.time(packet.timestamp.as_nanos());
                let (octets, len) = (packet.data.into_owned(), packet.original_len);
                packets.push(Packet { at, octets, len })?;
            }
            // Packets without a time cannot be replayed at theirs.
            Block::SimplePacket(_) | Block::Packet(_) => {
                let why = "it has packets of the kinds without a time, or of the obsolete one";
                return Err(PcapError::InvalidField(why).into());
            }
            _ => {}
        }
    }
    Ok(packets.all)
}

/// The unit of an interface's timestamps.
#[derive(Clone, Copy)]
enum Unit {
    /// 10^-n s.
    Decimal(u32),
    /// 2^-n s.
    Binary(u32),
}

impl Unit {
    /// Converts a count to a time.
    fn time(self, count: u128) -> StdDuration {
        let nanos = match self {
            Self::Decimal(n @ 0..=9) => count.saturating_mul(10_u128.pow(9 - n)),
            Self::Decimal(n) => count / 10_u128.checked_pow(n - 9).unwrap_or(u128::MAX),
            Self::Binary(n) => count.saturating_mul(1_000_000_000).checked_shr(n).unwrap_or(0),
        };
        StdDuration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Returns the unit of an interface's timestamps; the default is a microsecond.
fn unit(block: &InterfaceDescriptionBlock<'_>) -> Unit {
    let said = block.options.iter().find_map(|option| match option {
        InterfaceDescriptionOption::IfTsResol(unit) => Some(*unit),
        _ => None,
    });
    match said {
        Some(unit) if unit & 0x80 != 0 => Unit::Binary((unit & 0x7f).into()),
        Some(unit) => Unit::Decimal(unit.into()),
        None => Unit::Decimal(6),
    }
}

#[cfg(test)]
mod tests;
