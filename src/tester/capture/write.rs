//! A capture as a file. Frames are written as they are on the line, with their FCS: devices take it
//! off, and what they hand over had a right one, so that it is calculated again.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use super::comment::comment;
use super::{Capture, Kept};
use crate::frame::FCS_BYTES;
use crate::host::FlowId;
use crate::report::packets::{Interface, Notes, Packet, Pcap, Pcapng};
use crate::tester::plan::CaptureFormat;
use crate::time::Instant;
use crate::units::BitsPerSec;

/// What is known of a capture's port and test.
pub struct About<'a> {
    /// The port's name.
    pub port: &'a str,
    /// Its location.
    pub location: &'a str,
    /// Its rate, in which pauses count.
    pub rate: Option<BitsPerSec>,
    /// How its stamps were taken, and how far they can be trusted: a sentence.
    pub stamps: &'a str,
    /// The time of day when the test's clock was at zero, since 1970 began.
    pub zero: Duration,
    /// The names of the test's flows.
    pub flow: &'a dyn Fn(FlowId) -> Option<&'a str>,
}

/// Writes a capture to `out`. Comments are pcapng's alone.
///
/// # Errors
/// Those of `out`.
pub fn write(
    capture: &Capture,
    format: CaptureFormat,
    about: &About<'_>,
    out: impl Write,
) -> io::Result<()> {
    write_some(capture, format, about, (0, u64::MAX), out)
}

/// Writes frames of a capture to `out`: from a number on, counted from 0, at most so many of them.
///
/// # Errors
/// Those of `out`.
pub fn write_some(
    capture: &Capture,
    format: CaptureFormat,
    about: &About<'_>,
    (first, count): (u64, u64),
    out: impl Write,
) -> io::Result<()> {
    let size = |n| usize::try_from(n).unwrap_or(usize::MAX);
    let frames = capture.frames().skip(size(first)).take(size(count));
    let at = |at: Instant| about.zero + Duration::from_nanos(at.as_nanos());
    match format {
        CaptureFormat::Pcap => {
            let mut file = Pcap::new(out)?;
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

/// A frame with its FCS, as far as `snap` octets go, and its length. Of a frame that was not kept
/// whole the FCS is not known.
fn with_fcs(kept: &Kept, snap: usize) -> (Cow<'_, [u8]>, u32) {
    let len = kept.len + FCS_BYTES;
    if kept.octets.len() < kept.len as usize || kept.octets.len() >= snap {
        return (Cow::Borrowed(&kept.octets), len);
    }
    let mut octets = kept.octets.clone();
    // The least significant octet is sent first (802.3 3.2.9).
    octets.extend(crc32fast::hash(&kept.octets).to_le_bytes());
    octets.truncate(snap);
    (Cow::Owned(octets), len)
}
