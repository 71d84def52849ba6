//! Validation of streams: contradictory settings, and settings that no port supports.

use super::{
    Edit, InterfacePlan, MeterPlan, NEIGHBOURS_MAX, Path, Payload, Sizes, StreamPlan, TemplatePlan,
    Values,
};
use crate::plan::{PlanError, Rate, Recording};
use crate::probe::{FlowId, PROBE_LEN};
use crate::stream::order;
use contracts::frame::FCS_BYTES;
use contracts::port::{CONTROL_FRAME_MAX, FRAME_MAX};
use ground::units::Pcp;
use schedule::Line;
use wire::ethernet;
use wire::vlan::MAX_TAGS;

/// A field of a plan, and its problem.
type Wrong = (&'static str, String);

/// Tolerance for a rate above the line that was rounded to whole frames or bits.
const ROUNDING: f64 = 1e-6;

impl Recording {
    /// Returns the frame lengths with FCS, weighted by frequency: the `sizes` of a stream that
    /// replays it.
    pub fn sizes(&self) -> Sizes {
        let mut lengths: Vec<u32> = (0..self.len()).map(|n| self.frame(n).1).collect();
        lengths.sort_unstable();
        // Sorted, so equal lengths are neighbours.
        let weighted = lengths.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f64));
        Sizes::Weighted(weighted.collect())
    }
}

impl Sizes {
    /// Length of the shortest frame, in bytes with FCS.
    pub fn shortest(&self) -> u32 {
        match *self {
            Self::Fixed(size) => size,
            Self::Increment { start, .. } => start,
            Self::Random { min, .. } => min,
            Self::Weighted(ref pairs) => pairs.iter().map(|(size, _)| *size).min().unwrap_or(0),
        }
    }

    /// Upper bound of the frame length, in bytes with FCS.
    pub fn longest(&self) -> u32 {
        match *self {
            Self::Fixed(size) => size,
            Self::Increment { end, .. } => end,
            Self::Random { max, .. } => max,
            Self::Weighted(ref pairs) => pairs.iter().map(|(size, _)| *size).max().unwrap_or(0),
        }
    }

    /// Mean length of validated sizes, in bytes with FCS.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Fixed(size) => size.into(),
            Self::Increment { start, end, step } => {
                // The last length may be below `end`.
                let steps = (end - start) / step;
                f64::from(start) + f64::from(steps) * f64::from(step) / 2.0
            }
            Self::Random { min, max } => f64::from(min).midpoint(max.into()),
            Self::Weighted(ref pairs) => {
                let total: f64 = pairs.iter().map(|(_, weight)| weight).sum();
                pairs.iter().map(|(size, weight)| f64::from(*size) * weight / total).sum()
            }
        }
    }

    fn check(&self) -> Result<(), Wrong> {
        let wrong = |why: &str| Err(("sizes", why.to_owned()));
        match *self {
            Self::Increment { start, end, .. } | Self::Random { min: start, max: end }
                if start > end =>
            {
                wrong("the shortest frame is longer than the longest")
            }
            Self::Increment { step: 0, .. } => wrong("a step has at least one octet"),
            Self::Weighted(ref pairs) if pairs.is_empty() => wrong("there are none"),
            Self::Weighted(ref pairs)
                if pairs.iter().any(|(_, weight)| !weight.is_finite() || *weight <= 0.0) =>
            {
                wrong("each weight is above 0")
            }
            _ => Ok(()),
        }
    }
}

impl StreamPlan {
    /// Validates the stream for a line.
    ///
    /// # Errors
    /// [`PlanError::Stream`] with the field.
    pub fn check(&self, line: &Line) -> Result<(), PlanError> {
        self.check_frames()?;
        self.check_pace(line).map_err(|(field, why)| self.error(field, why))
    }

    /// Validates the frames of the stream alone, for a receiver, whose line may be slower.
    ///
    /// # Errors
    /// [`PlanError::Stream`] with the field.
    pub(crate) fn check_frames(&self) -> Result<(), PlanError> {
        let checked = self.sizes.check().and_then(|()| self.check_room());
        checked.and_then(|()| self.template.check()).map_err(|(field, why)| self.error(field, why))
    }

    fn error(&self, field: &'static str, why: String) -> PlanError {
        PlanError::Stream { flow: self.id.0, field, why }
    }

    /// Validates that every frame holds its headers and probe, and fits its port.
    fn check_room(&self) -> Result<(), Wrong> {
        if self.recording.is_some() {
            return self.check_recording();
        }
        let headers = self.template.headers.len();
        if headers < ethernet::HEADER_LEN {
            let why = format!("{headers} octets do not hold an Ethernet header, which takes 14");
            return Err(("template.headers", why));
        }
        let probe = self.template.probe_at.map_or(0, |at| usize::from(at) + PROBE_LEN);
        // The probe may reach beyond the headers, into the payload.
        let least = headers.max(probe) + FCS_BYTES as usize;
        let most = match self.path {
            Path::Data(_) => FRAME_MAX,
            // From the memory of MAC control, whose buffers are short.
            Path::Control => CONTROL_FRAME_MAX,
        };
        let (shortest, longest) = (self.sizes.shortest(), self.sizes.longest());
        if (shortest as usize) < least {
            let why = format!("{shortest} octets are too few, headers, probe and FCS take {least}");
            return Err(("sizes", why));
        }
        if longest > most {
            let why = format!("{longest} octets are more than the longest frame, {most}");
            return Err(("sizes", why));
        }
        Ok(())
    }

    /// Validates that a recording is the only source of frames, and fits its port.
    fn check_recording(&self) -> Result<(), Wrong> {
        // Fields of a template would be ignored, which a user must not find out by the results.
        if self.template != TemplatePlan::default() {
            return Err(("template", "a recording is sent as it is, without a template".into()));
        }
        let longest = self.sizes.longest();
        if matches!(self.path, Path::Control) && longest > CONTROL_FRAME_MAX {
            let why = format!(
                "{longest} octets are more than the longest control frame, {CONTROL_FRAME_MAX}"
            );
            return Err(("recording", why));
        }
        Ok(())
    }

    fn check_pace(&self, line: &Line) -> Result<(), Wrong> {
        if self.pace.burst.is_some_and(|burst| burst.frames == 0) {
            return Err(("pace.burst", "a burst has at least one frame".into()));
        }
        if self.recording.as_ref().is_some_and(|recording| recording.timed) {
            return Ok(());
        }
        let mean = self.sizes.mean();
        let frames = match self.pace.rate {
            Rate::LineShare(0 | 1_000_001..) => {
                return Err((
                    "pace.rate",
                    "a share of the line is above 0, up to all of it".into(),
                ));
            }
            Rate::Frames(0) => return Err(("pace.rate", "at least one frame per second".into())),
            // A share cannot exceed the line, whatever the lengths.
            Rate::LineShare(_) => return Ok(()),
            Rate::FrameBits(bits) => bits.get() as f64 / (8.0 * mean),
            Rate::Frames(n) => n as f64,
        };
        // On average, as the lengths of frames may differ.
        let most = line.rate().get() as f64 / (8.0 * (mean + line.octets(0) as f64));
        if frames > most * (1.0 + ROUNDING) {
            let why = format!(
                "{frames:.0} frames of {mean:.0} octets per second are above the line's {most:.0}"
            );
            return Err(("pace.rate", why));
        }
        Ok(())
    }
}

impl TemplatePlan {
    /// Validates that all fields are inside the headers and do not overlap.
    fn check(&self) -> Result<(), Wrong> {
        let wrong = |field, why: &str| Err((field, why.to_owned()));
        let headers = self.headers.len();
        if matches!(&self.payload, Payload::Fixed { octets, .. } if octets.is_empty()) {
            return wrong("template.payload", "a pattern has at least one octet");
        }
        self.edits.iter().try_for_each(Edit::check)?;
        self.check_places()?;
        if let Some(sum) = self.checksums.iter().find(|sum| !sum.over.is_within(headers)) {
            let why = format!("what the one at octet {} covers is not in the headers", sum.at);
            return Err(("template.checksums", why));
        }
        if self.lengths.iter().any(|l| usize::from(l.from) > headers) {
            return wrong("template.lengths", "a length counts from somewhere in the headers");
        }
        if order(&self.checksums).is_none() {
            return wrong("template.checksums", "two of them cover each other");
        }
        Ok(())
    }

    /// Validates that changing fields are inside the headers and do not overlap.
    fn check_places(&self) -> Result<(), Wrong> {
        let place = |at: u16, skip: u8, bits: usize, what: &'static str| {
            let first = usize::from(at) * 8 + usize::from(skip);
            (first, first + bits, what)
        };
        let mut places: Vec<_> = self
            .edits
            .iter()
            .map(|e| place(e.at, e.skip, e.bits.into(), "template.edits"))
            .chain(self.lengths.iter().map(|l| place(l.at, 0, 16, "template.lengths")))
            .chain(self.checksums.iter().map(|c| place(c.at, 0, 16, "template.checksums")))
            .collect();
        let end = self.headers.len() * 8;
        if let Some((first, _, what)) = places.iter().find(|(_, last, _)| *last > end) {
            return Err((what, format!("the field at octet {} is not in the headers", first / 8)));
        }
        // After the test above: a probe may be behind the headers.
        places.extend(self.probe_at.map(|at| place(at, 0, 8 * PROBE_LEN, "template.probe_at")));
        // By first bit: only neighbours can overlap.
        places.sort_unstable();
        match places.windows(2).find(|w| w[1].0 < w[0].1) {
            Some(w) => {
                let why = format!("the field at octet {} is in another ({})", w[1].0 / 8, w[0].2);
                Err((w[1].2, why))
            }
            None => Ok(()),
        }
    }
}

impl Edit {
    fn check(&self) -> Result<(), Wrong> {
        let wrong = |why: &str| Err(("template.edits", why.to_owned()));
        let values = match self.values {
            Values::List(ref list) => list.len() as u64,
            Values::Random { min, max, .. } if min > max => {
                return wrong("the least value is above the greatest");
            }
            // A cycle of no values has no first one.
            Values::Increment { count, .. }
            | Values::Decrement { count, .. }
            | Values::Random { count, .. } => count,
        };
        if !(1..=128).contains(&self.bits) || self.skip > 7 {
            return wrong("a field has 1 to 128 bits and begins in its first octet");
        }
        if values == 0 { wrong("a field has at least one value") } else { Ok(()) }
    }
}

impl MeterPlan {
    /// Validates that the streams to measure and to compare exist.
    ///
    /// # Errors
    /// [`PlanError::NotExpected`], [`PlanError::ControlOctets`], and as [`StreamPlan::check_frames`].
    pub(in crate::plan) fn check(&self, expects: &[FlowId]) -> Result<(), PlanError> {
        if let Some((id, _)) = self.streams.iter().find(|(id, _)| !expects.contains(id)) {
            return Err(PlanError::NotExpected(id.0));
        }
        if let Some(one) = self.compared.iter().find(|one| !expects.contains(&one.id)) {
            return Err(PlanError::NotExpected(one.id.0));
        }
        self.compared.iter().try_for_each(StreamPlan::check_frames)?;
        match self.control.iter().find(|(_, octets)| octets.is_empty()) {
            Some((id, _)) => Err(PlanError::ControlOctets(id.0)),
            None => Ok(()),
        }
    }
}

impl InterfacePlan {
    /// Validates the self.
    fn check(&self) -> Result<(), PlanError> {
        let tags = self.vlans.len() <= MAX_TAGS;
        if !tags || self.vlans.iter().any(|(_, priority)| Pcp::new(*priority).is_none()) {
            return Err(PlanError::InterfaceTags(self.name.clone()));
        }
        let long = self.ipv4.iter().any(|a| a.1 > 32) || self.ipv6.iter().any(|a| a.1 > 128);
        if long { Err(PlanError::InterfacePrefix(self.name.clone())) } else { Ok(()) }
    }
}

/// Validates the interfaces.
///
/// # Errors
/// The first problem found.
pub(in crate::plan) fn check_interfaces(plans: &[InterfacePlan]) -> Result<(), PlanError> {
    plans.iter().try_for_each(InterfacePlan::check)?;
    let of = |p: &InterfacePlan| p.ipv4.iter().filter(|a| a.2.is_some()).count();
    let of6 = |p: &InterfacePlan| p.ipv6.iter().filter(|a| a.2.is_some()).count();
    let gateways: usize = plans.iter().map(|p| of(p) + of6(p)).sum();
    if gateways > NEIGHBOURS_MAX { Err(PlanError::Neighbours(gateways)) } else { Ok(()) }
}
