//! The rule for verdicts: a run passes only if every check of it was judged and holds, and `lossless` is
//! about the frames that arrive.

use super::*;

/// Runs a lab of a star with PFC for priority 3, with these lines behind it.
fn star(hosts: u8, more: &str) -> Outcome {
    lab(&format!(
        "duration: 1ms
profiles: {{tor: {{defaults: {{pfc: {{enable: [3]}}}}}}}}
topology: {{star: {{hosts: {hosts}}}}}
defaults: {{links: {{rate: 100G, length: 100m}}}}
{more}"
    ))
}

fn lab(text: &str) -> Outcome {
    let (plan, _) = parse("lab", text).unwrap_or_else(|e| panic!("{e}"));
    run_it(&plan)
}

#[track_caller]
fn check<'a>(outcome: &'a Outcome, name: &str) -> (Verdict, &'a str) {
    let check = outcome.checks.iter().find(|check| check.name == name);
    let check = check.unwrap_or_else(|| panic!("no {name} in {:?}", outcome.checks));
    (check.verdict, &check.detail)
}

/// Asserts the verdict of a check with a part of its reason, and that the run is no better.
#[track_caller]
fn is(outcome: &Outcome, name: &str, verdict: Verdict, part: &str) {
    let found = check(outcome, name);
    assert!(found.0 == verdict && found.1.contains(part), "{part}: {found:?}");
    assert!(outcome.verdict >= verdict, "{:?}", outcome.checks);
}

const INCAST: &str = "flows: [{name: f, from: [h1, h2, h3], to: h5, priority: 3, size: 1500}]\n";

#[test]
fn a_run_passes_only_if_every_check_was_judged() {
    let good = star(5, INCAST);
    assert!(good.is_pass() && good.checks.len() == 5, "{:?}", good.checks);
    let lossy = INCAST.replace("priority: 3", "priority: 2");
    for more in ["", "checks: [conservation, lossless]\n"] {
        let outcome = star(5, &format!("{lossy}{more}"));
        is(&outcome, "lossless", Verdict::NotJudged, "no frame of a lossless priority arrived");
        assert_eq!(outcome.verdict, Verdict::NotJudged, "{more}");
    }
}

#[test]
fn checks_that_nobody_asked_for_and_that_cannot_apply_are_no_part_of_a_run() {
    let names = |outcome: &Outcome| -> Vec<String> {
        outcome.checks.iter().map(|check| check.name.clone()).collect()
    };
    let calm = "flows: [{name: f, from: h1, to: h2, priority: 3, size: 1500, rate: 10G}]\n";
    let outcome = star(2, calm);
    assert_eq!(names(&outcome), ["conservation", "lossless", "no_deadlock", "work_conserving"]);
    assert!(outcome.is_pass(), "{:?}", outcome.checks);
    // Named in the file, it counts.
    let outcome = star(2, &format!("{calm}checks: [conservation, pause_legality]\n"));
    is(&outcome, "pause_legality", Verdict::NotJudged, "no pause arrived");
    // Without a profile priorities 3 and 4 are lossless; without PFC, none is.
    let built_in = lab(&format!("duration: 1ms\ntopology: {{star: {{hosts: 2}}}}\n{calm}"));
    assert_eq!(names(&built_in), names(&star(2, calm)));
    let plain = lab(&format!(
        "duration: 1ms\nprofiles: {{tor: {{max_frame: 4300}}}}\ntopology: {{star: {{hosts: 2}}}}\n\
         {calm}"
    ));
    assert_eq!(names(&plain), ["conservation", "no_deadlock", "work_conserving"]);
    for outcome in [built_in, plain] {
        assert!(outcome.is_pass(), "{:?}", outcome.checks);
    }
}

#[test]
fn what_the_environment_takes_by_plan_is_not_judged_with_its_count() {
    for (fault, part) in [
        ("{at: 100us, errors: {link: h5-s1, loss: 0.1}}", "by a planned fault (line error)"),
        ("{at: 100us, errors: {link: h5-s1, ber: 1e-6}}", "by a planned fault (line error)"),
        ("{at: 100us, lose: {link: h5-s1, from: s1, frames: 7, which: data}}", "7 by a planned"),
        ("{at: 100us, flap: {link: h5-s1, down_for: 50us}}", "by a planned fault (link down)"),
        ("{at: 100us, flap: {link: h1-s1, down_for: 50us}}", "by a planned fault (link down)"),
        (
            "{at: 10us, lose: {link: h1-s1, from: s1, frames: 50, which: pause}}",
            "by a planned fault (lost pause)",
        ),
    ] {
        let outcome = star(5, &format!("{INCAST}faults: [{fault}]\n"));
        is(&outcome, "lossless", Verdict::NotJudged, part);
        assert_eq!(outcome.verdict, Verdict::NotJudged, "{fault}: {:?}", outcome.checks);
    }
}

#[test]
fn no_defect_of_a_device_excuses_a_loss() {
    let flap = "{at: 100us, flap: {link: h4-s1, down_for: 50us}}";
    let errors = "{at: 1us, errors: {link: h4-s1, loss: 0.1}}";
    for other in ["", flap, errors] {
        for (kind, part) in [
            ("damages-data, every: 100", "damaged by the sender"),
            ("pfc-bad-fcs", "dropped a frame of lossless priority 3"),
            ("loses-data, every: 100", "were lost, and planned faults took at most"),
        ] {
            let text = format!("{INCAST}faults: [{{defect: {{on: s1, kind: {kind}}}}}, {other}]\n");
            let outcome = star(5, &text.replace(", ]", "]"));
            is(&outcome, "lossless", Verdict::Fail, part);
        }
    }
}

/// Host h4 sends storms of pauses for 2 ms, and the switch watches for them.
const STORM: &str = "nodes: {hosts: [{name: h4, storms: [{start: 100us, every: 100us, frames: 20, \
                     priorities: [3], quanta: 65535}]}]}
flows: [{name: f, from: [h1, h2], to: h4, priority: 3, size: 1500, rate: 20G}]
";

#[test]
fn what_a_watchdog_drops_is_lost() {
    let watched = |more: &str| {
        let text = format!(
            "duration: 2ms
profiles: {{tor: {{defaults: {{pfc: {{enable: [3]}}, watchdog: {{detection: 200us, restoration: \
             400us}}}}}}}}
topology: {{star: {{hosts: 4}}}}
defaults: {{links: {{rate: 100G, length: 100m}}}}
{STORM}{more}"
        );
        lab(&text)
    };
    is(&watched(""), "lossless", Verdict::NotJudged, "in a storm of the host at its port");
    // A switch with a defect that may see a storm in what is none.
    let defect = "faults: [{defect: {on: s1, kind: never-expires}}]\n";
    is(&watched(defect), "lossless", Verdict::Fail, "by no fault of the lab (watchdog)");
}

#[test]
fn losses_of_a_slow_processor_and_of_too_long_frames_fail() {
    let slow = "duration: 1ms
profiles: {tor: {defaults: {pfc: {enable: [3]}}}}
topology: {star: {hosts: 5}}
defaults: {switches: {cpu: {frame: 200ns}}, links: {rate: 100G, length: 100m}}
";
    let outcome = lab(&format!("{slow}{INCAST}"));
    if outcome.lossless_drops > 0 {
        assert!(check(&outcome, "lossless").0.is_fail(), "{:?}", outcome.checks);
    }
    let generated = r#"otg:
  config:
    ports: [{name: p1, location: h1}, {name: p2, location: h2}]
    # A flow is lossless only if its port obeys pauses.
    layer1:
      - name: l
        port_names: [p1, p2]
        flow_control: {choice: ieee_802_1qbb, ieee_802_1qbb: {pfc_delay: 0, pfc_class_3: 3}}
    flows:
      - name: f
        tx_rx: {port: {tx_name: p1, rx_names: [p2]}}
        packet:
          - ethernet: {src: {value: "SRC"}, dst: {value: "02:00:00:00:00:a2"}, pfc_queue: {value: 3}}
          - ipv4: {priority: {dscp: {phb: {value: 24}}}}
          - udp: {}
        size: {fixed: SIZE}
        rate: {pps: 100000}
        metrics: {enable: true}
      - name: back
        tx_rx: {port: {tx_name: p2, rx_names: [p1]}}
        packet: [{ethernet: {src: {value: "02:00:00:00:00:a2"}, dst: {value: "02:00:00:00:00:a1"}}}]
        rate: {pps: 1000}
        metrics: {enable: true}
checks: [conservation, lossless]
"#;
    let of = |src: &str, size: &str| star(2, &generated.replace("SRC", src).replace("SIZE", size));
    let good = of("02:00:00:00:00:a1", "1024");
    assert!(good.is_pass(), "{:?}", good.checks);
    // From a group address, and too long.
    is(&of("03:00:00:00:00:01", "1024"), "lossless", Verdict::Fail, "frames of f, lossless");
    is(&of("02:00:00:00:00:a1", "9500"), "lossless", Verdict::Fail, "frames of f, lossless");
}

#[test]
fn a_run_that_ends_before_its_traffic_is_not_judged() {
    let text = INCAST.replace("size: 1500", "size: 1500, duration: {frames: 100000}");
    let outcome = star(5, &format!("until_done: true\n{text}"));
    is(&outcome, "lossless", Verdict::NotJudged, "the run ended before its traffic");
    // Nothing is on the way of a flow whose sender stands still.
    let stall = "faults: [{at: 1ps, stall: {node: h2, for: 1s}}]\n";
    let stalled = star(5, &format!("until_done: true\n{}{stall}", text.replace("100000", "10")));
    let what = "before its traffic of f_h2 was done; no frame is on the way";
    is(&stalled, "lossless", Verdict::NotJudged, what);
    let text = INCAST.replace("size: 1500", "size: 1500, duration: {frames: 100}");
    let outcome = star(5, &format!("until_done: true\n{text}"));
    assert!(outcome.is_pass(), "{:?}", outcome.checks);
}

/// PAUSE stops all priorities, and is one pause nevertheless.
#[test]
fn a_pause_of_a_link_counts_once() {
    let outcome = lab(&format!(
        "duration: 1ms
profiles: {{tor: {{buffer: {{total: 2MiB}}, defaults: {{pause: {{}}}}}}}}
topology: {{star: {{hosts: 5}}}}
defaults: {{links: {{rate: 100G, length: 100m}}}}
{INCAST}"
    ));
    let pauses = &outcome.pauses;
    assert!(pauses.xoffs > 0 && pauses.received_xoffs <= pauses.xoffs, "{pauses:?}");
    let (verdict, detail) = check(&outcome, "pause_legality");
    assert_eq!(verdict, Verdict::Pass, "{detail}");
    assert!(detail.contains(&format!("; {} pauses were sent", pauses.xoffs)), "{detail}");
    let hops = outcome.figures.hops.iter().filter(|hop| hop.hosts);
    assert_eq!(hops.map(|hop| hop.pauses).sum::<u64>(), pauses.received_xoffs);
}

/// A ring of three switches in which every flow goes two switches on; `with` is behind the profile's PFC.
fn ring(with: &str, duration: &str, flows: &str) -> Outcome {
    lab(&format!(
        "duration: {duration}
profiles: {{tor: {{buffer: {{total: 1MiB}}, defaults: {{pfc: {{enable: [3]}}{with}}}}}}}
topology: {{ring: {{switches: 3, hosts_per_switch: 1}}}}
defaults: {{links: {{rate: 100G, length: 100m}}}}
flows: [{{name: round, pattern: pairs, from: [h1, h2, h3], to: [h3, h1, h2], priority: 3{flows}}}]
checks: [no_deadlock, lossless]
"
    ))
}

#[test]
fn a_deadlock_is_found_however_long_the_run_is() {
    let watchdog = ", watchdog: {detection: 100us, restoration: 100us}";
    let flows = ", size: 1500, duration: {frames: 3000}";
    let runs = ["1ms", "100ms"].map(|duration| ring(watchdog, duration, flows));
    assert_eq!(runs[0].trace_hash, runs[1].trace_hash);
    for run in &runs {
        is(run, "no_deadlock", Verdict::Fail, "s1");
        // The watchdogs drop lossless frames, and no host has sent a storm.
        is(run, "lossless", Verdict::Fail, "by no fault of the lab (watchdog)");
    }
}

/// Five switches in a ring with two links between neighbours, and a switch with a flow of its own, whose link
/// has this rate.
fn parallel(rate: &str) -> Outcome {
    let mut links = String::new();
    for s in 1..=5 {
        let next = s % 5 + 1;
        for name in ["a", "b"] {
            links += &format!("  - {{name: r{s}{name}, from: s{s}, to: s{next}, rate: 50G}}\n");
        }
        links += &format!("  - {{from: h{}..h{}, to: s{s}}}\n", 3 * s - 2, 3 * s);
    }
    lab(&format!(
        "duration: 6ms
equal_cost: flow
profiles: {{tor: {{buffer: {{total: 1MiB}}, defaults: {{pfc: {{enable: [3]}}}}}}}}
nodes: {{switches: [s1, s2, s3, s4, s5, s6], hosts: [h1..h15, a, b]}}
defaults: {{links: {{rate: 100G, length: 100m}}}}
links:
{links}  - {{from: a, to: s6, rate: {rate}, phy: none}}
  - {{from: b, to: s6, rate: {rate}, phy: none}}
  - {{from: s6, to: s1}}
flows:
  - {{name: x, pattern: pairs, from: [h1..h15], to: [h7..h15, h1..h6], priority: 3, size: 1500}}
  - {{name: y, pattern: pairs, from: [h1..h15], to: [h7..h15, h1..h6], priority: 3, size: 1500}}
  - {{name: bg, from: a, to: b, priority: 0, size: 1500}}
checks: [conservation, no_deadlock, work_conserving]
"
    ))
}

#[test]
fn a_deadlock_is_found_on_equal_cost_paths_and_beside_a_slow_link() {
    // A frame takes 12 ms on the slow link: longer than the run.
    for rate in ["100G", "1M"] {
        let outcome = parallel(rate);
        is(&outcome, "no_deadlock", Verdict::Fail, "since");
        assert!(!outcome.deadlocks.is_empty(), "{rate}");
        assert!(check(&outcome, "conservation").0.is_pass(), "{rate}: {:?}", outcome.checks);
    }
}

#[test]
fn a_deadlock_by_pause_of_whole_links_is_found_over_several_groups() {
    let profile = |low: u8| {
        let of = |group: u8| if group == low { "lo" } else { "hi" };
        format!(
            "{{buffer: {{total: 4MiB, profiles: {{lo: {{shared: {{static_th: 3KB}}, lossless: {{xoff: \
             auto}}}}, hi: {{shared: {{static_th: 100KB}}, lossless: {{xoff: auto}}}}}}}}, defaults: \
             {{pause: {{}}, maps: {{priority_to_group: {{0: 0, 1: 1, 2: 2, 3: 3, 4-7: 3}}}}, \
             priority_groups: {{0: {}, 1: {}, 2: {}, 3: hi}}, queues: {{0-7: {{weight: 10}}}}}}}}",
            of(0),
            of(1),
            of(2)
        )
    };
    let outcome = lab(&format!(
        "duration: 6ms
profiles: {{p1: {}, p2: {}, p3: {}, p4: {}}}
nodes:
  switches: [{{name: s1, profile: p1}}, {{name: s2, profile: p2}}, {{name: s3, profile: p3}}, {{name: s4, profile: p4}}]
  hosts: [h1a, h1b, h2a, h2b, h3a, h3b, a, b]
links: [{{from: h1a, to: s1}}, {{from: h1b, to: s1}}, {{from: h2a, to: s2}}, {{from: h2b, to: s2}}, {{from: h3a, to: s3}}, {{from: h3b, to: s3}}, {{from: s1, to: s2}}, {{from: s2, to: s3}}, {{from: s3, to: s1}}, {{from: a, to: s4}}, {{from: b, to: s4}}, {{from: s4, to: s1}}]
routes: [{{at: s1, to: [h2a, h2b], via: s2}}, {{at: s1, to: [h3a, h3b], via: s2}}, {{at: s2, to: [h1a, h1b], via: s3}}, {{at: s2, to: [h3a, h3b], via: s3}}, {{at: s3, to: [h1a, h1b], via: s1}}, {{at: s3, to: [h2a, h2b], via: s1}}]
defaults: {{links: {{rate: 100G, length: 100m}}}}
flows: [{{name: f10, from: h1a, to: h3a, priority: 0, size: 1500}}, {{name: f11, from: h1b, to: h3b, priority: 0, size: 1500}}, {{name: f20, from: h2a, to: h1a, priority: 1, size: 1500}}, {{name: f21, from: h2b, to: h1b, priority: 1, size: 1500}}, {{name: f30, from: h3a, to: h2a, priority: 2, size: 1500}}, {{name: f31, from: h3b, to: h2b, priority: 2, size: 1500}}, {{name: bg, from: a, to: b, priority: 0, size: 1500}}]
checks: [no_deadlock]
",
        profile(2),
        profile(0),
        profile(1),
        profile(9)
    ));
    is(&outcome, "no_deadlock", Verdict::Fail, "s1:");
}

#[test]
fn a_queue_that_pauses_before_its_own_marks_fails_whatever_another_marks() {
    let marking = |kmin: &str, kmax: &str| {
        lab(&format!(
            "duration: 1ms
profiles: {{tor: {{buffer: {{total: 8MiB, profiles: {{roce: {{shared: {{static_th: 60KB}}, lossless: \
             {{xoff: auto}}}}, lossy: {{shared: {{dynamic_th: 0}}}}}}}}, defaults: {{pfc: {{enable: [3]}}, \
             priority_groups: {{3: roce, 0: lossy}}, queues: {{0: {{ecn: {{kmin: 1KB, kmax: 2KB, pmax: \
             100%}}}}, 3: {{ecn: {{kmin: {kmin}, kmax: {kmax}, pmax: 100%}}}}}}}}}}}}
topology: {{star: {{hosts: 6}}}}
defaults: {{links: {{rate: 100G, length: 100m}}}}
flows:
 - {{name: lossy, from: [h1, h2], to: h6, priority: 0, size: 1500, ecn: ect0, rate: 60G}}
 - {{name: f, from: [h1, h2, h3], to: h5, priority: 3, size: 1500, ecn: ect0, start: 100us}}
checks: [ecn_before_pfc, conservation]
"
        ))
    };
    let late = marking("1MB", "2MB");
    assert!(late.marks > 0);
    is(&late, "ecn_before_pfc", Verdict::Fail, "had not sent any marked frame");
    // A queue that has nothing to do with a pause may mark as late as it will.
    let early = marking("1KB", "2KB");
    assert!(check(&early, "ecn_before_pfc").0.is_pass(), "{:?}", early.checks);
}

/// Two generated flows between the same addresses that differ in the PCP of their tags alone; h2 pauses
/// priority 3, and the switch has this defect.
fn tagged(defect: &str) -> Outcome {
    let flow = |priority: u8| {
        format!(
            r#"      - name: on{priority}
        tx_rx: {{port: {{tx_name: p1, rx_names: [p2]}}}}
        packet:
          - ethernet: {{src: {{value: "02:00:00:00:00:a1"}}, dst: {{value: "02:00:00:00:00:a2"}}, pfc_queue: {{value: {priority}}}}}
          - vlan: {{priority: {{value: {priority}}}, id: {{value: 1}}}}
          - ipv4: {{}}
          - udp: {{}}
        size: {{fixed: 1024}}
        rate: {{pps: 100000}}
        metrics: {{enable: true}}
"#
        )
    };
    let text = format!(
        r#"duration: 4ms
profiles: {{tor: {{buffer: {{total: 2MiB}}, defaults: {{trust: pcp, pfc: {{enable: [3, 4]}}}}}}}}
topology: {{star: {{hosts: 2}}}}
defaults: {{links: {{rate: 10G, length: 10m, phy: none}}}}
otg:
  config:
    ports: [{{name: p1, location: h1}}, {{name: p2, location: h2}}]
    flows:
{}{}      - name: storm
        tx_rx: {{port: {{tx_name: p2, rx_names: [p1]}}}}
        packet:
          - choice: pfcpause
            pfcpause: {{src: {{value: "02:00:00:00:00:a2"}}, class_enable_vector: {{value: 8}}, pause_class_3: {{value: 65535}}}}
        rate: {{pps: 400}}
        duration: {{choice: continuous, continuous: {{delay: {{choice: microseconds, microseconds: 1000}}}}}}
faults: [{defect}]
checks: [conservation, pause_legality, work_conserving]
"#,
        flow(3),
        flow(4)
    );
    lab(&text)
}

#[test]
fn flows_that_differ_in_their_tags_alone_are_told_apart() {
    let good = tagged("");
    assert!(check(&good, "pause_legality").0.is_pass(), "{:?}", good.checks);
    assert!(check(&good, "conservation").0.is_pass(), "{:?}", good.checks);
    let bad = tagged("{defect: {on: s1, kind: ignores-pfc, priorities: [3]}}");
    is(&bad, "pause_legality", Verdict::Fail, "priority 3");
}

#[test]
fn shares_of_a_time_in_which_a_flow_has_no_data_are_not_judged() {
    let fair = |flows: &str, more: &str| {
        star(4, &format!("flows: [{flows}]\n{more}checks: [{{fairness: {{tolerance: 5%}}}}]\n"))
    };
    let [one, two] =
        [1, 2].map(|n| format!("{{name: f{n}, from: h{n}, to: h4, priority: 3, size: 1500"));
    let both = fair(&format!("{one}}}, {two}}}"), "measure: {from: 200us}\n");
    assert!(check(&both, "fairness").0.is_pass(), "{:?}", both.checks);
    let late = fair(&format!("{one}}}, {two}, start: 500us}}"), "");
    is(&late, "fairness", Verdict::NotJudged, "f2 had data for a part of the time");
    let overlap = fair(&format!("{one}}}, {two}, start: 500us}}"), "measure: {from: 700us}\n");
    assert!(check(&overlap, "fairness").0.is_pass(), "{:?}", overlap.checks);
    let short = fair(&format!("{one}}}, {two}, duration: {{frames: 100}}}}"), "");
    is(&short, "fairness", Verdict::NotJudged, "f2 had data for a part of the time");
    // Its messages are sent while the other's go on.
    let [many, few] = [("1MB", 1_000), ("10KB", 3)].map(|(bytes, count)| {
        format!("transport: {{roce: {{messages: {{bytes: {bytes}, count: {count}}}}}}}")
    });
    let messages = fair(&format!("{one}, {many}}}, {two}, {few}}}"), "");
    is(&messages, "fairness", Verdict::NotJudged, "f2 had data for a part of the time");
    let both = fair(&format!("{one}, {many}}}, {two}, {many}}}"), "measure: {from: 200us}\n");
    assert!(check(&both, "fairness").0.is_pass(), "{:?}", both.checks);
}

/// ON and OFF periods, messages that become due in turn, and links that a fault takes down: a flow has no data then.
#[test]
fn shares_are_judged_over_times_in_which_a_flow_has_data_alone() {
    let fair = |second: &str, more: &str| {
        let one = |n: u32, kind: &str| {
            format!("{{name: f{n}, from: h{n}, to: h4, priority: 3, size: 1500{kind}}}")
        };
        let flows = [one(1, ""), one(2, second)].join(", ");
        star(4, &format!("flows: [{flows}]\n{more}checks: [{{fairness: {{tolerance: 5%}}}}]\n"))
    };
    let because = |outcome: &Outcome, why: &str| is(outcome, "fairness", Verdict::NotJudged, why);
    let periods =
        |off: &str, more: &str| fair(&format!(", on_off: {{on: 400us, off: {off}}}"), more);
    because(&periods("90us", ""), "as it sends in periods");
    because(
        &fair(", on_off: {on: 400us, off: 90us, times: exponential}", ""),
        "as it sends in periods",
    );
    // In an ON period, or with short OFF periods, shares are judged.
    let inside = periods("90us", "measure: {from: 200us, to: 390us}\n");
    assert!(check(&inside, "fairness").0.is_pass(), "{:?}", inside.checks);
    let seldom = periods("10us", "measure: {from: 200us}\n");
    assert_ne!(check(&seldom, "fairness").0, Verdict::NotJudged, "{:?}", seldom.checks);

    let messages = |every: &str, more: &str| {
        let of = format!("bytes: 100KB, count: 1000, every: {every}");
        fair(&format!(", transport: {{roce: {{messages: {{{of}}}}}}}"), more)
    };
    because(&messages("100us", ""), "messages become due one after the other");
    // All are due at 1 us.
    let due = messages("1ns", "measure: {from: 200us}\n");
    assert!(check(&due, "fairness").0.is_pass(), "{:?}", due.checks);

    let fault = |up: &str, more: &str| {
        let flap = format!("{{at: 300us, flap: {{link: h2-s1, down_for: {up}}}}}");
        fair("", &format!("faults: [{flap}]\n{more}"))
    };
    because(&fault("300us", ""), "a planned fault took a link of its path down");
    let before = fault("300us", "measure: {from: 100us, to: 290us}\n");
    assert!(check(&before, "fairness").0.is_pass(), "{:?}", before.checks);
}

/// A flow that always has data and does not get its share fails, with periods in which it sends or without.
#[test]
fn unequal_shares_of_flows_that_have_data_fail() {
    for kind in ["", ", on_off: {on: 800us, off: 10us}"] {
        let flows = format!(
            "flows: [{{name: f1, from: h1, to: h4, priority: 3, size: 1500}}, \
             {{name: f2, from: h2, to: h4, priority: 3, size: 1500, rate: 10%{kind}}}]\n\
             measure: {{from: 100us, to: 700us}}\nchecks: [{{fairness: {{tolerance: 5%}}}}]\n"
        );
        is(&star(4, &flows), "fairness", Verdict::Fail, "2 flows share");
    }
}

/// A flow that has not begun has no frame on the way.
#[test]
fn flows_that_have_sent_nothing_are_not_among_those_with_frames_on_the_way() {
    let with = |first: &str| {
        star(
            3,
            &format!(
                "until_done: true\nflows: [{{name: f1, from: h1, to: h3, priority: 3, size: 1500{first}}}, \
             {{name: late, from: h2, to: h3, priority: 3, start: 900s, duration: {{frames: 3}}}}]\n\
             checks: [lossless]\n"
            ),
        )
    };
    let busy = with(", duration: {bytes: 1GB}");
    is(&busy, "lossless", Verdict::NotJudged, "frames of f1 are on the way");
    // Nothing is on the way: those are named that have more to send.
    let idle = with(", duration: {frames: 3}");
    is(
        &idle,
        "lossless",
        Verdict::NotJudged,
        "its traffic of late was done; no frame is on the way",
    );
}

/// A link that fails for a nanosecond explains what was lost around it, and not a device that never pauses.
#[test]
fn a_short_failure_of_links_does_not_excuse_a_defect_for_the_rest_of_the_run() {
    let flaps: String = ["h1-s1", "h2-s1", "h3-s1"]
        .map(|link| format!("  - {{at: 20us, flap: {{link: {link}, down_for: 1ns}}}}\n"))
        .concat();
    let with =
        |defect: &str| star(5, &format!("{INCAST}checks: [lossless]\nfaults:\n{defect}{flaps}"));
    for kind in ["pfc-bad-fcs", "never-pauses"] {
        let defect = format!("  - {{defect: {{on: s1, kind: {kind}}}}}\n");
        is(&with(&defect), "lossless", Verdict::Fail, "lost");
    }
    // A device without a defect is excused, or loses nothing.
    assert_ne!(check(&with(""), "lossless").0, Verdict::Fail);
}

/// Two switches, frames over their trunk, and faults.
fn trunk(faults: &str) -> Outcome {
    lab(&format!(
        "duration: 1ms
profiles:
  tor:
    buffer: {{total: 2MiB, profiles: {{roce: {{shared: {{static_th: 60KB}}, lossless: {{xoff: auto}}}}}}}}
    defaults: {{pfc: {{enable: [3]}}, priority_groups: {{3: roce}}}}
nodes: {{switches: [{{name: s1, profile: tor}}, {{name: s2, profile: tor}}], hosts: [h1, h2]}}
links:
  - {{from: h1, to: s1}}
  - {{name: trunk, from: s1, to: s2}}
  - {{from: h2, to: s2}}
defaults: {{links: {{rate: 100G, length: 20m}}, flows: {{size: 1500}}}}
flows: [{{name: f, from: h1, to: h2, priority: 3, duration: {{frames: 300}}}}]
faults:
{faults}"
    ))
}

/// Pauses of priority 3 that are forged until the end of the run.
fn forged(line: &str) -> String {
    let octets = "0180c2000001020000000007880801010008000000000000ffff0000000000000000";
    let one = |us: u32| format!("  - {{at: {us}us, forge: {{{line}, octets: {octets}}}}}\n");
    [5, 300, 600, 900].map(one).concat()
}

#[test]
fn forged_pauses_between_switches_are_no_deadlock_and_a_defect_beside_some_elsewhere_fails() {
    let held = trunk(&forged("link: trunk, from: s2"));
    is(&held, "no_deadlock", Verdict::NotJudged, "forged pauses hold up s1:to_s2");
    assert!(!held.verdict.is_fail(), "{:?}", held.checks);
    let defect =
        "  - {at: 1us, defect: {on: s2, port: trunk, kind: pauses-for-ever, priorities: [3]}}\n";
    let both = trunk(&format!("{defect}{}", forged("link: h2-s2, from: h2")));
    is(&both, "no_deadlock", Verdict::Fail, "nothing has moved since");
}
