//! PTP's peer delay compared with ptp4l of linuxptp: each sends requests over a veth pair, and both
//! measure the same mean path delay.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::netns::{self, Host, isolated};
use crate::run::{Dir, PROGRAM, Switch, text};

const TOOLS: [&str; 1] = ["ptp4l"];

/// Exchanges from which both take their figures: enough that preemption does not move the median.
const EXCHANGES: usize = 64;

fn f(v: &Value) -> f64 {
    v.as_f64().unwrap_or_else(|| panic!("no number: {v}"))
}

/// `ptp4l` on a host, with sixteen requests per second and the median of its last answers.
struct Ptp4l<'a> {
    host: &'a Host,
    child: Child,
    dir: &'a Dir,
}

/// Runs a program with a higher priority than others, if that is allowed.
fn ahead(command: &mut Command) -> &mut Command {
    command.args(["-n", "-20"])
}

impl<'a> Ptp4l<'a> {
    fn start(host: &'a Host, dir: &'a Dir) -> Self {
        let log = File::create(dir.path("ptp4l.log")).unwrap();
        let mut command = host.command("nice");
        let child = ahead(&mut command)
            .args(["ptp4l", "-P", "-2", "-S", "-m", "-i", "eth0"])
            .args(["--logMinPdelayReqInterval=-4", &format!("--delay_filter_length={EXCHANGES}")])
            .arg(format!("--uds_address={}", dir.path("ptp4l").display()))
            .stdin(Stdio::null())
            .stdout(log)
            .spawn()
            .unwrap();
        Self { host, child, dir }
    }

    /// Its mean path delay in nanoseconds, once it has one.
    fn path_delay(&self) -> Option<f64> {
        let (socket, own) = (self.dir.path("ptp4l"), self.dir.path("pmc"));
        let output = self
            .host
            .command("pmc")
            .args(["-u", "-b", "0", "-t", "0", "-s"])
            .arg(socket)
            .arg("-i")
            .arg(&own)
            .arg("GET PORT_DATA_SET")
            .output()
            .unwrap();
        let _ = std::fs::remove_file::<&Path>(&own);
        let said = text(&output.stdout);
        let line = said.lines().find(|line| line.contains("peerMeanPathDelay"))?;
        let ns: f64 = line.split_whitespace().last()?.parse().ok()?;
        (ns > 0.0).then_some(ns)
    }

    /// Median of its mean path delays over this time.
    fn settled(&self, over: Duration) -> f64 {
        let start = Instant::now();
        let mut all = Vec::new();
        while start.elapsed() < over || all.len() < 5 {
            assert!(start.elapsed() < Duration::from_secs(60), "{}", self.log());
            thread::sleep(Duration::from_millis(200));
            all.extend(self.path_delay());
        }
        // Values from before its filter was full count less than later ones.
        let mut late = all.split_off(all.len() / 2);
        late.sort_by(f64::total_cmp);
        late[late.len() / 2]
    }

    /// Time that it waited for a processor since it was started, by the kernel's account.
    fn waited(&self) -> Duration {
        // `nsenter`, `setpriv` and `nice` each executed the next, so this is its process.
        let account = std::fs::read_to_string(format!("/proc/{}/schedstat", self.child.id()));
        let ns = account.unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
        Duration::from_nanos(ns)
    }

    /// Its log as far as it is written.
    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path("ptp4l.log")).unwrap_or_default()
    }
}

impl Drop for Ptp4l<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One comparison: the mean path delay that this program and ptp4l find at the same time.
struct Compared {
    ours: f64,
    theirs: f64,
    /// Largest error of `ours`.
    bound: f64,
    /// Disturbance by other programs, from this program or the kernel's account of ptp4l.
    disturbed: Option<String>,
}

/// Runs both at the same time: while this program measures, it also answers.
fn compare(host: &Host) -> Compared {
    let dir = Dir::new("ptp");
    let ptp4l = Ptp4l::start(host, &dir);
    let rounds = format!("--rounds={EXCHANGES}");
    let mut command = Command::new("nice");
    let measure = ahead(&mut command)
        .args(PROGRAM)
        .args("headroom measure --port iface:s0 --method ptp --rate 10G".split(' '))
        .args([&rounds, "--interval=50ms", "--count=4", "--period=1ms", "--format=json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_secs(1));
    let (before, start) = (ptp4l.waited(), Instant::now());
    let theirs = ptp4l.settled(Duration::from_secs(10));
    let (waited, lasted) = (ptp4l.waited() - before, start.elapsed());
    let output = measure.wait_with_output().unwrap();
    let inconclusive = output.status.code() == Some(4);
    assert!(output.status.success() || inconclusive, "{}", ptp4l.log());
    let v: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(f(&v["ports"][0]["ptp"]["follow_ups_sent"]) >= 50.0, "{v:#}");
    let all = v["measurements"].as_array().unwrap();
    let middle = |of: fn(&Value) -> &Value| {
        let mut all: Vec<_> = all.iter().map(|m| f(of(m))).collect();
        all.sort_by(f64::total_cmp);
        // A disturbed run may have measured nothing.
        all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let disturbed = if inconclusive {
        Some(v["disturbance"].to_string())
    } else {
        (waited > lasted / 100).then(|| format!("ptp4l waited {waited:?} for a processor"))
    };
    let (ours, bound) = (middle(|m| &m["delay_ns"]["p50"]), middle(|m| &m["uncertainty_ns"]));
    Compared { ours, theirs, bound, disturbed }
}

#[test]
fn both_come_to_the_same_mean_path_delay() {
    isolated(&TOOLS, || {
        let host = Host::new(0);
        // A disturbed comparison is inconclusive, and is repeated a few times.
        for _ in 0..5 {
            let Compared { ours, theirs, bound, disturbed } = compare(&host);
            println!("{ours} ns here, {theirs} ns at ptp4l, error at most {bound} ns");
            if (ours - theirs).abs() <= bound {
                return;
            }
            let Some(disturbance) = disturbed else {
                panic!("{ours} and {theirs} ns, error at most {bound} ns");
            };
            eprintln!("repeated: {disturbance}");
        }
        eprintln!("inconclusive: the machine was busy each time");
    });
}

#[test]
fn a_port_of_a_switch_asks_and_answers_ptp4l() {
    isolated(&TOOLS, || {
        let dir = Dir::new("ptp-switch");
        let host = Host::new(0);
        let ptp4l = Ptp4l::start(&host, &dir);
        let port = netns::port(0, ", ptp: {interval: 50ms, rounds: 16}");
        let switch = Switch::start(&dir, "ptp", &format!("ports:\n{port}"), &[]);
        let agents = |shown: &Value| shown["ports"][0]["agents"].clone();
        let counted = |shown: &Value, what: &str| f(&agents(shown)["counters"]["ptp"][what]);
        let shown = switch.wait("measured", |shown| {
            agents(shown)["path_delay"] != Value::Null && counted(shown, "follow_ups_sent") > 20.0
        });
        let delay = &agents(&shown)["path_delay"];
        assert!(f(&delay["min_ns"]) > 0.0 && f(&delay["max_ns"]) >= f(&delay["mean_ns"]));
        assert_eq!(counted(&shown, "impossible"), 0.0, "{:#}", agents(&shown));
        let theirs = ptp4l.settled(Duration::from_secs(1));
        println!("the switch's {delay}, ptp4l's {theirs} ns");
        assert!(theirs > 0.0);
        let (status, summary) = switch.stop();
        assert_eq!(status, Some(0), "{summary:#}");
    });
}
