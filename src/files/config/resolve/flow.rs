//! Resolves PFC, PAUSE and the storm watchdog of a port.

use super::{Cx, Place};
use crate::quantity::Span;
use crate::raw::{self, Refresh};
use ground::time::Duration;
use ground::units::{BitsPerSec, Priority, PrioritySet, Quanta};
use pfc::{FlowControl, PfcPlan, StormAction, WatchdogPlan, WatchdogPlans};
use switch::ClassifyPlan;

/// Lossless priorities of SONiC and of most RoCE networks.
const LOSSLESS_DEFAULT: [u8; 2] = [3, 4];
/// SONiC's default detection time; its restoration time is twice as long.
const DETECTION_DEFAULT: Duration = Duration::from_millis(200);

/// Resolves the flow control of a port.
pub fn pfc(cx: &mut Cx, at: &Place<'_>, raw: &raw::Port, rate: BitsPerSec) -> PfcPlan {
    match (&raw.pfc, &raw.pause) {
        (Some(_), Some(_)) => {
            let what = "PFC and PAUSE cannot be used on one port (802.1Q 36.1.1, 802.3 31D.1); \
                        take one of `pfc` and `pause` out";
            cx.error(&at.key("pause"), what);
            timed(cx, at, FlowControl::Off, None, Refresh::Auto, rate)
        }
        (Some(pfc), None) => {
            let at = at.key("pfc");
            let both = pfc.enable.as_deref().unwrap_or(&LOSSLESS_DEFAULT);
            let both = priorities(cx, &at.key("enable"), both);
            let mut part = |field, list: &Option<Vec<u8>>| {
                list.as_deref().map_or(both, |l| priorities(cx, &at.key(field), l))
            };
            let (send, obey) = (part("send", &pfc.send), part("obey", &pfc.obey));
            timed(cx, &at, FlowControl::Pfc { send, obey }, pfc.quanta, pfc.refresh, rate)
        }
        (None, Some(p)) => {
            let (send, obey) = (p.send.unwrap_or(true), p.obey.unwrap_or(true));
            let mode = FlowControl::Pause { send, obey };
            timed(cx, &at.key("pause"), mode, p.quanta, p.refresh, rate)
        }
        (None, None) => timed(cx, at, FlowControl::Off, None, Refresh::Auto, rate),
    }
}

/// Converts a list of priorities to a set.
fn priorities(cx: &mut Cx, at: &Place<'_>, list: &[u8]) -> PrioritySet {
    let mut set = PrioritySet::EMPTY;
    for (i, n) in list.iter().enumerate() {
        match Priority::new(*n) {
            None => cx.error(&at.index(i), format!("priority {n} does not exist; choose 0 to 7")),
            Some(p) if set.contains(p) => {
                cx.error(&at.index(i), format!("priority {n} is given twice; once is enough"));
            }
            Some(p) => set.insert(p),
        }
    }
    set
}

/// Resolves the pause time and its refresh.
fn timed(
    cx: &mut Cx,
    at: &Place<'_>,
    mode: FlowControl,
    quanta: Option<u16>,
    refresh: Refresh,
    rate: BitsPerSec,
) -> PfcPlan {
    let quanta = quanta.unwrap_or(Quanta::MAX.0);
    let quanta = Quanta(cx.ranged(&at.key("quanta"), quanta, (1, u16::MAX), u16::MAX));
    let pause = quanta.at(rate);
    let refresh = match refresh {
        Refresh::Auto => pause.div(2),
        Refresh::After(Span(d)) => {
            if d >= pause || d == Duration::ZERO {
                let what = format!(
                    "a refresh after {d} is of no use: {} quanta at {rate} last {pause}; choose \
                     something in between, such as {} or auto",
                    quanta.0,
                    pause.div(2)
                );
                cx.error(&at.key("refresh"), what);
            }
            d
        }
    };
    PfcPlan { mode, quanta, refresh }
}

/// Resolves the storm watchdogs: one for every queue that obeys PFC.
pub fn watchdog(
    cx: &mut Cx,
    at: &Place<'_>,
    raw: &raw::Port,
    pfc: &PfcPlan,
    classify: &ClassifyPlan,
    rate: BitsPerSec,
) -> WatchdogPlans {
    let mut plans: WatchdogPlans = [None; 8];
    let Some(dog) = &raw.watchdog else { return plans };
    let at = at.key("watchdog");
    let detection = dog.detection.map_or(DETECTION_DEFAULT, |s| s.0);
    let restoration = dog.restoration.map_or(detection.saturating_mul(2), |s| s.0);
    for (field, span) in [("detection", detection), ("restoration", restoration)] {
        if span == Duration::ZERO {
            cx.error(&at.key(field), "must be above zero; SONiC takes 100ms and more");
        }
    }
    let longest = Quanta::MAX.at(rate);
    if detection < longest {
        let what = format!(
            "{detection} is less than the longest pause one frame can ask for ({longest} at \
             {rate}), so a single pause may count as a storm"
        );
        cx.warn(&at.key("detection"), what);
    }
    let FlowControl::Pfc { obey, .. } = pfc.mode else {
        cx.warn(&at, "this port does not obey PFC, so there is nothing to watch");
        return plans;
    };
    let action = match dog.action.unwrap_or_default() {
        raw::Action::Drop => StormAction::Drop,
        raw::Action::Forward => StormAction::Forward,
        raw::Action::Alert => StormAction::Alert,
    };
    for p in obey.iter() {
        let plan = WatchdogPlan { detection, restoration, action };
        plans[classify.class[p.index()].index()] = Some(plan);
    }
    plans
}
