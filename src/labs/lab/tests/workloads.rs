//! Workloads in the virtual world: offered load, slowdown, collectives, ON and OFF periods.

use super::*;
use crate::Side;
use crate::testfolder::Folder;

/// Profile with lossless priority 3.
const PROFILE: &str = "profiles: {tor: {defaults: {pfc: {enable: [3]}}}}\n";

/// Runs a lab and asserts that the default checks pass, conservation above all.
pub(super) fn run_text(text: &str) -> Run {
    let run = run_spread(text);
    let conserved = &run.outcome.checks[0];
    assert_eq!(conserved.verdict, Verdict::Pass, "{text}\n{conserved:?}");
    run
}

/// Does the same for a lab that may spread flows of two hosts over several paths, whose frames the
/// checker of conservation cannot follow.
fn run_spread(text: &str) -> Run {
    let text = format!("{PROFILE}{text}");
    let (plan, warnings) = parse("w.yaml", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let known = |w: &config::Warning| w.line("w.yaml").contains("draws no message");
    assert!(warnings.iter().all(|w| !known(w)), "{warnings:?}");
    let run = run(&plan, World::Virtual, Options::default(), |_| {}).unwrap();
    assert!(run.outcome.is_pass(), "{text}\n{:#?}", run.outcome.checks);
    run
}

fn workload(run: &Run) -> &WorkloadOutcome {
    &run.outcome.workloads[0]
}

fn steady(run: &Run) -> SteadyOutcome {
    run.outcome.figures.steady.expect("a steady state")
}

#[test]
fn messages_that_wait_for_others_are_slowed_down_and_kept_one_by_one() {
    let text = "until_done: true\nrecord: {messages: true}\ntopology: {star: {hosts: 3}}\n\
                flows: [{name: f, to: h3, priority: 3, duration: {bytes: 1MB}, \
                transport: {roce: {messages: {bytes: 100KB, every: 1us}}}}]\n";
    let run = run_text(text);
    let all = run.messages.as_ref().expect("they are recorded");
    assert_eq!((all.records.len(), all.left_out), (20, 0));
    let third = all.records[13];
    assert_eq!((third.flow, third.message, third.bytes), (1, 3, 100_000));
    assert_eq!(third.start, Duration::from_micros(3));
    let found = run.outcome.figures.slowdown.as_ref().unwrap();
    // Two flows share the link, and each message waits for those before it.
    assert!(found.p50.unwrap() > 4.0 && found.p99 > found.p50, "{found:?}");
    assert_eq!(found.bins.len(), 1);
    assert_eq!((found.bins[0].above_bytes, found.bins[0].messages), (10_000, 20));
    // Keeping them changes nothing else, and a lab that does not ask for them has none.
    let plain = run_text(&text.replace("record: {messages: true}\n", ""));
    assert_eq!(plain.outcome.trace_hash, run.outcome.trace_hash);
    assert_eq!(plain.outcome.figures, run.outcome.figures);
    assert!(plain.messages.is_none());
}

#[test]
fn messages_that_are_not_complete_at_the_end_are_counted() {
    let run = run_text(
        "duration: 100us\nrecord: {messages: true}\ntopology: {star: {hosts: 2}}\n\
         flows: [{to: h2, from: h1, priority: 3, transport: {roce: {messages: \
         {bytes: 100KB, every: 5us, count: 100}}}}]\n",
    );
    let found = run.outcome.figures.slowdown.as_ref().unwrap();
    let all = &run.messages.as_ref().unwrap().records;
    // 100 Gb/s carry a message in some 8.5 us, and one is due every 5 us from 0 to 100.
    assert_eq!(found.messages + found.unfinished, 21);
    assert!((9..=12).contains(&found.messages), "{found:?}");
    assert!(all[found.messages as usize].completion.is_none() && all[20].slowdown().is_none());
}

/// A lab with an offered load of messages of 10 KB on average.
fn loaded(load: &str, more: &str, seed: u64) -> String {
    format!(
        "seed: {seed}\nduration: 2ms\ntopology: {{star: {{hosts: 5}}}}\nflows: [{{name: bg, priority: 3, \
         {more}, transport: {{roce: {{messages: {{bytes: {{points: [[1KB, 0], [19KB, 1]]}}, \
         load: {load}}}}}}}}}]\n"
    )
}

/// Shares of their links that hosts sent in the run, overhead included.
fn sent_shares(run: &Run) -> Vec<f64> {
    let seconds = run.outcome.elapsed_ns.as_secs_f64();
    let octets = |host: &str| {
        let flows = run.outcome.flows.iter().filter(|f| f.from == host);
        flows.map(|f| f.tx_bytes + 20 * f.tx_frames).sum::<u64>()
    };
    let hosts = ["h1", "h2", "h3", "h4", "h5"];
    hosts.map(|host| 8.0 * octets(host) as f64 / (seconds * 100e9)).to_vec()
}

#[test]
fn the_offered_load_is_the_configured_one_within_statistical_bounds() {
    // In 2 ms a link at 40 % carries 926 messages of 10.8 KB. Sizes are uniform, so the relative
    // variance of the sum is 1.27 / 926, and that of five links a fifth: 1.66 %; five of them.
    let bound = 5.0 * 0.0166;
    for seed in [1, 2, 3] {
        for pattern in ["pattern: random", "pattern: all_to_all"] {
            let run = run_text(&loaded("40%", pattern, seed));
            let load = workload(&run).load.unwrap();
            let off = load.drawn / 0.4 - 1.0;
            assert!(off.abs() < bound, "seed {seed} {pattern}: {load:?}");
            // The bounds tell a load of 50 % from one of 40 %.
            let other = run_text(&loaded("50%", pattern, seed));
            let off = workload(&other).load.unwrap().drawn / 0.4 - 1.0;
            assert!(off > bound, "seed {seed} {pattern}: {off}");
            // The hosts have sent it.
            let sent = sent_shares(&run);
            let mean = sent.iter().sum::<f64>() / 5.0;
            assert!((mean / load.drawn - 1.0).abs() < 0.02, "seed {seed}: {sent:?} {load:?}");
            for share in sent {
                assert!((share / 0.4 - 1.0).abs() < 5.0 * 0.037, "seed {seed}: {share}");
            }
            assert_eq!((load.of, load.share), (Side::Sender, 0.4));
        }
    }
}

#[test]
fn a_load_of_the_receivers_links_is_that_of_the_receivers() {
    for seed in [1, 2] {
        let run = run_text(&loaded("{receiver: 60%}", "from: h1..h4, to: h5", seed));
        let load = workload(&run).load.unwrap();
        assert!((load.drawn / 0.6 - 1.0).abs() < 5.0 * 0.031, "seed {seed}: {load:?}");
        // Four senders share it.
        for share in &sent_shares(&run)[..4] {
            assert!((0.09..0.21).contains(share), "seed {seed}: {share}");
        }
        let sender = run_text(&loaded("{sender: 20%}", "from: h1..h4, to: h5", seed));
        let load = workload(&sender).load.unwrap();
        assert!((load.drawn / 0.2 - 1.0).abs() < 5.0 * 0.026, "seed {seed}: {load:?}");
    }
}

#[test]
fn messages_become_due_at_random_times_with_the_mean_of_the_load() {
    let seed = 4;
    let text =
        loaded("40%", "from: h1, to: h2", seed).replace("seed", "record: {messages: true}\nseed");
    let run = run_text(&text);
    let starts: Vec<_> = run.messages.as_ref().unwrap().records.iter().map(|r| r.start).collect();
    let gaps: Vec<f64> = starts.windows(2).map(|w| (w[1] - w[0]).as_nanos_f64()).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    // 10,000 bytes in 7.37 frames with 82 bytes of headers, preamble and gap each, at 40 %.
    assert!((mean / 2_120.0 - 1.0).abs() < 0.17, "seed {seed}: {mean}");
    // The standard deviation of an exponential distribution is its mean.
    let deviation =
        (gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64).sqrt();
    assert!((deviation / mean - 1.0).abs() < 0.25, "seed {seed}: {deviation} {mean}");
}

#[test]
fn the_same_seed_draws_the_same_workload_and_another_draws_another() {
    let hash = |seed| run_text(&loaded("40%", "pattern: random", seed)).outcome.trace_hash;
    assert_eq!(hash(7), hash(7));
    assert_ne!(hash(7), hash(8));
}

#[test]
fn every_message_of_a_sender_may_have_another_receiver() {
    let run = run_text(
        "duration: 1ms\nuntil_done: true\ntopology: {star: {hosts: 6}}\nflows: [{name: m, from: h1..h2, \
         priority: 3, pattern: random, transport: {roce: {messages: {bytes: 4KB, every: 10us, \
         count: 50}}}}]\n",
    );
    let of = |host: &str| -> Vec<u64> {
        let flows = run.outcome.flows.iter().filter(|f| f.from == host);
        flows.map(|f| f.transport.unwrap().sender.completions.messages).collect()
    };
    for host in ["h1", "h2"] {
        let counts = of(host);
        assert_eq!((counts.len(), counts.iter().sum::<u64>()), (5, 50), "{counts:?}");
        assert!(counts.iter().all(|n| (2..25).contains(n)), "{counts:?}");
    }
    assert!(run.outcome.flows.iter().all(|f| f.from != f.to));
    // Without messages each sender has one receiver, and two may have the same.
    let run = run_text(
        "until_done: true\nduration: 1ms\ntopology: {star: {hosts: 9}}\nflows: [{name: m, priority: 3, \
         pattern: random, duration: {bytes: 20KB}}]\n",
    );
    assert_eq!(run.outcome.flows.len(), 9);
    let mut to: Vec<_> = run.outcome.flows.iter().map(|f| f.to.clone()).collect();
    to.sort();
    to.dedup();
    assert!((2..9).contains(&to.len()), "{to:?}");
}

#[test]
fn flows_of_a_workload_take_all_shortest_paths() {
    let text = |equal_cost: &str| {
        format!(
            "duration: 500us\n{equal_cost}topology: {{leaf_spine: {{leaves: 2, spines: 4, hosts_per_leaf: 4}}}}\n\
             flows: [{{name: bg, priority: 3, from: h1..h4, to: h5, transport: {{roce: {{messages: \
             {{bytes: 2KB, load: {{receiver: 60%}}}}}}}}}}]\n"
        )
    };
    let spines = |run: &Run| {
        let used = |s: &&SwitchOutcome| {
            let out: u64 = s.ports.iter().map(|p| p.summary.port.counters.tx_bytes).sum();
            s.name.starts_with("spine") && out > 100_000
        };
        run.outcome.switches().filter(used).count()
    };
    // All four flows go to one host, so they have one path unless flows are spread.
    assert_eq!(spines(&run_spread(&text(""))), 1);
    assert!(spines(&run_spread(&text("equal_cost: flow\n"))) >= 2);
}

#[test]
fn drawn_sizes_of_flows_are_those_of_the_distribution() {
    for transport in ["udp", "roce"] {
        let run = run_text(&format!(
            "seed: 9\nuntil_done: true\nduration: 5ms\ntopology: {{star: {{hosts: 40}}}}\nflows: [{{name: f, \
             priority: 3, pattern: permutation, transport: {transport}, duration: {{bytes: {{points: \
             [[10KB, 0], [30KB, 1]]}}}}}}]\n"
        ));
        let workload = workload(&run);
        assert_eq!((workload.messages, workload.mean_bytes), (40, 20_000.0));
        // Uniform: the standard deviation of the mean of 40 is 913; five of them.
        let mean = workload.bytes as f64 / 40.0;
        assert!((mean - 20_000.0).abs() < 4_565.0, "{transport}: {mean}");
        let sizes: Vec<u64> = run.outcome.flows.iter().map(|f| f.tx_frames).collect();
        assert!(sizes.iter().any(|n| *n != sizes[0]), "{sizes:?}");
    }
}

#[test]
fn drawn_messages_arrive_whole_over_links_that_lose_frames() {
    for transport in ["roce: {recovery: selective_repeat, ", "roce: {", "tcp: {"] {
        let text = format!(
            "{PROFILE}seed: 3\nuntil_done: true\nduration: 100ms\ntopology: {{star: {{hosts: 3}}}}\n\
             defaults: {{links: {{errors: {{loss: 1%}}}}}}\nflows: [{{name: f, pattern: random, priority: 0, \
             duration: {{seconds: 500us}}, transport: {{{transport}messages: {{bytes: {{points: [[1, 0], \
             [20KB, 1]]}}, load: 20%}}}}}}}}]\n"
        );
        let (plan, _) = parse("w.yaml", &text).unwrap();
        let run = run(&plan, World::Virtual, Options::default(), |_| {}).unwrap();
        let found = workload(&run);
        let lost = run.outcome.line_losses.lost;
        assert!(run.outcome.done && lost > 20, "{transport} lost {lost}");
        assert_eq!(run.outcome.checks[0].verdict, Verdict::Pass, "{transport}");
        assert_eq!((found.completed, found.messages > 100), (found.messages, true), "{transport}");
        let bytes: u64 =
            run.outcome.flows.iter().map(|f| f.transport.unwrap().receiver.delivered).sum();
        assert_eq!(bytes, found.bytes, "{transport}");
        let slowdown = run.outcome.figures.slowdown.as_ref().unwrap();
        assert_eq!((slowdown.messages, slowdown.unfinished), (found.messages, 0));
        assert!(slowdown.p50.unwrap() >= 1.0 && slowdown.max.unwrap() > 10.0, "{transport}");
    }
}

#[test]
fn a_program_may_ask_for_the_messages_of_a_plan() {
    let text = format!(
        "{PROFILE}duration: 50us\ntopology: {{star: {{hosts: 2}}}}\nflows: [{{name: f, from: h1, to: h2, \
         priority: 3, transport: {{roce: {{messages: {{bytes: 10KB}}}}}}}}]\n"
    );
    let (mut plan, _) = parse("w.yaml", &text).unwrap();
    // The number of messages is not known, so none is kept.
    let plain = run(&plan, World::Virtual, Options::default(), |_| {}).unwrap();
    assert!(plain.messages.is_none() && plain.outcome.figures.slowdown.is_none());
    plan.keep_messages();
    let kept = run(&plan, World::Virtual, Options::default(), |_| {}).unwrap();
    assert_eq!(kept.outcome.trace_hash, plain.outcome.trace_hash);
    let done = kept.outcome.flows[0].transport.unwrap().sender.completions.messages;
    let all = kept.messages.unwrap().records;
    let complete = all.iter().filter(|r| r.completion.is_some()).count() as u64;
    assert!(done > 40 && complete == done && all.len() as u64 == done + 1, "{done} {}", all.len());
}

/// A ring of all hosts, each with 100 KB for each host.
fn ring(hosts: u32, more: &str) -> String {
    format!(
        "until_done: true\nrecord: {{messages: true}}\ntopology: {{star: {{hosts: {hosts}}}}}\n{more}flows: \
         [{{name: ar, priority: 3, pattern: ring, transport: roce, duration: {{bytes: {}}}}}]\n",
        100_000 * hosts
    )
}

#[test]
fn a_ring_waits_for_every_step() {
    let run = run_text(&ring(4, ""));
    let found = workload(&run).collective.unwrap();
    assert_eq!((found.plan.hosts, found.plan.steps, found.plan.chunk), (4, 6, 100_000));
    assert_eq!((workload(&run).messages, workload(&run).completed), (24, 24));
    let records = &run.messages.as_ref().unwrap().records;
    // Data on its way from host to host: 100,000 bytes at 100 Gb/s alone.
    let chunk = Duration::from_micros(8);
    let start = |flow: usize, message: usize| records[6 * flow + message].start;
    for flow in 0..4 {
        assert_eq!(start(flow, 0), Duration::ZERO);
        for message in 1..6 {
            // The flow before it ends at this one's host.
            assert!(start(flow, message) >= start((flow + 3) % 4, message - 1) + chunk);
        }
    }
    let took = found.completion_ns.unwrap();
    let ideal = records[0].ideal.saturating_mul(6);
    assert!(took > chunk.saturating_mul(6) && took < ideal.saturating_mul(11).div(10), "{took}");
    // A slow link holds all of it.
    let slow = run_text(&ring(4, "links: [{from: h2, to: s1, rate: 25G}]\n"));
    let slow = workload(&slow).collective.unwrap().completion_ns.unwrap();
    assert!(slow > took.saturating_mul(3), "{slow} {took}");
}

#[test]
fn a_ring_that_does_not_end_has_no_completion_time() {
    let text = ring(4, "").replace("until_done: true", "duration: 30us");
    let run = run_text(&text);
    assert_eq!(workload(&run).collective.unwrap().completion_ns, None);
    assert!(workload(&run).completed > 0 && workload(&run).completed < 24);
}

#[test]
fn an_exchange_is_complete_when_all_parts_have_arrived() {
    let run = run_text(
        "until_done: true\ntopology: {star: {hosts: 5}}\nflows: [{name: x, from: h1..h4, priority: 3, \
         pattern: exchange, transport: {tcp: {}}, duration: {bytes: 400KB}}]\n",
    );
    let found = workload(&run).collective.unwrap();
    assert_eq!((run.outcome.flows.len(), found.plan.steps, found.plan.chunk), (12, 1, 100_000));
    let took = found.completion_ns.unwrap();
    let last = run.outcome.flows.iter().filter_map(|f| f.fct_ns).max().unwrap();
    // The last acknowledgement comes after the last byte.
    assert!(took < last && took > Duration::from_micros(24), "{took} {last}");
}

#[test]
fn flows_with_periods_send_in_them_alone() {
    for (seed, times, bound) in [(1, "fixed", 0.002), (2, "exponential", 0.06)] {
        for transport in ["udp", "roce", "tcp"] {
            let run = run_text(&format!(
                "seed: {seed}\nduration: 10ms\ntopology: {{star: {{hosts: 2}}}}\nflows: [{{name: f, from: h1, \
                 to: h2, priority: 3, rate: 50%, transport: {transport}, on_off: {{on: 20us, off: 80us, \
                 times: {times}}}}}]\n"
            ));
            let flow = &run.outcome.flows[0];
            let share = 8.0 * (flow.tx_bytes + 20 * flow.tx_frames) as f64 / (10e-3 * 100e9);
            assert!((share - 0.1).abs() < bound, "seed {seed} {times} {transport}: {share}");
        }
    }
    // Fixed periods: nothing arrives between them.
    let run = run_text(
        "duration: 90us\ntopology: {star: {hosts: 2}}\nflows: [{name: f, from: h1, to: h2, priority: 3, \
         on_off: {on: 20us, off: 100us}, duration: {frames: 1000}}]\n",
    );
    let flow = &run.outcome.flows[0];
    // 20 us of frames of 123.04 ns, the first at 0.
    assert_eq!((flow.tx_frames, flow.rx_frames), (163, 163));
}

#[test]
fn a_steady_state_begins_when_the_start_up_is_over() {
    let text = "duration: 10ms\ntopology: {star: {hosts: 3}}\nflows: [{name: a, from: h1, to: h3, \
                priority: 3}, {name: b, from: h2, to: h3, priority: 3, start: 2ms}]\n";
    let run = run_text(text);
    let found = steady(&run);
    assert_eq!((found.rule, found.flows), ("mser_5", 2));
    assert!(found.from_ns >= Duration::from_millis(2) && found.from_ns < Duration::from_millis(4));
    assert!(found.to_ns == Duration::from_millis(10));
    // From 0 on, one flow has half a millisecond alone and more than the other.
    assert!(found.fairness.unwrap() > 0.999 && run.outcome.figures.fairness.unwrap() < 0.98);
    assert!((found.throughput_bps / 98.7e9 - 1.0).abs() < 0.01, "{found:?}");
    assert!(found.queue_mean_bytes.unwrap() > 10_000.0, "{found:?}");
    // An interval of the lab is taken as it is.
    let given = run_text(&format!("measure: {{from: 5ms, to: 8ms}}\n{text}"));
    let found = steady(&given);
    assert_eq!(found.rule, "measure");
    assert_eq!((found.from_ns, found.to_ns), (Duration::from_millis(5), Duration::from_millis(8)));
    assert_eq!(given.outcome.trace_hash, run.outcome.trace_hash);
    // Flows that end, and a change in the second half, have none.
    for none in [
        text.replace("priority: 3}, ", "priority: 3, duration: {bytes: 1MB}}, ")
            .replace("start: 2ms", "duration: {bytes: 1MB}"),
        text.replace("start: 2ms", "rate: 30%, start: 7ms")
            .replace("to: h3, priority: 3}, ", "to: h3, rate: 30%, priority: 3}, "),
    ] {
        assert_eq!(run_text(&none).outcome.figures.steady, None, "{none}");
    }
}

#[test]
fn hosts_are_chosen_by_the_seed_and_ranges_are_lists() {
    let hosts = |seed: u64, from: &str| -> Vec<String> {
        let text = format!(
            "{PROFILE}seed: {seed}\ntopology: {{star: {{hosts: 20}}}}\nflows: [{{name: f, from: {from}, to: h20}}]\n"
        );
        let (plan, _) = parse("w.yaml", &text).unwrap();
        plan.flows.iter().map(|f| plan.network.nodes[f.from.index()].name().to_owned()).collect()
    };
    assert_eq!(hosts(1, "h2..h4"), ["h2", "h3", "h4"]);
    assert_eq!(hosts(1, "[h9..h10, h1]"), ["h9", "h10", "h1"]);
    let some = hosts(1, "{random: 8, of: h1..h19}");
    assert_eq!((some.len(), some.clone()), (8, hosts(1, "{random: 8, of: h1..h19}")));
    assert_ne!(some, hosts(2, "{random: 8, of: h1..h19}"));
    let numbers: Vec<u32> = some.iter().map(|name| name[1..].parse().unwrap()).collect();
    assert!(numbers.windows(2).all(|w| w[0] < w[1]) && numbers[7] < 20, "{numbers:?}");
    assert_eq!(hosts(1, "{random: 3, of: [h5, h3..h4]}"), ["h5", "h3", "h4"]);
    // Every host is chosen about as often: 3 of 19 in 1,000 labs is 158 times.
    let mut seen = [0u32; 20];
    for seed in 0..1_000 {
        for name in hosts(seed, "{random: 3, of: h1..h19}") {
            seen[name[1..].parse::<usize>().unwrap()] += 1;
        }
    }
    assert!(seen[1..].iter().all(|n| (100..220).contains(n)), "{seen:?}");
}

#[test]
fn nodes_and_links_take_ranges() {
    let text = format!(
        "{PROFILE}nodes: {{switches: [s1..s2], hosts: [{{name: h1..h4, backlog: 1us}}]}}\nlinks: [{{from: h1..h2, \
         to: s1}}, {{from: h3..h4, to: s2}}, {{from: s1, to: s2}}]\nroutes: [{{at: s1, to: [h3..h4], \
         via: s2}}]\nflows: [{{name: f, from: h1..h2, to: h3..h4, pattern: pairs, priority: 3}}]\n\
         checks: [{{fairness: {{flows: [f_h1_h3, f_h2_h4], tolerance: 50%}}}}]\n"
    );
    let (plan, _) = parse("w.yaml", &text).unwrap();
    let names: Vec<_> = plan.network.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["h1-s1", "h2-s1", "h3-s2", "h4-s2", "s1-s2"]);
    assert_eq!(
        plan.flows.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(),
        ["f_h1_h3", "f_h2_h4"]
    );
    assert!(run(&plan, World::Virtual, Options::default(), |_| {}).unwrap().outcome.is_pass());
}

#[test]
fn a_distribution_is_read_beside_the_lab_and_refused_with_its_line() {
    let folder = Folder::new("cdf");
    let lab = folder.at("w.yaml").display().to_string();
    let text = format!(
        "{PROFILE}topology: {{star: {{hosts: 2}}}}\nflows: [{{from: h1, to: h2, duration: {{bytes: {{cdf: sizes.txt}}}}}}]\n"
    );
    folder.put("sizes.txt", b"# own\n1KB 0\n3KB 100%\n");
    let good = parse(&lab, &text).map(|(plan, _)| plan.workloads);
    folder.put("sizes.txt", b"1KB 0\n3KB 0.5\n2KB 1\n");
    let bad = parse(&lab, &text).map(|_| ()).unwrap_err().to_string();
    let good = good.unwrap();
    assert_eq!((good[0].sizes.as_str(), good[0].mean_bytes), ("sizes", 2_000.0));
    assert!(bad.contains("sizes.txt:3: size 2000 is below 3000, the size before it"), "{bad}");
}

/// The longest messages of the slowest link: times of which each is longer than a span can be.
#[test]
fn sizes_beyond_all_reason_are_refused_and_the_largest_ones_end_no_run() {
    let flows = |size: &str| {
        [
            format!("transport: {{roce: {{messages: {{bytes: {size}, count: 3}}}}}}"),
            format!(
                "transport: {{roce: {{messages: {{bytes: {{points: [[{size}, 1]]}}, count: 3}}}}}}"
            ),
            format!("transport: roce, duration: {{bytes: {size}}}"),
            format!("transport: tcp, duration: {{bytes: {size}}}"),
            format!("duration: {{bytes: {size}}}"),
        ]
    };
    let lab = |flow: &str, rate: &str| {
        format!(
            "{PROFILE}duration: 20us\nrecord: {{messages: true}}\ntopology: {{star: {{hosts: 3}}}}\n\
             defaults: {{links: {{rate: {rate}, length: 100m, phy: none}}}}\n\
             flows: [{{name: f, from: h1, to: h3, priority: 3, {flow}}}]\n"
        )
    };
    for size in ["18446744073709551615", "9200000000000000000", "1125899906842625", "'1048577GiB'"]
    {
        for flow in flows(size) {
            let all = parse("w.yaml", &lab(&flow, "100G")).unwrap_err().to_string();
            assert!(all.contains("is more than 1 PiB") && all.contains("bytes"), "{flow}: {all}");
        }
    }
    let [single, _, rest @ ..] = flows("1125899906842624");
    // A distribution has a limit of its own.
    let [_, drawn, ..] = flows("1000000000000");
    for flow in [single, drawn].into_iter().chain(rest) {
        for rate in ["1M", "100M", "100G"] {
            let (plan, _) =
                parse("w.yaml", &lab(&flow, rate)).unwrap_or_else(|e| panic!("{flow}: {e}"));
            run(&plan, World::Virtual, Options::default(), |_| {}).unwrap();
        }
    }
}
