//! Validation of what is expected of Source Flow Control.

use crate::setup::{ExpectedProxy, ExpectedSfc, Setup};
use config::quantity::{Ratio, Size, Span};
use config::{Cx, Place};
use ground::units::Bytes;
use wire::sfcm::{PAUSE_MAX, PORT_DEFAULT, PORT_MIN};

pub(super) fn resolve(
    cx: &mut Cx,
    at: &Place<'_>,
    raw: &ExpectedSfc<Option<u16>, Size, Span, Ratio>,
) -> ExpectedSfc {
    let said = raw.udp_port.unwrap_or(PORT_DEFAULT);
    let port_at = at.key("udp_port");
    let udp_port = cx.ranged(&port_at, said, (PORT_MIN, u16::MAX), PORT_DEFAULT);
    ExpectedSfc {
        udp_port,
        target: raw.target.map(|size| Bytes(size.0)),
        proxy: raw.proxy.map(|raw| proxy(cx, &at.key("proxy"), &raw)),
    }
}

fn proxy(cx: &mut Cx, at: &Place<'_>, raw: &ExpectedProxy<Span, Ratio>) -> ExpectedProxy {
    let ExpectedProxy { trusted, longest, credit, share } = *raw;
    let zero = ground::time::Duration::ZERO;
    if longest.0 == zero || longest.0.saturating_mul(2) > PAUSE_MAX {
        let what = "a test asks for twice this pause, and messages have up to 4.29 s; choose above 0 and \
                    up to 2 s";
        cx.error(&at.key("longest"), what);
    }
    if credit.0 < longest.0 {
        cx.error(&at.key("credit"), "it is below `longest`; raise it");
    }
    let share = f64::from(share.0) / 1e6;
    if share >= 1.0 {
        cx.error(&at.key("share"), "with 100% pauses need not end; choose less");
    }
    ExpectedProxy { trusted, longest: longest.0, credit: credit.0, share }
}

/// Checks that the trusted sender is a port of the tester.
pub(super) fn check(cx: &mut Cx, at: &Place<'_>, setup: &Setup) {
    let Some(proxy) = setup.expected.sfc.and_then(|sfc| sfc.proxy) else { return };
    if !setup.ports.iter().any(|port| port.ip == proxy.trusted) {
        let what = format!("no port of this file has the `ip` {}; name one of them", proxy.trusted);
        cx.error(&at.key("proxy").key("trusted"), what);
    }
}
