//! Property tests: valid files give plans that the ledger accepts, invalid files give errors
//! without a panic.

use proptest::prelude::*;

use super::*;
use buffer::{GroupKind, Ledger};
use file::testexamples::{ODD, with_character, with_value};
use ground::units::Cells;
use pfc::FlowControl;
use runtime::slack_for;

/// Generates a valid port as text.
fn a_port() -> impl Strategy<Value = String> {
    let rate = prop::sample::select(vec!["1G", "10G", "25G", "100G"]);
    let pfc = prop::collection::btree_set(0u8..8, 0..4);
    let device = prop::bool::ANY;
    (rate, pfc, device, 1u32..200, 0u8..8, 1u16..100, 0i8..4, prop::bool::ANY).prop_map(
        |(rate, pfc, nic, gap, default, weight, bus, shaped)| {
            let device =
                if nic { format!("\"0000:{bus:02x}:00.BUS\"") } else { "net_nullN".into() };
            let pfc = if pfc.is_empty() { "~".into() } else { format!("{{enable: {pfc:?}}}") };
            let pfc = pfc.replace("{enable: {", "{enable: [").replace("}}", "]}");
            // Some ports share a worker, others have different ones.
            let core = weight % 3;
            let shaped = if shaped { "on" } else { "auto" };
            format!(
                "  - {{name: pN, core: {core}, device: {device}, rate: {rate}, pfc: {pfc}, shaped: {shaped}, \
                 default_priority: {default}, link: {{poll_gap: {gap}us, peer_response: 5us}}, \
                 queues: {{2: {{weight: {weight}}}}}}}\n"
            )
        },
    )
}

fn a_file() -> impl Strategy<Value = String> {
    let cell = prop::sample::select(vec![64u32, 80, 128, 208, 256, 2048]);
    let frame = prop::sample::select(vec![64u32, 1522, 2000, 9216, 16384]);
    (cell, frame, prop::collection::vec(a_port(), 1..5)).prop_map(|(cell, frame, ports)| {
        let mut text =
            format!("switch: {{max_frame: {frame}}}\nbuffer: {{cell: {cell}}}\nports:\n");
        for (i, p) in ports.iter().enumerate() {
            let p = p.replace("pN", &format!("p{i}")).replace("nullN", &format!("null{i}"));
            text.push_str(&p.replace("BUS", &format!("{i}")));
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn valid_files_give_plans_that_are_lossless_by_arithmetic(text in a_file()) {
        // The only valid reason to refuse these files is a pause that ends before its refresh.
        let (file, _) = match parse("f", &text, &Machine::any()) {
            Ok(found) => found,
            Err(e) => {
                let all = e.findings.iter().all(|f| f.path.ends_with("refresh"));
                prop_assert!(all, "{e}\n{text}");
                return Ok(());
            }
        };
        prop_assert!(Ledger::new(&file.plan.buffer).is_ok());
        let buffer = &file.plan.buffer;
        let mut private = u64::from(buffer.slack.0);
        for (p, groups) in buffer.groups.iter().enumerate() {
            let FlowControl::Pfc { send, .. } = file.plan.ports[p].pfc.mode else {
                prop_assert!(groups.iter().all(|g| g.kind == GroupKind::Lossy));
                continue;
            };
            for (g, plan) in groups.iter().enumerate() {
                let has = match plan.kind {
                    GroupKind::Lossless { headroom, .. } => headroom,
                    GroupKind::Lossy => Cells(0),
                };
                let is_sent = send.0 & (1 << g) != 0;
                prop_assert_eq!(has > Cells(0), is_sent);
                private += u64::from(plan.reserved.0) + u64::from(has.0);
            }
        }
        prop_assert!(private < u64::from(buffer.total.0));
        for h in &file.headroom {
            prop_assert!(h.given >= h.required.cells);
        }
        let polled: usize = file.workers.iter().map(|w| w.ports.len()).sum();
        prop_assert_eq!(polled, file.plan.ports.len());
        let owner = |p: usize| file.workers.iter().position(|w| w.ports.contains(&port(p as u16)));
        let owners: Vec<usize> = (0..polled).filter_map(owner).collect();
        prop_assert_eq!(file.plan.buffer.slack, slack_for(&file.plan, &owners));
    }

    #[test]
    fn no_text_panics(text in "[a-z0-9:{}\\[\\], \n\"'&*!|>#-]{0,200}") {
        let _ = parse("f", &text, &Machine::any());
    }

    #[test]
    fn no_change_of_a_character_panics(at in 0usize..6000, c in any::<char>(), n in 0usize..6) {
        let (_, text) = examples().swap_remove(n);
        let _ = parse("f", &with_character(&text, at, c), &Machine::any());
    }

    #[test]
    fn no_change_of_a_value_panics(
        field in 0usize..60, value in prop::sample::select(ODD.to_vec()), n in 0usize..6,
    ) {
        let (_, text) = examples().swap_remove(n);
        let _ = parse("f", &with_value(&text, field, value), &Machine::any());
    }
}
