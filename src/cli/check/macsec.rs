//! MACsec of ports, as tables and JSON show it. Keys are left out.

use serde::Serialize;

use super::text::gather;
use crate::report::{Align, Table};
use crate::secure::{An, PfcAccept, SaPlan, SciForm, SecyPlan, Validate};

#[derive(Serialize)]
pub struct MacsecView {
    pub cipher_suite: &'static str,
    /// SCI of the transmit channel.
    pub sci: String,
    /// Encoding of the SCI in frames: `implied`, `include_sci`, `use_es` or `use_scb`.
    pub sci_in_frames: &'static str,
    /// Bytes that protection adds to a frame on the line.
    pub overhead_bytes: u32,
    pub confidentiality: bool,
    pub confidentiality_offset: usize,
    pub protect_data: bool,
    pub protect_pfc: bool,
    pub accept_pfc: &'static str,
    pub validate: &'static str,
    pub replay_protect: bool,
    pub replay_window: u32,
    /// EtherTypes that bypass the SecY, other than EAPOL.
    pub uncontrolled: Vec<String>,
    pub rollover_at: Option<u64>,
    pub tx_delay_ns: f64,
    pub rx_delay_ns: f64,
    pub encoding_sa: u8,
    pub transmit: Vec<SaView>,
    pub receive: Vec<ChannelView>,
}

/// Association without its key.
#[derive(Serialize)]
pub struct SaView {
    pub an: u8,
    pub next_pn: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssci: Option<u32>,
}

/// Receive channel.
#[derive(Serialize)]
pub struct ChannelView {
    pub sci: String,
    pub associations: Vec<SaView>,
}

impl MacsecView {
    pub fn new(plan: &SecyPlan) -> Self {
        let associations = |list: &[Option<SaPlan>; 4]| {
            let all = An::ALL.into_iter().zip(list);
            let view = |(an, sa): (An, &Option<SaPlan>)| {
                let sa = sa.as_ref()?;
                let ssci = plan.suite.is_xpn().then_some(sa.ssci);
                Some(SaView { an: an.get(), next_pn: sa.pn, ssci })
            };
            all.filter_map(view).collect()
        };
        let nanos = crate::time::Duration::as_nanos_f64;
        Self {
            cipher_suite: plan.suite.name(),
            sci: plan.sci.to_string(),
            sci_in_frames: match plan.sci_form {
                SciForm::Implied => "implied",
                SciForm::Explicit => "include_sci",
                SciForm::EndStation => "use_es",
                SciForm::SingleCopyBroadcast => "use_scb",
            },
            overhead_bytes: plan.overhead(),
            confidentiality: plan.confidentiality.is_some(),
            confidentiality_offset: plan.confidentiality.map_or(0, |offset| offset.octets()),
            protect_data: plan.protect_data,
            protect_pfc: plan.protect_pfc,
            accept_pfc: match plan.accept_pfc {
                PfcAccept::Protected => "protected",
                PfcAccept::Both => "both",
                PfcAccept::Plain => "plain",
            },
            validate: match plan.validate {
                Validate::Strict => "strict",
                Validate::Check => "check",
                Validate::Disabled => "disabled",
            },
            replay_protect: plan.replay_window.is_some(),
            replay_window: plan.replay_window.unwrap_or(0),
            uncontrolled: plan.uncontrolled.iter().map(|n| format!("{n:#06x}")).collect(),
            rollover_at: plan.rollover_at,
            tx_delay_ns: nanos(plan.tx_delay),
            rx_delay_ns: nanos(plan.rx_delay),
            encoding_sa: plan.encoding.get(),
            transmit: associations(&plan.transmit),
            receive: plan
                .receive
                .iter()
                .map(|sc| ChannelView {
                    sci: sc.sci.to_string(),
                    associations: associations(&sc.associations),
                })
                .collect(),
        }
    }
}

/// Builds a table of ports with MACsec; equal ports share a row. None if there are no such ports.
pub fn table<'a>(ports: impl Iterator<Item = (&'a str, &'a MacsecView)>) -> Option<Table> {
    let ports: Vec<(&str, &MacsecView)> = ports.collect();
    if ports.is_empty() {
        return None;
    }
    let mut table = Table::new([
        ("MACsec", Align::Left),
        ("suite", Align::Left),
        ("protects", Align::Left),
        ("obeys PFC", Align::Left),
        ("validates", Align::Left),
        ("replay window", Align::Right),
        ("adds", Align::Right),
        ("keys", Align::Left),
    ]);
    for (row, alike) in gather(ports.iter(), |(_, view)| row(view)) {
        let names: Vec<&str> = alike.iter().map(|(name, _)| *name).collect();
        let names = match names.as_slice() {
            [first, _, .., last] if names.len() > 4 => {
                format!("{first} to {last} ({})", names.len())
            }
            few => few.join(", "),
        };
        let [suite, protects, accepts, validates, window, adds, keys] = row;
        table.row([names, suite, protects, accepts, validates, window, adds, keys]);
    }
    Some(table)
}

fn row(view: &MacsecView) -> [String; 7] {
    let how = if view.confidentiality { "encrypted" } else { "integrity" };
    let protects = match (view.protect_data, view.protect_pfc) {
        (true, true) => format!("data, PFC ({how})"),
        (true, false) => format!("data ({how})"),
        (false, true) => format!("PFC ({how})"),
        (false, false) => "nothing".into(),
    };
    let window =
        if view.replay_protect { view.replay_window.to_string() } else { "not looked at".into() };
    let (sent, received) = (
        view.transmit.len(),
        view.receive.iter().map(|channel| channel.associations.len()).sum::<usize>(),
    );
    [
        view.cipher_suite.into(),
        protects,
        view.accept_pfc.into(),
        view.validate.into(),
        window,
        format!("{} B", view.overhead_bytes),
        format!("{sent} tx, {received} rx"),
    ]
}
