//! MACsec of ports, as tables and JSON show it. Keys are left out.

use super::json::{Json, object, some};
use super::rows;
use crate::secure::{An, PfcAccept, SaPlan, SciForm, SecyPlan, Validate};
use ::text::Align::{Left, Right};
use ::text::Table;

pub fn json(plan: &SecyPlan) -> Json {
    // Associations without their keys.
    let associations = |list: &[Option<SaPlan>; 4]| {
        let all = An::ALL.into_iter().zip(list);
        let present = all.filter_map(|(an, sa)| {
            let sa = sa.as_ref()?;
            let ssci = plan.suite.is_xpn().then_some(sa.ssci);
            Some(object! { an: an.get(), next_pn: sa.pn, ssci: some(ssci) })
        });
        present.collect::<Vec<_>>()
    };
    let receive = plan.receive.iter().map(
        |sc| object! { sci: sc.sci.to_string(), associations: associations(&sc.associations) },
    );
    object! {
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
        accept_pfc: accept_pfc(plan),
        validate: validate(plan),
        replay_protect: plan.replay_window.is_some(),
        replay_window: plan.replay_window.unwrap_or(0),
        uncontrolled: plan.uncontrolled.iter().map(|n| format!("{n:#06x}")).collect::<Vec<_>>(),
        rollover_at: plan.rollover_at,
        tx_delay_ns: plan.tx_delay,
        rx_delay_ns: plan.rx_delay,
        encoding_sa: plan.encoding.get(),
        transmit: associations(&plan.transmit),
        receive: receive.collect::<Vec<_>>(),
    }
}

const fn accept_pfc(plan: &SecyPlan) -> &'static str {
    match plan.accept_pfc {
        PfcAccept::Protected => "protected",
        PfcAccept::Both => "both",
        PfcAccept::Plain => "plain",
    }
}

const fn validate(plan: &SecyPlan) -> &'static str {
    match plan.validate {
        Validate::Strict => "strict",
        Validate::Check => "check",
        Validate::Disabled => "disabled",
    }
}

/// Builds a table of ports with MACsec; equal ports share a row. None if there are no such ports.
pub fn table<'a>(ports: impl Iterator<Item = (String, &'a SecyPlan)>) -> Option<Table> {
    let head = [
        ("MACsec", Left),
        ("suite", Left),
        ("protects", Left),
        ("obeys PFC", Left),
        ("validates", Left),
        ("replay window", Right),
        ("adds", Right),
        ("keys", Left),
    ];
    rows::table(head, ports.map(|(name, plan)| (name, row(plan))), rows::few)
}

fn row(plan: &SecyPlan) -> Vec<String> {
    let how = if plan.confidentiality.is_some() { "encrypted" } else { "integrity" };
    let protects = match (plan.protect_data, plan.protect_pfc) {
        (true, true) => format!("data, PFC ({how})"),
        (true, false) => format!("data ({how})"),
        (false, true) => format!("PFC ({how})"),
        (false, false) => "nothing".into(),
    };
    let associations =
        plan.receive.iter().flat_map(|channel| channel.associations.iter().flatten());
    vec![
        plan.suite.name().into(),
        protects,
        accept_pfc(plan).into(),
        validate(plan).into(),
        plan.replay_window.map_or("not checked".into(), |window| window.to_string()),
        format!("{} B", plan.overhead()),
        format!("{} tx, {} rx", plan.transmit.iter().flatten().count(), associations.count()),
    ]
}
