//! `sluice validate` against devices behind veth pairs: a bridge of the kernel and Open vSwitch, which do
//! not obey PFC, and the switch of this program, which does.
#![cfg(feature = "dpdk")]

mod netns;
mod run;

use std::process::Command;

use netns::openvswitch::OpenVSwitch;
use netns::{isolated, must};
use run::{Dir, Switch, sluice, text};
use serde_json::Value;

/// Number of links to the device.
const LINKS: usize = 3;

/// Times that a run is repeated while the machine is too busy for it.
const RUNS_MAX: usize = 7;

/// Veth pairs: `t0` .. at the tester, `d0` .. at the device.
fn cables() {
    let ip = |args: &str| {
        must(Command::new("ip").args(args.split_whitespace()));
    };
    for n in 0..LINKS {
        ip(&format!("link add t{n} type veth peer name d{n}"));
        for end in [format!("t{n}"), format!("d{n}")] {
            ip(&format!("link set {end} addrgenmode none"));
            let off = "tx off rx off tso off gso off gro off";
            must(Command::new("ethtool").args(["-K", &end]).args(off.split(' ')));
            ip(&format!("link set {end} up"));
        }
    }
}

/// DUT file of a device in software: it polls, so it reacts later than hardware. `more` are further fields.
fn dut(dir: &Dir, more: &str) {
    let ports: Vec<String> =
        (0..LINKS).map(|n| format!("- {{location: 'iface:t{n}', dut: d{n}}}\n")).collect();
    dir.write(
        "dut.yaml",
        &format!(
            "name: device\nrate: 100M\nload: 40%\nports:\n{}\
             tolerances: {{reaction: 4000, resume: 50ms, rate: 10%}}\n\
             times: {{baseline: 500ms, hold: 2s, settle: 300ms, drain: 1s}}\n{more}",
            ports.concat()
        ),
    );
}

/// Runs some tests, again while the machine is too busy for one of them, and returns the results.
fn validate(dir: &Dir, only: &[&str]) -> Value {
    validate_after(dir, only, |_| {})
}

/// Does the same, and `before` each run with its number from 0.
fn validate_after(dir: &Dir, only: &[&str], before: impl Fn(usize)) -> Value {
    let file = dir.path("dut.yaml");
    let run = || -> Value {
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
    // A device in software that loses its CPU loses frames at rest, which the tester cannot tell from a
    // cable that is wrong.
    let disturbed = |results: &Value| {
        let tests = results["tests"].as_array().unwrap().iter();
        let at_rest =
            |test: &&Value| test["detail"].as_str().is_some_and(|d| d.contains("at rest"));
        tests.filter(|test| test["outcome"] == "inconclusive" || at_rest(test)).count()
    };
    before(0);
    let mut results = run();
    for n in 1..=RUNS_MAX {
        if disturbed(&results) == 0 {
            break;
        }
        eprintln!("repeated: {results:#}");
        before(n);
        results = run();
    }
    results
}

/// Returns the outcome of a test, and its reason.
fn outcome(results: &Value, id: &str) -> (String, String) {
    let tests = results["tests"].as_array().unwrap();
    let test = tests.iter().find(|test| test["id"] == id);
    let test = test.unwrap_or_else(|| panic!("{id} was not run: {results:#}"));
    let word = |field: &str| test[field].as_str().unwrap().to_owned();
    (word("outcome"), word("detail"))
}

#[test]
fn a_bridge_of_the_kernel_fails_to_obey() {
    let name = "a_bridge_of_the_kernel_fails_to_obey";
    isolated(name, &[], || {
        let dir = Dir::new("bridge");
        cables();
        must(Command::new("ip").args(["link", "add", "br0", "type", "bridge"]));
        for n in 0..LINKS {
            must(Command::new("ip").args(["link", "set", &format!("d{n}"), "master", "br0"]));
        }
        must(Command::new("ip").args(["link", "set", "br0", "up"]));
        dut(&dir, "");
        let results = validate(&dir, &["V-R01", "V-M06"]);
        let of = |id| outcome(&results, id);
        assert_eq!(of("V-00").0, "pass", "{results:#}");
        let (found, detail) = of("V-R01");
        assert_eq!(found, "fail", "{results:#}");
        assert!(detail.contains("against the pause"), "{detail}");
        // A bridge does not forward reserved addresses (802.1Q 8.6.3), and other ones as data.
        let (found, detail) = of("V-M06");
        assert_eq!(found, "fail", "{results:#}");
        assert!(!detail.contains("01:80:c2"), "{detail}");
    });
}

#[test]
fn open_vswitch_fails_to_obey() {
    let name = "open_vswitch_fails_to_obey";
    isolated(name, &["ovs-vswitchd", "ovsdb-server", "ovs-vsctl"], || {
        let dir = Dir::new("ovs");
        cables();
        let _switch = OpenVSwitch::start(&dir, LINKS);
        dut(&dir, "");
        let results = validate(&dir, &["V-R01", "V-M06"]);
        let of = |id| outcome(&results, id);
        assert_eq!(of("V-00").0, "pass", "{results:#}");
        let (found, detail) = of("V-R01");
        assert_eq!(found, "fail", "{results:#}");
        assert!(detail.contains("against the pause"), "{detail}");
        // It forwards MAC control to addresses that are not reserved as data.
        let (found, detail) = of("V-M06");
        assert_eq!(found, "fail", "{results:#}");
        assert!(!detail.contains("01:80:c2"), "{detail}");
    });
}

/// Starts the switch of this program between the links; `more` are further defaults of its ports.
fn own_switch(dir: &Dir, name: &str, more: &str) -> Switch {
    let ports: Vec<String> = (0..LINKS)
        .map(|n| format!("- {{name: d{n}, device: 'net_af_packet{n},iface=d{n}'}}\n"))
        .collect();
    let file = format!(
        "defaults: {{rate: 100M, pfc: {{enable: [3, 4]}}, trust: dscp{more}}}\n\
         buffer: {{total: 4MiB}}\nports:\n{}",
        ports.concat()
    );
    Switch::start(dir, name, &file, &["--quiet"])
}

#[test]
fn the_own_switch_obeys() {
    let name = "the_own_switch_obeys";
    isolated(name, &[], || {
        let dir = Dir::new("own");
        cables();
        dut(&dir, "");
        let switch = own_switch(&dir, "own", "");
        let results = validate(&dir, &["V-R01", "V-R04", "V-M01"]);
        for id in ["V-00", "V-R01", "V-R04", "V-M01"] {
            assert_eq!(outcome(&results, id).0, "pass", "{id}: {results:#}");
        }
        switch.stop();
    });
}

/// The adapter reads the counters of the running switch and changes its settings over its control socket.
#[test]
fn the_counters_of_the_own_switch_are_true() {
    let name = "the_counters_of_the_own_switch_are_true";
    isolated(name, &[], || {
        let dir = Dir::new("counted");
        cables();
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
        let results = validate(&dir, &["V-C02", "V-C03", "V-W03", "V-W08"]);
        for id in ["V-00", "V-C02", "V-C03", "V-W03"] {
            assert_eq!(outcome(&results, id).0, "pass", "{id}: {results:#}");
        }
        // Links of real ports are not taken down; the rest of the test is run.
        let (found, detail) = outcome(&results, "V-W08");
        assert_eq!(found, "skip", "{results:#}");
        assert!(detail.starts_with("link failure in a storm: not run"), "{detail}");
        let of_ports = switch.ctl(&["--format", "json", "get", "watchdog.detection"]);
        let said = text(&of_ports.stdout);
        assert!(said.contains("400") && !said.contains("800"), "restored: {said}");
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
        "defaults: {{rate: 10M, pfc: {{enable: [3, 4]}}, trust: dscp}}\n\
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
        "name: device\nrate: 10M\nload: 30%\nports:\n\
         - {{location: 'iface:t0', dut: d0}}\n\
         - {{location: 'iface:t1', dut: d1, macsec: {{{macsec}}}}}\n\
         adapter: {{ctl: {}}}\nexpected: {{macsec: {{B: strict}}}}\n\
         tolerances: {{reaction: 4000, resume: 50ms, rate: 10%}}\n\
         times: {{baseline: 500ms, hold: 2s, settle: 300ms, drain: 1s}}\n",
        dir.path("macsec.sock").display()
    );
    dir.write("dut.yaml", &text);
}

/// A port with MACsec obeys the PFC of its mode, sends all protected, and rejects what is not the peer's.
#[test]
fn the_own_switch_protects_pfc() {
    let name = "the_own_switch_protects_pfc";
    isolated(name, &[], || {
        let dir = Dir::new("macsec");
        cables();
        let switch = secured_switch(&dir, "protected");
        let results = validate_after(&dir, &["V-K01", "V-K02", "V-K03"], |n| secured_dut(&dir, n));
        for (id, verdict) in
            [("V-00", "pass"), ("V-K01", "pass"), ("V-K02", "pass"), ("V-K03", "skip")]
        {
            assert_eq!(outcome(&results, id).0, verdict, "{id}: {results:#}");
        }
        assert!(outcome(&results, "V-K03").1.contains("removed key"), "{results:#}");
        switch.stop();
        // This one obeys plain PFC, too.
        let switch = secured_switch(&dir, "both");
        let results = validate_after(&dir, &["V-K01"], |n| secured_dut(&dir, n));
        let (found, detail) = outcome(&results, "V-K01");
        assert_eq!(found, "fail", "{results:#}");
        assert!(detail.contains("rate of priority"), "{detail}");
        switch.stop();
    });
}
