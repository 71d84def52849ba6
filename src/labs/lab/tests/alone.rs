//! One message alone on an idle path has a slowdown of 1, whatever it is and wherever it goes.

use super::workloads::run_text;
use ground::rand::Rng;

/// Returns one of several values.
fn one<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

/// A chain of switches with a host at either end: lines of any rates and lengths, and switches that cut through or
/// do not.
fn chain(rng: &mut Rng) -> String {
    let switches = 1 + rng.below(3);
    let mut nodes = String::new();
    let mut links = String::new();
    for n in 0..=switches {
        let name = |n: u64, host: &str| match n {
            0 => host.to_owned(),
            n => format!("s{n}"),
        };
        let (from, to) = (name(n, "h1"), name((n + 1) % (switches + 1), "h2"));
        let rate = one(rng, &["10G", "25G", "40G", "100G", "400G"]);
        let delay = one(rng, &["0ns", "5ns", "500ns", "5us"]);
        links += &format!("  - {{from: {from}, to: {to}, rate: {rate}, delay: {delay}}}\n");
        if n > 0 {
            nodes += &format!("{{name: s{n}, cut_through: {}}}, ", one(rng, &[true, true, false]));
        }
    }
    format!("nodes: {{switches: [{nodes}], hosts: [h1, h2]}}\nlinks:\n{links}")
}

/// Returns the slowdown of a message in a lab without anything else.
fn slowdown(lab: &str, size: u32, transport: &str, bytes: u64) -> f64 {
    let run = run_text(&format!(
        "until_done: true\n{lab}flows: [{{from: h1, to: h2, priority: 3, size: {size}, \
         transport: {transport}, duration: {{bytes: {bytes}}}}}]\n"
    ));
    let found = run.outcome.figures.slowdown.as_ref().expect("one message");
    assert_eq!((found.messages, found.unfinished), (1, 0));
    found.max.unwrap()
}

#[test]
fn a_message_alone_has_a_slowdown_of_one() {
    for seed in 0..150 {
        let rng = &mut Rng::new(seed);
        let lab = chain(rng);
        let every = one(rng, &[1, 1, 2, 3, 16]);
        let transport = match rng.below(3) {
            0 => format!("{{roce: {{ack_every: {every}}}}}"),
            1 => format!("{{roce: {{operation: write, ack_every: {every}}}}}"),
            _ => "{tcp: {initial_window: 10000}}".to_owned(),
        };
        // Payloads that are no multiple of four, too, and the first frame of a WRITE is 16 bytes longer.
        let size = one(rng, &[96, 97, 99, 203, 1_000, 1_502]);
        let payload = size - 58;
        let frames = one(rng, &[0, 0, 1, 1, 2, 3, 7, 40, 500]);
        let bytes = u64::from(frames * payload) + 1 + rng.below(payload.into());
        let found = slowdown(&lab, size, &transport, bytes);
        assert!(
            (found - 1.0).abs() < 1e-12,
            "{seed}: {bytes} bytes by {transport}, frames of {size}: {found}\n{lab}"
        );
    }
}

/// The ideal is that of the path and not of the sender: a window of less than a round trip is slower.
#[test]
fn a_small_window_is_slowed_down() {
    let lab = "nodes: {switches: [s1], hosts: [h1, h2]}\nlinks:\n  - {from: h1, to: s1, rate: 100G, delay: 5us}\n  \
               - {from: h2, to: s1, rate: 100G, delay: 5us}\n";
    let with =
        |window: &str| slowdown(lab, 1_000, &format!("{{roce: {{window: {window}}}}}"), 100_000);
    assert!(with("20KB") > 2.0 && (with("1MB") - 1.0).abs() < 1e-12);
}
