//! Views of a run for people and programs: the summary's fields, tables and metrics.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use serde_json::Value;
use sluice::report;
use sluice::results::Summary;
use sluice::runtime::{LosslessLosses, PollRecord, RunSnapshot};
use sluice::stats::{
    DropReason, Fdb, NicCounters, PortCounters, PortSnapshot, SharedPool, SwitchSnapshot,
};
use sluice::time::{Duration, Instant};
use sluice::units::{Priority, PrioritySet};
use sluice::verdict::Verdict;

/// Two ports; 10 frames in on the first, 7 out on the second, 2 dropped, 1 held.
fn run() -> RunSnapshot {
    let mut left = PortCounters { rx_frames: 10, rx_bytes: 10_000, ..PortCounters::default() };
    left.drops.count(DropReason::HeadroomFull);
    left.drops.count(DropReason::QueueLimit);
    left.paused.insert(Priority::ALL[3]);
    left.priorities[3].rx_frames = 10;
    left.priorities[3].pfc_tx_frames = 2;
    left.priorities[3].pfc_tx_paused = Duration::from_micros(1500).into();
    left.priorities[3].headroom_peak_bytes = 4096;
    let right = PortCounters { tx_frames: 7, tx_bytes: 7_000, ..PortCounters::default() };
    let port = |name: &str, counters| PortSnapshot {
        name: name.into(),
        up: true,
        rate_bps: 10_000_000_000,
        counters,
        waiting: [None; 8],
        secy: None,
    };
    RunSnapshot {
        switch: SwitchSnapshot {
            name: "tor".into(),
            at: Instant::ZERO,
            ports: vec![port("left", left), port("right", right)],
            taken_over: vec![],
            given: 0,
            taken: 0,
            held: 1,
            shared_pool: SharedPool { used_bytes: 1000, peak_bytes: 2000 },
            fdb: Fdb { entries: 2, full: 0 },
            congestion: None,
        },
        nics: [5, 0].map(|n| NicCounters { rx_missed: Some(n), ..NicCounters::default() }).into(),
        lossless_lost: LosslessLosses { congestion: 1, ..LosslessLosses::default() },
        lossless: vec![PrioritySet::EMPTY, PrioritySet(1 << 3)],
        polls: [300, 400]
            .map(|us| PollRecord {
                planned: Some(Duration::from_millis(2)),
                longest: Duration::from_micros(us),
                late: 0,
            })
            .into(),
    }
}

fn summary() -> Summary {
    Summary::new(&run(), Duration::from_secs(2))
}

/// The fields that others rely on by name.
#[test]
fn the_summary_has_the_promised_fields() {
    let json = serde_json::to_value(summary()).unwrap();
    for field in ["name", "rx_frames", "tx_frames", "rx_bytes", "tx_bytes", "priorities"] {
        assert!(!json["ports"][0][field].is_null(), "ports[].{field}");
    }
    let priorities = json["ports"][0]["priorities"].as_array().unwrap();
    assert_eq!(priorities.len(), 8);
    for field in [
        "priority",
        "rx_frames",
        "tx_frames",
        "pfc_rx_frames",
        "pfc_tx_frames",
        "pfc_rx_paused_ns",
        "pfc_tx_paused_ns",
        "buffer_peak_bytes",
        "headroom_peak_bytes",
        "ecn_marked",
    ] {
        assert!(priorities[3][field].is_u64(), "ports[].priorities[].{field}");
    }
    assert_eq!(priorities[3]["pfc_tx_paused_ns"], 1_500_000);
    assert_eq!(json["drops"].as_object().unwrap().len(), DropReason::COUNT);
    assert_eq!(json["drops"]["headroom_full"], 1);
    assert_eq!(json["drops"]["runt"], 0);
    assert_eq!(
        json["ports"][0]["drops"],
        serde_json::json!({"headroom_full": 1, "queue_limit": 1})
    );
    assert_eq!(
        json["balance"],
        serde_json::json!({"came": 10, "went": 10, "held": 1, "holds": true})
    );
}

#[test]
fn a_summary_reads_back_as_it_was() {
    let text = serde_json::to_string(&summary()).unwrap();
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary());
}

/// A device that does PFC itself shows the switch no part of it that could be counted.
#[test]
fn pauses_of_a_device_that_does_pfc_itself_are_unknown_and_not_0() {
    let shown = summary().with_hardware_pfc([true, false]);
    let json = serde_json::to_value(&shown).unwrap();
    let pfc = |port: &Value| -> usize {
        let priorities = port["priorities"].as_array().unwrap().iter().chain([port]);
        let names = priorities.flat_map(|of| of.as_object().unwrap().keys());
        names.filter(|name| name.starts_with("pfc_") || *name == "paused_priorities").count()
    };
    assert_eq!(
        (pfc(&json["ports"][0]), json["ports"][0]["hardware_pfc"].as_bool()),
        (0, Some(true))
    );
    assert_eq!(pfc(&json["ports"][1]), 8 * 6 + 3);
    assert_eq!(json["ports"][0]["priorities"][3]["rx_frames"], 10, "others are known");
    let back: Summary = serde_json::from_value(json).unwrap();
    for shown in [shown, back] {
        let text = report::text(&shown, None);
        let rows: Vec<_> = text.lines().filter(|line| line.starts_with("left ")).collect();
        let words = |row: &str| row.matches("unknown").count();
        assert_eq!((words(rows[0]), words(rows[1])), (1, 4), "{text}");
        let metrics = report::metrics(shown);
        let of_pfc = |port: &str| {
            let port = format!("port=\"{port}\"");
            metrics.lines().filter(|row| row.contains("pfc") && row.contains(&port)).count()
        };
        assert_eq!(of_pfc("left"), 0, "{metrics}");
        assert!(of_pfc("right") > 8, "{metrics}");
    }
}

/// A run in which nothing was lost: its port `right` has a lossless priority.
fn good() -> RunSnapshot {
    let mut run = run();
    run.lossless_lost = LosslessLosses::default();
    run.switch.ports[1].counters.priorities[3].rx_frames = 1;
    run
}

fn judged(run: &RunSnapshot) -> Summary {
    Summary::new(run, Duration::from_secs(2))
}

/// The verdict of one check of a run, and what it says.
fn check(of: &Summary, name: &str) -> (Verdict, String) {
    let check = of.checks.iter().find(|check| check.name == name).expect(name);
    (check.verdict, check.detail.clone())
}

#[test]
fn a_lost_lossless_frame_or_an_unnamed_loss_is_a_bad_run() {
    assert_eq!(summary().verdict, Verdict::Fail);
    let mut run = good();
    assert_eq!(judged(&run).verdict, Verdict::Pass);
    assert!(judged(&run).checks.iter().all(|check| check.verdict == Verdict::Pass));
    run.switch.held = 0;
    assert_eq!(check(&judged(&run), "balance").0, Verdict::Fail);
    assert_eq!(judged(&run).verdict, Verdict::Fail);
}

#[test]
fn what_devices_miss_fails_where_it_may_be_lossless_and_unknown_is_not_judged() {
    // The port `left` missed 5 frames and protects none.
    let mut run = good();
    assert_eq!(check(&judged(&run), "lossless").0, Verdict::Pass);
    run.nics[1].rx_missed = Some(2);
    let (verdict, detail) = check(&judged(&run), "lossless");
    assert_eq!(verdict, Verdict::Fail);
    assert!(detail.contains("2 frames") && detail.contains("device of right"), "{detail}");
    run.nics[1] = NicCounters { rx_missed: Some(0), rx_no_memory: 1, ..NicCounters::default() };
    assert_eq!(judged(&run).verdict, Verdict::Fail);

    run.nics[1] = NicCounters::default();
    let unknown = judged(&run);
    assert_eq!(check(&unknown, "lossless").0, Verdict::NotJudged);
    assert_eq!(unknown.verdict, Verdict::NotJudged);
    let json = serde_json::to_value(&unknown).unwrap();
    assert!(json["ports"][1]["nic"]["rx_missed"].is_null());
    assert_eq!(json["ports"][0]["nic"]["rx_missed"], 5);
    let text = report::text(&unknown, None);
    let row = text.lines().find(|l| l.starts_with("right")).unwrap();
    assert!(row.contains(" unknown "), "{row}");
    assert!(text.contains("not judged: 1 of 4 checks"), "{text}");
    let metrics = report::metrics(unknown);
    assert!(metrics.contains(r#"sluice_nic_rx_missed_frames_total{port="left"} 5"#), "{metrics}");
    assert!(!metrics.contains(r#"rx_missed_frames_total{port="right"}"#), "{metrics}");

    // Without a lossless priority nothing is unknown.
    run.lossless.clear();
    assert_eq!(check(&judged(&run), "lossless").0, Verdict::NotJudged);
    assert_eq!(judged(&run).verdict, Verdict::Pass);
}

#[test]
fn a_switch_that_received_nothing_or_nothing_lossless_does_not_pass_for_it() {
    let mut run = good();
    run.switch.ports[1].counters.priorities[3].rx_frames = 0;
    // Late polls put no frame at risk then, and are nothing to say beside a PASS.
    (run.polls[0].longest, run.polls[0].late) = (Duration::from_millis(7), 241);
    let lossy = judged(&run);
    let without = "no frame of a lossless priority was received";
    for name in ["lossless", "headroom"] {
        assert_eq!(check(&lossy, name), (Verdict::NotJudged, without.into()), "{name}");
    }
    assert_eq!(check(&lossy, "balance").0, Verdict::Pass);
    assert_eq!(lossy.verdict, Verdict::Pass);
    // A device that lost frames may have lost lossless ones, though none was received.
    run.nics[1].rx_missed = Some(2);
    assert_eq!(check(&judged(&run), "lossless").0, Verdict::Fail);
    // One that cannot say may have lost all of them.
    run.nics[1].rx_missed = None;
    let silent = judged(&run);
    let (verdict, detail) = check(&silent, "lossless");
    assert_eq!((verdict, silent.verdict), (Verdict::NotJudged, Verdict::NotJudged));
    assert!(detail.contains("the device of right does not count"), "{detail}");

    let mut run = good();
    for port in &mut run.switch.ports {
        port.counters = PortCounters::default();
    }
    (run.switch.held, run.nics) = (0, vec![NicCounters::default(); 2]);
    let idle = judged(&run);
    for name in ["balance", "lossless", "headroom", "sent"] {
        assert_eq!(check(&idle, name).0, Verdict::NotJudged, "{name}");
    }
    assert_eq!(idle.verdict, Verdict::NotJudged);
}

#[test]
fn polls_that_come_late_void_the_guarantee_and_are_named_as_a_cause_of_losses() {
    let mut run = good();
    run.polls[0].longest = Duration::from_millis(7);
    run.polls[0].late = 4;
    let late = judged(&run);
    let (verdict, detail) = check(&late, "headroom");
    assert_eq!((verdict, late.verdict), (Verdict::NotJudged, Verdict::NotJudged));
    let text = report::text(&late, None);
    assert!(text.contains("not judged: 1 of 4 checks"), "{text}");
    // Unless they are not to count.
    let ignored = judged(&run).with_late_polls(true);
    let (verdict, said) = check(&ignored, "headroom");
    assert_eq!((verdict, ignored.verdict), (Verdict::NotJudged, Verdict::Pass));
    assert!(said.contains("--ignore-late-polls") && said.contains("4 times"), "{said}");
    for part in ["not guaranteed", "worker 0", "4 times", "7ms", "2ms"] {
        assert!(detail.contains(part), "{part}: {detail}");
    }
    let json = serde_json::to_value(&late).unwrap();
    assert_eq!(json["polls"][0]["longest_gap_ns"], 7_000_000);
    assert_eq!(json["polls"][0]["planned_gap_ns"], 2_000_000);
    assert_eq!(json["polls"][0]["late_polls"], 4);
    let metrics = report::metrics(late);
    for row in [
        r#"sluice_worker_poll_gap_longest_seconds{worker="0"} 0.007"#,
        r#"sluice_worker_poll_gap_planned_seconds{worker="0"} 0.002"#,
        r#"sluice_worker_late_polls_total{worker="0"} 4"#,
    ] {
        assert!(metrics.contains(row), "{row} is not in {metrics}");
    }

    run.lossless_lost.congestion = 3;
    let (verdict, detail) = check(&judged(&run), "lossless");
    assert_eq!(verdict, Verdict::Fail);
    assert!(detail.contains("a cause: worker 0 polled 4 times later"), "{detail}");

    for polls in &mut run.polls {
        polls.planned = None;
    }
    assert_eq!(check(&judged(&run), "headroom").0, Verdict::NotJudged);
}

#[test]
fn lossless_frames_that_watchdogs_and_links_take_are_no_pass() {
    let all = good();
    assert_eq!(check(&judged(&all), "lossless").0, Verdict::Pass);
    let mut run = good();
    run.lossless_lost.link = 5;
    let by_link = judged(&run);
    let (verdict, detail) = check(&by_link, "lossless");
    assert_eq!((verdict, by_link.verdict), (Verdict::NotJudged, Verdict::NotJudged));
    assert!(detail.contains("5 frames") && by_link.lossless_link_frames == 5, "{detail}");
    run.lossless_lost.watchdog = 2;
    let (verdict, detail) = check(&judged(&run), "lossless");
    assert!(verdict.is_fail() && detail.contains("2 frames"), "{verdict} {detail}");
}

#[test]
fn frames_that_a_device_did_not_send_are_not_counted_as_sent() {
    let mut run = good();
    run.nics[1].tx_errors = 4;
    let unsent = judged(&run);
    assert_eq!(
        (unsent.ports[1].port.counters.tx_frames, run.switch.ports[1].counters.tx_frames),
        (3, 7)
    );
    assert_eq!(check(&unsent, "sent").0, Verdict::Fail);
    assert!(unsent.balance.holds);
    // The interface of the kernel may have dropped frames of others.
    run.nics[1] = NicCounters { rx_missed: Some(0), tx_dropped: 4, ..NicCounters::default() };
    let unknown = judged(&run);
    assert_eq!(
        (unknown.ports[1].port.counters.tx_frames, check(&unknown, "sent").0),
        (3, Verdict::NotJudged)
    );
    run.nics[1].tx_errors = 1;
    assert_eq!(check(&judged(&run), "sent").0, Verdict::Fail);
    // Whatever waited in a device whose link goes down is lost.
    let excused = judged(&run).with_link_losses([0, 1]);
    assert_eq!(check(&excused, "sent").0, Verdict::NotJudged);
    assert_eq!(excused.verdict, Verdict::NotJudged);
    run.lossless.clear();
    assert_eq!(check(&judged(&run), "sent").0, Verdict::Pass);
}

#[test]
fn the_tables_show_what_happened_and_nothing_else() {
    let text = report::text(&summary(), None);
    println!("{text}");
    let row = |start: &str| {
        let line = text.lines().find(|l| l.starts_with(start));
        line.map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    assert_eq!(
        row("left   10.0").as_deref(),
        Some("left 10.0 Gb/s 10 0 10,000 0 40.0 kb/s 0 b/s 2 5 3")
    );
    assert!(row("headroom_full").unwrap().starts_with("headroom_full 1 Its lossless"));
    assert_eq!(row("runt"), None);
    assert!(text.contains("1.5ms") && text.contains("every frame is accounted for"));
}

#[test]
fn rates_are_of_the_last_interval() {
    let mut later = summary();
    later.elapsed_ns += 1_000_000_000;
    later.ports[0].port.counters.rx_bytes += 125_000;
    assert!(report::line(&later, Some(&summary())).contains("rx 1.00 Mb/s tx 0 b/s"));
}

fn get(addr: std::net::SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_scrape_is_answered_with_every_counter() {
    let scrape: report::Scrape = Arc::new(|| Ok(report::metrics(summary())));
    let addr = report::serve("127.0.0.1:0".parse().unwrap(), scrape).unwrap();
    let accept = "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    let answer = get(addr, &format!("GET /metrics HTTP/1.1\r\nHost: x\r\n{accept}\r\n\r\n"));
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("content-type: application/openmetrics-text; version=1.0.0"));
    for line in [
        "# TYPE sluice_port_rx_frames counter",
        r#"sluice_port_rx_frames_total{port="left"} 10"#,
        r#"sluice_pfc_tx_frames_total{port="left",priority="3"} 2"#,
        r#"sluice_pfc_tx_paused_seconds_total{port="left",priority="3"} 0.0015"#,
        r#"sluice_drops_total{port="left",reason="queue_limit"} 1"#,
        r#"sluice_held_frames{switch="tor"} 1"#,
        r#"sluice_nic_rx_missed_frames_total{port="left"} 5"#,
        "# EOF",
    ] {
        assert!(answer.lines().any(|l| l == line), "{line} is not in\n{answer}");
    }
    let answer = get(addr, "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n");
    assert!(answer.contains("content-type: text/plain; version=0.0.4"), "{answer}");
    assert!(answer.contains("\n# TYPE sluice_port_rx_frames_total counter\n"), "{answer}");
    assert!(!answer.contains("# EOF"), "{answer}");
    assert!(get(addr, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(get(addr, "POST /metrics HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 405"));
    assert!(get(addr, "nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
}

/// Silent clients and half requests, more than there are places for connections, in front of a scrape.
#[test]
fn clients_that_stall_do_not_hold_up_a_scrape() {
    let scrape: report::Scrape = Arc::new(|| Ok(report::metrics(summary())));
    let addr = report::serve("127.0.0.1:0".parse().unwrap(), scrape).unwrap();
    let stalled: Vec<TcpStream> = (0..200)
        .map(|n| {
            let mut stream = TcpStream::connect(addr).unwrap();
            if n % 2 == 0 {
                stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: ").unwrap();
            }
            stream
        })
        .collect();
    let start = std::time::Instant::now();
    let answer = get(addr, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    // A stalled client may keep its place for 5 s, which is what others would have waited for.
    assert!(start.elapsed() < std::time::Duration::from_secs(4), "{:?}", start.elapsed());
    drop(stalled);
}

#[test]
fn every_value_in_the_summary_is_a_metric() {
    // Give every number of one port and one priority a value of its own and look for it.
    let mut json = serde_json::to_value(summary()).unwrap();
    let mut values = Vec::new();
    let mut number = |v: &mut Value| {
        if v.is_u64() {
            values.push(1_000_000_000_000 + 1_000_000_000 * values.len() as u64);
            *v = (*values.last().unwrap()).into();
        }
    };
    let port = &mut json["ports"][1];
    port.as_object_mut().unwrap().values_mut().for_each(&mut number);
    port["nic"].as_object_mut().unwrap().values_mut().for_each(&mut number);
    let priority = port["priorities"][6].as_object_mut().unwrap();
    priority.iter_mut().filter(|(k, _)| *k != "priority").for_each(|(_, v)| number(v));
    let text = report::metrics(serde_json::from_value(json).unwrap());
    for value in values {
        let seconds = (value as f64 / 1e9).to_string();
        let shown = |l: &str| {
            let v = l.rsplit(' ').next().unwrap();
            let bytes = (value / 8).to_string();
            v == value.to_string() || v == bytes || v == seconds || v == format!("{seconds}.0")
        };
        assert!(text.lines().any(shown), "no metric has {value}:\n{text}");
    }
}

/// All numbers and flags of a JSON value, with their places.
fn numbers(place: &str, value: &Value, out: &mut std::collections::BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            let dot = if place.is_empty() { "" } else { "." };
            fields.iter().for_each(|(name, v)| numbers(&format!("{place}{dot}{name}"), v, out));
        }
        Value::Array(items) => items.iter().for_each(|v| numbers(&format!("{place}[]"), v, out)),
        Value::Number(_) | Value::Bool(_) => drop(out.insert(place.to_owned())),
        Value::Null | Value::String(_) => {}
    }
}

/// Numbers of the summary that are no counters of the switch: what identifies, adds up or judges others.
const NO_COUNTERS: [&str; 11] = [
    "workers",
    "balance.came",
    "balance.went",
    "balance.holds",
    "storms.detected",
    "storms.restored",
    "ports[].paused_priorities[]",
    "ports[].lossless_priorities[]",
    "ports[].priorities[].priority",
    "checks[].applies",
    "late_polls_ignored",
];

#[test]
fn every_counter_has_its_standard_name_or_the_reason_why_it_has_none() {
    let mut fields = std::collections::BTreeSet::new();
    numbers("", &serde_json::to_value(summary()).unwrap(), &mut fields);
    fields.retain(|f| !NO_COUNTERS.contains(&f.as_str()) && !f.contains("drops."));
    let rows = report::COUNTER_NAMES;
    let named: std::collections::BTreeSet<String> = rows.iter().map(|r| r.field.into()).collect();
    assert_eq!(named.len(), rows.len(), "a field stands twice");
    let odd: Vec<_> = fields.symmetric_difference(&named).collect();
    assert!(
        odd.is_empty(),
        "fields without a row in report/names.rs, or rows without a field: {odd:?}"
    );
    let mut standards: Vec<&str> =
        rows.iter().map(|r| r.standard).filter(|s| !s.is_empty()).collect();
    for row in rows {
        assert!(!row.standard.is_empty() || !row.note.is_empty(), "{}: no reason", row.field);
    }
    let all = standards.len();
    standards.sort_unstable();
    standards.dedup();
    assert_eq!(standards.len(), all, "a standard's name stands twice");
    let prefixes = [
        ("SAI_PORT_STAT_", "ports[]."),
        ("SAI_QUEUE_STAT_", "ports[].priorities[]."),
        ("SAI_INGRESS_PRIORITY_GROUP_STAT_", "ports[].priorities[]."),
        ("SAI_BUFFER_POOL_STAT_", "shared_pool."),
        ("PFC_WD_QUEUE_STATS_", "ports[].priorities[].storms_"),
        ("ieee8021Pfc", "ports[].pfc_"),
    ];
    for row in rows.iter().filter(|r| !r.standard.is_empty()) {
        let of = prefixes.iter().find(|(prefix, _)| row.standard.starts_with(prefix));
        let (_, place) = of.unwrap_or_else(|| panic!("{}: of which document?", row.standard));
        assert!(row.field.starts_with(place), "{} is at {}", row.standard, row.field);
    }
}

/// The families of a scrape with their help.
fn families(text: &str) -> std::collections::BTreeMap<&str, &str> {
    text.lines().filter_map(|l| l.strip_prefix("# HELP sluice_")?.split_once(' ')).collect()
}

#[test]
fn a_metric_and_its_field_are_one_counter_and_its_help_has_the_standard_name() {
    let text = report::metrics(summary());
    let families = families(&text);
    for (n, row) in report::COUNTER_NAMES.iter().enumerate() {
        let help = families.get(row.metric).unwrap_or_else(|| panic!("no metric {}", row.metric));
        assert!(help.contains(row.standard), "{}: {help}", row.metric);
        // A value of its own in the field shows in that metric and in no other.
        let value = 7_000_000_000_000 + n as u64 * 1_000_000_000;
        let mut json = serde_json::to_value(summary()).unwrap();
        let pointer = format!("/{}", row.field.replace("[]", "/1").replace('.', "/"));
        let place = json.pointer_mut(&pointer).unwrap_or_else(|| panic!("{pointer}"));
        let flag = place.is_boolean();
        *place = if flag { (!place.as_bool().unwrap()).into() } else { value.into() };
        let text = report::metrics(serde_json::from_value(json).unwrap());
        let before = report::metrics(summary());
        let changed: Vec<&str> =
            text.lines().zip(before.lines()).filter(|(a, b)| a != b).map(|(a, _)| a).collect();
        assert_eq!(changed.len(), 1, "{}: {changed:?}", row.field);
        let of = changed[0].trim_start_matches("sluice_").split('{').next().unwrap();
        assert_eq!(of.trim_end_matches("_total"), row.metric);
    }
    // A family of the switch itself that has no row.
    let rows: Vec<&str> = report::COUNTER_NAMES.iter().map(|r| r.metric).collect();
    let others = families.keys().filter(|name| !rows.contains(name));
    let apart = ["drops", "macsec", "lldp", "measurement", "round_trip", "headroom_", "congestion"];
    for name in others {
        assert!(apart.iter().any(|part| name.starts_with(part)), "{name} has no row");
    }
}

#[test]
fn the_page_of_counters_has_the_table_of_names() {
    let page = include_str!("../../docs/src/counters.md");
    let table = report::names_table();
    assert!(page.contains(&table), "docs/src/counters.md has another table than:\n{table}");
}

/// Prometheus' own checker reads the text format and knows the conventions.
#[test]
fn promtool_has_nothing_to_say() {
    let help = "promtool is not here (Debian package prometheus; `./dev setup` installs it)";
    let Ok(mut tool) = std::process::Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
    else {
        crate::run::skipped(help);
        return;
    };
    let text = report::Exposition::Text.write(report::metrics(summary()));
    tool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let out = tool.wait_with_output().unwrap();
    let said = [out.stdout, out.stderr].map(|s| String::from_utf8_lossy(&s).into_owned()).concat();
    assert!(out.status.success() && said.trim().is_empty(), "{said}");
}
