//! Defects in protocols beside PFC: LLDP, messages of Source Flow Control (SFCM), and MACsec.
//!
//! Of MACsec, the port's guard leaves out the checks of received frames; what happens at a change of keys happens
//! here.

use core::fmt;

use super::frame::{MADE_BY, is_pfc, pause, set_word, sfcm};
use super::stage::{Act, Context};
use contracts::frame::Frame;

/// A defect in MACsec.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Securing {
    /// A protected MAC control frame that was received before, or is too late, is obeyed.
    ObeysReplays,
    /// A protected MAC control frame is obeyed without regard to its check value.
    ObeysForged,
    /// A MAC control frame of an association that is not there, or with a key that was replaced, is
    /// obeyed.
    ObeysOldKeys,
    /// A protected MAC control frame of another channel is obeyed.
    ObeysAnyChannel,
    /// Protected MAC control frames are ignored once the lower half of packet numbers has begun again.
    IgnoresAfterRoll,
    /// All pauses end when a key changes.
    ResumesAtRekey,
    /// The next data frames that are sent when a key has changed are lost.
    LosesAtRekey {
        /// Number of frames.
        frames: u32,
    },
}

/// The state of such a defect.
#[derive(Debug)]
pub(super) struct SecuringState {
    what: Securing,
    /// Data frames to lose.
    left: u32,
}

impl SecuringState {
    pub(super) const fn new(what: Securing) -> Self {
        Self { what, left: 0 }
    }
}

impl<F: Frame> Act<F> for SecuringState {
    fn tx(&mut self, cx: &mut Context<'_, F>, frame: F) {
        // Pauses are not what this defect loses.
        if self.left > 0 && !is_pfc(frame.head()) {
            self.left -= 1;
            return;
        }
        cx.out.line.push(frame);
    }

    fn rekeyed(&mut self, cx: &mut Context<'_, F>) {
        match self.what {
            Securing::ResumesAtRekey => {
                let resume = pause(MADE_BY, u8::MAX, 0);
                cx.out.node.extend(cx.make.control(&resume));
            }
            Securing::LosesAtRekey { frames } => self.left = frames,
            Securing::ObeysReplays
            | Securing::ObeysForged
            | Securing::ObeysOldKeys
            | Securing::ObeysAnyChannel
            | Securing::IgnoresAfterRoll => {}
        }
    }
}

/// A defect in LLDP or in SFCM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Telling {
    /// A PFC TLV that is an octet too short is read beyond its end.
    ReadsBeyondTlv,
    /// The TLV of CEE's DCBX is sent beside those of IEEE 802.1.
    BothDialects,
    /// The sum of the shares in the ETS configuration that is sent is 101 %.
    WrongShares,
    /// SFCMs that are sent name another destination of the flow.
    OtherFlow,
    /// The source of the flow in an SFCM that arrives is not compared: it is taken for the host that the
    /// message is sent to.
    AnyFlow,
}

/// Offset of the first TLV.
const TLVS: usize = 14;

/// Contents of a TLV up to its subtype, of IEEE 802.1: ETS configuration and PFC.
const ETS: [u8; 4] = [0x00, 0x80, 0xc2, 0x09];
const PFC: [u8; 4] = [0x00, 0x80, 0xc2, 0x0b];

/// Length of the PFC TLV's string.
const PFC_LEN: usize = 6;

/// Offset of the share of traffic class 0 in the string of the ETS configuration.
const SHARE: usize = 9;

/// A TLV of CEE's DCBX with its control TLV alone.
const CEE: [u8; 18] =
    [0xfe, 0x10, 0x00, 0x1b, 0x21, 0x02, 0x02, 0x0a, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];

fn is_lldp(head: &[u8]) -> bool {
    head.get(12..TLVS) == Some(&[0x88, 0xcc])
}

/// Returns the offset of the string of the TLV that begins so, and its length.
fn find(head: &[u8], begins: &[u8; 4]) -> Option<(usize, usize)> {
    all(head).find(|(at, len)| head[*at..at + len].starts_with(begins))
}

/// Returns the offsets and lengths of the strings of all TLVs, with the end TLV.
fn all(head: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let next = |offset: usize| {
        let header = head.get(offset..offset + 2)?;
        // A TLV begins with 7 bits of type and 9 of length.
        let len = usize::from(header[0] & 1) << 8 | usize::from(header[1]);
        (offset + 2 + len <= head.len()).then_some((offset + 2, len))
    };
    let mut ended = false;
    core::iter::successors(next(TLVS), move |(offset, len)| next(offset + len)).take_while(
        move |(offset, _)| {
            let goes_on = !ended;
            // Type 0 ends the list, and what is behind it is padding.
            ended |= head[offset - 2] >> 1 == 0;
            goes_on
        },
    )
}

impl<F: Frame + fmt::Debug + Send> Act<F> for Telling {
    fn tx(&mut self, cx: &mut Context<'_, F>, mut frame: F) {
        let head = frame.head();
        match *self {
            Telling::BothDialects if is_lldp(head) => {
                // The new TLV stands in front of the end TLV.
                let (end, _) = all(head).last().unwrap_or((TLVS + 2, 0));
                let mut octets = head[..end - 2].to_vec();
                octets.extend(CEE);
                octets.extend(&head[end - 2..]);
                cx.out.line.extend(cx.make.control(&octets));
            }
            Telling::WrongShares if is_lldp(head) => {
                if let Some((at, _)) = find(head, &ETS).filter(|(_, len)| *len > SHARE) {
                    frame.head_mut()[at + SHARE] += 1;
                }
                cx.out.line.push(frame);
            }
            Telling::OtherFlow => {
                if let Some(at) = sfcm(head) {
                    // The last two bytes of the flow's destination address.
                    let last = at.flow + 6;
                    let other = u16::from_be_bytes([head[last], head[last + 1]]) ^ 1;
                    set_word(frame.head_mut(), last, other, at.checksum);
                }
                cx.out.line.push(frame);
            }
            _ => cx.out.line.push(frame),
        }
    }

    fn rx(&mut self, cx: &mut Context<'_, F>, mut frame: F) {
        let head = frame.head();
        if *self == Telling::ReadsBeyondTlv && is_lldp(head) {
            if let Some((at, len)) = find(head, &PFC).filter(|(_, len)| *len == PFC_LEN - 1) {
                // The length's low byte is the last one before the string.
                frame.head_mut()[at - 1] = len as u8 + 1;
            }
        }
        if *self == Telling::AnyFlow {
            if let Some(at) = sfcm(frame.head()) {
                // An address of IPv4 is two words, each with its change of the checksum.
                for n in [0, 2] {
                    let head = frame.head();
                    let of_host = u16::from_be_bytes([head[at.host + n], head[at.host + n + 1]]);
                    set_word(frame.head_mut(), at.flow + n, of_host, at.checksum);
                }
            }
        }
        cx.out.node.push(frame);
    }
}
