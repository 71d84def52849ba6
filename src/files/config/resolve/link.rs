//! Derives the parameters of the headroom calculation from a port's link.

use super::{Cx, Place};
use crate::plan::DevicePlan;
use crate::raw;
use contracts::frame::BURST;
use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes};
use headroom::{DelayInputs, Extender, Fec, Interface, Phy, SoftwareTerms};
use switch::PortPlan;

/// Default of the longest gap between polls, and of the response time of a software peer. A choice:
/// a core without other work nearly always keeps to it, and at 10 Gb/s 125 KB arrive within it.
const POLL_GAP_DEFAULT: Duration = Duration::from_micros(100);
/// Virtual devices do not always use the ring size that they are configured with.
const VIRTUAL_RING: u64 = 2048;

/// Resolves the parameters of the headroom of a port's lossless groups.
pub fn inputs(
    cx: &mut Cx,
    port_at: &Place<'_>,
    port: &raw::Port,
    (plan, device): (&PortPlan, &DevicePlan),
    max_frame: u32,
) -> (DelayInputs, SoftwareTerms) {
    let (at, raw) = (port_at.key("link"), &port.link);
    let mut link = DelayInputs::standard(interface(cx, &at, raw, plan.rate, device.is_virtual));
    link.max_frame = Bytes(u64::from(max_frame));
    link.cable_m = match raw.length {
        Some(length) => u32::try_from(length.0.div_ceil(1_000)).unwrap_or(u32::MAX),
        None if device.is_virtual => 0,
        None => DelayInputs::CABLE_M,
    };
    link.higher_layer = match raw.peer_response {
        Some(span) => span.0,
        None if device.is_virtual => POLL_GAP_DEFAULT,
        None => DelayInputs::HIGHER_LAYER,
    };
    let poll_gap = poll_gap(raw);
    for (field, span) in [("poll_gap", poll_gap), ("peer_response", link.higher_layer)] {
        if span > Duration::from_secs(1) {
            cx.error(&at.key(field), "is more than a second; no buffer holds that");
        }
    }
    let frames = u64::from(max_frame);
    let ring = u64::from(device.rx_descriptors);
    let ring = if device.is_virtual { ring.max(VIRTUAL_RING) } else { ring };
    // A shaped port gives its device a frame after the previous one has left, so nothing
    // accumulates there. Otherwise the transmit ring fills, and a PFC frame waits behind it.
    // Besides the device's frames, one burst may be on its way to the device when the PFC frame
    // arrives.
    let committed = if plan.shaped { 0 } else { u64::from(device.tx_descriptors) + BURST as u64 };
    let software = SoftwareTerms {
        rx_backlog: Bytes(ring * frames),
        tx_committed: Bytes(committed * frames),
        peer_committed: Bytes(raw.peer_committed.map_or(0, |s| s.0)),
        poll_gap,
    };
    (link, software)
}

/// Time that this end takes to obey a pause, and the same with the delay of its interface below the
/// timestamps: zero for a virtual device.
pub fn internal(
    (link, software): &(DelayInputs, SoftwareTerms),
    is_virtual: bool,
) -> (Duration, Duration) {
    let interface = if is_virtual { Duration::ZERO } else { link.interface.delay() };
    let reaction = software.poll_gap + link.rate().time_for(software.tx_committed);
    (reaction, interface + reaction)
}

/// Longest time between two polls of a port.
fn poll_gap(raw: &raw::Link) -> Duration {
    raw.poll_gap.map_or(POLL_GAP_DEFAULT, |s| s.0)
}

/// Resolves the physical layer at both ends.
fn interface(
    cx: &mut Cx,
    at: &Place<'_>,
    raw: &raw::Link,
    rate: BitsPerSec,
    is_virtual: bool,
) -> Interface {
    let names = (raw.phy.unwrap_or_default(), raw.fec.unwrap_or_default());
    named_interface(cx, at, names, rate, is_virtual)
}

/// Returns true if there is a table of the PHY's delays at this rate.
#[must_use]
pub fn has_phy(rate: BitsPerSec) -> bool {
    !matches!(Phy::of_rate(rate), Phy::Virtual(_))
}

/// Resolves a physical layer and its FEC by their names; `auto` is the usual one of the link's rate, or none
/// for a virtual link.
pub fn named_interface(
    cx: &mut Cx,
    at: &Place<'_>,
    (phy, fec): (raw::PhyName, Fec),
    rate: BitsPerSec,
    is_virtual: bool,
) -> Interface {
    let default = if is_virtual { Phy::Virtual(rate) } else { Phy::of_rate(rate) };
    if phy == raw::PhyName::Auto && !is_virtual && !has_phy(rate) {
        let what = format!(
            "there is no table of delays at {rate}: the PHYs count as 0, as does a response of the peer \
             that is not stated, so a real link needs more headroom; write `phy: none` if this is meant"
        );
        cx.warn(&at.key("phy"), what);
    }
    let phy = match phy {
        raw::PhyName::Auto => default,
        raw::PhyName::None => Phy::Virtual(rate),
        raw::PhyName::Base10R => Phy::Base10R,
        raw::PhyName::Base10T => Phy::Base10T,
        raw::PhyName::Base25R => Phy::Base25R,
        raw::PhyName::Base40R => Phy::Base40R,
        raw::PhyName::Base40Cr4 => Phy::Base40Cr4,
        raw::PhyName::Base100R => Phy::Base100R,
        raw::PhyName::Base100Cr10 => Phy::Base100Cr10,
        raw::PhyName::Base200R => Phy::Base200R,
        raw::PhyName::Base400R => Phy::Base400R,
        raw::PhyName::Base800R => Phy::Base800R,
        raw::PhyName::Base1600R => Phy::Base1600R,
    };
    if phy.rate() != rate {
        let what = format!("{phy} runs at {}, but the port's rate is {rate}", phy.rate());
        cx.error(&at.key("phy"), what);
        return Interface::plain(default);
    }
    Interface::new(phy, fec, Extender::None).unwrap_or_else(|e| {
        cx.error(&at.key("fec"), e.to_string());
        Interface::plain(phy)
    })
}
