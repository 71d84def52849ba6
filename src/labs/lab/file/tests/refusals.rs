//! Exact error messages of invalid labs.

use super::*;
use file::{testquoted, testrefusals};

const GOLDEN: &str = "src/labs/lab/file/tests/refusals.txt";

/// Returns the errors of an invalid text.
fn bad(text: &str) -> String {
    match parse("f.yaml", text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn every_refusal_says_where_what_and_what_to_do() {
    testrefusals::hold(GOLDEN, 60, bad);
}

#[test]
fn no_text_of_a_file_comes_back_longer_than_a_message_quotes() {
    let said = |text: &str| match parse("f.yaml", text) {
        Ok((_, warnings)) => warnings.iter().map(|w| w.line("f.yaml")).collect(),
        Err(error) => error.to_string().lines().map(str::to_owned).collect(),
    };
    testquoted::hold(GOLDEN, "configs/labs", Some(&crate::lab_schema()), 3_000, said);
}

#[test]
fn a_lab_that_was_never_in_a_file_is_refused_by_fields() {
    let lab = raw::Lab {
        flows: vec![raw::Flow { to: Some("h9".to_owned().into()), ..Default::default() }],
        topology: Some(raw::Topology { star: Some(raw::Star { hosts: 2 }), ..Default::default() }),
        ..Default::default()
    };
    let said = resolve_raw(&lab).unwrap_err().to_string();
    assert!(said.starts_with("lab: flows[0].to: there is no host `h9`"), "{said}");
}

#[test]
fn warnings_do_not_refuse() {
    let text = "\
profiles:
  tor:
    headroom_check: warn
    buffer: {profiles: {p: {lossless: {xoff: 10KB}}}}
    defaults: {pfc: {enable: [3]}, priority_groups: {3: p}}
topology: {star: {hosts: 2}}
flows: [{to: h2, priority: 3, dscp: 0}]
";
    let (_, warnings) = good(text);
    let all = warnings.join("\n");
    for part in [
        "f.yaml:4:46: profiles.tor.buffer.profiles.p.lossless.xoff: port to_h1 group 3 would lose",
        "f.yaml:7:37: flows[0].dscp: `s1` takes frames with DSCP 0 for priority 0, not 3",
    ] {
        assert!(all.contains(part), "{part}\nis not in\n{all}");
    }
}
