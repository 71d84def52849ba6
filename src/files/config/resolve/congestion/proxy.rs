//! Resolves the top-of-rack proxy.

use super::parts::{life, senders, udp_port};
use super::settings::{range, settings, times};
use super::{Cx, Place};
use crate::quantity::Span;
use crate::raw;
use congestion::proxy::{CachePlan, PausePolicy, Senders};
use congestion::sfc::SfcPlan;
use ground::time::Duration;
use switch::managed::At;
use switch::{CongestionPlan, SfcProxyPlan, UnknownHost};

/// Default credit, as a multiple of the longest pause.
const CREDIT_PAUSES: u64 = 10;

/// Resolves the section at `at`; `sfc` is the section of the congestion points, which use the same
/// UDP port.
pub fn proxy(
    cx: &mut Cx,
    at: &Place<'_>,
    raw: &raw::SfcProxy,
    sfc: Option<&raw::Sfc>,
    plan: &mut CongestionPlan,
) {
    let port_at = at.key("sfcmUDPPort");
    let of_points = sfc.and_then(|sfc| sfc.udp_port);
    // A port out of range in that section was reported there.
    let usual = of_points.unwrap_or(SfcPlan::new().udp_port);
    let said = udp_port(cx, &port_at, raw.udp_port, usual);
    if sfc.is_some() && said != usual {
        let what = format!(
            "the points of this switch have {usual} (`sfc.sfcmUDPPort`), and the port is one for the \
             whole network; leave it out here"
        );
        cx.error(&port_at, what);
    }
    let (switches_at, hosts_at) = (at.key("accept").key("switches"), at.key("accept").key("hosts"));
    plan.proxy = Some(SfcProxyPlan {
        udp_port: said,
        unknown: UnknownHost::default(),
        max_flow_life: life(
            cx,
            &at.key("sfcMaxFlowLife"),
            raw.max_flow_life,
            life_of_points(sfc).unwrap_or(SfcPlan::new().max_flow_life),
        ),
        fabric: senders(cx, &switches_at, raw.accept.switches.as_ref(), Senders::Anybody),
        hosts: senders(cx, &hosts_at, raw.accept.hosts.as_ref(), Senders::Nobody),
        policy: PausePolicy::standard(),
        cache: raw.cache.as_ref().map(|raw| cache(cx, &at.key("cache"), raw, sfc)),
    });
    settings(cx, (at, "sfc_proxy"), raw, plan, At::default());
    if let Some(raw) = &raw.policy {
        let at = at.key("policy");
        settings(cx, (&at, "sfc_proxy.policy"), raw, plan, At::default());
        if let Some(proxy) = &mut plan.proxy {
            proxy.policy.credit = credit(cx, &at.key("credit"), raw.credit, proxy.policy.longest);
        }
    }
}

fn credit(cx: &mut Cx, at: &Place<'_>, said: Option<Span>, longest: Duration) -> Duration {
    let range = times("sfc_proxy.policy.credit");
    let usual = longest.saturating_mul(CREDIT_PAUSES).min(range.1);
    let credit = said.map_or(usual, |s| s.0);
    if credit < longest {
        let what = format!("{credit} is less than one pause may last (`longest`, {longest})");
        cx.error(at, what);
        return usual;
    }
    cx.ranged(at, credit, range, usual)
}

/// Returns the lifetime of flows in the section of the congestion points, if it has a valid one.
fn life_of_points(sfc: Option<&raw::Sfc>) -> Option<Duration> {
    let life = sfc.and_then(|sfc| sfc.max_flow_life)?.0;
    Some(life).filter(|life| *life > Duration::ZERO)
}

fn cache(
    cx: &mut Cx,
    at: &Place<'_>,
    raw: &raw::SfcProxyCache,
    sfc: Option<&raw::Sfc>,
) -> CachePlan {
    let default = CachePlan::standard();
    let entries_at = at.key("entries");
    let usual = default.entries as u32;
    let said = i64::from(raw.entries.unwrap_or(usual));
    let entries = range("sfc_proxy.cache.entries");
    let entries = cx.ranged(&entries_at, said, entries, usual.into()) as u32;
    if !entries.is_power_of_two() {
        let (below, above) = (1 << entries.ilog2(), entries.next_power_of_two());
        let what = format!("{entries} is no power of two; choose {below} or {above}");
        cx.error(&entries_at, what);
    }
    let usual = life_of_points(sfc).unwrap_or(default.life);
    CachePlan {
        entries: entries as usize,
        life: life(cx, &at.key("sfcMaxFlowLife"), raw.max_flow_life, usual),
        remember: raw.remember.unwrap_or_default(),
    }
}
