//! Resolves a switch of the virtual world. Its links are known exactly and it has no devices, so
//! its headroom has no software terms.

use super::groups::{self, HeadroomRule, Rules};
use super::{
    Congestion, Context, Cx, Draft, FRAME_DEFAULT, FRAME_MAX, FRAME_MIN, OWN, Place, Said,
    SecuredPort, UNNAMED, Who, agents, congestion, ets_of, lossless, macsec_overhead, port, queues,
    secy_plan,
};
use crate::plan::HeadroomCheck;
use crate::quantity::Size;
use crate::raw;
use buffer::BufferPlan;
use discovery::Role;
use ground::time::Duration;
use ground::units::{Bytes, Mac};
use headroom::{DelayInputs, SoftwareTerms};
use schedule::LinePlan;
use switch::{CongestionPlan, PortPlan};

/// A port and its link.
pub struct VirtualPort<'a> {
    /// Name in results.
    pub name: &'a str,
    /// Serialisation parameters of its link.
    pub line: LinePlan,
    /// Round trip of its link; the longest frame is filled in here.
    pub link: DelayInputs,
    /// Time that the switch takes to obey a pause at this port.
    pub response: Duration,
    /// MACsec section and its place.
    pub macsec: Option<(&'a raw::Macsec, Place<'a>)>,
}

/// A complete switch except for addresses and names.
pub struct VirtualSwitch {
    /// Ports, in the order given.
    pub ports: Vec<PortPlan>,
    pub buffer: BufferPlan,
    /// Longest frame in bytes.
    pub max_frame: u32,
    /// Required and configured headroom of each lossless group.
    pub headroom: Vec<HeadroomCheck>,
    /// Congestion control without seeds. Attachments of ports are those of `defaults`.
    pub congestion: CongestionPlan,
}

/// Sections of a switch: `max_frame`, `buffer`, `defaults`, and those about congestion.
pub struct VirtualSaid<'a> {
    pub max_frame: Option<Size>,
    pub buffer: &'a raw::Buffer,
    pub defaults: &'a raw::Port,
    pub congestion: Congestion<'a>,
}

/// Resolves the sections of `said`, which are all in `at`. Cells may be as small as one byte,
/// because the virtual world has no mbuf pool that could run out.
pub fn virtual_switch(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &VirtualSaid<'_>,
    ports: &[VirtualPort<'_>],
    rule: HeadroomRule,
) -> VirtualSwitch {
    let before = (cx.errors.len(), cx.warnings.len());
    let VirtualSaid { max_frame, buffer, defaults, congestion: _ } = *said;
    let longest = max_frame.map_or(FRAME_DEFAULT, |s| s.0);
    let max_at = at.key("max_frame");
    let max_frame = cx.ranged(&max_at, longest, (FRAME_MIN, FRAME_MAX), FRAME_DEFAULT) as u32;
    let cell = groups::cell(cx, &at.key("buffer"), buffer, 1);
    let port_at = at.key("defaults");
    let mut drafts = Vec::with_capacity(ports.len());
    for (index, p) in ports.iter().enumerate() {
        let rate = p.link.rate();
        let who = Who { index, switch: "", name: p.name, rate, shaped: true, cell };
        let mut plan = port(cx, &port_at, defaults, &who);
        plan.schedule.line = p.line;
        let secured = SecuredPort { mac: OWN, peer: true, role: Role::Bridge };
        let secy = p.macsec.as_ref().map(|(said, at)| secy_plan(cx, at, said, secured));
        plan.secy = secy.map(Box::new);
        let max_frame = Bytes(max_frame.into());
        let macsec = plan.secy.as_deref().map(macsec_overhead).unwrap_or_default();
        let stated = DelayInputs { max_frame, macsec, ..p.link };
        let link = (Said::of(defaults).assumed(stated), SoftwareTerms::default());
        let context = Context {
            names: (UNNAMED, UNNAMED),
            macs: (Mac::default(), Mac::default()),
            rate,
            pfc: plan.pfc.mode,
            ets: ets_of(&plan),
            role: Role::Bridge,
            // Timestamps are taken above all layers of the interface.
            internal: p.response,
            reaction: p.response,
            link: Some((link.0, link.1, cell)),
            stated: Some(stated),
            secy: plan.secy.as_deref(),
        };
        plan.agents = agents(cx, &port_at, Said::of(defaults), &context);
        drafts.push(Draft { raw: defaults, at: port_at.clone(), plan, is_virtual: true, link });
    }
    let rules =
        Rules { max_frame, cell, workers: 1, frames_per_poll: 0, headroom: rule, waivable: true };
    let (buffer, headroom) = groups::buffer(cx, at, buffer, &drafts, rules);
    lossless::check(cx, &drafts, &buffer);
    queues::shares(cx, &mut drafts, &buffer);
    queues::check_against_buffer(cx, &drafts, &buffer);
    let congestion = congestion::congestion(cx, at, &said.congestion, &drafts, &buffer);
    congestion::warn_of_proxy(cx, at, &said.congestion, &drafts);
    // Labs have many equal ports, which share the same few lines of the file.
    let names: Vec<&str> = ports.iter().map(|p| p.name).collect();
    cx.merge_alike(before, &names);
    VirtualSwitch {
        ports: drafts.into_iter().map(|d| d.plan).collect(),
        buffer,
        max_frame,
        headroom,
        congestion,
    }
}
