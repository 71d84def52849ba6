//! Pauses of other lengths than that of the standard: `auto` headroom counts what arrives while they are sent.

use super::*;

/// Two hosts that send short frames to a third, which pauses without end, by way of two switches, or of one that
/// sends pauses which are too long for another.
fn lab(pause: u32, longest: u32, rate: &str, xoff: &str) -> String {
    let switch = |n| format!("{{name: s{n}, control_frame: {pause}}}");
    let (switches, links, last) = match pause > longest {
        true => (switch(1), "", "s1"),
        false => ([1, 2].map(switch).join(", "), "{from: s1, to: s2}, ", "s2"),
    };
    format!(
        "duration: 60us
profiles:
  t:
    max_frame: {longest}
    buffer: {{total: 4MiB, cell: 64, profiles: {{ll: {{shared: {{static_th: 4000}}, lossless: {{xoff: {xoff}}}}}}}}}
    defaults: {{pfc: {{enable: [3, 4]}}, priority_groups: {{3: ll, 4: ll}}}}
nodes:
  switches: [{switches}]
  hosts: [h1, h2, {{name: sink, storms: [{{priorities: [3, 4]}}]}}]
defaults: {{links: {{rate: {rate}, delay: 50ns}}}}
links: [{{from: h1, to: s1}}, {{from: h2, to: s1}}, {links}{{from: sink, to: {last}}}]
flows:
  - {{name: a, from: h1, to: sink, priority: 3, size: 64}}
  - {{name: b, from: h1, to: sink, priority: 4, size: {longest}}}
  - {{name: c, from: h2, to: sink, priority: 3, size: 65}}
checks: [conservation, pause_legality, no_deadlock, work_conserving]
"
    )
}

/// Returns the drops of lossless frames, and the outcome.
fn run_with(pause: u32, longest: u32, rate: &str) -> (u64, Outcome) {
    let text = lab(pause, longest, rate, "auto");
    let (plan, _) = parse("p.yaml", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let outcome = run_it(&plan);
    (outcome.lossless_drops, outcome)
}

#[test]
fn no_lossless_frame_is_lost_whatever_the_length_of_pauses() {
    for pause in [18, 64, 80, 400, 1_518] {
        for longest in [128, 1_518, 9_216] {
            for rate in ["10G", "100G"] {
                let (drops, outcome) = run_with(pause, longest, rate);
                assert_eq!(drops, 0, "{pause} {longest} {rate}");
                for check in &outcome.checks {
                    let what = format!("{pause} {longest} {rate}: {check:?}");
                    assert_ne!(check.verdict, Verdict::Fail, "{what}");
                }
            }
        }
    }
}

/// A size that is enough for pauses of 64 bytes is refused where they are longer.
#[test]
fn headroom_below_what_longer_pauses_need_is_refused() {
    let enough =
        |pause: u32, xoff: u32| parse("p.yaml", &lab(pause, 128, "10G", &xoff.to_string())).is_ok();
    let least = |pause: u32| (0..).map(|n| 64 * n).find(|xoff| enough(pause, *xoff)).unwrap();
    let (usual, longer) = (least(64), least(1_518));
    // The pause itself, and the one before it that it may wait for, in frames of 65 bytes, of which each has two
    // cells and takes 85 bytes on the line.
    let more = longer - usual;
    let frames = |pauses: u32| pauses * 1_454 / 85;
    assert!((128 * frames(1)..=128 * (frames(2) + 1)).contains(&more), "{usual} {longer}");
    assert_eq!(least(18), usual);
}

/// A pause that is too long for the switch that it goes to is dropped there, and nothing stops.
#[test]
fn pauses_that_the_next_switch_drops_are_refused() {
    let text = lab(128, 128, "10G", "auto").replace("control_frame: 128}]", "control_frame: 129}]");
    let error = parse("p.yaml", &text).unwrap_err().to_string();
    assert!(error.contains("s1 drops frames longer than its `max_frame` of 128 bytes"), "{error}");
}
