//! `sluice switch` as a program, on DPDK's virtual devices: frames in and out, the ways to stop,
//! and the exit statuses. Ordinary pages and no privileges are sufficient.

use std::fs;
use std::time::{Duration, Instant};

use crate::run::{self, Dir, Switch, frame, read_pcap, run, write_pcap};

const A: [u8; 6] = [2, 0, 0, 0, 1, 0xa];
const B: [u8; 6] = [2, 0, 0, 0, 1, 0xb];

/// Two pcap ports: `a` reads from `a.in`, `b` writes to `b.out`. `more` is added to each port,
/// `cores` sets the polling CPUs.
fn pcap_ports(dir: &Dir, more: &str, cores: [&str; 2]) -> String {
    let d = dir.0.display();
    let [a, b] = cores;
    format!(
        "defaults: {{rate: 1G, pfc: {{enable: [3]}}{more}}}\n\
         ports:\n\
         - {{name: a, device: 'net_pcap0,rx_pcap={d}/a.in,tx_pcap={d}/a.out'{a}}}\n\
         - {{name: b, device: 'net_pcap1,rx_pcap={d}/b.in,tx_pcap={d}/b.out'{b}}}\n"
    )
}

/// `n` frames from A to B, which must fit into the buffer at once.
fn some_frames(n: u32) -> Vec<Vec<u8>> {
    (0..n).map(|i| frame(B, A, 3, i, 64 + (i as usize * 37) % 900)).collect()
}

fn forwards_every_frame(name: &str, cores: [&str; 2], workers: u64) {
    let dir = Dir::new(name);
    let frames = some_frames(2_000);
    write_pcap(&dir.path("a.in"), &frames);
    write_pcap(&dir.path("b.in"), &[]);
    let file = format!("buffer: {{total: 64MiB}}\n{}", pcap_ports(&dir, "", cores));
    let switch = Switch::start(&dir, name, &file, &[]);
    let sent = |s: &serde_json::Value| s["ports"][1]["priorities"][3]["tx_frames"].clone();
    switch.wait("all sent", |s| sent(s) == 2_000);
    let (status, summary) = switch.stop();
    assert_eq!(status, Some(0), "{summary:#}");
    assert_eq!(summary["workers"], workers);
    assert_eq!(summary["ports"][0]["priorities"][3]["rx_frames"], 2_000);
    assert_eq!(summary["lossless_lost_frames"], 0);
    // The VLAN is native on both ports, so the tag is removed on the way out.
    let untagged: Vec<_> = frames.iter().map(|f| [&f[..12], &f[16..]].concat()).collect();
    assert!(read_pcap(&dir.path("b.out")) == untagged, "not what came in, or not in order");
}

#[test]
fn what_comes_in_on_one_port_leaves_on_the_other() {
    forwards_every_frame("one", ["", ""], 1);
}

/// CPUs that the worker of a switch may run on, as the kernel lists them.
fn cpus_of_worker(switch: &Switch) -> String {
    let tasks = fs::read_dir(format!("/proc/{}/task", switch.pid())).unwrap().flatten();
    let statuses = tasks.filter_map(|task| fs::read_to_string(task.path().join("status")).ok());
    let worker = statuses.filter(|status| status.starts_with("Name:\tworker0\n")).last().unwrap();
    let cpus = worker.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    cpus.trim().to_owned()
}

#[test]
fn a_worker_is_pinned_by_default_and_two_switches_never_share_a_core() {
    let ports = "ports: [{device: net_null0, rate: 10G, shaped: off}]\n";
    let dir = Dir::new("pinned");
    let switches = ["first", "second"].map(|name| Switch::start(&dir, name, ports, &[]));
    let all = core_affinity::get_core_ids().unwrap().len();
    let cpus = switches.each_ref().map(cpus_of_worker);
    let is_pinned = |cpus: &String| all > 1 && cpus.parse::<usize>().is_ok();
    for (switch, cpus) in switches.iter().zip(&cpus) {
        // A CPU alone, or a reason why not: other tests may have the rest.
        let said = switch.stderr();
        let has_reason = said.contains("not pinned to cores: they need 2 CPUs");
        assert_ne!(is_pinned(cpus), has_reason, "{cpus}: {said}");
    }
    let [first, second] = &cpus;
    assert!(first != second || !is_pinned(first), "both are on CPU {first}");
    let none = ports.replace("rate", "core: none, rate");
    let switch = Switch::start(&dir, "none", &none, &[]);
    assert!(!is_pinned(&cpus_of_worker(&switch)));
    assert!(!switch.stderr().contains("not pinned"), "{}", switch.stderr());
}

#[test]
fn two_workers_forward_every_frame_in_order() {
    // One is pinned to the first CPU that this process may use, the other to none.
    let cpu = core_affinity::get_core_ids().unwrap()[0].id;
    forwards_every_frame("two", [&format!(", core: {cpu}"), ""], 2);
}

#[test]
fn a_lossless_sender_that_does_not_stop_makes_the_verdict_bad() {
    let dir = Dir::new("flood");
    write_pcap(&dir.path("a.in"), &some_frames(64));
    write_pcap(&dir.path("b.in"), &[]);
    let file = pcap_ports(&dir, ", rate: 10M", ["", ""])
        .replace("rate: 1G, ", "")
        .replace("a.in,", "a.in,infinite_rx=1,");
    let switch = Switch::start(&dir, "flood", &file, &[]);
    switch.wait("overrun", |s| s["drops"]["headroom_full"].as_u64() > Some(0));
    let (status, summary) = switch.stop();
    assert_eq!(status, Some(1));
    assert!(summary["lossless_lost_frames"].as_u64() > Some(0));
    assert!(summary["ports"][0]["priorities"][3]["pfc_tx_frames"].as_u64() > Some(0));
    // The pauses are frames on the way back to the sender.
    let pauses = read_pcap(&dir.path("a.out"));
    assert!(pauses.iter().any(|f| f[12..18] == [0x88, 0x08, 0x01, 0x01, 0, 8]), "{pauses:?}");
    // Frames that a slow link did not take in time are dropped under a reason.
    assert!(summary["drops"]["flushed"].as_u64() > Some(0));
}

#[test]
fn a_second_signal_ends_a_drain_at_once() {
    let dir = Dir::new("second");
    write_pcap(&dir.path("a.in"), &some_frames(64));
    write_pcap(&dir.path("b.in"), &[]);
    let file = pcap_ports(&dir, ", rate: 10M", ["", ""])
        .replace("rate: 1G, ", "")
        .replace("a.in,", "a.in,infinite_rx=1,");
    let switch = Switch::start(&dir, "second", &file, &["--drain", "50s"]);
    switch.wait("overrun", |s| s["drops"]["headroom_full"].as_u64() > Some(0));
    let start = Instant::now();
    switch.signal("-TERM");
    std::thread::sleep(Duration::from_millis(300));
    switch.signal("-TERM");
    let (status, out) = switch.end();
    assert_eq!((status, out.as_str()), (Some(128 + 15), ""));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn a_run_ends_by_itself_after_its_duration_and_prints_a_table() {
    let dir = Dir::new("duration");
    let file = "ports: [{name: x, device: net_null0}, {name: y, device: net_null1}]\n";
    let path = dir.write("null.yaml", file);
    let output = run::command(&dir.0, "switch")
        .arg(path)
        .args(["--no-huge", "--duration", "0.5s", "--interval", "0.1s", "--idle", "yield"])
        .output()
        .unwrap();
    let (out, err) = (run::text(&output.stdout), run::text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(out.contains("every frame is accounted for"), "{out}");
    assert!(out.lines().any(|l| l.starts_with('x')) && !out.contains('\x1b'), "{out}");
    // One line per interval if standard error is not a terminal.
    assert!(err.lines().filter(|l| l.contains(" rx ")).count() >= 2, "{err}");
    // The control socket is removed with the switch.
    assert!(std::fs::read_dir(dir.path("sluice")).unwrap().next().is_none());
}

#[test]
fn bad_input_is_refused_with_its_field_and_a_remedy() {
    let null = "{name: b, device: net_null1}";
    for (file, status, words) in [
        (
            format!("ports: [{{name: a, device: 'net_af_packet0,iface=nosuch0'}}, {null}]"),
            2,
            &["ports[0].device (a)", "nosuch0", "`ip link`"][..],
        ),
        (
            format!("ports: [{{name: a, device: net_null1}}, {null}]"),
            2,
            &["switch.yaml:1:", "ports[1].device", "one port per device"],
        ),
        (
            format!("ports: [{{name: a, device: '0000:ff:1f.7', rate: 10G}}, {null}]"),
            2,
            &["ports[0].device (a)", "0000:ff:1f.7", "dpdk-devbind.py"],
        ),
        (
            format!("ports: [{{name: a, device: net_null0, core: 4000}}, {null}]"),
            2,
            &["ports[0].core", "4000", "there are: "],
        ),
        (
            format!("ports: [{{name: a, device: net_null0, colour: 1}}, {null}]"),
            2,
            &["unknown field `colour`"],
        ),
        (
            format!(
                "buffer: {{total: 256MiB}}\neal: {{memory: 64MiB}}\nports: [{{name: a, device: net_null0}}, {null}]"
            ),
            3,
            &["eal.memory, buffer.total: the frame pool", "not enough memory"],
        ),
    ] {
        let dir = Dir::new("bad");
        let (code, err) = run(&dir, &file, &[]);
        assert_eq!(code, Some(status), "{file}: {err}");
        for word in words {
            assert!(err.contains(word), "{file}: no {word} in: {err}");
        }
    }
}

#[test]
fn no_rights_are_needed_and_a_lack_of_them_is_named() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let dir = Dir::new("nobody");
    std::fs::set_permissions(&dir.0, std::fs::Permissions::from_mode(0o777)).unwrap();
    // Root drops its privileges to the user nobody; another user has none to drop.
    let root = std::fs::metadata("/proc/self").map(|m| std::os::unix::fs::MetadataExt::uid(&m));
    let nobody = |file: &str| {
        let path = dir.write("switch.yaml", file);
        let mut command = run::command(&dir.0, "switch");
        command.arg(path).args(["--no-huge", "--duration", "0.2s", "--quiet", "--idle", "yield"]);
        if root.as_ref().is_ok_and(|uid| *uid == 0) {
            command.uid(65_534).gid(65_534);
        }
        command.output()
    };
    let null = "{name: b, device: net_null1}";
    let fine = match nobody(&format!("ports: [{{name: a, device: net_null0}}, {null}]")) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            crate::run::skipped("the program lies where only root can start it");
            return;
        }
        result => result.unwrap(),
    };
    assert_eq!(fine.status.code(), Some(0), "{}", run::text(&fine.stderr));
    let lo = format!("ports: [{{name: a, device: 'net_af_packet0,iface=lo'}}, {null}]");
    let refused = nobody(&lo).unwrap();
    let err = run::text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(3), "{err}");
    assert!(err.contains("ports[0].device (a)") && err.contains("permission"), "{err}");
}
