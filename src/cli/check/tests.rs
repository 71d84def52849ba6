use super::*;
use crate::switch::managed::Object;
use crate::testfolder::Folder;
use clap::Parser;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    check: CheckArgs,
}

fn check(args: &[&str]) -> (bool, String, String) {
    let cli = Cli::try_parse_from([&["check"], args].concat()).unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = run_to(&cli.check, &mut out, &mut err).unwrap();
    let text = |b| String::from_utf8(b).unwrap();
    (code == ExitCode::SUCCESS, text(out), text(err))
}

const SFC_TOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/switch/sfc-tor.yaml");
const TOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/switch/tor4.yaml");

#[test]
fn a_good_file_is_shown_with_its_headroom() {
    let (good, out, err) = check(&[TOR, "--elsewhere"]);
    assert!(good && err.is_empty(), "{err}");
    for part in ["server1", "needed", "3,4", "dynamic_th 0", "tor4.yaml: good"] {
        assert!(out.contains(part), "{part} in\n{out}");
    }
}

#[test]
fn json_has_the_same_and_can_be_read_back() {
    let (good, out, _) = check(&[TOR, "--elsewhere", "--format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(good && all[0]["good"] == true, "{out}");
    let group = &all[0]["switch"]["ports"][0]["groups"][3];
    assert_eq!(group["headroom_bytes"], group["headroom_required_bytes"]);
    assert!(group["headroom_bytes"].as_u64().unwrap() > 0);
}

/// A new setting of a port or a queue needs no line of its own in the JSON: it is shown by the table of objects.
#[test]
fn every_object_of_a_port_and_of_its_queues_is_shown() {
    let dir = Folder::new("check-objects");
    let text = "ports:\n- {device: net_null0, name: a, pfc: {}, headroom: auto, measurement: {period: 1s}, \
                watchdog: {enabled: false, detection: 300ms}}\n- {device: net_null1, name: b, pfc: {}}\n\
                sfc: {queues: {3: {}}}\ncongestion_isolation: {isolate: {3: 5}}\nfast_cnp: {queues: {3: \
                {threshold: 50KB}}}\nqcn: {queues: {3: {jitter: 7%}}}\n";
    let file = dir.put("switch.yaml", text.as_bytes());
    let (good, out, err) = check(&[file.to_str().unwrap(), "--elsewhere", "--format", "json"]);
    assert!(good, "{out}{err}");
    let all: serde_json::Value = serde_json::from_str(&out).unwrap();
    let switch = &all[0]["switch"];
    let (port, congestion) = (&switch["ports"][0], &switch["congestion"]["queues"]);
    let queue = congestion.as_array().unwrap().iter().find(|queue| queue["class"] == 3).unwrap();
    let sections = [
        ("watchdog.", &port["queues"][3]["watchdog"]),
        ("measurement.", &port["agents"]["measurement"]),
        ("headroom.auto.", &port["agents"]["headroom"]),
        ("sfc.queues.", &queue["sfc"]),
        ("congestion_isolation.queues.", &queue["isolation"]),
        ("fast_cnp.queues.", &queue["fast_cnp"]),
        ("qcn.queues.", &queue["qcn"]),
    ];
    for (prefix, shown) in sections {
        let objects = Object::all().filter(|object| object.name().starts_with(prefix));
        // A queue has a threshold or a curve; here it has a threshold.
        let names = objects.map(Object::name).filter(|name| !name.contains(".aqm."));
        for name in names {
            let key = name.rsplit('.').next().unwrap();
            let mut keys = shown.as_object().unwrap().keys();
            assert!(
                keys.any(|k| k == key || k.starts_with(&format!("{key}_"))),
                "{name} in {shown}"
            );
        }
    }
    let dog =
        r#"{"enabled":false,"detection_ns":300000000,"restoration_ns":600000000,"action":"drop"}"#;
    assert!(out.replace([' ', '\n'], "").contains(dog), "{out}");
    assert_eq!(queue["qcn"]["jitter_percent"], 7);
    assert_eq!(port["agents"]["measurement"]["period_ns"], 1e9);
}

#[test]
fn a_lab_that_needs_more_memory_than_there_is_is_refused() {
    let tree = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/labs/fat-tree.yaml");
    let on = |heap| {
        // DPDK's pages are of no use to the virtual world.
        let machine = Machine { memory: Some(u64::MAX), heap, ..Machine::any() };
        load_all(Path::new(tree), &machine).remove(0).loaded.err()
    };
    assert_eq!(on(None), None);
    assert_eq!(on(Some(1 << 30)), None);
    let refused = on(Some(1 << 20)).expect("it needs more than 1 MiB").to_string();
    assert!(refused.contains("fat-tree.yaml: topology, nodes, flows: 80 ports"), "{refused}");
    assert!(refused.contains("more than the 1 MiB that are available here"), "{refused}");
}

#[test]
fn a_generator_file_that_needs_more_memory_than_there_is_is_refused() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/gen/constant-rate.yaml");
    let on = |memory| {
        let machine = Machine { memory, ..Machine::any() };
        load_all(Path::new(file), &machine).remove(0).loaded.err()
    };
    assert_eq!(on(None), None);
    assert_eq!(on(Some(1 << 30)), None);
    let refused = on(Some(1 << 20)).expect("it needs more than 1 MiB").to_string();
    assert!(refused.contains("constant-rate.yaml: ports, flows: 2 `flows` x "), "{refused}");
    assert!(refused.contains("more than the 1 MiB that are available here"), "{refused}");
}

#[test]
fn cores_of_workers_are_those_of_this_machine_or_auto() {
    let dir = Folder::new("check-cores");
    let text = "ports:\n- {device: net_null0, name: a}\n- {device: net_null1, name: b, core: none}\n\
                - {device: net_null2, name: c}\n";
    let file = dir.put("switch.yaml", text.as_bytes());
    let file = file.to_str().unwrap();
    let (good, out, err) = check(&[file, "--elsewhere"]);
    assert!(good && err.is_empty(), "{err}");
    assert!(out.contains("worker (core auto): a, c\nworker (not pinned): b\n"), "{out}");
    let workers = |args: &[&str]| {
        let (_, out, _) = check(&[args, &["--format", "json"]].concat());
        let all: serde_json::Value = serde_json::from_str(&out).unwrap();
        all[0]["switch"]["workers"].clone()
    };
    let [first, second] = ["auto", "none"];
    let elsewhere = serde_json::json!([
        {"core": first, "ports": ["a", "c"]},
        {"core": second, "ports": ["b"]},
    ]);
    assert_eq!(workers(&[file, "--elsewhere"]), elsewhere);
    // On this machine the worker has a CPU, or the reason why it has none is told.
    let here = workers(&[file]);
    assert_eq!((&here[0]["core"], &here[1]["cpu"]), (&"auto".into(), &serde_json::Value::Null));
    let (_, out, _) = check(&[file]);
    match here[0]["cpu"].as_u64() {
        Some(_) => assert!(out.contains(", chosen): a, c\n"), "{out}"),
        None => assert!(out.contains("workers with core auto are not pinned here: "), "{out}"),
    }
}

#[test]
fn a_missing_file_is_bad_input() {
    let (good, out, err) = check(&["/nonexistent.yaml", "--format", "table"]);
    assert!(!good && out.ends_with("bad, 1 error\n") && err.contains("cannot be opened"));
}

#[test]
fn agents_are_shown() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/switch/auto-headroom.yaml");
    let (good, out, err) = check(&[file, "--elsewhere"]);
    assert!(good && err.is_empty(), "{err}");
    for part in ["auto: max of round_trip", "100 rounds in 200 requests", "PFC [3] willing"] {
        assert!(out.contains(part), "{part} in\n{out}");
    }
    let (_, out, _) = check(&[file, "--format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&out).unwrap();
    let agents = &all[0]["switch"]["ports"][0]["agents"];
    assert_eq!(agents["headroom"]["wait_ns"], 3e9, "{out}");
    assert_eq!(agents["dcbx"]["ets"]["local"]["bandwidth"][3], 60, "{out}");
}

const INCAST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/labs/incast.yaml");

#[test]
fn a_lab_is_told_from_a_switch_and_shown_with_its_headroom() {
    let (good, out, err) = check(&[INCAST, TOR, "--elsewhere"]);
    assert!(good && err.is_empty(), "{err}");
    for part in ["lab incast: 1 switch, 9 hosts", "h1-s1 to h9-s1 (9)", "1.212us", "lossless"] {
        assert!(out.contains(part), "{part} in\n{out}");
    }
    let (_, out, _) = check(&[INCAST, "--format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&out).unwrap();
    let ends = &all[0]["lab"]["links"][0]["headroom"];
    assert_eq!(ends[0]["headroom_bytes"], ends[0]["headroom_required_bytes"], "{out}");
}

const VICTIM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/labs/compare/victim.yaml");

#[test]
fn every_variant_of_a_lab_is_checked() {
    let (good, out, err) = check(&[VICTIM]);
    assert!(good && err.is_empty(), "{err}");
    for part in ["victim.yaml, variant pfc: good", "victim.yaml, variant sfc-proxy: good"] {
        assert!(out.contains(part), "{part} in\n{out}");
    }
    let (_, out, _) = check(&[VICTIM, "--format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&all[0]["variant"], &all[1]["variant"]), (&"pfc".into(), &"dcqcn".into()));
}

#[test]
fn the_runs_of_a_sweep_are_counted_and_listed() {
    let dir = Folder::new("check-sweep");
    let text = "name: two\ntopology: {star: {hosts: 2}}\nvariants: {a: {}, b: {duration: 1ms}}\n\
                defaults: {links: {rate: 100G}}\n\
                sweep: {defaults.links.length: [5m, 100m, 500m], seed: 1..1000}\n";
    let file = dir.put("sweep.yaml", text.as_bytes());
    let (good, out, err) = check(&[file.to_str().unwrap()]);
    assert!(good && err.is_empty(), "{err}");
    for part in [
        "lab two: 6,000 runs: 2 variants x 3,000 points",
        "length       3  5m, 100m, 500m",
        "seed     1,000  1..1000",
        "   0  a        length=5m,seed=1",
        "5999  b        length=500m,seed=1000",
        "all runs are valid",
        "sweep.yaml: good",
    ] {
        assert!(out.contains(part), "{part}\nis not in\n{out}");
    }
    assert!(out.lines().count() < 40, "{out}");
    let (_, out, _) = check(&[file.to_str().unwrap(), "--format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&out).unwrap();
    let study = &all[0]["study"];
    assert_eq!((&study["runs"], &study["resolved"]), (&6_000.into(), &6_000.into()));
    assert_eq!(study["list"][2]["values"]["seed"], 3);
    assert_eq!(study["axes"][1]["values"], 1_000);
    let bad = dir.put("bad.yaml", text.replace("500m", "500x").as_bytes());
    let (good, out, err) = check(&[bad.to_str().unwrap()]);
    assert!(!good && out.contains("bad, 1 error"), "{out}");
    assert!(err.contains("bad.yaml:5:43: defaults.links.length: `500x`"), "{err}");
}

const STORM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/gen/pfc-storm.yaml");

#[test]
fn a_generator_file_is_told_from_both_and_shown_with_its_flows() {
    let (good, out, err) = check(&[STORM]);
    assert!(good && err.is_empty(), "{err}");
    for part in ["ring:storm.a", "on4", "MAC control", "pfc-storm.yaml: good"] {
        assert!(out.contains(part), "{part} in\n{out}");
    }
    let (_, out, _) = check(&[STORM, "--format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(all[0]["generator"]["flows"][2], "storm", "{out}");
}

#[test]
fn objects_queues_and_ports_are_shown_where_congestion_is_dealt_with() {
    let (good, out, err) = check(&[SFC_TOR, "--elsewhere"]);
    assert!(good && err.is_empty(), "{err}");
    for part in [
        "sfcmTransmitPriority                  7                     7                     0 to 7",
        "sfcMonitoredQueues                    [2]",
        "queue-map                             0,0,4,-3,0,0,0,0",
        "above 39.1 KiB to 2, back at 4000 B, CIM above 39.1 KiB",
        "proxy accepts from switches: 10.0.0.0/8; from hosts: nobody",
        "server2  sfc_host  auto     -",
        "uplink   switch    auto     l2 to 02:00:00:00:00:fe",
    ] {
        assert!(out.contains(part), "{part}\nis not in\n{out}");
    }
    let (_, out, _) = check(&[SFC_TOR, "--elsewhere", "--format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&out).unwrap();
    let view = &all[0]["switch"]["congestion"];
    let object = |name: &str| {
        let all = view["objects"].as_array().unwrap();
        all.iter().find(|object| object["name"] == name).unwrap().clone()
    };
    assert_eq!(object("sfcMonitoredQueues")["value"], serde_json::json!([2]));
    assert_eq!(object("sfcmUDPPort")["range"], "49152 to 65535");
    assert_eq!(object("sfc.spacing")["unit"], "picoseconds");
    assert_eq!(object("sfc.streams")["writable"], false);
    assert_eq!(view["queues"][1]["isolation"]["congesting_class"], 2);
    assert_eq!(view["ports"][0]["locator"], "incast");
    let (_, out, _) = check(&[TOR, "--elsewhere", "--format", "json"]);
    assert!(!out.contains("congestion"), "{out}");
}

#[test]
fn what_hosts_of_a_lab_obey_is_shown_beside_its_switches() {
    let dir = Folder::new("check-sfc");
    let text = "topology: {star: {hosts: 3}}\n\
                profiles: {tor: {sfc: {sfcMaxFlowLife: 500us}, defaults: {pfc: {enable: [3]}}}}\n\
                defaults: {hosts: {sfc: flow, qcn: {}}}\n";
    let file = dir.put("lab.yaml", text.as_bytes());
    let (good, out, err) = check(&[file.to_str().unwrap()]);
    assert!(good && err.is_empty(), "{err}");
    for part in [
        "congestion, s1:",
        "sfcMaxFlowLife        500us",
        "s1.to_h1, s1.to_h2, s1.to_h3  3",
        "h1 to h3 (3)  flow",
        "every 15ms or 146.5 KiB",
    ] {
        assert!(out.contains(part), "{part}\nis not in\n{out}");
    }
    let (_, out, _) = check(&[file.to_str().unwrap(), "--format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&out).unwrap();
    let lab = &all[0]["lab"];
    assert_eq!(lab["reactions"][2]["sfc"]["pauses"], "flow");
    let objects = lab["congestion"][0]["objects"].as_array().unwrap();
    let life = objects.iter().find(|object| object["name"] == "sfcMaxFlowLife").unwrap();
    assert_eq!(life["value"], 0.05);
}

#[test]
fn the_schema_needs_no_file_and_a_check_needs_one() {
    for (args, title) in [
        (&["--schema"][..], "switch"),
        (&["--schema", "lab"], "lab"),
        (&["--schema", "dut"], "DUT"),
    ] {
        let (good, out, _) = check(args);
        assert!(good && out.contains("json-schema.org") && out.contains(title), "{out}");
    }
    assert!(Cli::try_parse_from(["check"]).is_err());
}
