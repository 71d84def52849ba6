//! Headroom measured on links of the kernel: between two programs in two network namespaces, and
//! between a program and a port of a switch, which measures and applies its own, too.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::netns::{self, Host, isolated};
use crate::run::{Dir, Switch, conclusive, run_ahead, sluice, text};

fn n(v: &Value) -> u64 {
    v.as_u64().unwrap_or_else(|| panic!("no number: {v}"))
}

fn f(v: &Value) -> f64 {
    v.as_f64().unwrap_or_else(|| panic!("no number: {v}"))
}

/// `sluice headroom measure` with more arguments, in the test's namespace.
fn measure(args: &str) -> Command {
    with(sluice(), args)
}

/// The same on a host.
fn measure_on(host: &Host, args: &str) -> Command {
    with(host.sluice(), args)
}

fn with(mut command: Command, args: &str) -> Command {
    command.args(["headroom", "measure", "--format", "json"]).args(args.split_whitespace());
    command.stdin(Stdio::null());
    command
}

/// Results of a run that must measure. On a machine that stays busy they are inconclusive and name
/// the disturbance; the assertions hold in either case.
fn result(mut command: Command) -> Value {
    let output = conclusive(|| command.output().unwrap());
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let results: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
    let disturbed = output.status.code() == Some(4) && results["disturbance"].is_string();
    assert!(output.status.success() || disturbed, "{command:?}: {out}{err}");
    results
}

/// A run that answers measurements, until it is stopped.
struct Responder(Child);

impl Responder {
    fn start(mut command: Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // EAL takes a moment; a measurement before that would find no peer.
        thread::sleep(Duration::from_secs(1));
        Self(child)
    }

    /// Interrupts it and returns its counters.
    fn stop(self) -> Value {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let output = self.0.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// Checks the report of every measurement.
fn check(v: &Value, rounds: u64) {
    assert_eq!(v["state"], "measured", "{v:#}");
    let m = &v["measurements"][0];
    assert_eq!(n(&m["rounds"]), rounds);
    assert_eq!(m["stamps"]["source"], "software");
    let delay = &m["delay_ns"];
    let figures = ["min", "p50", "p99", "max"].map(|name| f(&delay[name]));
    println!("{delay}, off by {} ns", m["uncertainty_ns"]);
    assert!(figures.is_sorted() && figures[0] > 0.0, "{delay}");
    assert!(f(&m["uncertainty_ns"]) > 0.0 && f(&m["accuracy"]["quanta"]) > 0.0);
    // At least two longest frames and a PFC frame.
    assert!(n(&v["headroom"]["bits"]) > 2 * 16_160 + 672);
}

#[test]
fn two_programs_in_two_namespaces_measure_their_link() {
    isolated(&[], || {
        run_ahead();
        let host = Host::new(0);
        let responder = Responder::start(measure_on(&host, "--port iface:eth0 --respond"));
        let v = result(measure("--port iface:s0 --rate 10G"));
        check(&v, 100);
        assert_eq!((&v["rate_from"], &v["statistic"]), (&"argument".into(), &"max".into()));
        // Also by the other method, and by the mean.
        let ptp = result(measure("--port iface:s0 --rate 10G --method ptp --statistic mean"));
        check(&ptp, 8);
        let m = &ptp["measurements"][0];
        assert_eq!(f(&m["chosen_ns"]), f(&m["delay_ns"]["mean"]));
        let answered = responder.stop();
        assert_eq!(answered["state"], "answered");
        let port = &answered["ports"][0];
        assert!(n(&port["measurement"]["responses_sent"]) >= 100, "{port}");
        assert!(n(&port["ptp"]["follow_ups_sent"]) >= 8, "{port}");
    });
}

const FILE: &str = "\
switch: {name: measured}
buffer: {total: 256MiB}
defaults:
  rate: 1G
  pfc: {enable: [3]}
  link: {poll_gap: 2ms, peer_response: 100us}
ports:
";

#[test]
fn a_port_of_a_switch_answers_and_says_who_it_is() {
    isolated(&[], || {
        let dir = Dir::new("measured");
        run_ahead();
        let host = Host::new(0);
        let port = netns::port(0, ", measurement: {}, ptp: {}, lldp: {system_name: tor7}");
        let switch = Switch::start(&dir, "measured", &format!("{FILE}{port}"), &[]);
        let v = result(measure_on(&host, "--port iface:eth0 --rate 1G"));
        check(&v, 100);
        check(&result(measure_on(&host, "--port iface:eth0 --rate 1G --method ptp")), 8);
        let shown = switch.show();
        let agents = &shown["ports"][0]["agents"];
        assert!(n(&agents["counters"]["measurement"]["responses_sent"]) >= 100, "{agents:#}");
        // The PTP method uses LLDP to receive the peer's internal delay.
        assert_eq!(agents["neighbours"][0]["system_name"], "sluice", "{agents:#}");
        let said = text(&switch.ctl(&["neighbours"]).stdout);
        assert!(said.contains("sluice") && said.contains("iface:eth0"), "{said}");
        let (status, _) = switch.stop();
        assert_eq!(status, Some(0));
    });
}

#[test]
fn a_switch_measures_its_link_sets_its_headroom_and_does_so_again_when_told() {
    isolated(&[], || {
        let dir = Dir::new("auto");
        run_ahead();
        let host = Host::new(0);
        let responder = Responder::start(measure_on(&host, "--port iface:eth0 --respond"));
        // On a busy machine the answers of a program take long, which is not the subject of this
        // test.
        let port = netns::port(0, ", headroom: {auto: {limit: 1000}}");
        let switch = Switch::start(&dir, "auto", &format!("{FILE}{port}"), &[]);
        let state = |shown: &Value| shown["ports"][0]["agents"]["headroom"].clone();
        // On a busy machine too few answers may arrive in time: then the switch measures again by itself.
        let found = |shown: &Value| state(shown)["state"] == "found" && state(shown)["set"] == true;
        let shown = switch.wait("measured", found);
        let needs = &state(&shown)["needs"];
        assert!(n(&needs["cells"]) > 0 && n(&needs["bits"]) > 0, "{needs}");
        let steps = |what: &str| {
            let output = switch.ctl(&["--format", "json", "headroom"]);
            let v: Value = serde_json::from_slice(&output.stdout).unwrap();
            let steps = v["steps"].as_array().unwrap().clone();
            let of_port = steps.into_iter().filter(|step| step["port"] == "p0");
            of_port.filter(|s| s["step"].as_str().unwrap().contains(what)).count()
        };
        let before = (steps("measuring"), steps("round trip over 100 rounds"));
        assert!(before.0 >= 1 && before.1 >= 1, "{before:?}");
        assert!(steps("headroom") >= 1);

        switch.obey(&["measure", "p0"]);
        switch.wait("measured again", |_| steps("round trip over 100 rounds") > before.1);
        let said = text(&switch.ctl(&["headroom"]).stdout);
        assert!(said.contains("measured") && said.contains("round trip"), "{said}");
        assert!(switch.refuse(&["measure", "p9"]).contains("there is no port p9"));

        // No peer answers any more.
        responder.stop();
        switch.obey(&["measure", "p0"]);
        switch.wait("failed", |shown| state(shown)["state"] == "failed");
        // The port's headroom is updated a little later.
        switch.wait("told", |_| steps("does not answer headroom measurements") >= 1);
        switch.wait("told of the next attempt", |_| steps("measures again in 1s") >= 1);
        let (status, summary) = switch.stop();
        assert_eq!(status, Some(0), "{summary:#}");
        // The next attempt may run.
        let last = &state(&summary)["state"];
        assert!(last == "failed" || last == "measuring", "{last}");
    });
}

#[test]
fn a_host_that_answers_late_gets_the_limit_and_a_failed_measurement_takes_it_back() {
    isolated(&[], || {
        let dir = Dir::new("late-host");
        let host = Host::new(0);
        let port = netns::port(0, ", headroom: {auto: {limit: 2}}");
        let switch = Switch::start(&dir, "late-host", &format!("{FILE}{port}"), &[]);
        let state = |shown: &Value| shown["ports"][0]["agents"]["headroom"].clone();
        // No peer answers yet.
        switch.wait("not measured", |shown| state(shown)["state"] == "failed");
        // The host answers when it has a processor: 30 ms late, repeatedly.
        let responder = Responder::start(measure_on(&host, "--port iface:eth0 --respond"));
        let late = Late::new(responder.0.id());
        let steps = || -> Vec<String> {
            let output = switch.ctl(&["--format", "json", "headroom"]);
            let v: Value = serde_json::from_slice(&output.stdout).unwrap();
            let steps = v["steps"].as_array().unwrap().clone();
            steps.into_iter().map(|step| step["step"].as_str().unwrap().to_owned()).collect()
        };
        // Number of bytes after a word, in the last step that contains it.
        let bytes = |steps: &Vec<String>, word: &str| -> Option<u64> {
            let step = steps.iter().rev().find(|step| step.contains(word))?;
            step.split(word).nth(1)?.split(' ').next()?.parse().ok()
        };
        let (limit, set) = (" above the limit of ", ": headroom ");
        // On a busy machine too few answers arrive in time, or all of them do; then the test
        // repeats.
        let (begun, mut measured) = (Instant::now(), None::<Instant>);
        while bytes(&steps(), limit).is_none() {
            let over =
                ["found", "failed"].contains(&state(&switch.show())["state"].as_str().unwrap());
            if over && measured.is_none_or(|at| at.elapsed() > Duration::from_secs(1)) {
                measured = Some(Instant::now());
                switch.obey(&["measure", "p0"]);
            }
            if begun.elapsed() > Duration::from_secs(60) {
                // A measurement that came to an end must have found the limit.
                let finished = steps().iter().any(|step| step.contains("round trip over"));
                assert!(!finished, "never limited: {:#?}", steps());
                println!("inconclusive: no measurement of the late host was answered often enough");
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let most = bytes(&steps(), limit).unwrap();
        switch.wait("set", |_| bytes(&steps(), set) == Some(most));
        let shown = state(&switch.show());
        assert!(shown["set"] == false && n(&shown["needs"]["bytes"]) > most, "{shown:#}");
        let said = switch.stderr();
        assert!(said.contains("WARN") && said.contains("the peer answers late"), "{said}");

        // No peer answers any more: headroom beyond the configured length is given back.
        drop(late);
        responder.stop();
        switch.obey(&["measure", "p0"]);
        switch.wait("given back", |_| bytes(&steps(), set).is_some_and(|bytes| bytes < most));
        let back = bytes(&steps(), set).unwrap();
        assert!(most.abs_diff(2 * back) <= 2 * 256, "{back} of {most}");
        assert_eq!(switch.stop().0, Some(0));
    });
}

/// Keeps a process from its processor for 30 ms out of 40, until it is dropped.
struct Late(std::sync::Arc<std::sync::atomic::AtomicBool>, Option<thread::JoinHandle<()>>);

impl Late {
    fn new(pid: u32) -> Self {
        use std::sync::atomic::Ordering;
        let goes_on = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
        let until = std::sync::Arc::clone(&goes_on);
        let signal = move |signal: &str| {
            let _ = Command::new("kill").args([signal, &pid.to_string()]).status();
        };
        let thread = thread::spawn(move || {
            while until.load(Ordering::Relaxed) {
                signal("-STOP");
                thread::sleep(Duration::from_millis(30));
                signal("-CONT");
                thread::sleep(Duration::from_millis(10));
            }
        });
        Self(goes_on, Some(thread))
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        self.0.store(false, std::sync::atomic::Ordering::Relaxed);
        self.1.take().into_iter().for_each(|thread| thread.join().unwrap());
    }
}
