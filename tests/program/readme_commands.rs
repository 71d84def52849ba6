//! The commands of `README.md` and of every page of `docs/src`, run as they are written and in their
//! order, each page in a folder that looks like the package's with this build in place of the release's.
//!
//! Files that a page shows (`yaml`) are written into that folder and checked; output that it shows has
//! to be what its command prints, word by word, and where that is the same in every run line by line.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::apart::beside;
use crate::netns::{isolated, isolated_as, must};
use crate::pages;
use crate::run::{Dir, guarded, link_to_sluice, text};

/// Long enough for a run of the debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);
/// Time from the first words of a command to its interruption.
const FOR_A_WHILE: Duration = Duration::from_secs(1);
/// Programs without which a page is not tried, where its commands name them.
const TOOLS: &[&str] = &["tshark", "ping", "python3"];

/// Treatment of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    /// It ends with one of these.
    Ends(&'static [i32]),
    /// It goes on beside those that follow.
    Beside,
    /// It is interrupted after a while, because this build takes minutes for it.
    Interrupted,
    /// It cannot be run as it stands, for this reason, so only its arguments are read.
    Read(&'static str),
    /// It is not a command of this program, and cannot be run as it stands, for this reason.
    Not(&'static str),
}

/// Commands that do more than to end with 0, by what is in them; the first that fits counts.
const HOW: &[(&str, How)] = &[
    ("./dev demo --seconds", How::Ends(&[0, 1, 4])),
    ("./dev demo", How::Interrupted),
    ("./dev", How::Not("it builds; tests/house knows its verbs")),
    ("cargo ", How::Not("it builds")),
    ("perf/run", How::Not("measures for minutes")),
    ("ip netns", How::Ends(&[0])),
    ("tcpdump", How::Not("waits for frames at an interface of the reader's")),
    ("FILE", How::Read("a name for the reader to fill in")),
    ("host1#", How::Read("two machines")),
    ("host2#", How::Read("two machines")),
    ("0000:", How::Read("a card of the reader's")),
    ("eth1", How::Read("an interface of the reader's")),
    ("pip install target/wheels", How::Not("needs the wheel; src/python/tests installs it")),
    (
        "pip install",
        How::Not("needs the network; tests/outside/snappi_generator.rs runs the script"),
    ),
    ("dask", How::Not("needs the package; src/python/tests runs them in namespaces")),
    ("snappi", How::Not("needs the package; tests/outside/snappi_generator.rs runs the script")),
    ("dpdk-telemetry.py", How::Not("asks until it is told to stop")),
    ("curl", How::Not("need not be installed; tests/virtual/report.rs reads the metrics")),
    ("--listen", How::Beside),
    ("sluice switch", How::Beside),
    ("swarm --count 10000", How::Interrupted),
    // Their verdicts depend on the machine's load.
    ("sluice doctor", How::Ends(&[0, 1])),
    ("sluice demo", How::Ends(&[0, 1, 4])),
    ("sluice gen", How::Ends(&[0, 1, 4])),
    ("headroom measure", How::Ends(&[0, 1, 4])),
    ("sluice benchmark rfc2544 dut.yaml", How::Read("a device of the reader's")),
    ("sluice benchmark soak dut.yaml", How::Read("a device of the reader's")),
    ("sluice validate dut.yaml", How::Read("a device of the reader's")),
    ("--world real", How::Ends(&[0, 1, 4])),
];

/// Treatment of a command, by the table.
fn how(command: &str) -> How {
    let found = HOW.iter().find(|(part, _)| command.contains(part));
    found.map_or(How::Ends(&[0]), |(_, how)| *how)
}

/// Pages of which the commands are run, each by a test.
macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {
        const RUN: &[&str] = &[$($path),*];
        mod commands_of {
            $(#[test] fn $name() {
                super::run_page(concat!("readme_commands::commands_of::", stringify!($name)), $path);
            })*
        }
    };
}

pages! {
    readme: "README.md",
    benchmark: "docs/src/benchmark.md",
    compare: "docs/src/compare.md",
    congestion: "docs/src/congestion.md",
    control: "docs/src/control.md",
    counters: "docs/src/counters.md",
    devices: "docs/src/devices.md",
    first_steps: "docs/src/first-steps.md",
    generator: "docs/src/generator.md",
    headroom: "docs/src/headroom.md",
    labs: "docs/src/labs.md",
    lossless: "docs/src/lossless.md",
    macsec: "docs/src/macsec.md",
    neighbours: "docs/src/neighbours.md",
    nics: "docs/src/nics.md",
    performance: "docs/src/performance.md",
    python: "docs/src/python.md",
    reports: "docs/src/reports.md",
    results: "docs/src/results.md",
    security: "docs/src/security.md",
    sources: "docs/src/sources.md",
    studies: "docs/src/studies.md",
    threads: "docs/src/threads.md",
    switch: "docs/src/switch.md",
    validate: "docs/src/validate.md",
    workloads: "docs/src/workloads.md",
}

#[test]
fn every_page_with_commands_is_run() {
    let has = |page: &pages::Page| page.blocks().iter().any(|block| block.language != "text");
    let with: BTreeSet<String> =
        pages::pages().into_iter().filter(has).map(|page| page.path).collect();
    let run: BTreeSet<String> = RUN.iter().map(|&path| path.to_owned()).collect();
    assert_eq!(with, run, "a page with commands needs its line in `pages!`");
}

fn all_commands() -> Vec<pages::Command> {
    let blocks = pages::pages().into_iter().flat_map(|page| page.blocks());
    blocks.flat_map(|block| block.commands()).collect()
}

/// A treatment that no command needs any more could hide one that comes later.
#[test]
fn every_treatment_is_of_some_command() {
    let all = all_commands();
    for (part, how_of_part) in HOW {
        let first = |line: &str| HOW.iter().find(|(part, _)| line.contains(part));
        let used = all.iter().any(|command| first(&command.line).is_some_and(|f| f.0 == *part));
        assert!(used, "no command of a page is treated as having {part:?}");
        if let How::Not(why) = how_of_part {
            let of_part = all.iter().filter(|c| first(&c.line).is_some_and(|f| f.0 == *part));
            for command in of_part {
                let ours = arguments(&command.line).is_some();
                assert!(!ours, "{why}, but its arguments can be read: {}", command.line);
            }
        }
    }
}

/// Arguments of a command of this program, as the shell would give them.
fn arguments(command: &str) -> Option<Vec<String>> {
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let program = |word: &str| word == "sluice" || word.ends_with("/sluice");
    words
        .by_ref()
        .take_while(|word| !["cargo", "git", "install"].contains(word))
        .find(|w| program(w))?;
    Some(words.take_while(|word| ![">", "|", "&", "<"].contains(word)).map(str::to_owned).collect())
}

/// Refusal of a command's arguments, without running it.
fn refused(command: &str) -> Option<String> {
    let words = arguments(command).unwrap_or_else(|| panic!("no command of sluice: {command}"));
    let words = std::iter::once("sluice".to_owned()).chain(words);
    sluice::cli::command().try_get_matches_from(words).err().map(|error| error.to_string())
}

#[test]
fn arguments_that_the_program_does_not_have_are_found() {
    assert_eq!(refused("host1# sluice headroom measure --port iface:eth1 --respond"), None);
    assert_eq!(refused("sudo ./target/release/sluice gen FILE --format json > x.json"), None);
    for command in ["sluice gen FILE --porty p1=iface:eth1", "sluice measure", "sluice ctl link a"]
    {
        assert!(refused(command).is_some(), "{command}");
    }
}

/// A folder like the package's, whose `sluice` is this build.
fn package(dir: &Dir) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["configs", "tools"] {
        symlink(root.join(name), dir.path(name)).unwrap();
    }
    fs::create_dir_all(dir.path("target/release")).unwrap();
    fs::create_dir_all(dir.path("bin")).unwrap();
    link_to_sluice(&dir.path("target/release/sluice"));
    link_to_sluice(&dir.path("bin/sluice"));
    let script = |name: &str, text: &str| {
        let path = dir.write(name, text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    script("dev", "#!/bin/sh\nexec ./target/release/sluice \"$@\"\n");
    // The test has the rights already.
    script("bin/sudo", "#!/bin/sh\nexec \"$@\"\n");
}

/// A command that runs, and the files that have its output.
struct Running {
    command: String,
    child: Child,
    output: [std::path::PathBuf; 2],
}

/// Starts a command by the shell, or a block as a script. Namespaces that a script names are seen by
/// it alone, and what it left running when it ends, however it ends, ends with it.
fn start(dir: &Dir, command: &str) -> Running {
    let path = std::env::var("PATH").unwrap_or_default();
    let script = match command.contains('\n') {
        true => format!("set -e; mkdir -p /run/netns; mount -t tmpfs none /run/netns\n{command}"),
        false if command.contains(['>', '|', ';']) => command.to_owned(),
        // The shell becomes the command, so that a signal to it is one to the command.
        false => format!("exec {}", command.trim_start_matches("sudo ")),
    };
    let mut shell = match command.contains('\n') {
        true => guarded("unshare"),
        false => guarded("bash"),
    };
    if command.contains('\n') {
        shell.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--", "bash"]);
    }
    static STARTED: AtomicUsize = AtomicUsize::new(0);
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    let output = ["out", "err"].map(|name| dir.path(&format!("{name}.{number}")));
    let child = shell
        .args(["-c", &script])
        .current_dir(&dir.0)
        .env("PATH", format!("{}:{path}", dir.path("bin").display()))
        .env("XDG_RUNTIME_DIR", &dir.0)
        .stdin(Stdio::null())
        .stdout(fs::File::create(&output[0]).unwrap())
        .stderr(fs::File::create(&output[1]).unwrap())
        .spawn()
        .unwrap();
    Running { command: command.into(), child, output }
}

impl Running {
    fn said(&self) -> String {
        self.output.each_ref().map(|path| text(&fs::read(path).unwrap_or_default())).join("\n")
    }

    fn interrupt(&self) {
        must(Command::new("kill").args(["-INT", &self.child.id().to_string()]));
    }

    /// Waits for its end: its status.
    fn end(&mut self) -> i32 {
        let begun = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            if begun.elapsed() > PATIENCE {
                let _ = self.child.kill();
                panic!("{} does not end: {}", self.command, self.said());
            }
            thread::sleep(Duration::from_millis(10));
        }
        self.child.wait().unwrap().code().unwrap_or(-1)
    }

    /// Holds its status to those that are expected.
    fn ends_with(&mut self, statuses: &[i32]) {
        let status = self.end();
        assert!(statuses.contains(&status), "{}: {status}: {}", self.command, self.said());
    }

    /// Waits until it answers, as far as `sluice ctl` or its own words tell.
    fn serves(&mut self, dir: &Dir) {
        let listens = self.command.contains("--listen");
        self.waits_until(|running| match listens {
            true => running.said().contains("OTG on"),
            false => start(dir, "sluice ctl show").child.wait().unwrap().success(),
        });
    }

    /// Waits until it has come so far.
    fn waits_until(&mut self, is_so: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !is_so(self) {
            let ended = self.child.try_wait().unwrap();
            let goes_on = ended.is_none() && begun.elapsed() < PATIENCE;
            assert!(goes_on, "{} never is ready: {ended:?}: {}", self.command, self.said());
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// A line without what lays it out.
fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Lower-case words of a text that are long enough to be no unit.
fn terms(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words
        .filter(|w| w.len() > 3 && w.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
        .collect()
}

/// The first piece of output that a page shows and its command does not print. Where the output is
/// the same in every run whole lines count, elsewhere words.
fn missing(shown: &[String], said: &str, same_in_every_run: bool) -> Option<String> {
    let lines: BTreeSet<String> = said.lines().map(words).collect();
    let said = terms(said);
    shown.iter().filter(|line| !line.contains("...")).find_map(|line| match same_in_every_run {
        true => (!lines.contains(&words(line))).then(|| line.clone()),
        false => terms(line).into_iter().find(|term| !said.contains(term)).map(str::to_owned),
    })
}

#[test]
fn output_that_no_command_prints_is_found() {
    let shown = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
    let said = "port  frames sent\na  17\nPASS: 1 of 1 checks";
    assert_eq!(missing(&shown(&["port frames  sent", "...", "a 17", "b ..."]), said, true), None);
    assert_eq!(missing(&shown(&["a 18"]), said, true), Some("a 18".into()));
    assert_eq!(missing(&shown(&["frames sent", "a 18 us", "FAIL"]), said, false), None);
    assert_eq!(missing(&shown(&["frames received"]), said, false), Some("received".into()));
}

/// Runs a command as the table has it, and keeps it where it goes on.
fn run_command(dir: &Dir, command: &pages::Command, beside: &mut Vec<Running>) {
    let line = &command.line;
    let how = match line.contains('\n') {
        true => How::Ends(&[0]),
        false => how(line),
    };
    match how {
        How::Not(why) => eprintln!("not run, {why}: {line}"),
        How::Read(_) => assert_eq!(refused(line), None, "{line}"),
        How::Beside => {
            let mut running = start(dir, line);
            running.serves(dir);
            beside.push(running);
        }
        How::Interrupted => {
            let mut running = start(dir, line);
            running.waits_until(|running| !running.said().trim().is_empty());
            thread::sleep(FOR_A_WHILE);
            running.interrupt();
            running.ends_with(&[0, 4]);
        }
        How::Ends(statuses) => {
            let mut running = start(dir, line);
            // What a busy machine disturbed is repeated a few times.
            for _ in 0..5 {
                if running.end() != 4 || !running.said().contains("INCONCLUSIVE") {
                    break;
                }
                eprintln!("repeated: {}", running.said());
                running = start(dir, line);
            }
            running.ends_with(statuses);
            let missing = missing(&command.shown, &running.said(), statuses == [0]);
            let said = || running.said();
            assert!(missing.is_none(), "{line} does not print {missing:?}: {}", said());
            // It drains first; a signal would end that.
            if line.contains("ctl stop") && !line.contains('\n') {
                let mut stopped = beside.pop().expect("a switch that runs");
                stopped.ends_with(&[0, 1, 4]);
            }
        }
    }
}

/// Does what a page says: writes and checks its files, runs its commands.
fn run_page(name: &str, path: &str) {
    let page = pages::page(path);
    let tools: Vec<&str> =
        TOOLS.iter().copied().filter(|tool| page.text.contains(&format!("{tool} "))).collect();
    isolated_as(name, &tools, beside, || {
        let dir = Dir::new(&name.replace("::", "-"));
        package(&dir);
        must(Command::new("ip").args(["link", "set", "lo", "up"]));
        let begun = Instant::now();
        let mut beside = Vec::<Running>::new();
        for block in page.blocks() {
            if let Some(file) = block.file() {
                dir.write(file, &block.text);
                start(&dir, &format!("sluice check --elsewhere {file}")).ends_with(&[0]);
            }
            for command in block.commands() {
                eprintln!("{:>6.1} s  {}", begun.elapsed().as_secs_f64(), command.line);
                run_command(&dir, &command, &mut beside);
            }
        }
        // Commands that go on are ended by Ctrl-C, which is no failure.
        for mut running in beside {
            if running.child.try_wait().unwrap().is_none() {
                running.interrupt();
            }
            running.ends_with(&[0, 1, 4]);
        }
    });
}

/// Sends 8 MB by TCP, or receives them: prints the length and the digest.
const TRANSFER: &str = "\
import hashlib, random, socket, sys, time
if sys.argv[1] == 'receive':
    listener = socket.create_server(('10.9.8.2', 5001))
    listener.settimeout(150)
    stream = listener.accept()[0]
    stream.settimeout(150)
    data = b''.join(iter(lambda: stream.recv(1 << 16), b''))
else:
    data = random.Random(7).randbytes(8 << 20)
    for _ in range(1000):
        try:
            stream = socket.create_connection(('10.9.8.2', 5001), timeout=150)
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    stream.sendall(data)
    stream.close()
print(len(data), hashlib.sha256(data).hexdigest())
";

/// The recipe for two hosts with a switch between them.
fn recipe() -> String {
    let blocks = pages::page("README.md").blocks();
    let recipe = blocks.into_iter().find(|block| block.text.contains("ip netns add host-a"));
    recipe.expect("the recipe").text
}

/// Runs a block: what it said.
fn run_block(dir: &Dir, block: &str) -> String {
    let mut running = start(dir, block);
    running.ends_with(&[0]);
    running.said()
}

#[test]
fn tcp_runs_between_the_hosts_of_the_readme() {
    isolated(&["python3", "ping"], || {
        let dir = Dir::new("readme-tcp");
        package(&dir);
        dir.write("transfer.py", TRANSFER);
        let ping = "sudo ip netns exec host-a ping -c 3 10.9.8.2\n";
        let transfer = "\
            sudo ip netns exec host-b python3 transfer.py receive > received &\n\
            receiver=$!\n\
            sudo ip netns exec host-a python3 transfer.py send > sent\n\
            wait $receiver\n";
        let block = recipe();
        assert!(block.contains(ping), "{block}");
        let said = run_block(&dir, &block.replace(ping, &format!("{ping}{transfer}")));
        assert!(!said.contains("checksums undone"), "{said}");
        let [sent, received] = ["sent", "received"].map(|name| fs::read_to_string(dir.path(name)));
        let (sent, received) = (sent.unwrap(), received.unwrap());
        assert!(sent.starts_with("8388608 ") && sent == received, "{sent}{received}");
    });
}

#[test]
fn the_recipe_by_a_driver_without_offloads_is_warned_of() {
    isolated(&["ping"], || {
        let dir = Dir::new("readme-checksums");
        package(&dir);
        let block = recipe();
        let by_dpdk = (0..2).fold(block.clone(), |block, n| {
            let device = format!("--port net_af_packet{n},iface=v{n}");
            block.replace(&format!("--port v{n}"), &device)
        });
        assert_ne!(by_dpdk, block);
        // The kernel makes veth pairs with checksums left to the device.
        let said = run_block(&dir, &by_dpdk);
        for host in ["host-a", "host-b"] {
            let remedy = format!("ip netns exec {host} ethtool -K eth0 tx off");
            assert!(
                said.contains("checksums undone") && said.contains(&remedy),
                "{remedy}: {said}"
            );
        }
    });
}
