//! The matrix of verdicts: every defect of a device, at a host and at a switch, by every fault and feature
//! that is in the same lab. What fails without the feature fails with it, and harm that hosts count never
//! passes; without the defect nothing fails.

use std::thread;

use super::*;
use crate::file::DEFECT_SPELLINGS;
use crate::swarm::trial::Harm;

/// Two switches. Three hosts blast at a fourth, which pauses its switch now and then, over two priorities; all
/// else is in the way of the features. A name in capitals is a place where a feature adds its text.
const LAB: &str = "\
name: matrix
duration: DURATION
until_done: true
TOP
profiles:
  tor:
    BUFFER
    defaults: {PAUSES, queues: {4: {ecn: {kmin: 20KB, kmax: 40KB}}}, DEFAULTS}
    SECTIONS
  far:
    BUFFER
    defaults: {PAUSES, FAR}
    SECTIONS
  PROFILES
nodes:
  switches: [{name: s1, profile: tor}, {name: s2, profile: far, SWITCH}, SWITCHES]
  hosts: [h1..h3, {name: h4, storms: [{start: 30us, every: 9us, frames: 4, priorities: [3], quanta: 500}]}, h5, h6, {name: h7, HOST}, h8, HOSTS]
links:
  - {from: h1..h5, to: s1, LINK}
  - {from: h6..h8, to: s2, ELSEWHERE}
  - {name: trunk, from: s1, to: s2, TRUNK}
  LINKS
defaults: {hosts: {OBEY}, links: {rate: 100G, length: 20m}, flows: {size: 1500}}
flows:
  - {name: many, from: [h1, h2, h3], to: h4, priority: 3, duration: {frames: 300}, FLOW}
  - {name: marked, from: [h1, h2, h3], to: h5, priority: 4, ecn: ect0, duration: {frames: 150}}
  - {name: lossy, from: h5, to: h4, priority: 0, rate: 5G, duration: {frames: 40}}
  - {name: there, from: h6, to: h4, priority: 3, rate: 20G, duration: {frames: 60}}
  - {name: back, from: h4, to: h7, priority: 3, rate: 20G, duration: {frames: 60}}
  - {name: beside, from: [h6, h8], to: h7, priority: 3, duration: {frames: 100}, BESIDE}
  FLOWS
faults: [DEFECT, FAULTS]
CHECKS
";

/// A generator whose frames have tags.
const TAGGED: &str = r#"otg:
  config:
    ports: [{name: p9, location: h9}, {name: p10, location: h10}]
    flows:
      - name: tagged
        tx_rx: {port: {tx_name: p9, rx_names: [p10]}}
        packet:
          - ethernet: {src: {value: "02:00:00:00:00:a1"}, dst: {value: "02:00:00:00:00:a2"}, pfc_queue: {value: 3}}
          - vlan: {priority: {value: 3}, id: {value: 1}}
          - ipv4: {}
          - udp: {}
        size: {fixed: 1024}
        rate: {pps: 1000000}
        duration: {choice: fixed_packets, fixed_packets: {packets: 50}}
        metrics: {enable: true}
"#;

/// A fault or a feature: its texts by their places.
type Feature = (&'static str, &'static [(&'static str, &'static str)]);

/// What a place has without a feature.
const PLAIN: &[(&str, &str)] = &[
    ("DURATION", "1ms"),
    ("PAUSES", "pfc: {enable: [3, 4], quanta: 950}, priority_groups: {3-4: roce}"),
    (
        "BUFFER",
        "buffer: {total: 2MiB, profiles: {roce: {shared: {static_th: 60KB}, lossless: {xoff: auto, xon_offset: 40KB}}}}",
    ),
];

const PLACES: &str = "BUFFER DURATION TOP PAUSES DEFAULTS SECTIONS FAR PROFILES SWITCHES SWITCH \
    HOSTS HOST LINKS LINK ELSEWHERE TRUNK FLOWS FLOW OBEY BESIDE FAULTS CHECKS";

const MACSEC: &str = "macsec: {cipher_suite: gcm-aes-128, key: 000102030405060708090a0b0c0d0e0f}";

const FEATURES: &[Feature] = &[
    ("nothing", &[]),
    ("flap elsewhere", &[("FAULTS", "{at: 20us, flap: {link: h8-s2, down_for: 5us}}")]),
    ("flap of the trunk", &[("FAULTS", "{at: 20us, flap: {link: trunk, down_for: 5us}}")]),
    ("line errors", &[("FAULTS", "{at: 1us, errors: {link: h7-s2, loss: 0.02}}")]),
    ("bit errors", &[("FAULTS", "{at: 1us, errors: {link: h6-s2, ber: 1e-6}}")]),
    ("lost pause", &[("FAULTS", "{at: 1us, lose: {link: h8-s2, which: pause}}")]),
    ("lost data", &[("FAULTS", "{at: 9us, lose: {link: h8-s2, frames: 3, which: data}}")]),
    ("stall of a host", &[("FAULTS", "{at: 20us, stall: {node: h8, for: 5us}}")]),
    ("stall of a switch", &[("FAULTS", "{at: 20us, stall: {node: s2, for: 5us}}")]),
    (
        "forged pause",
        &[(
            "FAULTS",
            "{at: 20us, forge: {link: h8-s2, from: s2, octets: \
            0180c200000102000000000788080101000800000000000000100000000000000000}}",
        )],
    ),
    (
        "forged frame",
        &[(
            "FAULTS",
            "{at: 20us, forge: {link: h8-s2, from: h8, octets: 0200000000a702bb000000010800}}",
        )],
    ),
    ("storm", &[("HOST", "storms: [{start: 5us, every: 10us, frames: 9, priorities: [3]}]")]),
    (
        "watchdog",
        &[
            ("HOST", "storms: [{start: 5us, every: 10us, frames: 30, priorities: [3]}]"),
            ("FAR", "watchdog: {detection: 100us, restoration: 200us}"),
        ],
    ),
    ("equal cost", &[("TOP", "equal_cost: flow"), ("LINKS", "- {name: second, from: s1, to: s2}")]),
    (
        "link-wide PAUSE elsewhere",
        &[
            ("PROFILES", "wide: {buffer: {total: 4MiB}, defaults: {pause: {}}}"),
            ("SWITCHES", "{name: s3, profile: wide}"),
            ("HOSTS", "h9..h11"),
            ("LINKS", "- {from: h9..h11, to: s3}"),
            (
                "FLOWS",
                "- {name: wide, from: [h9, h10], to: h11, priority: 3, duration: {frames: 100}}",
            ),
        ],
    ),
    ("link-wide PAUSE", &[("PAUSES", "pause: {quanta: 950}, priority_groups: {0: roce}")]),
    ("MACsec elsewhere", &[("ELSEWHERE", MACSEC)]),
    ("MACsec", &[("LINK", MACSEC)]),
    ("SFC", &[("SECTIONS", "sfc: {queues: {3: {threshold: 100KB}}}"), ("OBEY", "sfc: flow")]),
    (
        "priorities of tags",
        &[
            (
                "PROFILES",
                "tags: {buffer: {total: 4MiB}, defaults: {trust: pcp, pfc: {enable: [3]}}}",
            ),
            ("SWITCHES", "{name: s3, profile: tags}"),
            ("HOSTS", "h9, h10"),
            ("LINKS", "- {from: h9..h10, to: s3}"),
            ("TOP", TAGGED),
        ],
    ),
    (
        "slow link",
        &[
            ("HOSTS", "h9"),
            ("LINKS", "- {from: h9, to: s2, rate: 100M, phy: none}"),
            (
                "FLOWS",
                "- {name: slow, from: h8, to: h9, priority: 0, rate: 50M, duration: {frames: 3}}",
            ),
        ],
    ),
    ("long duration", &[("DURATION", "20ms")]),
    ("RoCE", &[("BESIDE", "transport: {roce: {dcqcn: ns3}}")]),
    (
        "TCP",
        &[(
            "FLOWS",
            "- {name: tcp, from: h8, to: h6, priority: 0, transport: {tcp: {}}, duration: {frames: 50}}",
        )],
    ),
    (
        "early marks",
        &[("FAR", "queues: {3: {ecn: {kmin: 5KB, kmax: 9KB}}}"), ("BESIDE", "ecn: ect0")],
    ),
    ("busy processor", &[("SWITCH", "cpu: {poll: 20ns, frame: 5ns}")]),
    ("cut-through", &[("SWITCH", "cut_through: true")]),
    ("clock", &[("SWITCH", "clock: {offset: 1ms, drift: 100ppm}")]),
    ("shuffled", &[("TOP", "shuffle: 7")]),
    ("change of a group", &[("FAULTS", "{at: 20us, ecn: {switch: s2, queue: 3}}")]),
    ("DCBX", &[("DEFAULTS", "dcbx: {}"), ("FAR", "dcbx: {}")]),
];

/// Returns the lab with a feature and a defect.
fn text((_, texts): &Feature, defect: &str) -> String {
    let mut text = LAB.replace("DEFECT", defect);
    for place in PLACES.split_whitespace() {
        let of = |list: &[(&str, &'static str)]| {
            list.iter().find(|(name, _)| *name == place).map(|(_, text)| *text)
        };
        text = text.replace(place, of(texts).or_else(|| of(PLAIN)).unwrap_or(""));
    }
    text.replace(", , ", ", ").replace(", }", "}").replace(", ]", "]").replace("[, ", "[")
}

fn outcome(feature: &Feature, defect: &str) -> Outcome {
    let text = text(feature, defect);
    run_it(&parse("matrix", &text).unwrap_or_else(|error| panic!("{error}\n{text}")).0)
}

/// Returns how a defect is written beside a feature; `None` if it is about PFC alone and PAUSE is used.
fn written(feature: &Feature, defect: &str) -> Option<String> {
    let is_refused = |defect: &str| match parse("matrix", &text(feature, defect)) {
        Ok(_) => false,
        Err(error) if error.to_string().contains("802.3x PAUSE") => true,
        Err(error) => panic!("{error}\n{}", text(feature, defect)),
    };
    let of_all = defect.replace(", priorities: [3]", "");
    [defect, &of_all].into_iter().find(|defect| !is_refused(defect)).map(str::to_owned)
}

/// The nodes that have a defect in turn, and the number of kinds of defects that fail there. A host that is to be
/// paused shows those of obeying pauses, and a switch all of them.
const NODES: [(&str, usize); 2] = [("h1", 20), ("s1", 38)];

/// The cells of one defect, one for each feature. Wrong cells are kept as YAML.
#[derive(Default)]
struct Row {
    cells: u64,
    /// Cells in which the defect changes nothing.
    without_effect: u64,
    fails: bool,
    wrong: Vec<String>,
}

fn row(defect: &str, good: &[Outcome]) -> Row {
    let mut row = Row::default();
    // Frames of two flows that change places hurt neither.
    let mut order_alone = false;
    for (n, (feature, good)) in FEATURES.iter().zip(good).enumerate() {
        let Some(defect) = &written(feature, defect) else { continue };
        let bad = outcome(feature, defect);
        let harm = Harm::between(good, &bad);
        if n == 0 {
            (row.fails, order_alone) = (bad.verdict.is_fail(), harm.is_order_alone());
        }
        let same = harm == Harm::default() && (order_alone || bad.trace_hash == good.trace_hash);
        row.cells += u64::from(row.fails);
        row.without_effect += u64::from(row.fails && same);
        let passes = row.fails && !same && !bad.verdict.is_fail();
        let what = harm.unseen(&bad).or_else(|| passes.then(|| "it has no verdict FAIL".into()));
        if let Some(what) = what {
            let (checks, name) = (&bad.checks, feature.0);
            let text = text(feature, defect);
            row.wrong.push(format!("# {name}: {what}\n{text}# {checks:?}\n"));
        }
        if !row.fails {
            break;
        }
    }
    row
}

#[test]
fn every_defect_that_fails_fails_with_every_feature() {
    let good: Vec<Outcome> = FEATURES.iter().map(|feature| outcome(feature, "")).collect();
    for ((name, _), good) in FEATURES.iter().zip(&good) {
        assert!(good.done && !good.verdict.is_fail(), "{name}: {:?}", good.checks);
        assert!(good.pauses.xoffs > 0 && good.marks > 0, "{name}");
    }
    let (mut cells, mut without_effect, mut wrong) = (0, 0, vec![]);
    for (node, expected) in NODES {
        let mut fail: Vec<&str> = vec![];
        let defect = |spelling: &str| format!("{{defect: {{on: {node}, {spelling}}}}}");
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let part = DEFECT_SPELLINGS.len().div_ceil(threads);
        let rows: Vec<(&str, Row)> = thread::scope(|scope| {
            let (defect, good) = (&defect, &good);
            let run = move |part: &'static [(&'static str, _)]| {
                part.iter()
                    .map(|(spelling, _)| (*spelling, row(&defect(spelling), good)))
                    .collect::<Vec<_>>()
            };
            let parts = DEFECT_SPELLINGS.chunks(part).map(|part| scope.spawn(move || run(part)));
            let parts: Vec<_> = parts.collect();
            parts
                .into_iter()
                .flat_map(|part| part.join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
                .collect()
        });
        for (spelling, row) in rows {
            (cells, without_effect) = (cells + row.cells, without_effect + row.without_effect);
            wrong.extend(row.wrong);
            fail.extend(row.fails.then_some(spelling));
        }
        assert_eq!(fail.len(), expected, "{node}: {fail:#?}");
    }
    println!("{cells} cells, {without_effect} of them without an effect");
    assert!(wrong.is_empty(), "{} cells are wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(cells - without_effect >= 1_000, "{cells} cells, {without_effect} without an effect");
}
