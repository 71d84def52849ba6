//! Tests every command with a closed pipe, a full disk, Ctrl-C, paths that cannot be written, 80
//! columns and `NO_COLOR`. The commands are those that clap knows, so a new one needs its rows.

mod process;
mod rows;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use process::{Ended, Output, run as execute, start};
use rows::{LONG, ROWS, Row, is_read, written};

use crate::run::{self, Dir, PROGRAM, Switch, guarded, sluice, text};

const LAB: &str = "topology: {star: {hosts: 2}}\n\
    defaults: {links: {rate: 1G, length: 1m}}\n\
    checks: [conservation]\n";

/// Folder with the files that the rows name.
fn files(name: &str) -> Dir {
    let dir = Dir::new(name);
    let ports = "ports: [{name: a, device: net_null0}, {name: b, device: net_null1}]\n";
    dir.write(
        "null.yaml",
        &format!(
            "switch: {{name: {name}-{}}}\ndefaults: {{rate: 1G}}\n{ports}",
            std::process::id()
        ),
    );
    let lab = |flow: &str| format!("{LAB}flows: [{{name: f, from: h1, to: h2, {flow}}}]\n");
    dir.write("small.yaml", &format!("name: small\nduration: 20us\n{}", lab("size: 1000")));
    dir.write(
        "endless-lab.yaml",
        &format!("name: endless\nduration: 1h\n{}", lab("size: 1000, rate: 10M")),
    );
    dir.write(
        "sweep.yaml",
        &format!("name: sweep\nduration: 20us\n{}sweep: {{seed: 1..3}}\n", lab("size: 100")),
    );
    let search = "search: {largest: {duration: 10us..30us step 5us}, seed: 1..2}";
    dir.write("search.yaml", &format!("duration: 20us\n{}{search}\n", lab("size: 100")));
    dir.write(
        "endless-sweep.yaml",
        &format!("duration: 1h\n{}sweep: {{seed: 1..9}}\n", lab("size: 1000, rate: 10M")),
    );
    let mut swarm = sluice();
    swarm.args(["swarm", "--count", "1", "--rows"]).arg(dir.path("swarm.jsonl"));
    assert!(swarm.output().unwrap().status.success());
    dir.write(
        "endless.yaml",
        "ports: [{name: p1, location: 'ring:endless.a'}, {name: p2, location: 'ring:endless.b'}]\n\
         flows:\n\
         - name: f\n\
         \x20 tx_rx: {choice: port, port: {tx_name: p1, rx_names: [p2]}}\n\
         \x20 packet: [{choice: ethernet, ethernet: {}}]\n\
         \x20 rate: {choice: pps, pps: 100}\n\
         \x20 metrics: {enable: true, loss: true}\n",
    );
    // A capture without packets: its header alone.
    let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0xffff, 1].map(u32::to_le_bytes);
    fs::write(dir.path("silent.pcap"), header.as_flattened()).unwrap();
    dir.write("dut.yaml", "rate: 1G\nports: [{}, {}]\nvirtual: {profile: {}}\n");
    dir.write("ports.yaml", "rate: 1G\nports: [{}, {}, {}]\nvirtual: {profile: {}}\n");
    dir.write("three.yaml", "dut: ports.yaml\nsizes: [1518]\ntrial: 1ms\n");
    dir.write("benchmark.yaml", "dut: dut.yaml\nsizes: [1518]\ntrial: 1ms\n");
    dir
}

/// Names of all commands with an action.
fn commands() -> BTreeSet<String> {
    fn add(command: &clap::Command, before: &str, all: &mut BTreeSet<String>) {
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            let name = format!("{before}{}", sub.get_name());
            if sub.has_subcommands() {
                add(sub, &format!("{name} "), all);
            } else {
                all.insert(name);
            }
        }
    }
    let mut all = BTreeSet::new();
    add(&sluice::cli::command(), "", &mut all);
    all
}

/// Text of a row on the command line.
fn line(row: &Row) -> String {
    let control = match row.command.starts_with("ctl ") && !row.args.contains("--describe") {
        true => " --control {tmp}/switch.sock",
        false => "",
    };
    format!("{} {}{control}", row.command, row.args)
}

/// Number of commands that run at a time: the longest ones wait more than they compute.
const AT_A_TIME: usize = 4;

/// Judges all rows. Those of `ctl` are in their order, with one running switch; the others are side by side with
/// them.
fn each(name: &str, judge: impl Fn(&Dir, &Row, &str) + Sync) {
    let dir = files(name);
    let file = fs::read_to_string(dir.path("null.yaml")).unwrap();
    let file = file.replace(name, &format!("{name}-ctl"));
    let is_ctl = |row: &&Row| row.command.starts_with("ctl ");
    let others = Mutex::new(ROWS.iter().filter(|row| !is_ctl(row)));
    let next = || others.lock().unwrap().next();
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(row) = next() {
                    judge(&dir, row, &line(row));
                }
            });
        }
        let mut switch = Switch::start(&dir, "switch", &file, &["--quiet"]);
        for row in ROWS.iter().filter(is_ctl) {
            judge(&dir, row, &line(row));
            if row.command == "ctl stop" {
                switch.end();
                switch = Switch::start(&dir, "switch", &file, &["--quiet"]);
            }
        }
    });
}

/// Asserts that there is no panic, no message about the pipe, and no directory of DPDK left.
fn ended_well(row: &Row, line: &str, ended: &Ended) {
    let status = ended.status.unwrap_or(-1);
    assert!(row.statuses.contains(&status), "{line}: {ended:?}");
    for word in ["panicked", "Broken pipe", "RUST_BACKTRACE"] {
        assert!(!ended.stderr.contains(word), "{line}: {ended:?}");
    }
    nothing_left(line, ended);
}

/// Asserts that DPDK's runtime directories of a process are removed. A directory older than the
/// process belongs to a killed process with the same id.
fn nothing_left(line: &str, ended: &Ended) {
    let folder = Path::new("/var/run/dpdk");
    let Ok(left) = fs::read_dir(folder) else { return };
    let own = format!("-{}", ended.pid);
    let of_the_process = |entry: &fs::DirEntry| {
        let made = entry.metadata().and_then(|m| m.modified());
        entry.file_name().to_string_lossy().ends_with(&own)
            && made.is_ok_and(|at| at >= ended.started)
    };
    let left = left.flatten().find(of_the_process).map(|e| e.file_name());
    assert!(left.is_none(), "{line} leaves {left:?} in {}", folder.display());
}

#[test]
fn every_command_has_a_row() {
    let rows: BTreeSet<_> = ROWS.iter().map(|row| row.command.to_owned()).collect();
    assert_eq!(commands(), rows, "left: commands of the program; right: rows of the test");
}

#[test]
fn every_command_ends_as_it_would_when_nobody_reads() {
    each("closed", |dir, row, line| {
        let ended = execute(dir, line, [Output::Closed, Output::Kept]);
        ended_well(row, line, &ended);
        let ended = execute(dir, line, [Output::Closed, Output::Closed]);
        // A switch that `ctl stop` has stopped does not answer a second one.
        if row.command != "ctl stop" {
            ended_well(row, line, &ended);
        }
    });
}

#[test]
fn no_result_is_lost_to_a_full_disk_without_a_word() {
    each("full", |dir, row, line| {
        let plain = execute(dir, line, [Output::Kept, Output::Kept]);
        ended_well(row, line, &plain);
        let bytes = !plain.stdout.is_empty();
        assert!(bytes || !row.prints, "{line} prints no result: {plain:?}");
        if row.prints {
            let full = execute(dir, line, [Output::Full, Output::Kept]);
            assert_eq!(full.status, Some(3), "{line}: {full:?}");
            assert!(full.stderr.contains("standard output: No space"), "{line}: {full:?}");
        }
    });
}

#[test]
fn ctrl_c_prints_what_there_is() {
    let dir = files("interrupted");
    for (line, statuses, wanted) in LONG {
        let mut running = start(&dir, line, [Output::Kept, Output::Kept]);
        running.wait_for_signals();
        running.interrupt();
        let ended = running.end(line);
        assert!(statuses.contains(&ended.status.unwrap_or(-1)), "{line}: {ended:?}");
        assert!(!ended.stderr.contains("panicked"), "{line}: {ended:?}");
        if !wanted.is_empty() {
            let found: serde_json::Value = serde_json::from_str(&ended.stdout)
                .unwrap_or_else(|e| panic!("{line}: {e}: {ended:?}"));
            assert!(!found[wanted].is_null(), "{line}: {found:#}");
        }
        nothing_left(line, &ended);
    }
}

#[test]
fn files_that_cannot_be_written_end_no_run_that_has_begun() {
    let dir = files("unwritable");
    let input = dir.path("small.yaml");
    for (command, option, line) in written() {
        let bad = ["/dev/null/x".into(), "/proc/no/such".into(), input.join("x")];
        for path in bad {
            let path: std::path::PathBuf = path;
            let line = line.replace("{path}", &path.display().to_string());
            let ended = execute(&dir, &line, [Output::Kept, Output::Kept]);
            assert_eq!(ended.status, Some(2), "{command}: {line}: {ended:?}");
            let named = ended.stderr.contains(option) || ended.stderr.contains("capture");
            assert!(named, "{line}: {ended:?}");
            nothing_left(&line, &ended);
        }
    }
}

#[test]
fn no_output_goes_over_an_input_or_another_output() {
    let dir = files("twice");
    let before = |name: &str| fs::read_to_string(dir.path(name)).unwrap();
    let (lab, test) = (before("endless-lab.yaml"), before("endless.yaml"));
    dir.write(
        "pcap.yaml",
        &format!(
            "defaults: {{rate: 1G}}\nports:\n\
             - {{name: a, device: 'net_pcap0,rx_pcap={d}/in.pcap,tx_pcap={d}/in.pcap'}}\n",
            d = dir.0.display()
        ),
    );
    run::write_pcap(&dir.path("in.pcap"), &[run::frame([2; 6], [4; 6], 0, 1, 64)]);
    let capture = fs::read(dir.path("in.pcap")).unwrap();
    std::os::unix::fs::symlink("endless-lab.yaml", dir.path("link.yaml")).unwrap();
    for line in [
        "run {tmp}/endless-lab.yaml --report {tmp}/endless-lab.yaml",
        "run {tmp}/endless-lab.yaml --report {tmp}/link.yaml",
        "run {tmp}/endless-lab.yaml --pcapng h1-s1={tmp}/../{name}/endless-lab.yaml",
        "run {tmp}/endless-lab.yaml --pcapng h1-s1={tmp}/x --report {tmp}/x",
        "run {tmp}/endless-sweep.yaml --rows {tmp}/endless-sweep.yaml",
        "run {tmp}/endless-lab.yaml --rows {tmp}/x --report {tmp}/x",
        "run {tmp}/endless-lab.yaml --pcapng h1-s1={tmp}/x --pcapng h2-s1={tmp}/x",
        "gen {tmp}/endless.yaml --world virtual --report {tmp}/endless.yaml",
        "gen {tmp}/endless.yaml --world virtual --csv {tmp} --report {tmp}/flows.csv",
        "gen {tmp}/endless.yaml --world virtual --hgrm {tmp} --report {tmp}/f.hgrm",
        "switch {tmp}/pcap.yaml --no-huge --control none",
    ] {
        let name = dir.0.file_name().unwrap().to_string_lossy();
        let ended = execute(&dir, &line.replace("{name}", &name), [Output::Kept, Output::Kept]);
        assert_eq!(ended.status, Some(2), "{line}: {ended:?}");
        assert!(ended.stderr.contains("is also"), "{line}: {ended:?}");
    }
    assert_eq!((before("endless-lab.yaml"), before("endless.yaml")), (lab, test));
    assert_eq!(fs::read(dir.path("in.pcap")).unwrap(), capture);
}

/// Arguments with paths, by clap's value names.
#[test]
fn every_argument_with_a_path_is_known() {
    fn look(command: &clap::Command, name: &str, unknown: &mut Vec<String>) {
        for argument in command.get_arguments() {
            let id = argument.get_id().as_str();
            let names = argument.get_value_names().unwrap_or_default();
            let words = ["FILE", "DIR", "PATH", "LAB", "LINK=FILE"];
            if !names.iter().any(|value| words.contains(&value.as_str())) {
                continue;
            }
            let is_written =
                written().iter().any(|(command, arg, _)| command == name && *arg == id);
            if !is_written && !is_read(name, id) {
                unknown.push(format!("{name} {id}"));
            }
        }
        for sub in command.get_subcommands() {
            look(sub, format!("{name} {}", sub.get_name()).trim(), unknown);
        }
    }
    let mut unknown = Vec::new();
    look(&sluice::cli::command(), "", &mut unknown);
    assert_eq!(unknown, [""; 0], "into WRITTEN or READ with them");
}

#[test]
fn help_fits_into_80_columns() {
    for command in commands().iter().map(String::as_str).chain(["", "ctl", "headroom"]) {
        let output = sluice()
            .args(command.split_whitespace())
            .arg("--help")
            .env("COLUMNS", "80")
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}");
        // clap keeps the usage on one line.
        let help = text(&output.stdout);
        for line in help.lines().filter(|line| !line.starts_with("Usage: ")) {
            assert!(line.chars().count() <= 80, "sluice {command} --help: {line}");
        }
    }
}

/// Runs a command on a terminal.
fn on_a_terminal(dir: &Dir, line: &str, no_color: bool) -> String {
    let line = line.replace("{tmp}", &dir.0.display().to_string());
    let mut script = guarded("script");
    script.args(["-qefc", &format!("{} {line}", PROGRAM.join(" ")), "/dev/null"]);
    script.current_dir(env!("CARGO_MANIFEST_DIR")).env("TERM", "xterm-256color");
    script.env("XDG_RUNTIME_DIR", &dir.0).stdin(std::process::Stdio::null());
    script.env_remove("NO_COLOR");
    if no_color {
        script.env("NO_COLOR", "1");
    }
    text(&script.output().unwrap().stdout)
}

/// True if a text sets colours or weights (ECMA-48, SGR): `ESC [ numbers m`.
fn is_styled(text: &str) -> bool {
    text.split("\u{1b}[").skip(1).any(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';');
        end.is_some_and(|end| rest[end..].starts_with('m'))
    })
}

#[test]
fn no_color_is_obeyed() {
    let dir = files("colours");
    let switch = "switch {tmp}/null.yaml -vv --no-huge --duration 0.1s --control none";
    let lines = ["--help", "gen --help", "run --bogus", "run configs/labs/incast.yaml", switch];
    let mut styled = 0;
    for line in lines {
        let plain = on_a_terminal(&dir, line, true);
        assert!(!plain.is_empty() && !is_styled(&plain), "{line}: {plain:?}");
        styled += usize::from(is_styled(&on_a_terminal(&dir, line, false)));
    }
    assert!(styled >= 2, "nothing is styled on a terminal: the test sees none");
}

#[test]
fn no_refusal_quotes_more_than_a_message_does() {
    use sluice::printable::{MESSAGE_MAX, SHOWN_MAX};
    let dir = files("quotes");
    let file = fs::read_to_string(dir.path("null.yaml")).unwrap();
    let switch = Switch::start(&dir, "switch", &file, &["--quiet"]);
    let filler = '\u{416}';
    let long = filler.to_string().repeat(5_000);
    let words = format!("{filler} ").repeat(5_000);
    let mut beyond = Vec::new();
    for line in [
        "check {long}",
        "check --bogus {long}",
        "switch {long}",
        "switch {tmp}/null.yaml --control none --prometheus {long}",
        "run {tmp}/small.yaml --variant {long}",
        "run {tmp}/small.yaml --json {tmp}/{long}/x",
        "gen {tmp}/endless.yaml --port p1={long}",
        "headroom calc --rate {long}",
        "headroom measure --port {long} --port ring:a",
        "doctor --no-huge --port {long}",
        "demo --rate {long}",
        "ctl --control {tmp}/{long} show",
        "ctl --control {tmp}/switch.sock link {long} up",
        "ctl --control {tmp}/switch.sock set-group {long} 3 --xoff 1KB",
        "ctl --control {tmp}/switch.sock set {long} 1",
        "ctl --control {tmp}/switch.sock set sfcMasterEnable {long}",
        "ctl --control {tmp}/switch.sock macsec install a --transmit --an 1 --key-file {long}",
        "{long}",
    ] {
        for given in [&long, &words] {
            let tmp = dir.0.display().to_string();
            let args =
                line.split(' ').map(|arg| arg.replace("{tmp}", &tmp).replace("{long}", given));
            let mut command = run::sluice();
            command.args(args).env("XDG_RUNTIME_DIR", &dir.0).stdin(std::process::Stdio::null());
            let output = command.output().unwrap();
            let said = text(&output.stdout) + &text(&output.stderr);
            assert!(matches!(output.status.code(), Some(1..=3)), "{line}: {said}");
            for said in said.lines() {
                let quoted = said.chars().filter(|c| *c == filler).count();
                // DPDK's lines quote it again.
                let most = if said.contains("DPDK:") { MESSAGE_MAX } else { 2 * SHOWN_MAX };
                let longest = said.split(|c| c != filler).map(|run| run.chars().count()).max();
                if quoted > most || longest.unwrap_or(0) > SHOWN_MAX {
                    let begin: String = said.chars().take(300).collect();
                    beyond.push(format!("{line}: {quoted} characters, {longest:?}: {begin}"));
                }
            }
        }
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
    // Requests that clients write to the control socket directly.
    let request =
        format!("{{\"command\":\"link\",\"port\":\"{long}\",\"up\":true}}\n{{\"{long}\":1}}\n");
    let answer = switch.ask(&request);
    assert_eq!(answer.lines().count(), 2, "{answer}");
    for line in answer.lines() {
        assert!(line.contains("\"ok\":false") && line.len() <= 3 * SHOWN_MAX, "{line}");
    }
    switch.stop();
}
