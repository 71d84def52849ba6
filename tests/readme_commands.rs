//! The commands of `README.md`, run as they are written and in their order, in a folder that looks
//! like the package's with this build in place of the release's.
#![cfg(feature = "dpdk")]

mod netns;
mod run;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use netns::{isolated, must};
use run::{Dir, guarded, link_to_sluice, text};

/// Long enough for a run of the debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);
/// Time from the first words of a command to its interruption.
const FOR_A_WHILE: Duration = Duration::from_secs(1);

/// Treatment of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    /// It ends with one of these.
    Ends(&'static [i32]),
    /// It goes on beside those that follow.
    Beside,
    /// It is interrupted after a while, because this build takes minutes for it.
    Interrupted,
    /// It cannot be run as it stands, for this reason.
    Not(&'static str),
}

/// Commands that do more than to end with 0, by what is in them; the first that fits counts.
const HOW: &[(&str, How)] = &[
    ("./dev test", How::Not("this is one of its tests")),
    ("ip netns", How::Ends(&[0])),
    ("FILE", How::Not("a name for the reader to fill in")),
    ("NAME", How::Not("a name for the reader to fill in")),
    ("host1#", How::Not("two machines")),
    ("host2#", How::Not("two machines")),
    ("pip install", How::Not("needs the network; tests/dpdk_gen_snappi.rs runs the script")),
    ("snappi", How::Not("needs the package; tests/dpdk_gen_snappi.rs runs the script")),
    ("--listen", How::Beside),
    ("sluice switch", How::Not("its interfaces are the reader's")),
    ("swarm --count 10000", How::Interrupted),
    ("compare/", How::Interrupted),
    // The switch that runs beside has no MACsec, no objects of SFC and measures nothing.
    ("sluice ctl macsec ", How::Ends(&[0, 2])),
    ("sluice ctl objects", How::Ends(&[0, 2])),
    ("sluice ctl set ", How::Ends(&[0, 2])),
    ("sluice ctl get ", How::Ends(&[0, 2])),
    ("sluice ctl measure", How::Ends(&[0, 2])),
    // Their verdicts depend on the machine's load.
    ("dev demo --seconds", How::Ends(&[0, 1, 4])),
    ("dev demo", How::Interrupted),
    ("sluice gen", How::Ends(&[0, 1, 4])),
    ("headroom measure", How::Ends(&[0, 1, 4])),
    ("--world real", How::Ends(&[0, 1, 4])),
];

/// The switch that `sluice ctl` asks where the page leaves it to the reader.
const SWITCH: &str = "sluice switch two.yaml --quiet";

/// Programs with which the lines of a block without prompts begin, where they are commands.
const PROGRAMS: &[&str] =
    &["./dev", "./target", "target/", "sluice", "sudo", "python3", "ip", "ethtool", "tshark"];

/// The commands of all blocks, without prompts and comments. A block that leaves something running
/// behind its lines is one command.
fn commands(page: &str) -> Vec<String> {
    let mut all = Vec::new();
    for block in page.split("\n```\n").skip(1).step_by(2) {
        if block.lines().any(|line| line.ends_with(" &")) {
            all.push(block.to_owned());
            continue;
        }
        let prompts = block.lines().any(|line| line.starts_with("$ "));
        for line in block.lines() {
            let command = match (line.strip_prefix("$ "), prompts) {
                (Some(command), _) => command,
                (None, true) => continue,
                (None, false) => line,
            };
            let hosts = command.starts_with("host");
            if prompts || hosts || PROGRAMS.iter().any(|program| command.starts_with(program)) {
                let command = command.split("  #").next().unwrap_or_default().trim();
                all.push(command.to_owned());
            }
        }
    }
    all
}

#[test]
fn the_commands_of_a_page_are_found() {
    let page = "a\n\n```\n$ sluice x  # why\nout\n$ sluice y\n```\nb\n```yaml\nports: []\n```\n\n\
                ```\nsudo sluice z\nwords\n```\n\n```\nsluice a &\nwait\n```\n";
    // A block with a language is no shell; it does not upset those behind it.
    let page = without_languages(page);
    assert_eq!(commands(&page), ["sluice x", "sluice y", "sudo sluice z", "sluice a &\nwait"]);
}

/// The page without the blocks that are in a language.
fn without_languages(page: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some("") if inside => inside = false,
            Some(language) if !language.is_empty() => inside = true,
            _ if inside => {}
            _ => {
                out += line;
                out.push('\n');
            }
        }
    }
    out
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
    dir.write(
        "two.yaml",
        "defaults: {rate: 1G, pfc: {enable: [3]}}\nports: [{name: left, device: net_null0}, \
         {name: right, device: net_null1}]\n",
    );
    // The test has the rights already.
    script("bin/sudo", "#!/bin/sh\nexec \"$@\"\n");
}

/// Starts a command by the shell, or a block as a script. Namespaces that a script names are seen by
/// it alone, and what it left running when it ends, however it ends, ends with it.
fn start(dir: &Dir, command: &str) -> Child {
    let path = std::env::var("PATH").unwrap_or_default();
    let script = match command.contains('\n') {
        true => format!("set -e; mkdir -p /run/netns; mount -t tmpfs none /run/netns\n{command}"),
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
    shell
        .args(["-c", &script])
        .current_dir(&dir.0)
        .env("PATH", format!("{}:{path}", dir.path("bin").display()))
        .env("XDG_RUNTIME_DIR", &dir.0)
        .stdin(Stdio::null())
        .stdout(fs::File::create(dir.path("stdout")).unwrap())
        .stderr(fs::File::create(dir.path("stderr")).unwrap())
        .spawn()
        .unwrap()
}

fn interrupt(child: &Child) {
    must(Command::new("kill").args(["-INT", &child.id().to_string()]));
}

/// Waits for the end of a command.
fn end(dir: &Dir, command: &str, mut child: Child) -> i32 {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("{command} does not end: {}", said(dir));
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.wait().unwrap().code().unwrap_or(-1)
}

fn said(dir: &Dir) -> String {
    ["stdout", "stderr"].map(|name| text(&fs::read(dir.path(name)).unwrap_or_default())).join("\n")
}

#[test]
fn the_commands_of_the_readme_run_as_written() {
    isolated("the_commands_of_the_readme_run_as_written", &["tshark", "ping"], || {
        let dir = Dir::new("readme");
        package(&dir);
        must(Command::new("ip").args(["link", "set", "lo", "up"]));
        let page = include_str!("../README.md");
        let begun = Instant::now();
        let (mut beside, mut ran) = (Vec::<(String, Child)>::new(), 0);
        for command in commands(&without_languages(page)) {
            if command.starts_with("sluice ctl") && beside.is_empty() {
                beside.push((SWITCH.into(), start(&dir, SWITCH)));
                wait_until_it_serves(&dir, SWITCH);
            }
            let how = HOW.iter().find(|(part, _)| command.contains(part));
            eprintln!("{:>6.1} s  {command}", begun.elapsed().as_secs_f64());
            match how.map_or(How::Ends(&[0]), |(_, how)| *how) {
                How::Not(why) => eprintln!("not run, {why}: {command}"),
                How::Beside => {
                    let child = start(&dir, &command);
                    wait_until_it_serves(&dir, &command);
                    beside.push((command, child));
                    ran += 1;
                }
                How::Interrupted => {
                    let child = start(&dir, &command);
                    wait_until(&command, &dir, || !said(&dir).trim().is_empty());
                    thread::sleep(FOR_A_WHILE);
                    interrupt(&child);
                    let status = end(&dir, &command, child);
                    assert!([0, 4].contains(&status), "{command}: {status}: {}", said(&dir));
                    ran += 1;
                }
                How::Ends(statuses) => {
                    let child = start(&dir, &command);
                    let status = end(&dir, &command, child);
                    assert!(statuses.contains(&status), "{command}: {status}: {}", said(&dir));
                    ran += 1;
                }
            }
        }
        // Commands in the background are ended by Ctrl-C, which is no failure.
        for (command, child) in beside {
            interrupt(&child);
            let status = end(&dir, &command, child);
            assert!([0, 1, 4].contains(&status), "{command}: {status}: {}", said(&dir));
        }
        assert!(ran > 20, "{ran} commands were run");
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
    let all = commands(&without_languages(include_str!("../README.md")));
    all.into_iter().find(|block| block.contains("ip netns add host-a")).expect("the recipe")
}

/// Runs a block: what it said.
fn run_block(dir: &Dir, block: &str) -> String {
    let status = end(dir, block, start(dir, block));
    assert_eq!(status, 0, "{}", said(dir));
    said(dir)
}

#[test]
fn tcp_runs_between_the_hosts_of_the_readme() {
    isolated("tcp_runs_between_the_hosts_of_the_readme", &["python3", "ping"], || {
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
fn a_recipe_without_its_checksums_is_warned_of() {
    isolated("a_recipe_without_its_checksums_is_warned_of", &["ping"], || {
        let dir = Dir::new("readme-checksums");
        package(&dir);
        let block = recipe();
        let undone: Vec<&str> = block.lines().filter(|line| !line.contains("ethtool")).collect();
        assert_eq!(undone.len() + 2, block.lines().count(), "{block}");
        // The kernel makes veth pairs with checksums left to the device.
        let said = run_block(&dir, &undone.join("\n"));
        for host in ["host-a", "host-b"] {
            let remedy = format!("ip netns exec {host} ethtool -K eth0 tx off");
            assert!(
                said.contains("checksums undone") && said.contains(&remedy),
                "{remedy}: {said}"
            );
        }
    });
}

/// Waits until a command that goes on answers, as far as `sluice ctl` or its own words tell.
fn wait_until_it_serves(dir: &Dir, command: &str) {
    wait_until(command, dir, || match command.contains("--listen") {
        true => said(dir).contains("OTG on"),
        false => start(dir, "sluice ctl show").wait().unwrap().success(),
    });
}

/// Waits until a command that runs has come so far.
fn wait_until(command: &str, dir: &Dir, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{command} never is ready: {}", said(dir));
        thread::sleep(Duration::from_millis(50));
    }
}
