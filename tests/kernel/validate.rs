//! `sluice validate` against devices behind veth pairs: a bridge of the kernel and Open vSwitch, which do
//! not obey PFC, and the switch of this program, which does.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;
use sluice::config::{self, Machine};
use sluice::dpdk::{
    DpdkPort, Eal, EalOptions, Mbuf, Memory, Pool, PoolOptions, PortOptions, TscClock,
};
use sluice::sim::defect::{Broken, Defect, Obeying, Sending};
use sluice::switch;
use sluice::time::Duration;
use sluice::units::{BitsPerSec, PortId, PrioritySet};
use sluice::world::{Alone, World};

use crate::netns::{cables, isolated, must, openvswitch::OpenVSwitch};
use crate::run::{Dir, Switch, sluice, text};

/// Number of links to the device.
const LINKS: usize = 3;

/// Times that a run is repeated while the machine is too busy for it.
const RUNS_MAX: usize = 7;

/// DUT file of a device in software: it polls, so it reacts later than hardware. `more` are further fields.
fn dut(dir: &Dir, more: &str) {
    let ports: Vec<String> =
        (0..LINKS).map(|n| format!("- {{location: 'iface:t{n}', dut: d{n}}}\n")).collect();
    dir.write(
        "dut.yaml",
        &format!(
            "name: device\nrate: 100M\nload: 40%\nports:\n{}\
             tolerances: {{reaction: 4000, resume: 50ms, rate: 10%}}\n\
             times: {{baseline: 200ms, hold: 700ms, settle: 200ms, drain: 500ms}}\n{more}",
            ports.concat()
        ),
    );
}

/// Runs some tests, those again for which the machine was too busy, and returns the results; `None` if it stayed
/// too busy for one, which says nothing about the device.
fn validate(dir: &Dir, only: &[&str]) -> Option<Value> {
    validate_after(dir, only, |_| {})
}

/// Does the same, and `before` each run with its number from 0.
fn validate_after(dir: &Dir, only: &[&str], before: impl Fn(usize)) -> Option<Value> {
    let file = dir.path("dut.yaml");
    let run = |only: &[&str]| -> Value {
        let mut command = sluice();
        command.arg("validate").arg(&file).args(["--format", "json", "--no-huge"]);
        only.iter().for_each(|only| {
            command.args(["--only", only]);
        });
        let output = command.output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr))
        })
    };
    let mut left = only.to_vec();
    before(0);
    let mut results = run(&left);
    for n in 1.. {
        let tests = results["tests"].as_array().unwrap();
        let disturbed = |id: &str| tests.iter().any(|t| t["id"] == id && is_disturbed(t));
        // Without the tester's check of itself none of the others was run.
        if !disturbed("V-00") {
            left.retain(|id| disturbed(id));
        }
        if left.is_empty() {
            break;
        }
        if n > RUNS_MAX {
            println!("inconclusive: {left:?} in each of {n} runs");
            return None;
        }
        let kept = tests.iter().filter(|t| !left.iter().any(|id| t["id"] == *id));
        let kept: Vec<_> = kept.filter(|t| t["id"] != "V-00").cloned().collect();
        eprintln!("repeated, for {left:?}: {results:#}");
        before(n);
        results = run(&left);
        results["tests"].as_array_mut().unwrap().extend(kept);
    }
    Some(results)
}

/// True if the machine was too busy for a test. A device in software that loses its CPU loses frames at
/// rest, which the tester cannot tell from a cable that is wrong.
fn is_disturbed(test: &Value) -> bool {
    let at_rest = test["detail"].as_str().is_some_and(|d| d.contains("at rest"));
    test["outcome"] == "inconclusive" || at_rest
}

/// Returns the outcome of a test, and its reason.
fn outcome(results: &Value, id: &str) -> (String, String) {
    let tests = results["tests"].as_array().unwrap();
    let test = tests.iter().find(|test| test["id"] == id);
    let test = test.unwrap_or_else(|| panic!("{id} was not run: {results:#}"));
    let word = |field: &str| test[field].as_str().unwrap().to_owned();
    (word("outcome"), word("detail"))
}

/// Judges a device that forwards and does not obey PFC.
fn fails_to_obey(dir: &Dir) {
    dut(dir, "");
    let Some(results) = validate(dir, &["V-R01", "V-M06"]) else { return };
    let of = |id| outcome(&results, id);
    assert_eq!(of("V-00").0, "pass", "{results:#}");
    let (found, detail) = of("V-R01");
    assert_eq!(found, "fail", "{results:#}");
    assert!(detail.contains("against the pause"), "{detail}");
    // MAC control to reserved addresses is not forwarded (802.1Q 8.6.3), and to others it is data.
    let (found, detail) = of("V-M06");
    assert_eq!(found, "fail", "{results:#}");
    assert!(!detail.contains("01:80:c2"), "{detail}");
}

#[test]
fn a_bridge_of_the_kernel_fails_to_obey() {
    isolated(&[], || {
        let dir = Dir::new("bridge");
        cables(LINKS);
        must(Command::new("ip").args(["link", "add", "br0", "type", "bridge"]));
        for n in 0..LINKS {
            must(Command::new("ip").args(["link", "set", &format!("d{n}"), "master", "br0"]));
        }
        must(Command::new("ip").args(["link", "set", "br0", "up"]));
        fails_to_obey(&dir);
    });
}

#[test]
fn open_vswitch_fails_to_obey() {
    isolated(&["ovs-vswitchd", "ovsdb-server", "ovs-vsctl"], || {
        let dir = Dir::new("ovs");
        cables(LINKS);
        let _switch = OpenVSwitch::start(&dir, LINKS);
        fails_to_obey(&dir);
    });
}

/// Returns the file of the switch of this program between the links; `more` are further defaults of its
/// ports.
fn switch_file(more: &str) -> String {
    let ports: Vec<String> = (0..LINKS)
        .map(|n| format!("- {{name: d{n}, device: 'net_af_packet{n},iface=d{n}'}}\n"))
        .collect();
    format!(
        "defaults: {{rate: 100M, pfc: {{enable: [3, 4]}}, trust: dscp{more}}}\n\
         buffer: {{total: 4MiB}}\nports:\n{}",
        ports.concat()
    )
}

/// Starts the switch of this program between the links.
fn own_switch(dir: &Dir, name: &str, more: &str) -> Switch {
    Switch::start(dir, name, &switch_file(more), &["--quiet"])
}

/// The world of a switch whose ports may have defects.
struct BrokenWorld;

impl World for BrokenWorld {
    type Frame = Mbuf;
    type Port = Broken<DpdkPort>;
    type Events = ();
    type Handoff = Alone;
}

/// Runs a test while the switch of this program forwards between the links in this process, with defects
/// at each of its ports.
fn with_defects(eal: &Eal, names: &str, defects: &[Defect], test: impl FnOnce()) {
    let file = switch_file("").replace("net_af_packet", names);
    let (mut file, _) = config::parse("bad.yaml", &file, &Machine::any()).unwrap();
    // On a busy machine the thread sends after a gap what the line would have taken in it.
    for port in &mut file.plan.ports {
        port.schedule.shaper_burst = port.rate.bytes_in(Duration::from_millis(10));
    }
    let frames = file.pool_frames as u32;
    let pool = Pool::new(eal, &PoolOptions { frames, ..PoolOptions::default() }).unwrap();
    let clock = TscClock::new();
    let ids = (0..).map_while(PortId::new);
    let ports = ids.zip(file.devices.iter().zip(&file.plan.ports)).map(|(id, (device, plan))| {
        let port = DpdkPort::open(eal, &device.device).unwrap();
        let options = PortOptions { clock: Some(clock), ..PortOptions::default() };
        let port = port.start(&options, &pool).unwrap();
        let rate = BitsPerSec::new(100_000_000).unwrap();
        let mut port = Broken::over(port, rate, plan.pfc.mode);
        defects.iter().for_each(|defect| port.add(*defect).unwrap());
        (id, port)
    });
    let ports = ports.collect();
    let mut device =
        switch::Switch::<BrokenWorld>::new(&file.plan, ports, Alone::default(), ()).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    thread::scope(|scope| {
        scope.spawn(move || {
            let _worker = eal.register_worker().unwrap();
            while !stopped.load(Ordering::Relaxed) {
                if !device.poll(clock.now()).progressed {
                    thread::yield_now();
                }
            }
        });
        let _stop = StopAtEnd(stop);
        test();
    });
}

/// Sets its flag at the end of a test, also of one that failed: the thread of the device is waited for.
struct StopAtEnd(Arc<AtomicBool>);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Defects of a device, and the outcomes of tests of it.
type Row<'a> = (&'a [Defect], &'a [(&'a str, &'a str)]);

/// A defect between the port of a switch and its line is found in the real world as in the virtual one, by
/// the test that `knobs.yaml` names.
#[test]
fn defects_at_real_ports_are_found() {
    isolated(&[], || {
        let dir = Dir::new("defects");
        cables(LINKS);
        dut(&dir, "");
        let memory = Memory::NoHuge;
        let eal = EalOptions { memory, memory_mib: Some(256), ..EalOptions::default() };
        let eal = Eal::start(&eal).unwrap();
        let resumes = [
            Obeying::IgnoresZeroTime.into(),
            Sending::NeverPauses { priorities: PrioritySet::ALL }.into(),
        ];
        let rows: [Row<'_>; 3] = [
            (&[], &[("V-R01", "pass")]),
            (&[Obeying::NextPriority.into()], &[("V-R01", "fail")]),
            (&resumes, &[("V-R04", "fail"), ("V-X01", "fail")]),
        ];
        for (n, (defects, wanted)) in rows.into_iter().enumerate() {
            let names = format!("net_af_packet{n}");
            with_defects(&eal, &names, defects, || {
                let ids: Vec<_> = wanted.iter().map(|(id, _)| *id).collect();
                let Some(results) = validate(&dir, &ids) else { return };
                assert_eq!(outcome(&results, "V-00").0, "pass", "{results:#}");
                for (id, expected) in wanted {
                    assert_eq!(outcome(&results, id).0, *expected, "{defects:?}: {results:#}");
                }
            });
        }
    });
}

#[test]
fn the_own_switch_obeys() {
    isolated(&[], || {
        let dir = Dir::new("own");
        cables(LINKS);
        dut(&dir, "");
        let switch = own_switch(&dir, "own", "");
        let Some(results) = validate(&dir, &["V-R01", "V-R04", "V-M01"]) else { return };
        for id in ["V-00", "V-R01", "V-R04", "V-M01"] {
            assert_eq!(outcome(&results, id).0, "pass", "{id}: {results:#}");
        }
        switch.stop();
    });
}

/// The adapter reads the counters of the running switch and changes its settings over its control socket.
#[test]
fn the_counters_of_the_own_switch_are_true() {
    isolated(&[], || {
        let dir = Dir::new("counted");
        cables(LINKS);
        let socket = dir.path("counted.sock");
        dut(
            &dir,
            &format!(
                "adapter: {{ctl: {}}}\n\
                 expected:\n  xon: counted\n\
                 \x20 watchdog: {{detection: 400ms, restoration: 400ms, poll: 1ms}}\n",
                socket.display()
            ),
        );
        let watchdog = ", watchdog: {detection: 400ms, restoration: 400ms}";
        let switch = own_switch(&dir, "counted", watchdog);
        assert_eq!(switch.socket(), socket);
        settle(&dir, "2s");
        let Some(results) = validate(&dir, &["V-C02", "V-C03", "V-W03", "V-W08"]) else { return };
        for id in ["V-00", "V-C02", "V-C03", "V-W03", "V-W08"] {
            assert_eq!(outcome(&results, id).0, "pass", "{id}: {results:#}");
        }
        assert!(is_up("t1"), "V-W08 took it down");
        let of_ports = switch.ctl(&["--format", "json", "get", "watchdog.detection"]);
        let said = text(&of_ports.stdout);
        assert!(said.contains("400") && !said.contains("800"), "restored: {said}");
        switch.stop();
    });
}

/// Sets the time in which the device is back to normal: the kernel tells the end of a link failure up to a
/// second late.
fn settle(dir: &Dir, time: &str) {
    let text = std::fs::read_to_string(dir.path("dut.yaml")).unwrap();
    dir.write("dut.yaml", &text.replace("settle: 200ms", &format!("settle: {time}")));
}

/// Returns true if an interface is set to up.
fn is_up(name: &str) -> bool {
    // Files below /sys are those of the namespace in which it was mounted.
    let output = must(Command::new("ip").args(["-o", "link", "show", name]));
    let shown = text(&output.stdout);
    let flags = shown.split(['<', '>']).nth(1).expect("flags of the interface");
    flags.split(',').any(|flag| flag == "UP")
}

/// The tester takes its interface down and up, also if it is interrupted in between.
#[test]
fn links_fail_and_come_back() {
    isolated(&[], || {
        let dir = Dir::new("links");
        cables(LINKS);
        dut(&dir, "");
        settle(&dir, "2s");
        let switch = own_switch(&dir, "links", "");
        let Some(results) = validate(&dir, &["V-R16"]) else { return };
        // The last parts need a link that comes back within a pause, and a device that fills up within one.
        let (found, detail) = outcome(&results, "V-R16");
        let parts = ["in time after it came back", "does not fill up and pause A"];
        let is_partly = found == "skip" && parts.iter().any(|part| detail.contains(part));
        assert!(found == "pass" || is_partly, "{results:#}");
        let tests = results["tests"].as_array().unwrap();
        let judged = tests[1]["measurements"].as_array().unwrap();
        assert!(judged.iter().filter(|m| m["outcome"] == "pass").count() > 8, "{results:#}");
        assert!(is_up("t1"));

        let mut running = sluice()
            .arg("validate")
            .arg(dir.path("dut.yaml"))
            .args(["--only", "V-R16", "--no-huge"])
            .spawn()
            .unwrap();
        let since = std::time::Instant::now();
        while is_up("t1") {
            assert!(since.elapsed().as_secs() < 120, "the link was not taken down");
            assert!(running.try_wait().unwrap().is_none(), "the run ended before");
            thread::sleep(std::time::Duration::from_millis(5));
        }
        must(Command::new("kill").args(["-INT", &running.id().to_string()]));
        let status = running.wait().unwrap();
        assert!(!status.success() && is_up("t1"), "{status}");
        switch.stop();
    });
}

/// Keys of both directions, and the addresses of the two ends.
const SUITE: &str = "cipher_suite: gcm-aes-xpn-256, include_sci: true";
const KEY: &str = "key: 0f0e0d0c0b0a090807060504030201000f0e0d0c0b0a09080706050403020100";
const SALT: &str = "salt: e630e81a48de86a21c66fa6d";
const OF_DUT: &str = "02:00:00:00:0d:01";
const OF_TESTER: &str = "02:53:4c:00:00:02";

/// Packet numbers that a run takes at most.
const NUMBERS: usize = 10_000_000;

/// Starts the switch with MACsec at `d1`, which obeys `accepted` PFC.
fn secured_switch(dir: &Dir, accepted: &str) -> Switch {
    let macsec = format!(
        "{SUITE}, {KEY}, {SALT}, accept_pfc: {accepted}, receive: [{{sci: {{mac: {OF_TESTER}}}}}]"
    );
    let file = format!(
        "defaults: {{rate: 100M, pfc: {{enable: [3, 4]}}, trust: dscp}}\n\
         buffer: {{total: 1MiB}}\nports:\n\
         - {{name: d0, device: 'net_af_packet0,iface=d0'}}\n\
         - {{name: d1, device: 'net_af_packet1,iface=d1', mac: {OF_DUT}, macsec: {{{macsec}}}}}\n"
    );
    Switch::start(dir, "macsec", &file, &["--quiet"])
}

/// The DUT file for it. The device remembers the tester's packet numbers, so each run has others.
fn secured_dut(dir: &Dir, run: usize) {
    let first = 1 + run * NUMBERS;
    let macsec = format!(
        "{SUITE}, {SALT}, transmit: {{associations: {{0: {{{KEY}, next_pn: {first}}}}}}}, \
         receive: [{{sci: {{mac: {OF_DUT}}}, associations: {{0: {{{KEY}}}}}}}]"
    );
    let text = format!(
        "name: device\nrate: 100M\nload: 30%\nports:\n\
         - {{location: 'iface:t0', dut: d0}}\n\
         - {{location: 'iface:t1', dut: d1, macsec: {{{macsec}}}}}\n\
         adapter: {{ctl: {}}}\nexpected: {{macsec: {{B: strict}}}}\n\
         tolerances: {{reaction: 4000, resume: 50ms, rate: 10%}}\n\
         times: {{baseline: 200ms, hold: 700ms, settle: 200ms, drain: 500ms}}\n",
        dir.path("macsec.sock").display()
    );
    dir.write("dut.yaml", &text);
}

/// A port with MACsec obeys the PFC of its mode, sends all protected, and rejects what is not the peer's.
#[test]
fn the_own_switch_protects_pfc() {
    isolated(&[], || {
        let dir = Dir::new("macsec");
        cables(LINKS);
        let switch = secured_switch(&dir, "protected");
        let Some(results) =
            validate_after(&dir, &["V-K01", "V-K02", "V-K03"], |n| secured_dut(&dir, n))
        else {
            return;
        };
        for (id, verdict) in
            [("V-00", "pass"), ("V-K01", "pass"), ("V-K02", "pass"), ("V-K03", "skip")]
        {
            assert_eq!(outcome(&results, id).0, verdict, "{id}: {results:#}");
        }
        assert!(outcome(&results, "V-K03").1.contains("removed key"), "{results:#}");
        switch.stop();
        // This one obeys plain PFC, too.
        let switch = secured_switch(&dir, "both");
        let Some(results) = validate_after(&dir, &["V-K01"], |n| secured_dut(&dir, n)) else {
            return;
        };
        let (found, detail) = outcome(&results, "V-K01");
        assert_eq!(found, "fail", "{results:#}");
        assert!(detail.contains("rate of priority"), "{detail}");
        switch.stop();
    });
}
