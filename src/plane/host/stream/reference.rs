//! The reference of a stream: what its frames look like where they arrive.
//!
//! A receiver makes each frame once more with the code of the sender, with the values of the changing fields
//! that the frame has, and compares all of it: length, headers, checksums, payload. So whatever a device cut
//! or rewrote is found, if it did not change a field to another value of the stream.
//!
//! A device may change, as its standard says:
//! - ECN (RFC 3168);
//! - tags: it adds or removes them, and where it does neither, DEI and the kind of tag;
//! - what routers change: a packet whose time to live went down has other addresses and tags (RFC 1812 5.2.1);
//! - padding behind the shortest frames.

use super::frames::Frames;
use super::values::Cycle;
use crate::plan::stream::{Edit, LengthField, Sizes, StreamPlan, Values};
use crate::probe::PROBE_LEN;
use contracts::frame::FCS_BYTES;
use contracts::port::FRAME_MIN;
use wire::{EtherType, ethernet, vlan};

/// The first difference between a frame that arrived and the one that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damage {
    /// Length in bytes, FCS included; `None` if frames of the stream have various lengths.
    Length { sent: Option<u32>, arrived: u32 },
    /// A byte; its offset is that in the frame as it was sent.
    Octet { at: usize, sent: u8, arrived: u8 },
    /// The changing field at this byte has a value that the stream does not send.
    Value { at: usize },
}

impl core::fmt::Display for Damage {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Self::Length { sent: Some(sent), arrived } => {
                write!(f, "{arrived} bytes long, not {sent}")
            }
            Self::Length { sent: None, arrived } => {
                write!(
                    f,
                    "{arrived} bytes long, which is no length of the flow or not its header's"
                )
            }
            Self::Octet { at, sent, arrived } => {
                write!(f, "byte {at} is 0x{arrived:02x}, not 0x{sent:02x}")
            }
            Self::Value { at } => {
                write!(f, "the changing field at byte {at} has a value that the flow does not send")
            }
        }
    }
}

/// What the frames of a stream look like.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    now: Form,
    /// That before the last change of the stream, as frames of it may be in flight.
    before: Option<Box<Form>>,
}

impl Reference {
    /// Creates the reference of a stream with a validated plan and a template.
    pub(crate) fn new(plan: &StreamPlan) -> Box<Self> {
        Box::new(Self { now: Form::new(plan), before: None })
    }

    /// Takes over a new plan of the stream.
    pub(crate) fn change(&mut self, plan: &StreamPlan) {
        let before = core::mem::replace(&mut self.now, Form::new(plan));
        self.before = Some(Box::new(before));
    }

    /// Returns true if the frame with these first bytes and this length arrived as it was sent. What a device
    /// may change is for [`Self::damage`] to judge, except ECN.
    #[inline]
    pub(crate) fn is_as_sent(&mut self, head: &[u8], wire_len: u32) -> bool {
        self.now.difference(head, &Received::plain(wire_len)).is_none()
    }

    /// Returns the damage of a frame with these first bytes and this length, if there is any.
    #[inline(never)]
    pub(crate) fn damage(&mut self, head: &[u8], wire_len: u32) -> Option<Damage> {
        // The damage against the present plan is reported; that before the change only excuses it.
        let damage = self.now.damage(head, wire_len)?;
        match &mut self.before {
            Some(before) => before.damage(head, wire_len).map(|_| damage),
            None => Some(damage),
        }
    }
}

/// How a frame arrived.
struct Received {
    /// Length on the wire, with the tags of the sent frame.
    wire_len: u32,
    /// Maximum length up to which it may be padded.
    padded: u32,
    /// True if routers took part, whose addresses and time to live are their own.
    is_routed: bool,
    /// True if its addresses and tags are those of the reference, not those that arrived.
    is_relabelled: bool,
}

impl Received {
    #[inline]
    const fn plain(wire_len: u32) -> Self {
        Self { wire_len, padded: FRAME_MIN, is_routed: false, is_relabelled: false }
    }
}

/// What the frames of one plan look like.
#[derive(Clone, Debug)]
struct Form {
    frames: Frames,
    sizes: Sizes,
    /// The length field of frames of various lengths, if there is one.
    length: Option<LengthField>,
    /// Number of bytes that any frame has: headers and probe.
    least: usize,
    /// Number of tags.
    tags: usize,
    /// Offset of the time to live or hop limit and its value, if it is the same in all frames.
    ttl: Option<(usize, u8)>,
    /// Changing fields with their values.
    values: Vec<(Edit, Cycle)>,
    /// Room for a frame without what devices may change.
    image: Vec<u8>,
}

impl Form {
    fn new(plan: &StreamPlan) -> Self {
        let mut plan = plan.clone();
        let template = &mut plan.template;
        let walk = vlan::walk(&template.headers).ok();
        let marks = walk.as_ref().map(|walk| Marks::of(&template.headers, walk));
        let mut values = template.edits.clone();
        let mut ttl = None;
        if let Some(Marks { ecn: Some(ecn), ttl: Some(at) }) = marks {
            // The changing bits of a plan do not overlap.
            let is_free = |bits: (usize, usize)| {
                template.edits.iter().map(span).all(|edit| edit.1 <= bits.0 || bits.1 <= edit.0)
            };
            let (mark, life) = (is_free(span(&ecn)), is_free((8 * at, 8 * at + 8)));
            values.retain(|edit| {
                let (from, to) = span(edit);
                to <= span(&ecn).0 || span(&ecn).1 <= from
            });
            // ECN as a field of the stream: each frame is compared with its own value.
            if mark {
                template.edits.push(ecn);
            }
            if life {
                ttl = Some((at, template.headers[at]));
                let value = Values::List(vec![0]);
                template.edits.push(Edit { at: at as u16, skip: 0, bits: 8, values: value });
            }
        }
        let nothing = || Values::List(vec![0]);
        let known = |edit: Edit| {
            let cycle = Cycle::known(&edit.values, edit.bits);
            (Edit { values: nothing(), ..edit }, cycle)
        };
        let values = values.into_iter().map(known).collect();
        // A frame is compared with one that has its own values, so the plan's are not needed to make it.
        plan.template.edits.iter_mut().for_each(|edit| edit.values = nothing());
        let probe = plan.template.probe_at.map_or(0, |at| usize::from(at) + PROBE_LEN);
        Self {
            frames: Frames::new(&plan),
            length: match plan.sizes {
                Sizes::Fixed(_) => None,
                _ => plan.template.lengths.first().copied(),
            },
            least: plan.template.headers.len().max(probe),
            tags: walk.map_or(0, |walk| walk.tags),
            image: Vec::with_capacity(
                plan.sizes.longest() as usize + vlan::TAG_LEN * vlan::MAX_TAGS,
            ),
            ttl,
            values,
            sizes: plan.sizes,
        }
    }

    /// Returns the first difference between a frame and what was sent, except ECN.
    #[inline]
    fn difference(&mut self, head: &[u8], arrival: &Received) -> Option<Damage> {
        let wire_len = arrival.wire_len;
        let arrived = (wire_len.saturating_sub(FCS_BYTES)) as usize;
        let fixed = match self.sizes {
            Sizes::Fixed(size) => Some(size),
            _ => None,
        };
        let of_length = Damage::Length { sent: fixed, arrived: wire_len };
        // Too short for headers and probe, which the comparison reads.
        if head.len().min(arrived) < self.least {
            return Some(of_length);
        }
        let len = match (fixed, self.length) {
            (Some(size), _) => (size - FCS_BYTES) as usize,
            (None, Some(LengthField { at, from })) => {
                let at = usize::from(at);
                usize::from(u16::from_be_bytes([head[at], head[at + 1]])) + usize::from(from)
            }
            (None, None) => arrived,
        };
        // The sending port, or a bridge, fills the shortest frames up.
        let is_padded = arrived > len && wire_len <= arrival.padded;
        let is_sent = fixed.is_some() || self.sizes.has(len as u32 + FCS_BYTES);
        if !(is_sent && (arrived == len || is_padded)) {
            return Some(of_length);
        }
        let shown = head.len().min(len);
        if shown < self.frames.reach().min(len) {
            // Bytes that the world does not store cannot be compared.
            return None;
        }
        let made = self.frames.like(head, len);
        if made[..shown] != head[..shown] {
            // Only in a damaged frame, so the search costs nothing in others.
            let at = made.iter().zip(head).position(|(a, b)| a != b)?;
            return Some(Damage::Octet { at, sent: made[at], arrived: head[at] });
        }
        if let Some((at, sent)) = self.ttl.filter(|(at, sent)| head[*at] != *sent) {
            if !arrival.is_routed {
                return Some(Damage::Octet { at, sent, arrived: head[at] });
            }
        }
        if !arrival.is_relabelled {
            let strange = |(edit, cycle): &&(Edit, Cycle)| !cycle.has(value(head, edit), edit.bits);
            return self
                .values
                .iter()
                .find(strange)
                .map(|(edit, _)| Damage::Value { at: edit.at.into() });
        }
        None
    }

    /// Returns the damage of a frame, if it was changed in more than a device may change.
    fn damage(&mut self, head: &[u8], wire_len: u32) -> Option<Damage> {
        // First as it is: an undamaged frame needs no image.
        let damage = self.difference(head, &Received::plain(wire_len))?;
        let Ok(walk) = vlan::walk(head) else { return Some(damage) };
        let is_routed = self.ttl.is_some_and(|(at, sent)| {
            let at = at + vlan::TAG_LEN * walk.tags - vlan::TAG_LEN * self.tags;
            // Lower than it was sent: a router took part (RFC 1812 5.3.1).
            head.get(at).is_some_and(|ttl| (1..sent).contains(ttl))
        });
        let is_relabelled = is_routed || walk.tags != self.tags;
        // Its memory is kept from one frame to the next.
        let mut image = core::mem::take(&mut self.image);
        let tag_len = vlan::TAG_LEN as u32;
        let received = Received {
            wire_len: (wire_len + tag_len * self.tags as u32)
                .saturating_sub(tag_len * walk.tags as u32),
            // A bridge keeps the shortest frame without a tag, and may do so with one.
            padded: FRAME_MIN + tag_len * self.tags as u32,
            is_routed,
            is_relabelled,
        };
        self.draw(&mut image, head, walk.tags, &received);
        let is_damaged = self.difference(&image, &received).is_some();
        self.image = image;
        is_damaged.then_some(damage)
    }

    /// Makes the image of a frame with `tags` tags: as it arrived, but for what a bridge or a router changed.
    fn draw(&self, image: &mut Vec<u8>, head: &[u8], tags: usize, received: &Received) {
        let &Received { is_routed, is_relabelled, .. } = received;
        let own = self.frames.octets();
        let behind = |tags: usize| ADDRESSES + vlan::TAG_LEN * tags;
        image.clear();
        image.extend(if is_routed { &own[..ADDRESSES] } else { &head[..ADDRESSES] });
        let labels = if is_relabelled { own } else { head };
        image.extend(&labels[ADDRESSES..behind(self.tags)]);
        image.extend(&head[behind(tags)..]);
        if !is_relabelled {
            for at in (0..self.tags).map(behind) {
                image[at..at + 2].copy_from_slice(&own[at..at + 2]);
                // A bridge may set DEI and change the kind of tag; VLAN and priority are compared.
                image[at + 2] = image[at + 2] & !DEI | own[at + 2] & DEI;
            }
        }
    }
}

/// Bytes of both addresses, which tags follow.
const ADDRESSES: usize = ethernet::HEADER_LEN - 2;

/// Drop eligible bit in the first byte of a tag's control information.
const DEI: u8 = 0x10;

/// The parts of an IP header that any device may change.
struct Marks {
    /// The ECN field.
    ecn: Option<Edit>,
    /// Offset of the time to live or hop limit.
    ttl: Option<usize>,
}

impl Marks {
    fn of(headers: &[u8], walk: &vlan::Walk) -> Self {
        let (len, skip, ttl) = match walk.ethertype {
            EtherType::IPV4 => (20, 6, 8),
            EtherType::IPV6 => (40, 2, 7),
            _ => return Self { ecn: None, ttl: None },
        };
        if headers.len() < walk.l3 + len {
            return Self { ecn: None, ttl: None };
        }
        let values = Values::List(vec![0]);
        let ecn = Edit { at: walk.l3 as u16 + 1, skip, bits: 2, values };
        Self { ecn: Some(ecn), ttl: Some(walk.l3 + ttl) }
    }
}

/// Returns the first bit of a field and the one behind it.
fn span(edit: &Edit) -> (usize, usize) {
    let first = 8 * usize::from(edit.at) + usize::from(edit.skip);
    (first, first + usize::from(edit.bits))
}

/// Returns the value of a field in a frame that holds it.
fn value(frame: &[u8], edit: &Edit) -> u128 {
    let (from, to) = span(edit);
    let mut value = 0_u128;
    let octets = &frame[from / 8..to.div_ceil(8)];
    // A field of 128 bits may lie in 17 bytes: the bits before it are shifted out.
    for octet in &octets[..octets.len() - 1] {
        value = value << 8 | u128::from(*octet);
    }
    let last = octets[octets.len() - 1];
    let below = 8 * octets.len() - from % 8 - usize::from(edit.bits);
    value = value << (8 - below) | u128::from(last) >> below;
    value & u128::MAX >> (128 - u32::from(edit.bits))
}

impl Sizes {
    /// Returns true if frames of this length, with FCS, are sent.
    #[inline]
    fn has(&self, len: u32) -> bool {
        match *self {
            Self::Fixed(size) => size == len,
            Self::Increment { start, end, step } => {
                (start..=end).contains(&len) && (len - start) % step == 0
            }
            Self::Random { min, max } => (min..=max).contains(&len),
            Self::Weighted(ref pairs) => pairs.iter().any(|(size, _)| *size == len),
        }
    }
}
