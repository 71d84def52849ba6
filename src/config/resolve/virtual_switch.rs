//! A switch of a virtual network: its ports have links that are known exactly, and no devices, so
//! nothing of software is in its headroom.

use super::groups::{self, HeadroomRule, Rules};
use super::{
    Around, Congestion, Cx, Draft, FRAME_DEFAULT, FRAME_MAX, FRAME_MIN, OWN, Place, Said,
    SecuredPort, UNNAMED, Who, agents, congestion, ets_of, lossless, port, queues, secy_plan,
    shield,
};
use crate::buffer::BufferPlan;
use crate::config::plan::HeadroomCheck;
use crate::config::quantity::Size;
use crate::config::raw;
use crate::discovery::Role;
use crate::headroom::{DelayInputs, SoftwareTerms};
use crate::schedule::LinePlan;
use crate::switch::{CongestionPlan, PortPlan};
use crate::time::Duration;
use crate::units::{Bytes, Mac};

/// A port and its link.
pub(crate) struct VirtualPort<'a> {
    /// Its name in results.
    pub name: &'a str,
    /// What its link takes for a frame.
    pub line: LinePlan,
    /// The round trip of its link; the longest frame is filled in here.
    pub link: DelayInputs,
    /// What the switch takes to obey a pause there.
    pub response: Duration,
    /// What is said of its MACsec, and where.
    pub macsec: Option<(&'a raw::Macsec, Place<'a>)>,
}

/// A whole switch but for its addresses and names.
pub(crate) struct VirtualSwitch {
    /// The ports, as they were given.
    pub ports: Vec<PortPlan>,
    /// The buffer.
    pub buffer: BufferPlan,
    /// The longest frame.
    pub max_frame: u32,
    /// What each lossless group needs and has.
    pub headroom: Vec<HeadroomCheck>,
    /// What is done about congesting flows, without seeds. What is attached to ports is as `defaults`
    /// say.
    pub congestion: CongestionPlan,
}

/// What is said of a switch: `max_frame`, `buffer`, `defaults`, and what concerns congestion.
pub(crate) struct VirtualSaid<'a> {
    pub max_frame: Option<Size>,
    pub buffer: &'a raw::Buffer,
    pub defaults: &'a raw::Port,
    pub congestion: Congestion<'a>,
}

/// Makes a switch of what is said in `at`, which holds all that `said` does. Cells
/// may be as small as an octet: a virtual world has no pool of frames that could run dry.
pub(crate) fn virtual_switch(
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
        let shield = plan.secy.as_deref().map(shield).unwrap_or_default();
        let stated = DelayInputs { max_frame, shield, ..p.link };
        let link = (Said::of(defaults).assumed(stated), SoftwareTerms::default());
        let around = Around {
            names: (UNNAMED, UNNAMED),
            macs: (Mac::default(), Mac::default()),
            rate,
            pfc: plan.pfc.mode,
            ets: ets_of(&plan),
            role: Role::Bridge,
            // Stamps are taken where frames are handed over, above all layers of the interface.
            internal: p.response,
            link: Some((link.0, link.1, cell)),
            stated: Some(stated),
            secy: plan.secy.as_deref(),
        };
        plan.agents = agents(cx, &port_at, Said::of(defaults), &around);
        drafts.push(Draft { raw: defaults, at: port_at.clone(), plan, is_virtual: true, link });
    }
    let rules =
        Rules { max_frame, cell, workers: 1, frames_per_poll: 0, headroom: rule, waivable: true };
    let (buffer, headroom) = groups::buffer(cx, at, buffer, &drafts, rules);
    lossless::check(cx, &drafts, &buffer);
    queues::check_against_buffer(cx, &drafts, &buffer);
    let congestion = congestion::congestion(cx, at, &said.congestion, &drafts, &buffer);
    // Ports are many and alike here, and all have the same few lines of the file.
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
