//! Open vSwitch as a device under test.

use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use super::must;
use crate::run::Dir;

/// Programs of Open vSwitch in the foreground, which end with the test.
pub struct OpenVSwitch(Vec<Child>);

impl Drop for OpenVSwitch {
    fn drop(&mut self) {
        for child in self.0.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl OpenVSwitch {
    /// Starts it with a bridge between the interfaces `d0` and more. It forwards in its own process, without a module of the
    /// kernel.
    pub fn start(dir: &Dir, links: usize) -> Self {
        let at = |name: &str| dir.path(name).display().to_string();
        let schema = "/usr/share/openvswitch/vswitch.ovsschema";
        must(Command::new("ovsdb-tool").args(["create", &at("conf.db"), schema]));
        let run = |program: &str, args: &[String]| {
            let mut command = Command::new(program);
            command.args(args).env("OVS_RUNDIR", at("")).env("OVS_LOGDIR", at(""));
            command.stderr(std::process::Stdio::null()).spawn().unwrap()
        };
        let (socket, control) = (at("db.sock"), |name: &str| format!("--unixctl={}", at(name)));
        let remote = format!("--remote=punix:{socket}");
        let server = run("ovsdb-server", &[at("conf.db"), remote, control("server")]);
        let mut own = Self(vec![server]);
        let begun = Instant::now();
        while !dir.path("db.sock").exists() {
            assert!(begun.elapsed() < Duration::from_secs(20), "the database does not start");
            thread::sleep(Duration::from_millis(20));
        }
        own.0.push(run("ovs-vswitchd", &[format!("unix:{socket}"), control("switch")]));
        let mut add = Command::new("ovs-vsctl");
        add.arg(format!("--db=unix:{socket}")).arg("--timeout=20").args(["add-br", "br0", "--"]);
        add.args(["set", "bridge", "br0", "datapath_type=netdev"]);
        for n in 0..links {
            add.args(["--", "add-port", "br0", &format!("d{n}")]);
        }
        must(&mut add);
        own
    }
}
