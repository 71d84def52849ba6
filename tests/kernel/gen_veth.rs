//! The traffic generator on interfaces of the kernel: veth pairs, and a switch of the project's own
//! between two of them. Time is real here, so pauses are long and rates low.

use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use sluice::dpdk::{Eal, EalOptions, Interface, Memory};
use sluice::host::{FlowId, Rate};
use sluice::tester::plan::{Place, TestPlan};
use sluice::tester::report::Report;
use sluice::tester::session::Bench;
use sluice::units::BitsPerSec;

use crate::netns::{isolated, must};
use crate::run::{Dir, Switch, conclusive, has_not_failed, run_ahead, sluice, text, was_starved};
use crate::tester::{all, of_frames, pfc, port, priority, received, udp, wait, wait_stopped};

const A_TO_B: (usize, usize) = (0, 1);
const B_TO_A: (usize, usize) = (1, 0);

/// 100 Mb/s: the longest pause is 335 ms.
fn rate() -> BitsPerSec {
    BitsPerSec::new(100_000_000).unwrap()
}

/// Makes a veth pair over which the kernel itself says nothing.
fn veth(a: &str, b: &str) {
    must(Command::new("ip").args(["link", "add", a, "type", "veth", "peer", "name", b]));
    for interface in [a, b] {
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"), "1");
        must(Command::new("ip").args(["link", "set", interface, "up"]));
    }
}

fn bench() -> Bench {
    let options = EalOptions {
        memory: Memory::NoHuge,
        file_prefix: format!("gen-veth-{}", std::process::id()),
        ..EalOptions::default()
    };
    // One thread, so that a machine with two CPUs has one for the switch.
    Bench::new(Eal::start(&options).expect("DPDK starts"), Some(1))
}

fn plan(a: &str, b: &str, flows: Vec<sluice::tester::plan::FlowPlan>) -> TestPlan {
    let at = |name: &str| Place::Interface(name.parse().unwrap());
    TestPlan { ports: vec![port("a", at(a), rate()), port("b", at(b), rate())], flows, run: 0 }
}

#[test]
fn over_veth_all_arrives_and_a_storm_stops_its_priority_alone() {
    isolated(&[], || {
        veth("v0", "v1");
        let mut bench = bench();
        let flows = vec![
            of_frames(udp(0, A_TO_B, 0, 64, Rate::Frames(5_000)), 3_000),
            of_frames(udp(1, B_TO_A, 1, 1_518, Rate::Frames(2_000)), 1_000),
        ];
        let both = plan("v0", "v1", flows);
        let session = bench.set(both.clone()).unwrap();
        session.start(&all(&both)).unwrap();
        let report = wait_stopped(&session);
        assert_eq!(received(&report), [3_000, 1_000], "{report:#?}");
        assert!(report.ports.iter().all(|port| port.link_up), "{report:#?}");

        // The kernel chooses the receiving queue of a flow by its addresses and ports.
        let flow = |id| of_frames(udp(id, A_TO_B, 0, 256, Rate::Frames(2_000)), 1_000);
        let mut several = plan("v0", "v1", (0..6).map(flow).collect());
        several.ports.iter_mut().for_each(|port| port.location.queues = 2);
        let session = bench.set(several.clone()).unwrap();
        session.start(&all(&several)).unwrap();
        let report = wait_stopped(&session);
        assert_eq!(received(&report), [1_000; 6], "{report:#?}");
        let in_order = |f: &sluice::tester::report::Flow| (f.reordered, f.duplicates) == (0, 0);
        assert!(report.flows.iter().all(in_order), "{report:#?}");

        let flows = vec![
            udp(0, A_TO_B, 3, 128, Rate::Frames(2_000)),
            udp(1, A_TO_B, 4, 128, Rate::Frames(2_000)),
            pfc(2, B_TO_A, 3, 0xffff, Rate::Frames(50)),
            of_frames(pfc(3, B_TO_A, 3, 0, Rate::Frames(100)), 2),
        ];
        let session = bench.set(plan("v0", "v1", flows)).unwrap();
        session.start(&[FlowId(0), FlowId(1)]).unwrap();
        wait(&session, "sending", |r| received(r)[..2].iter().all(|n| *n > 200));
        session.start(&[FlowId(2)]).unwrap();
        let stormed = wait(&session, "stormed", |r| received(r)[2] > 5);
        let before = wait(&session, "settled", |r| received(r)[2] > received(&stormed)[2] + 2);
        let after = wait(&session, "more", |r| received(r)[1] > received(&before)[1] + 1_000);
        assert_eq!(received(&after)[0], received(&before)[0], "priority 3 goes on in a storm");
        assert!(priority(&after, "a", 3).paused_ns > 0.0);
        session.stop(&[FlowId(2)]).unwrap();
        session.start(&[FlowId(3)]).unwrap();
        wait(&session, "resumed", |r| received(r)[0] > received(&after)[0] + 100);
        session.stop(&[FlowId(0), FlowId(1)]).unwrap();
        let report = wait_stopped(&session);
        assert!(report.flows[..2].iter().all(|f| f.frames_tx == f.frames_rx), "{report:#?}");
        // An interface that goes down is seen, and nothing is sent by it.
        must(Command::new("ip").args(["link", "set", "v1", "down"]));
        wait(&session, "down", |r| !r.ports[0].link_up);
        bench.clear();
    });
}

/// A file in which v0 sends one flow to v1; `settings` are the rest of the flow and of the file.
fn one_flow(settings: &str) -> String {
    format!(
        "ports:\n\
         - {{name: a, location: 'iface:v0'}}\n\
         - {{name: b, location: 'iface:v1'}}\n\
         flows:\n\
         - name: f\n\
         \x20 tx_rx: {{choice: port, port: {{tx_name: a, rx_names: [b]}}}}\n\
         \x20 packet: [{{choice: ethernet, ethernet: {{}}}}]\n\
         {settings}"
    )
}

/// The kernel drops what it is given for an interface that has a carrier and is not operational yet.
#[test]
fn flows_that_start_with_their_links_lose_no_frame_that_is_not_counted() {
    isolated(&[], || {
        veth("v0", "v1");
        let mut bench = bench();
        let flows = vec![
            of_frames(udp(0, A_TO_B, 0, 64, Rate::Frames(20_000)), 500),
            of_frames(udp(1, B_TO_A, 1, 64, Rate::Frames(20_000)), 500),
        ];
        let both = plan("v0", "v1", flows);
        let session = bench.set(both.clone()).unwrap();
        let set = |interface: &str, up: bool| {
            let found = Interface::named(interface).unwrap().expect("it is there");
            Interface::set_up(found.index, up).unwrap();
        };
        for round in 0..40 {
            let interface = ["v0", "v1"][round % 2];
            set(interface, false);
            if round % 4 < 2 {
                wait(&session, "down", |r| r.ports.iter().all(|port| !port.link_up));
            }
            let lost = |r: &Report| -> u64 {
                r.ports.iter().map(|p| p.tx_dropped + p.rx_missed.unwrap()).sum()
            };
            let before = lost(&session.report().unwrap());
            set(interface, true);
            session.start(&all(&both)).unwrap();
            let report = wait_stopped(&session);
            assert!(report.flows.iter().all(|f| f.frames_tx == 500), "{round}: {report:#?}");
            let arrived: u64 = received(&report).iter().sum();
            assert_eq!(arrived + lost(&report) - before, 1_000, "{round}: {report:#?}");
        }
        bench.clear();
    });
}

#[test]
fn a_flow_by_an_interface_that_is_down_fails() {
    isolated(&[], || {
        veth("v0", "v1");
        let dir = Dir::new("gen-down");
        let file = dir.write(
            "down.yaml",
            &one_flow(
                "  rate: {choice: pps, pps: 1000}\n\
                 \x20 duration: {choice: continuous, continuous: {}}\n\
                 \x20 metrics: {enable: true, loss: true}\n",
            ),
        );
        let run = || {
            let mut gen_ = sluice();
            gen_.arg("gen").arg(&file).args(["--duration", "1s", "--format", "json", "--no-huge"]);
            gen_.output().unwrap()
        };
        let up = conclusive(run);
        let said = String::from_utf8_lossy(&up.stdout);
        let seen: Value =
            serde_json::from_slice(&up.stdout).unwrap_or_else(|e| panic!("{e}: {said}"));
        // On a machine that stays busy the rate is not reached, and the run says so.
        assert!(matches!(up.status.code(), Some(0 | 4)), "{said}");
        assert_ne!(seen["flows"][0]["frames_tx"], 0, "{said}");
        must(Command::new("ip").args(["link", "set", "v0", "down"]));
        let down = conclusive(run);
        assert_eq!(down.status.code(), Some(1), "{}", String::from_utf8_lossy(&down.stderr));
        let seen: Value = serde_json::from_slice(&down.stdout).unwrap();
        assert_eq!((&seen["verdict"], &seen["flows"][0]["frames_tx"]), (&"fail".into(), &0.into()));
        let sent = &seen["checks"][0];
        assert_eq!(sent["what"], "the link of port a is down: sent 0 frames", "{sent}");
        assert_eq!(seen["checks"][1]["verdict"], "not_judged", "nothing sent is nothing lost");
    });
}

/// Frames that the test's own devices lose are no loss of the network, and are told apart from one.
#[test]
fn frames_that_the_devices_of_the_test_lose_are_counted_and_told() {
    isolated(&["python3"], || {
        veth("v0", "v1");
        let dir = Dir::new("gen-lost");
        let file = dir.write(
            "lost.yaml",
            &one_flow(
                "  rate: {choice: pps, pps: 100}\n\
                 \x20 size: {choice: fixed, fixed: 1000}\n\
                 \x20 duration: {choice: fixed_packets, fixed_packets: {packets: 200}}\n\
                 \x20 metrics: {enable: true, loss: true}\n",
            ),
        );
        let mut command = sluice();
        command.arg("gen").arg(&file).args(["--format", "json", "--no-huge"]);
        let report = |output: std::process::Output| -> (Option<i32>, Value) {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            (output.status.code(), serde_json::from_slice(&output.stdout).expect(&said))
        };

        // The sender's interface drops what is too long for the other end of the pair.
        must(Command::new("ip").args(["link", "set", "v1", "mtu", "500"]));
        let (status, seen) = report(command.output().unwrap());
        assert_eq!((status, &seen["ports"][0]["tx_dropped"]), (Some(4), &200.into()), "{seen:#}");
        let what = seen["checks"][1]["what"].as_str().unwrap();
        assert!(what.contains("200 lost; 200 frames sent by port a were dropped"), "{what}");
        must(Command::new("ip").args(["link", "set", "v1", "mtu", "1500"]));

        // A receive ring that nobody reads for a while holds 2,048 frames.
        let run = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let pid = run.id().to_string();
        let sent = || -> u64 {
            let counted = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
            let line = counted.lines().find_map(|line| line.trim().strip_prefix("v0:")).unwrap();
            line.split_whitespace().nth(9).unwrap().parse().unwrap()
        };
        let before = sent();
        while sent() < before + 5 {
            thread::sleep(Duration::from_millis(10));
        }
        must(Command::new("kill").args(["-STOP", &pid]));
        let flood = "import socket\n\
                     s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n\
                     s.bind(('v0', 0))\n\
                     for _ in range(5000): s.send(bytes(200))\n";
        must(Command::new("python3").args(["-c", flood]));
        must(Command::new("kill").args(["-CONT", &pid]));
        let (_, seen) = report(run.wait_with_output().unwrap());
        let missed = seen["ports"][1]["rx_missed"].as_u64().unwrap();
        assert!((2_900..5_000).contains(&missed), "{seen:#}");
        let what = seen["checks"][1]["what"].as_str().unwrap();
        assert!(what.contains(&format!("the device of port b missed {missed} frames")), "{what}");
    });
}

#[test]
fn a_clock_that_passes_213_days_changes_nothing() {
    isolated(&[], || {
        veth("v0", "v1");
        let dir = Dir::new("gen-uptime");
        let file = dir.write(
            "uptime.yaml",
            &one_flow(
                "  rate: {choice: pps, pps: 1000}\n\
                 \x20 duration: {choice: fixed_packets, fixed_packets: {packets: 2000}}\n\
                 \x20 metrics: {enable: true, loss: true, timestamps: true, latency: {enable: true}}\n\
                 captures: [{name: c, port_names: [b]}]\n",
            ),
        );
        // 2^64 ps are 18,446,744.07 s. Starting takes some time, so one of these is under way.
        for after in [0.5, 1.0, 1.5, 2.0] {
            let mut gen_ = sluice();
            gen_.env("SLUICE_CLOCK_UPTIME", (18_446_744.073_7 - after).to_string());
            gen_.arg("gen").arg(&file).args(["--format", "json", "--no-huge", "--captures"]);
            let output = gen_.arg(dir.path("captures")).output().unwrap();
            let (out, said) = (text(&output.stdout), text(&output.stderr));
            // A busy machine may miss the rate, which is inconclusive. The counts are exact all the same.
            assert!(has_not_failed(output.status.code()), "after {after} s: {said}\n{out}");
            let seen: Value = serde_json::from_str(&out).unwrap();
            let flow = &seen["flows"][0];
            assert_eq!((&flow["frames_tx"], &flow["frames_rx"]), (&2_000.into(), &2_000.into()));
            // 1,999 gaps of 1 ms, and what a busy machine adds.
            let elapsed = seen["elapsed_s"].as_f64().unwrap();
            assert!((1.9..60.0).contains(&elapsed), "{elapsed} s: {out}");
            let latency = &flow["latency"];
            assert_eq!(latency["frames"], 2_000, "{flow}");
            assert!(latency["p50_ns"].as_f64().unwrap() < 1e9, "{latency}");
        }
    });
}

/// A switch file of two ports on s0 and s1, lossless on priority 3 and with a fair share for it, as
/// a switch that seldom runs sends fewer frames than priority 4 has; for a link of this rate whose
/// switch may be away from its ports for so long.
fn between(rate: &str, poll_gap: &str) -> String {
    let line = |n: u8| format!("- {{name: p{n}, device: 'net_af_packet{n},iface=s{n}'}}\n");
    format!(
        "buffer:\n\
         \x20 cell: 1KiB\n\
         \x20 profiles:\n\
         \x20   lossless: {{shared: {{static_th: 192KiB}}, lossless: {{xon_offset: 160KiB}}}}\n\
         defaults:\n\
         \x20 rate: {rate}\n\
         \x20 trust: dscp_then_pcp\n\
         \x20 pfc: {{enable: [3]}}\n\
         \x20 queues: {{3: {{weight: 50}}, 4: {{weight: 50}}}}\n\
         \x20 link: {{poll_gap: {poll_gap}, peer_response: 10ms}}\n\
         ports:\n{}{}",
        line(0),
        line(1)
    )
}

/// Repeats a run whose switch was starved, a few times; any other is final.
fn unstarved<R>(mut run: impl FnMut() -> (R, Option<i32>, Value)) -> (R, Option<i32>, Value) {
    for _ in 0..9 {
        let ran = run();
        if !was_starved(&ran.2) {
            return ran;
        }
        eprintln!("repeated: {:#}", ran.2["checks"]);
    }
    run()
}

#[test]
fn a_switch_between_two_ports_loses_nothing_lossless_and_passes_a_storm_on() {
    isolated(&[], || {
        veth("v0", "s0");
        veth("v1", "s1");
        let dir = Dir::new("gen-switch");
        run_ahead();
        let mut bench = bench();
        let flows = vec![
            udp(0, A_TO_B, 3, 1_000, Rate::Frames(3_000)),
            udp(1, A_TO_B, 4, 200, Rate::Frames(2_000)),
            pfc(2, B_TO_A, 3, 0xffff, Rate::Frames(50)),
            of_frames(pfc(3, B_TO_A, 3, 0, Rate::Frames(100)), 2),
            of_frames(udp(4, B_TO_A, 0, 64, Rate::Frames(100)), 10),
        ];
        let (report, status, summary) = unstarved(|| {
            let switch = Switch::start(&dir, "between", &between("100M", "50ms"), &[]);
            let session = bench.set(plan("v0", "v1", flows.clone())).unwrap();
            // From here on the switch knows where both addresses are.
            session.start(&[FlowId(4)]).unwrap();
            wait(&session, "known", |r| received(r)[4] == 10);
            session.start(&[FlowId(0), FlowId(1)]).unwrap();
            wait(&session, "sending", |r| received(r)[..2].iter().all(|n| *n > 200));
            session.start(&[FlowId(2)]).unwrap();
            // The switch fills up, and pauses the sender in its turn.
            let stormed = wait(&session, "passed on", |r| priority(r, "a", 3).paused_ns > 0.0);
            let after = wait(&session, "more", |r| received(r)[1] > received(&stormed)[1] + 1_000);
            assert!(after.flows[0].frames_tx > after.flows[0].frames_rx, "{after:#?}");
            assert_eq!(priority(&after, "a", 4).pauses_rx, 0);
            session.stop(&[FlowId(2)]).unwrap();
            session.start(&[FlowId(3)]).unwrap();
            wait(&session, "resumed", |r| received(r)[0] > received(&after)[0] + 300);
            session.stop(&[FlowId(0), FlowId(1)]).unwrap();
            let report = wait_stopped(&session);
            bench.clear();
            let (status, summary) = switch.stop();
            (report, status, summary)
        });
        // Priority 4 went on while 3 stood, as was waited for above; how much of it a switch drops
        // that a busy machine seldom lets poll is no question to the storm.
        let lossless = &report.flows[0];
        assert_eq!((lossless.frames_tx, lossless.loss_percent), (lossless.frames_rx, 0.0));
        assert!(has_not_failed(status), "{status:?}: {summary:#}");
        assert_eq!(summary["lossless_lost_frames"], 0);
    });
}

/// The file that `configs/labs/otg-storm.yaml` runs in memory and in the virtual world.
#[test]
fn the_file_of_the_storm_goes_through_the_switch_over_veth() {
    isolated(&[], || {
        veth("v0", "s0");
        veth("v1", "s1");
        let dir = Dir::new("gen-storm");
        run_ahead();
        let (report, status, summary) = unstarved(|| {
            let switch = Switch::start(&dir, "between", &between("1G", "10ms"), &[]);
            let output = sluice()
                .args(["gen", concat!(env!("CARGO_MANIFEST_DIR"), "/configs/gen/pfc-storm.yaml")])
                .args(["--port", "p1=iface:v0?pfc=3", "--port", "p2=iface:v1", "--drain", "10s"])
                .args(["--format", "json"])
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let report: Value = serde_json::from_slice(&output.stdout).expect(&said);
            let (status, summary) = switch.stop();
            (report, status, summary)
        });
        let flow = |n: usize, field: &str| report["flows"][n][field].as_u64().unwrap();
        // All frames that the switch held when the storm ended arrive after it.
        assert_eq!(flow(0, "frames_tx"), flow(0, "frames_rx"), "{report}: {summary:#}");
        assert!(flow(0, "frames_tx") < flow(1, "frames_tx") * 2 / 3, "{report}");
        let paused = |priority: u64| {
            let all = report["ports"][0]["priorities"].as_array().unwrap();
            let it = all.iter().find(|p| p["priority"].as_u64() == Some(priority));
            it.map_or(0.0, |p| p["paused_ns"].as_f64().unwrap())
        };
        assert!(paused(3) > 0.8e9 && paused(4) == 0.0, "{report}");
        assert!(has_not_failed(status), "{status:?}: {summary:#}");
        assert_eq!(summary["lossless_lost_frames"], 0);
    });
}
