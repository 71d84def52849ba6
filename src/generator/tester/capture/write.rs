//! Writes a capture to a file, with a comment on each frame, which an analyser shows beside it.
//!
//! Frames are written as on the line, with their FCS: devices strip it, and deliver only frames with a correct
//! one, so it is calculated again.

use core::ops::Range;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

use super::{Capture, Kept};
use crate::plan::CaptureFormat;
use contracts::frame::FCS_BYTES;
use ground::time::Instant;
use ground::units::{BitsPerSec, Mac, Priority, Quanta};
use host::{FlowId, probe_of};
use text::packets::{Interface, Notes, Packet, Pcap, Pcapng};
use wire::{EtherType, WireError, ethernet, mac_control, vlan};

/// Writes a capture to `out`. Comments are written to pcapng only.
///
/// # Errors
/// Errors of `out`.
pub fn write(
    capture: &Capture,
    format: CaptureFormat,
    about: &About<'_>,
    out: impl Write,
) -> io::Result<()> {
    write_some(capture, format, about, 0..u64::MAX, out)
}

/// Writes the frames of a capture with these numbers, counted from 0, to `out`.
///
/// # Errors
/// Errors of `out`.
pub fn write_some(
    capture: &Capture,
    format: CaptureFormat,
    about: &About<'_>,
    frames: Range<u64>,
    out: impl Write,
) -> io::Result<()> {
    let size = |n| usize::try_from(n).unwrap_or(usize::MAX);
    let count = frames.end.saturating_sub(frames.start);
    let frames = capture.frames().skip(size(frames.start)).take(size(count));
    // The clock of a test has a zero of its own, and files have the time of day.
    let at = |at: Instant| about.zero + Duration::from_nanos(at.as_nanos());
    match format {
        CaptureFormat::Pcap => {
            let mut file = Pcap::new(out, true)?;
            for kept in frames {
                let (octets, len) = with_fcs(&kept, capture.snap());
                file.packet(&Packet { at: at(kept.at), octets: &octets, len })?;
            }
        }
        CaptureFormat::Pcapng => {
            let interface = Interface {
                name: about.port,
                description: about.location,
                rate: about.rate,
                fcs: true,
            };
            let mut file = Pcapng::new(out, Some(about.stamps), &[interface])?;
            for kept in frames {
                let said = comment(&kept.octets, about);
                let (octets, len) = with_fcs(&kept, capture.snap());
                let packet = Packet { at: at(kept.at), octets: &octets, len };
                let comment = said.as_deref();
                file.packet(&packet, &Notes { interface: 0, way: Some(kept.way), comment })?;
            }
            file.flush()?;
        }
    }
    Ok(())
}

/// Returns a frame with its FCS, up to `snap` bytes, and its length. The FCS of a truncated frame
/// is not known.
fn with_fcs(kept: &Kept, snap: usize) -> (Cow<'_, [u8]>, u32) {
    let len = kept.len + FCS_BYTES;
    // Where the frame alone fills the snapshot, there is no room for its FCS either.
    if kept.octets.len() < kept.len as usize || kept.octets.len() >= snap {
        return (Cow::Borrowed(&kept.octets), len);
    }
    let mut octets = kept.octets.clone();
    // The least significant byte is sent first (802.3 3.2.9).
    octets.extend(crc32fast::hash(&kept.octets).to_le_bytes());
    octets.truncate(snap);
    (Cow::Owned(octets), len)
}

/// Facts about a capture's port and test.
pub struct About<'a> {
    pub port: &'a str,
    pub location: &'a str,
    /// The link rate, which is the unit of pause times.
    pub rate: Option<BitsPerSec>,
    /// A sentence about the source and the precision of the timestamps.
    pub stamps: &'a str,
    /// The time of day at zero of the test's clock, since 1970.
    pub zero: Duration,
    /// Returns the name of a flow of the test.
    pub flow: &'a dyn Fn(FlowId) -> Option<&'a str>,
}

/// Returns the comment of a frame: its flow, or the meaning of a pause frame.
pub(super) fn comment(frame: &[u8], about: &About<'_>) -> Option<String> {
    let walk = vlan::walk(frame).ok()?;
    if walk.ethertype == EtherType::MAC_CONTROL {
        return Some(mac_control_comment(frame, walk.tags, about));
    }
    // Only frames of a generator carry a probe; all others go without a comment.
    let probe = probe_of(frame)?;
    let flow = (about.flow)(probe.flow);
    let name =
        flow.map_or_else(|| format!("{}, which is not of this test", probe.flow.0), str::to_owned);
    Some(format!("flow {name}, frame {}", probe.sequence))
}

fn mac_control_comment(frame: &[u8], tags: usize, about: &About<'_>) -> String {
    if tags > 0 {
        return "malformed: MAC control behind a VLAN tag, which no receiver obeys".into();
    }
    // Any destination is accepted as the port's own, because a PAUSE frame may be sent to a
    // station's address.
    let port = ethernet::Repr::parse(frame).map_or(Mac::BROADCAST, |e| e.dst);
    let mut text = String::new();
    match mac_control::Repr::parse(frame, port) {
        Ok(mac_control::Repr::Pfc(pfc)) => {
            text.push_str("PFC:");
            for p in Priority::ALL {
                if let Some(quanta) = pfc.time(p) {
                    let end = if text.ends_with(':') { "" } else { "," };
                    let asked = asked(quanta, about);
                    write!(text, "{end} priority {p} {asked}").expect("a string takes all");
                }
            }
            if pfc.enabled.is_empty() {
                text.push_str(" no priority");
            }
        }
        Ok(mac_control::Repr::Pause(pause)) => {
            write!(text, "PAUSE: all {}", asked(pause.time, about)).expect("a string takes all");
        }
        Err(error) => {
            let why = match error {
                WireError::Truncated => "shorter than the shortest frame",
                WireError::BadOpcode => "neither PAUSE nor PFC",
                WireError::BadAddress => "to an address that it is never sent to",
                _ => "not as the format says",
            };
            write!(text, "malformed: MAC control, {why}").expect("a string takes all");
        }
    }
    text
}

/// Formats a pause time, in time units if the link rate is known.
fn asked(quanta: Quanta, about: &About<'_>) -> String {
    match (quanta, about.rate) {
        // A time of zero ends a pause.
        (Quanta(0), _) => "resumes".into(),
        (Quanta(n), None) => format!("stops for {n} quanta"),
        (Quanta(n), Some(rate)) => {
            let us = quanta.at(rate).as_picos() as f64 / 1e6;
            format!("stops for {n} quanta, {us} us")
        }
    }
}
