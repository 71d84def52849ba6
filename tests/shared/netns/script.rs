//! Scripts that run on hosts, their commands and answers.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use super::Host;

/// A Python, with scapy if required: Debian's before the first one in the path.
pub fn python(scapy: bool) -> Option<&'static str> {
    ["/usr/bin/python3", "python3"].into_iter().find(|python| {
        let mut probe = Command::new(python);
        probe.args(["-c", if scapy { "import scapy" } else { "" }]).stderr(Stdio::null());
        probe.status().is_ok_and(|s| s.success())
    })
}

/// A script of this folder that runs on a host. It ends with the test, which closes its input.
pub struct Script {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    what: String,
}

impl Script {
    /// Starts `name` with arguments separated by spaces, and waits until it reports that it is
    /// ready.
    pub fn start(host: &Host, name: &str, args: &str) -> Self {
        let mut child = host
            .command(python(false).expect("the test has asked for it"))
            .arg(format!("{}/tests/shared/netns/{name}", env!("CARGO_MANIFEST_DIR")))
            .args(args.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut script = Self { child, input, lines, what: format!("{name} {args}") };
        assert_eq!(script.answer(), Value::from("ready"), "{}", script.what);
        script
    }

    /// Sends a command, and returns its answer.
    pub fn tell(&mut self, what: &str) -> Value {
        self.tell_only(what);
        self.answer()
    }

    /// Sends a command that is not answered.
    pub fn tell_only(&mut self, what: &str) {
        let input = self.input.as_mut().expect("it was not told to end");
        writeln!(input, "{what}").unwrap_or_else(|error| panic!("{}: {error}", self.what));
    }

    /// Next line of its output.
    pub fn answer(&mut self) -> Value {
        let line = self.lines.next().unwrap_or_else(|| panic!("{} ended", self.what)).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{}: {line}: {error}", self.what))
    }

    /// Closes its input, which ends the script, and returns the last line of its output.
    pub fn end(mut self) -> Value {
        self.input = None;
        self.answer()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
