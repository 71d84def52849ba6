//! Writes a capture to a file. Frames are written as on the line, with their FCS: devices strip
//! it, and deliver only frames with a correct one, so it is calculated again.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use super::comment::{About, comment};
use super::{Capture, Kept};
use crate::plan::CaptureFormat;
use contracts::frame::FCS_BYTES;
use ground::time::Instant;
use text::packets::{Interface, Notes, Packet, Pcap, Pcapng};

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
    write_some(capture, format, about, (0, u64::MAX), out)
}

/// Writes `count` frames of a capture to `out`, starting with frame `first`, counted from 0.
///
/// # Errors
/// Errors of `out`.
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
    if kept.octets.len() < kept.len as usize || kept.octets.len() >= snap {
        return (Cow::Borrowed(&kept.octets), len);
    }
    let mut octets = kept.octets.clone();
    // The least significant byte is sent first (802.3 3.2.9).
    octets.extend(crc32fast::hash(&kept.octets).to_le_bytes());
    octets.truncate(snap);
    (Cow::Owned(octets), len)
}
