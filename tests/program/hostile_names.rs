//! Names in files and requests that would forge lines of results or control the terminal, in every
//! command that prints them: each stays within the line that quotes it.

use std::process::Output;

use crate::run::{self, Dir, PROGRAM, Switch, guarded, text};

/// A line feed and a forged result line, ESC, a CSI of C1, and a right-to-left override.
const HOSTILE: &str = "x\nFORGED PASS: 9 of 9 checks\u{1b}[2J\u{9b}31m\u{202e}y";
/// The same in a double-quoted scalar of YAML and in JSON.
const WRITTEN: &str = r"x\nFORGED PASS: 9 of 9 checks\u001b[2J\u009b31m\u202ey";
/// The same as Sluice prints it.
const SHOWN: &str = r"x\nFORGED PASS: 9 of 9 checks\u{1b}[2J\u{9b}31m\u{202e}y";

/// Asserts that text shows the name, without control sequences.
fn assert_harmless(what: &str, shown: &str) {
    assert!(shown.contains(SHOWN), "{what} does not show the name:\n{shown}");
    let active = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!shown.contains(active), "{what}: {shown:?}");
    let forged = shown.lines().find(|line| line.trim_start().starts_with("FORGED"));
    assert_eq!(forged, None, "{what}:\n{shown}");
}

/// The program with a line of arguments, in which `{tmp}` is the folder.
fn sluice(dir: &Dir, line: &str) -> Output {
    let args = line.split(' ').map(|arg| arg.replace("{tmp}", &dir.0.display().to_string()));
    let (mut command, args) = (run::command(&dir.0, "--verbose"), args.collect::<Vec<_>>());
    command.args(args).output().unwrap()
}

/// A lab with the name in every field that may have any characters: nodes and flows may not. A
/// check fails.
const LAB: &str = "name: \"NAME\"\n\
    duration: 20us\n\
    topology: {star: {hosts: 2}}\n\
    defaults: {links: {rate: 1G, length: 1m}}\n\
    flows: [{name: f, from: h1, to: h2, size: 1000}]\n\
    checks:\n\
    - conservation\n\
    - {name: \"c NAME\", value: {path: lossless_drops, expect: 99, source: \"s NAME\"}}\n\
    - {name: \"d NAME\", value: {path: \"NAME.x\", expect: 99}}\n";

const GENERATOR: &str = "ports: [{name: \"p NAME\", location: 'ring:hostile.a'}, {name: q, \
    location: 'ring:hostile.b'}]\n\
    flows:\n\
    - name: \"NAME\"\n\
    \x20 tx_rx: {choice: port, port: {tx_name: \"p NAME\", rx_names: [q]}}\n\
    \x20 packet: [{choice: ethernet, ethernet: {}}]\n\
    \x20 rate: {choice: pps, pps: 10000}\n\
    \x20 duration: {choice: fixed_packets, fixed_packets: {packets: 10}}\n\
    \x20 metrics: {enable: true, loss: true}\n";

const SWITCH: &str = "defaults: {rate: 1G, pfc: {enable: [3]}, lldp: {}}\n\
    ports: [{name: \"NAME\", device: net_null0}, {name: b, device: net_null1}]\n";

fn files() -> Dir {
    let dir = Dir::new("hostile");
    dir.write("lab.yaml", &LAB.replace("NAME", WRITTEN));
    for (file, variant) in [("variants.yaml", "v"), ("bad-variants.yaml", "\"v NAME\"")] {
        let variants = format!("{LAB}variants: {{{variant}: {{}}, w: {{}}}}\n");
        dir.write(file, &variants.replace("NAME", WRITTEN));
    }
    dir.write("gen.yaml", &GENERATOR.replace("NAME", WRITTEN));
    dir.write("switch.yaml", &SWITCH.replace("NAME", WRITTEN));
    // Refused files, whose messages quote the name.
    let flow = "topology: {star: {hosts: 2}}\nflows: [{from: \"NAME\", to: h2, size: 1}]\n";
    dir.write("bad-lab.yaml", &flow.replace("NAME", WRITTEN));
    dir.write("bad-gen.yaml", &GENERATOR.replace("[q]", "[\"r NAME\"]").replace("NAME", WRITTEN));
    let field = "\"NAME\": 1\nports: [{name: a, device: net_null0}]\n";
    dir.write("bad-switch.yaml", &field.replace("NAME", WRITTEN));
    dir
}

#[test]
fn no_name_of_a_file_makes_a_line() {
    let dir = files();
    for (line, statuses) in [
        ("run {tmp}/lab.yaml", &[1][..]),
        ("run {tmp}/variants.yaml", &[1]),
        ("run {tmp}/bad-lab.yaml", &[2]),
        ("run {tmp}/bad-variants.yaml", &[2]),
        ("check {tmp}/lab.yaml", &[0]),
        ("check {tmp}/variants.yaml", &[0]),
        ("check --elsewhere {tmp}/switch.yaml", &[0]),
        ("check {tmp}/gen.yaml", &[0]),
        ("check {tmp}/bad-lab.yaml", &[2]),
        ("check {tmp}/bad-gen.yaml", &[2]),
        ("check --elsewhere {tmp}/bad-switch.yaml", &[2]),
        ("swarm --replay {tmp}/bad-lab.yaml", &[2]),
        ("gen {tmp}/gen.yaml --world virtual", &[0, 1, 4]),
        ("gen {tmp}/gen.yaml --dry-run", &[0]),
        ("gen {tmp}/bad-gen.yaml --world virtual", &[2]),
    ] {
        let output = sluice(&dir, line);
        let shown = text(&output.stdout) + &text(&output.stderr);
        let status = output.status.code().unwrap_or(-1);
        assert!(statuses.contains(&status), "{line}: {status}\n{shown}");
        assert_harmless(line, &shown);
    }
}

#[test]
fn no_name_reaches_a_terminal_by_a_progress_bar() {
    let dir = files();
    let line = format!("{} run {}", PROGRAM.join(" "), dir.path("lab.yaml").display());
    let terminal = guarded("script")
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(std::process::Stdio::null())
        .output();
    let shown = text(&terminal.unwrap().stdout);
    assert!(shown.contains(SHOWN), "{shown:?}");
    // The bar's sequences neither clear the screen nor are of C1.
    for obeyed in ["\u{1b}[2J", "\u{9b}", "\u{202e}", "\nFORGED", "\rFORGED"] {
        assert!(!shown.contains(obeyed), "{obeyed:?} in {shown:?}");
    }
}

#[test]
fn no_name_of_a_switch_or_a_request_makes_a_line() {
    let dir = Dir::new("hostile-switch");
    let file = SWITCH.replace("NAME", WRITTEN);
    let switch = Switch::start(&dir, "hostile", &file, &["--quiet"]);
    for args in [
        &["show"][..],
        &["link", HOSTILE, "down"],
        &["link", &format!("no {HOSTILE}"), "down"],
        &["measure", &format!("no {HOSTILE}")],
        &["get", HOSTILE],
        &["set", HOSTILE, "1"],
    ] {
        let output = switch.ctl(args);
        let shown = text(&output.stdout) + &text(&output.stderr);
        match shown.is_empty() {
            true => assert_eq!((args[0], output.status.code()), ("link", Some(0))),
            false => assert_harmless(&format!("{args:?}"), &shown),
        }
    }
}
