use super::*;
#[cfg(feature = "instruments")]
use crate::test_metrics::tester_metrics;
use ground::verdict::Verdict;
use tester::Measured;
use tester::judge::Finding;
use tester::report::{Flow, Latency, Machine, Pacing, Port, Priority, Report, Stamps};

/// A time with the resolution of the timestamps below.
fn t(ns: f64) -> Measured {
    Measured::new(ns, 1_200.0)
}

/// Two ports and two flows; the second flow receives a pause storm from the far end.
pub(crate) fn report() -> Report {
    let flow = |name: &str| Flow {
        name: name.into(),
        port_tx: "p1".into(),
        port_rx: vec!["p2".into()],
        transmit: "stopped",
        frames_tx: 1_000_000,
        frames_rx: 999_999,
        bytes_tx: 64_000_000,
        bytes_rx: 63_999_936,
        frames_tx_rate: 1e6,
        loss_percent: 0.0001,
        ..Flow::default()
    };
    let measured = Flow {
        pacing: Some(Pacing {
            asked_fps: 1e6,
            sent_fps: 1_000_000.4,
            error_ppm: 0.4,
            gap_min_ns: t(900.0),
            gap_p50_ns: t(1_000.0),
            gap_p99_ns: t(1_100.0),
            gap_max_ns: t(40_000.0),
        }),
        latency: Some(Latency {
            frames: 999_999,
            min_ns: t(5.0),
            mean_ns: t(1_300.0),
            p50_ns: t(1_250.0),
            p99_ns: t(9_000.0),
            p999_ns: t(20_000.0),
            max_ns: t(1_200_000.0),
            distribution: None,
        }),
        first_rx_s: Some(0.000_001),
        last_rx_s: Some(1.0),
        cnp: Some((3, 2)),
        ..flow("say \"hi\", twice")
    };
    let paused = Priority {
        priority: 3,
        pauses_rx: 7,
        resumes_rx: 1,
        requested_ns: 2e6,
        paused_ns: 1_999_000.0,
        transitions: 1,
        last_frame_after_pause_ns: Some(t(12_300.0)),
        ..Priority::default()
    };
    let pausing = Priority {
        priority: 3,
        pauses_tx: 7,
        resumes_tx: 1,
        largest_gap_ns: Some(300_000.0),
        window_ns: Some(335_539.2),
        continuous: Some(true),
        reaction_max_ns: Some(t(15_000.0)),
        resume_ns: Some(t(21_000.0)),
        ..Priority::default()
    };
    let port = |name: &str, priority| Port {
        name: name.into(),
        location: format!("ring:x.{name}"),
        link_up: true,
        speed_bps: 100_000_000_000,
        frames_tx: 10,
        rx_missed: Some(0),
        priorities: vec![priority],
        ..Port::default()
    };
    Report {
        elapsed_s: Some(1.5),
        world: "real",
        stamps: Stamps { source: "tsc", resolution_ns: 10.0, uncertainty_ns: 1_200.0 },
        ports: vec![port("p1", paused), port("p2", pausing)],
        flows: vec![measured, flow("b")],
        warnings: vec!["both ports share a CPU".into()],
        machine: Some(Machine { preempted_ns: 3.444e9, longest_gap_ns: 1.2e7, excluded: true }),
        ..Report::default()
    }
}

#[test]
fn tables_have_every_number_and_say_how_far_to_trust_them() {
    let findings = [
        Finding {
            flow: "b".into(),
            verdict: Verdict::Fail,
            what: "received 1 of 2 frames, 1 lost".into(),
        },
        Finding { flow: "long".into(), verdict: Verdict::Pass, what: "sent 2 of 2 frames".into() },
    ];
    let text = tester_text(&report(), Some(&findings));
    for part in [
        "1.500 s in the real world",
        "resolution 10ns, error of latencies at most 1.2us",
        "999,999",
        "0.000 %",
        "< 1.2us",
        "1.25us",
        "+0.4 ppm",
        "1,000,000 fps",
        "12.3us",
        "300us",
        "335.539us",
        "warning: both ports share a CPU",
        "FAIL  b     received 1 of 2",
        "PASS  long  sent 2 of 2",
        "FAIL: 1 of 2 checks",
        "\nexcluded: CPU preempted for 3444 ms, ports not polled for up to 12 ms\n",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let sent = text.lines().find(|line| line.starts_with("PFC sent")).unwrap();
    let row = text.lines().skip_while(|line| *line != sent).nth(1).unwrap();
    assert!(row.starts_with("p2") && row.contains(" yes "), "{row}");
}

#[test]
fn frames_of_other_runs_have_a_column_where_there_are_any() {
    let mut report = report();
    assert!(!tester_text(&report, None).contains("other runs"));
    report.ports[1].other_runs = 4_321;
    let text = tester_text(&report, None);
    let ports: Vec<_> =
        text.lines().skip_while(|line| !line.starts_with("port ")).take(3).collect();
    assert!(ports[0].ends_with("other runs") && ports[1].ends_with(" 0"), "{text}");
    assert!(ports[2].ends_with(" 4,321"), "{text}");
}

#[test]
fn what_was_not_measured_has_no_table() {
    let mut report = report();
    report.flows.remove(0);
    report.ports.iter_mut().for_each(|port| port.priorities.clear());
    report.warnings.clear();
    let text = tester_text(&report, None);
    for word in ["latency ", "pacing", "congestion", "PFC", "warning", "PASS", "FAIL"] {
        assert!(!text.lines().any(|line| line.starts_with(word)), "{word} in\n{text}");
    }
}

#[test]
fn a_line_has_the_sums() {
    let line = tester_line(&report());
    for part in ["1.5s", "sent 2,000,000", "received 1,999,998", "sending 0 of 2"] {
        assert!(line.contains(part), "{part} in {line}");
    }
}

#[test]
fn spreadsheets_get_a_row_for_each_thing_and_names_with_commas() {
    let flows = flows_csv(&report());
    let lines: Vec<&str> = flows.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("name,port_tx,port_rx,transmit,frames_tx,frames_rx,"));
    assert!(lines[1].starts_with("\"say \"\"hi\"\", twice\",p1,p2,stopped,1000000,999999,"));
    let columns = lines[0].split(',').count();
    assert_eq!(lines[2].split(',').count(), columns, "unknown cells are empty");
    let priorities = priorities_csv(&report());
    assert!(
        priorities.contains("\r\np1,3,7,1,2000000,1999000,0,1,12300,0,0,,,,0,,,,,0,0,\r\n"),
        "{priorities}"
    );
    assert_eq!(ports_csv(&report()).lines().count(), 3);
}

#[cfg(feature = "instruments")]
#[test]
fn metrics_have_seconds_and_leave_out_what_is_not_known() {
    let text = tester_metrics(report());
    for line in [
        "sluice_gen_priority_largest_gap_seconds{port=\"p2\",priority=\"3\"} 0.0003",
        "sluice_gen_priority_continuous{port=\"p2\",priority=\"3\"} 1",
        "sluice_gen_flow_frames_tx_total{flow=\"b\"} 1000000",
        "sluice_gen_flow_latency_p50_seconds{flow=\"say \\\"hi\\\", twice\"} 0.00000125",
        "sluice_gen_test_run_seconds{stamps=\"tsc\"} 1.5",
        "# TYPE sluice_gen_priority_paused_seconds counter",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(!text.contains("largest_gap_seconds{port=\"p1\""), "{text}");
    assert!(text.ends_with("# EOF\n"));
}

#[cfg(feature = "instruments")]
#[test]
fn promtool_has_no_objection_to_the_metrics() {
    crate::scrape::tests::judge_by_promtool(tester_metrics(report()));
}
