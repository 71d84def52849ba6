//! Captures of links as pcapng files: the frames that a tap at both ends' transmitters would see,
//! with nanosecond timestamps of each frame's start.
//!
//! Each direction is an interface, named after its ends. Only a frame's first bytes exist in the
//! virtual world; its length on the wire is recorded as the original length.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::time::Duration;

use crate::LabPlan;
use contracts::frame::FCS_BYTES;
use ground::time::Instant;
use sim::{Direction, End, LinkId, VirtualFrame};
use text::packets::{Interface, Notes, Packet, Pcapng};

/// Error of a capture file.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the capture {}: {why}", path.display())]
pub struct CaptureError {
    path: PathBuf,
    why: String,
}

/// A capture file.
struct Capture {
    path: PathBuf,
    file: Pcapng<BufWriter<File>>,
    /// First error; nothing is written after it.
    failed: Option<String>,
}

/// All capture files, by direction.
#[derive(Default)]
pub(crate) struct Captures {
    files: Vec<Capture>,
    /// Index of the file of each direction; empty without captures.
    of: Vec<Option<u16>>,
}

impl core::fmt::Debug for Captures {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} captures", self.files.len())
    }
}

impl Captures {
    /// Creates the capture files of the lab.
    ///
    /// # Errors
    /// The first file that cannot be created.
    pub(crate) fn create(plan: &LabPlan) -> Result<Self, CaptureError> {
        let mut captures = Self::default();
        if plan.record.pcapng.is_empty() {
            return Ok(captures);
        }
        captures.of = vec![None; 2 * plan.network.links.len()];
        for (link, path) in &plan.record.pcapng {
            for direction in [link.ab(), link.ba()] {
                // Both directions of a link go to one file, as two interfaces.
                captures.of[direction.index()] = Some(captures.files.len() as u16);
            }
            captures.files.push(Capture::create(plan, *link, path.clone())?);
        }
        Ok(captures)
    }

    /// Returns true if nothing is captured.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Records the start of a frame.
    #[inline]
    pub(super) fn sent(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        if let Some(Some(file)) = self.of.get(direction.index()) {
            self.files[usize::from(*file)].write(at, direction, frame);
        }
    }

    /// Flushes and closes all files.
    pub(super) fn finish(&mut self) -> Result<(), CaptureError> {
        for mut file in self.files.drain(..) {
            if file.failed.is_none() {
                file.failed = file.file.flush().err().map(|e| e.to_string());
            }
            if let Some(why) = file.failed {
                return Err(CaptureError { path: file.path, why });
            }
        }
        Ok(())
    }
}

impl Capture {
    fn create(plan: &LabPlan, link: LinkId, path: PathBuf) -> Result<Self, CaptureError> {
        let network = &plan.network;
        let link = &network.links[link.index()];
        let name = |end: End| network.nodes[end.node.index()].name().to_owned();
        let way =
            |direction| format!("{} to {}", name(link.from(direction)), name(link.to(direction)));
        let description = format!("link {} in the virtual world", link.name);
        let ways = [way(Direction(0)), way(Direction(1))];
        let interface =
            |name| Interface { name, description: &description, rate: None, fcs: false };
        let file = File::create(&path).and_then(|file| {
            Pcapng::new(BufWriter::new(file), None, &[interface(&ways[0]), interface(&ways[1])])
        });
        match file {
            Ok(file) => Ok(Self { path, file, failed: None }),
            Err(why) => Err(CaptureError { path, why: why.to_string() }),
        }
    }

    fn write(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        // A full disk is reported once, at the end; the run itself goes on.
        if self.failed.is_some() {
            return;
        }
        let (octets, len) = frame.on_line();
        let at = Duration::from_nanos(at.as_nanos());
        // The virtual world has no FCS; the interface says so, and the length is without it.
        let packet = Packet { at, octets, len: len.saturating_sub(FCS_BYTES) };
        let notes = Notes { interface: direction.0 % 2, ..Default::default() };
        self.failed = self.file.packet(&packet, &notes).err().map(|e| e.to_string());
    }
}
