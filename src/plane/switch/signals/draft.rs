//! Frame of a message to the source of another frame: its addresses swapped, its tags copied.

use ground::units::{Mac, Priority};
use wire::{EtherType, WireError, ethernet, sfcm, vlan};

/// Length in bytes of the longest message with its tags: an SFCM over IPv6 with the longest
/// quotation.
const LEN_MAX: usize = ethernet::HEADER_LEN + vlan::MAX_TAGS * vlan::TAG_LEN + sfcm::LEN_MAX;

/// Minimum frame length in bytes without the FCS (802.3 4A.2.3.2.4).
const LEN_MIN: usize = 60;

/// Length in bytes of the two MAC addresses.
const ADDRESSES: usize = 12;

/// Shift of the PCP in the third byte of a tag.
const PCP_SHIFT: u32 = 5;
/// Upper bits of the VLAN identifier in that byte; the DEI between the two is not copied.
const VID_UPPER: u8 = 0x0f;

/// TTL of messages: RFC 1700's default, since the source document gives none.
pub(super) const TTL: u8 = 64;

/// A message under construction.
pub(super) struct Draft {
    octets: [u8; LEN_MAX],
    len: usize,
}

impl Draft {
    /// Returns the headers of a message from `src` to the source of the frame whose first bytes are
    /// `head`, with the tags of that frame. The outermost tag gets `priority`.
    pub(super) fn answer(head: &[u8], walk: &vlan::Walk, src: Mac, priority: Priority) -> Self {
        let mut octets = [0; LEN_MAX];
        octets[..6].copy_from_slice(&walk.src.0);
        octets[6..ADDRESSES].copy_from_slice(&src.0);
        let tags = ADDRESSES..ADDRESSES + walk.tags * vlan::TAG_LEN;
        octets[tags.clone()].copy_from_slice(&head[tags.clone()]);
        if walk.tags > 0 {
            let tci = &mut octets[ADDRESSES + 2];
            *tci = *tci & VID_UPPER | priority.get() << PCP_SHIFT;
        }
        Self { octets, len: tags.end }
    }

    /// Appends `len` bytes behind `ethertype`, written by `emit`.
    ///
    /// # Errors
    /// The error of `emit`; nothing was appended then.
    pub(super) fn fill(
        &mut self,
        ethertype: EtherType,
        len: usize,
        emit: impl FnOnce(&mut [u8]) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        let start = self.len + 2;
        let body = self.octets.get_mut(start..start + len).ok_or(WireError::NoRoom)?;
        emit(body)?;
        self.octets[self.len..start].copy_from_slice(&ethertype.0.to_be_bytes());
        self.len = start + len;
        Ok(())
    }

    /// Returns the whole frame without its FCS.
    pub(super) fn octets(&self) -> &[u8] {
        &self.octets[..self.len.max(LEN_MIN)]
    }
}
