//! What people and programs are shown of a run: the summary's fields, tables and metrics.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use serde_json::Value;
use sluice::report::{self, Summary};
use sluice::runtime::{NicCounters, RunSnapshot};
use sluice::stats::{DropReason, PortCounters, PortSnapshot, SwitchSnapshot};
use sluice::time::{Duration, Instant};

/// Two ports; 10 frames in on the first, 7 out on the second, 2 dropped, 1 held.
fn run() -> RunSnapshot {
    let mut left = PortCounters { rx_frames: 10, rx_bytes: 10_000, ..PortCounters::default() };
    left.drops.count(DropReason::HeadroomFull);
    left.drops.count(DropReason::QueueLimit);
    left.priorities[3].rx_frames = 10;
    left.priorities[3].pfc_tx_frames = 2;
    left.priorities[3].pfc_tx_paused = Duration::from_micros(1500);
    left.priorities[3].headroom_peak_bytes = 4096;
    let right = PortCounters { tx_frames: 7, tx_bytes: 7_000, ..PortCounters::default() };
    let port = |name: &str, counters| PortSnapshot {
        name: name.into(),
        up: true,
        rate_bps: 10_000_000_000,
        paused: 0b1000,
        counters,
        secy: None,
    };
    RunSnapshot {
        switch: SwitchSnapshot {
            name: "tor".into(),
            at: Instant::ZERO,
            ports: vec![port("left", left), port("right", right)],
            given: 0,
            taken: 0,
            held: 1,
            shared_used_bytes: 1000,
            shared_peak_bytes: 2000,
            fdb_entries: 2,
            fdb_full: 0,
            congestion: None,
        },
        nics: vec![NicCounters { rx_missed: 5, ..NicCounters::default() }, NicCounters::default()],
        lossless_lost: 1,
        workers: 1,
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

#[test]
fn a_lost_lossless_frame_or_an_unnamed_loss_is_a_bad_run() {
    assert!(!summary().is_good());
    let mut run = run();
    run.lossless_lost = 0;
    assert!(Summary::new(&run, Duration::from_secs(2)).is_good());
    run.switch.held = 0;
    assert!(!Summary::new(&run, Duration::from_secs(2)).is_good());
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
    later.ports[0].rx_bytes += 125_000;
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
    let answer = get(addr, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("application/openmetrics-text"));
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
    assert!(get(addr, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(get(addr, "POST /metrics HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 405"));
    assert!(get(addr, "nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
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
            v == value.to_string() || v == seconds || v == format!("{seconds}.0")
        };
        assert!(text.lines().any(shown), "no metric has {value}:\n{text}");
    }
}
