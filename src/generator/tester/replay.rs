//! Replays: streams with the frames of a pcap or pcapng file, at the recorded times, scaled
//! times, or a fixed rate. OTG has no field for them, so a generator file has a separate key
//! beside `flows`. Clients cannot send it, because it names a file of this machine.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::plan::{FlowKind, FlowPlan, Metrics, TestPlan};
use config::tree::{Kind, Node};
use config::{self, Finding};
use ground::time::{Duration, Instant};
use ground::units::Priority;
use host::plan::stream::{Limit, Pace, Path as Way, StreamPlan, TemplatePlan};
use host::plan::{RECORDING_MAX, RecordingError};
use host::{FlowId, Rate, Recording};
use text::captures::{self, CaptureError};

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
    /// It is damaged, or ends within a packet, after others that are whole.
    #[error("{0}: {1}; `editcap {0} new.pcapng` keeps the packets that can be read")]
    Damaged(String, CaptureError),
    /// It is of another format, or has no whole packet.
    #[error("{0}: {1}; name a pcap or pcapng file with packets")]
    Format(String, CaptureError),
    /// It has no frames.
    #[error("{0}: {1}; name a pcap or pcapng file with packets")]
    Empty(String, RecordingError),
    /// Its frames are not Ethernet frames.
    #[error("{0}: {1}; only Ethernet is sent: capture on one interface, not on `any`")]
    NotEthernet(String, CaptureError),
    /// It has packets without a time, of the kinds that have none.
    #[error("{0}: packet {1} has no time; give the replay a rate (`pps`)")]
    Untimed(String, usize),
    /// A packet is older than one before it.
    #[error(
        "{file}: packet {packet} was captured {by} before one in front of it; `reordercap {file} \
         new.pcapng` sorts packets by time, or give the replay a rate (`pps`)"
    )]
    Backwards { file: String, packet: usize, by: Duration },
    /// It has too many frames, or frames of an invalid length.
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
        // `None` is no limit: 0 repetitions, or more frames than can be counted.
        let frames = self.times.checked_mul(recording.len() as u64).filter(|n| *n > 0);
        let stream = StreamPlan {
            id,
            path: Way::Data(priority),
            template: TemplatePlan::default(),
            sizes: recording.sizes(),
            recording: Some(recording),
            // Without a rate the recorded times count, and this one is not used.
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

/// Reads a capture file. Its times are multiplied by `scale`; `timed` as in [`Recording`].
///
/// # Errors
/// [`ReplayError`], with the name of the file and a remedy.
pub fn load(path: &Path, scale: f64, timed: bool) -> Result<Recording, ReplayError> {
    let name = || path.display().to_string();
    let failed = |error, whole: usize| match error {
        CaptureError::Read(error) => ReplayError::Read(name(), error),
        CaptureError::NotEthernet { .. } => ReplayError::NotEthernet(name(), error),
        CaptureError::Format(_) | CaptureError::Cut(_) if whole > 0 => {
            ReplayError::Damaged(name(), error)
        }
        CaptureError::Format(_) | CaptureError::Cut(_) => ReplayError::Format(name(), error),
    };
    let (mut frames, mut octets, mut first) = (Vec::new(), 0, None);
    let mut latest = Instant::ZERO;
    for packet in captures::open(path).map_err(|error| failed(error, 0))? {
        let packet = packet.map_err(|error| failed(error, frames.len()))?;
        octets += packet.octets.len();
        // Bounded while it is read, because a compressed file may hide any size.
        if octets > RECORDING_MAX {
            return Err(ReplayError::Frames(name(), RecordingError::TooLarge));
        }
        let at = match packet.at {
            Some(at) => at,
            None if timed => return Err(ReplayError::Untimed(name(), frames.len() + 1)),
            None => Instant::ZERO,
        };
        if timed && at < latest {
            // Sent at once, it would follow the frame in front without the gap that was there.
            let (packet, by) = (frames.len() + 1, latest.total_since(at).saturated());
            return Err(ReplayError::Backwards { file: name(), packet, by });
        }
        latest = at;
        // A double holds days of nanoseconds and six digits of the scale.
        let ps = at.total_since(*first.get_or_insert(at)).as_picos() as f64 * scale;
        frames.push((Instant::from_picos(ps.round() as u128), packet.octets, packet.len));
    }
    Recording::new(frames, timed).map_err(|error| match error {
        RecordingError::Empty => ReplayError::Empty(name(), error),
        other => ReplayError::Frames(name(), other),
    })
}

#[cfg(test)]
mod tests;
