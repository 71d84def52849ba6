//! Resolves MACsec of a port: policy, channels and keys.
//!
//! A lab resolves its ports before they have addresses. [`OWN`] and [`PEER`] are placeholders for
//! the addresses of the port and of its link partner until [`name_channels`] replaces them; it also
//! assigns short SCIs to channels without one.

use super::associations::{Keys, associations};
use super::{Cx, Place};
use crate::quantity::Span;
use crate::raw::{self, Macsec, MacsecSci, RemoteShim};
use discovery::Role;
use ground::time::Duration;
use ground::units::Mac;
use headroom::{MacsecOverhead, Shims};
use secure::{
    An, CipherSuite, ConfidentialityOffset, PfcAccept, ReceiveScPlan, Sci, SciForm, Secy, SecyPlan,
    Validate,
};

/// Placeholder for the address of the port itself.
pub const OWN: Mac = Mac([0; 6]);
/// Placeholder for the address of the link partner.
pub const PEER: Mac = Mac([0xff; 6]);

/// Default port number of an SCI, as for ports without virtual ports.
const SCI_PORT: u16 = 1;
/// Largest replay windows (802.1AE 10.7.8; for XPN, the range that 10.6.2 can distinguish).
const WINDOW_MAX: u64 = u32::MAX as u64;
const WINDOW_MAX_XPN: u64 = 1 << 30;
/// Upper bound of a layer's delay: no buffer holds more.
const DELAY_MAX: Duration = Duration::from_secs(1);
/// Largest number of EtherTypes that bypass the SecY, besides EAPOL.
const UNCONTROLLED_MAX: usize = 8;
const EAPOL: u16 = 0x888e;
const MACSEC: u16 = 0x88e5;
const MAC_CONTROL: u16 = 0x8808;
/// Smallest EtherType; smaller values are lengths (802.3 3.2.6).
const ETHERTYPE_MIN: u16 = 0x600;

/// The port that has the SecY.
#[derive(Clone, Copy)]
pub struct SecuredPort {
    /// Address of the port, or [`OWN`].
    pub mac: Mac,
    /// True if the link partner is known, as in a lab.
    pub peer: bool,
    /// Role of the system: only a station sends frames with its own source address alone.
    pub role: Role,
}

/// Resolves the MACsec policy of a port; channels are named as far as addresses are known here.
pub fn macsec(cx: &mut Cx, place: &Place<'_>, raw: &Macsec, port: SecuredPort) -> SecyPlan {
    let suite = raw.cipher_suite.unwrap_or_default();
    let protect_data = raw.protect.data.unwrap_or(true);
    let protect_pfc = raw.protect.pfc.unwrap_or(true);
    // The form decides which port number the SCI has to have, so it comes first.
    let sci_form = sci_form(cx, place, raw, port.role, protect_data);
    let sci = own_sci(cx, &place.key("sci"), raw.sci.as_ref(), sci_form, port.mac);
    let keys = Keys::of(cx, place, raw, suite);
    let transmit_at = place.key("transmit");
    let sas = &raw.transmit.associations;
    let transmit = associations(cx, &transmit_at.key("associations"), sas, &keys);
    let first = An::ALL.into_iter().find(|an| transmit[an.index()].is_some());
    let encoding = match raw.transmit.using {
        None => first.unwrap_or(An::ALL[0]),
        Some(n) => using(cx, &transmit_at.key("using"), n, &transmit),
    };
    let receive = receive(cx, place, raw, &keys, &OwnChannel { port, sci, form: sci_form });
    let rollover_at = raw.rollover_at.map(|pn| {
        // A number below the first one of the association would never be reached.
        let least = transmit[encoding.index()].as_ref().map_or(1, |sa| sa.pn);
        cx.ranged(&place.key("rollover_at"), pn, (least, suite.last_pn()), suite.last_pn())
    });
    let plan = SecyPlan {
        suite,
        sci,
        sci_form,
        confidentiality: confidentiality(cx, place, raw, suite),
        protect_data,
        protect_pfc,
        protect_measurements: raw.measure.unwrap_or(false),
        pass_protected: false,
        // A port that protects its own pauses expects the same: plain ones could come from anyone on the link.
        accept_pfc: raw.accept_pfc.unwrap_or(match protect_pfc {
            true => PfcAccept::Protected,
            false => PfcAccept::Plain,
        }),
        validate: raw.validate.unwrap_or_default(),
        replay_window: replay(cx, &place.key("replay"), raw.replay, suite),
        uncontrolled: uncontrolled(cx, &place.key("uncontrolled"), &raw.uncontrolled),
        encoding,
        transmit,
        rollover_at,
        receive,
        tx_delay: delay(cx, &place.key("delay").key("tx"), raw.delay.tx),
        rx_delay: delay(cx, &place.key("delay").key("rx"), raw.delay.rx),
    };
    // Where data is protected, every message is; where PFC is not, there is no delay to measure.
    if plan.protect_measurements && (protect_data || !protect_pfc) {
        let what = "measures the delay of protected pauses among plain data: write `protect: {data: false}`; \
                    measurement messages meet the delay anyway where data is protected";
        cx.error(&place.key("measure"), what);
    }
    keys.check(cx, place, &plan);
    warn(cx, place, &plan);
    plan
}

/// Resolves the encoding of the SCI in frames.
fn sci_form(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &Macsec,
    role: Role,
    protect_data: bool,
) -> SciForm {
    let all = [
        ("include_sci", raw.include_sci, SciForm::Explicit),
        ("use_es", raw.use_es, SciForm::EndStation),
        ("use_scb", raw.use_scb, SciForm::SingleCopyBroadcast),
    ];
    let mut chosen = all.into_iter().filter(|(_, raw, _)| *raw == Some(true));
    let Some((field, _, form)) = chosen.next() else { return SciForm::Implied };
    // The bits of the SecTAG exclude each other.
    if let Some((other, ..)) = chosen.next() {
        let what =
            format!("`{field}` is there too, and a frame says only one; leave out one of them");
        cx.error(&place.key(other), what);
    }
    let by_source = matches!(form, SciForm::EndStation | SciForm::SingleCopyBroadcast);
    if by_source && protect_data && role != Role::Station {
        let what = "frames that this switch forwards have the addresses of others, so their channel \
                    would not be found: write `include_sci: true`, or `protect: {data: false}`";
        cx.error(&place.key(field), what);
    }
    form
}

/// Resolves the SCI of the transmit channel.
fn own_sci(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: Option<&MacsecSci>,
    form: SciForm,
    own: Mac,
) -> Sci {
    // Port number that frames without an explicit SCI imply, if they identify their sender by
    // address (9.5).
    let fixed = match form {
        SciForm::EndStation => Some(1),
        SciForm::SingleCopyBroadcast => Some(0),
        SciForm::Implied | SciForm::Explicit => None,
    };
    let mut sci = Sci { mac: own, port: fixed.unwrap_or(SCI_PORT) };
    let Some(raw) = raw else { return sci };
    if let Some(mac) = raw.mac.as_deref().and_then(|mac| cx.mac(&place.key("mac"), mac)) {
        if fixed.is_some() && mac != own {
            let what = "the port's frames have its own address, by which receivers find the channel: \
                        leave `mac` out";
            cx.error(&place.key("mac"), what);
        }
        sci.mac = mac;
    }
    match (raw.port, fixed) {
        (Some(port), Some(fixed)) if port != fixed => {
            let what = format!("frames that go by their source address stand for port {fixed}");
            cx.error(&place.key("port"), what);
        }
        (Some(0), None) => {
            cx.error(&place.key("port"), "0 is for single copy broadcast; 1 to 65535")
        }
        (Some(port), None) => sci.port = port,
        (Some(_) | None, _) => {}
    }
    sci
}

/// Resolves confidentiality and its offset.
fn confidentiality(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &Macsec,
    suite: CipherSuite,
) -> Option<ConfidentialityOffset> {
    let here = place.key("confidentiality_offset");
    let octets = raw.confidentiality_offset.unwrap_or(0);
    let offset = match octets {
        0 => ConfidentialityOffset::Zero,
        30 => ConfidentialityOffset::Thirty,
        50 => ConfidentialityOffset::Fifty,
        n => {
            cx.error(&here, format!("{n} is none; choose 0, 30 or 50"));
            ConfidentialityOffset::Zero
        }
    };
    if suite.is_xpn() && octets != 0 {
        cx.error(
            &here,
            "XPN suites have no offset (802.1AE 14.7): leave it out, or take another suite",
        );
    }
    let on = raw.confidentiality.unwrap_or(true);
    if !on && octets != 0 {
        cx.error(
            &here,
            "nothing is encrypted with `confidentiality: false`; leave one of them out",
        );
    }
    on.then_some(offset)
}

/// Resolves the replay window; None disables replay protection.
fn replay(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: raw::MacsecReplay,
    suite: CipherSuite,
) -> Option<u32> {
    let most = if suite.is_xpn() { WINDOW_MAX_XPN } else { WINDOW_MAX };
    let window = cx.ranged(&place.key("window"), raw.window.unwrap_or(0), (0, most), 0);
    let on = raw.protect.unwrap_or(true);
    if !on && raw.window.is_some() {
        cx.error(
            &place.key("window"),
            "there is no window with `protect: false`; leave one of them out",
        );
    }
    on.then_some(window as u32)
}

/// Resolves the EtherTypes that bypass the SecY.
fn uncontrolled(cx: &mut Cx, place: &Place<'_>, raw: &[raw::EtherTypeName]) -> Vec<u16> {
    let mut out: Vec<u16> = Vec::new();
    for (i, raw::EtherTypeName(n)) in raw.iter().enumerate() {
        match *n {
            // MKA always bypasses the SecY, so naming it changes nothing.
            EAPOL => {}
            MACSEC | MAC_CONTROL => {
                let what = "cannot pass beside MACsec; `protect` and `accept_pfc` say what becomes of \
                            PFC frames";
                cx.error(&place.index(i), what);
            }
            n if n < ETHERTYPE_MIN => {
                cx.error(
                    &place.index(i),
                    format!("{n:#x} is no EtherType; choose 0x600 to 0xffff"),
                );
            }
            n if out.contains(&n) => {}
            n => out.push(n),
        }
    }
    if out.len() > UNCONTROLLED_MAX {
        let what = format!("{} EtherTypes; there is room for {UNCONTROLLED_MAX}", out.len());
        cx.error(place, what);
        out.truncate(UNCONTROLLED_MAX);
    }
    out
}

fn delay(cx: &mut Cx, place: &Place<'_>, raw: Option<Span>) -> Duration {
    let span = raw.map_or(Duration::ZERO, |s| s.0);
    cx.ranged(place, span, (Duration::ZERO, DELAY_MAX), Duration::ZERO)
}

/// Resolves the association that transmission starts with.
fn using(cx: &mut Cx, place: &Place<'_>, n: u8, transmit: &[Option<secure::SaPlan>; 4]) -> An {
    let Some(an) = An::new(n) else {
        cx.error(place, format!("there is no association {n}; choose 0 to 3"));
        return An::ALL[0];
    };
    if transmit[an.index()].is_none() {
        cx.error(place, format!("association {n} has no key; add it to `associations`"));
    }
    an
}

/// The transmit channel of the port.
struct OwnChannel {
    port: SecuredPort,
    sci: Sci,
    form: SciForm,
}

fn receive(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &Macsec,
    keys: &Keys,
    own: &OwnChannel,
) -> Vec<ReceiveScPlan> {
    let place = place.key("receive");
    let of_peer = [raw::MacsecReceive::default()];
    let list: &[raw::MacsecReceive] = match &raw.receive {
        Some(list) => list,
        // In a lab the link partner is known, so a channel without fields is its.
        None if own.port.peer => &of_peer,
        None => &[],
    };
    let mut out: Vec<ReceiveScPlan> = Vec::new();
    for (i, raw) in list.iter().enumerate() {
        let place = place.index(i);
        let sci = their_sci(cx, &place, raw.sci.as_ref(), own.port);
        // Two placeholders are equal, and are different addresses later.
        if sci == own.sci && sci.mac != OWN {
            let what = format!(
                "{sci} is this port's own channel: its frames could be sent back to it; name the peer's"
            );
            cx.error(&place.key("sci"), what);
        }
        if out.iter().any(|sc| sc.sci == sci) {
            cx.error(&place.key("sci"), "this channel is there already");
        }
        let associations_at = place.key("associations");
        let associations = associations(cx, &associations_at, &raw.associations, keys);
        out.push(ReceiveScPlan { sci, associations });
    }
    if out.len() > SecyPlan::CHANNELS_MAX {
        let what = format!("{} channels; there is room for {}", out.len(), SecyPlan::CHANNELS_MAX);
        cx.error(&place, what);
    }
    if out.len() > 1 && own.form == SciForm::Implied {
        let what = format!(
            "{} channels cannot be told apart by frames without an SCI: write `include_sci: true` at \
             all stations, or have one channel",
            out.len()
        );
        cx.error(&place, what);
    }
    out
}

/// Resolves the SCI of a receive channel.
fn their_sci(cx: &mut Cx, place: &Place<'_>, raw: Option<&MacsecSci>, port: SecuredPort) -> Sci {
    let place = place.key("sci");
    let raw_mac = raw.and_then(|sci| sci.mac.as_deref());
    let mac = raw_mac.and_then(|mac| cx.mac(&place.key("mac"), mac));
    if raw_mac.is_none() && !port.peer {
        cx.error(
            &place,
            "whose frames are received? Write `sci: {mac: ...}` with the peer's address",
        );
    }
    Sci { mac: mac.unwrap_or(PEER), port: raw.and_then(|sci| sci.port).unwrap_or(SCI_PORT) }
}

/// Warns of settings that work but are rarely intended.
fn warn(cx: &mut Cx, place: &Place<'_>, plan: &SecyPlan) {
    let none = |sas: &[Option<_>; 4]| sas.iter().all(Option::is_none);
    let protects = plan.protect_data || plan.protect_pfc;
    if protects && none(&plan.transmit) {
        let what = "there is no transmit key yet: frames that must be protected are not sent \
            until `sluice ctl macsec install` adds one";
        cx.warn(&place.key("transmit"), what);
    }
    let demands = plan.protect_data || plan.accept_pfc == PfcAccept::Protected;
    if demands && plan.receive.iter().all(|sc| none(&sc.associations)) {
        let what = "there is no key to receive with yet: what has to be protected is discarded until \
                    `sluice ctl macsec install` gives one";
        cx.warn(&place.key("receive"), what);
    }
    if plan.protect_data && plan.validate == Validate::Disabled {
        cx.warn(
            &place.key("validate"),
            "nothing is validated: any data that looks protected comes in",
        );
    }
    // The association that transmission changes to at the rollover.
    let next = &plan.transmit[plan.encoding.next().index()];
    if plan.rollover_at.is_some() && next.is_none() && !none(&plan.transmit) {
        let what = format!("association {} has no key to go on with yet", plan.encoding.next());
        cx.warn(&place.key("rollover_at"), what);
    }
}

/// Lets the SecY itself check a plan whose channels have their names; errors above were reported
/// with their fields.
pub fn check_whole(cx: &mut Cx, place: &Place<'_>, plan: &SecyPlan) {
    if let (true, Err(e)) = (cx.errors.is_empty(), Secy::new(plan)) {
        cx.error(place, e.to_string());
    }
}

/// MACsec overhead of the frames on the port's link, with the link partner assumed to have the
/// same.
pub fn macsec_overhead(plan: &SecyPlan) -> MacsecOverhead {
    // A frame passes the transmit layer of one end and the receive layer of the other.
    let (octets, both) = (plan.overhead(), plan.tx_delay + plan.rx_delay);
    let overhead_of = |protects: bool| if protects { (octets, both) } else { (0, Duration::ZERO) };
    let (data, pfc) = (overhead_of(plan.protect_data), overhead_of(plan.protect_pfc));
    MacsecOverhead { data_octets: data.0, data_delay: data.1, pfc_octets: pfc.0, pfc_delay: pfc.1 }
}

/// MACsec delay of PFC frames that a measurement does not include. Measurement messages are data,
/// so they include it if data is protected.
pub fn shims(plan: &SecyPlan, remote: RemoteShim) -> Shims {
    if plan.protect_data || !plan.protect_pfc {
        return Shims::default();
    }
    // The link partner is assumed to have the same.
    let remote = match remote {
        RemoteShim::Transmit => plan.tx_delay,
        RemoteShim::Receive => plan.rx_delay,
    };
    Shims { local: plan.tx_delay, remote }
}

/// Replaces the placeholders in the SCIs of the port's own channel and of its peer's, and assigns
/// short SCIs by the rule of key agreement: 1 for the greatest SCI, 2 for the next (802.1X 9.10).
pub fn name_channels(plan: &mut SecyPlan, own: Mac, peer: Option<Sci>) {
    if plan.sci.mac == OWN {
        plan.sci.mac = own;
    }
    if let Some(peer) = peer {
        for channel in plan.receive.iter_mut().filter(|sc| sc.sci.mac == PEER) {
            channel.sci = peer;
        }
    }
    // Other suites have the SCI itself in their nonces.
    if !plan.suite.is_xpn() {
        return;
    }
    let mut all: Vec<Sci> = plan.receive.iter().map(|sc| sc.sci).chain([plan.sci]).collect();
    // The greatest first; both ends sort the same channels, so they agree without a message.
    all.sort_unstable_by(|a, b| b.cmp(a));
    let short = |sci: Sci| all.iter().position(|s| *s == sci).map_or(0, |n| n as u32 + 1);
    let own = short(plan.sci);
    let channels = plan.receive.iter_mut().map(|sc| (short(sc.sci), &mut sc.associations));
    for (ssci, associations) in channels.chain([(own, &mut plan.transmit)]) {
        for sa in associations.iter_mut().flatten().filter(|sa| sa.ssci == 0) {
            sa.ssci = ssci;
        }
    }
}
