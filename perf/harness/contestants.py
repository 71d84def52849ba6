"""Measured programs: Sluice's benches and their peers, each a process that works on command."""

import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from .machine import Broken, stop

ROOT = Path(__file__).resolve().parents[2]

# Every contestant has this number of packet buffers, bursts of 32 and caches of 256 free buffers.
MBUFS = 8192

# Time limit in seconds for a process to start, or to answer.
ANSWER_SECONDS = 60


def build(name, say):
    """Builds a bench, or the command itself, with optimisation; returns the executable."""
    say(f"building {name}")
    # A lab is what `sim` alone needs, and takes longer to build than all the rest.
    lab = ["--features", "lab"] if name == "sim" else []
    bench = ["bench", "-p", "sluice-perf", "--no-default-features", "--features", "dpdk", *lab]
    what = ["build", "--release", "--bin"] if name == "sluice" else [*bench, "--no-run", "--bench"]
    command = ["cargo", *what, name, "--message-format=json"]
    if os.environ.get("CI"):
        command.append("--locked")
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    executable = None
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message.get("target", {}).get("name") == name:
            executable = message["executable"]
    if built.returncode != 0 or not executable:
        raise Broken(f"cargo could not build {name}")
    return executable


class Sluice:
    """The bench `forward`, driven over its standard input."""

    def __init__(self, name, executable, arguments, cpus):
        self.name = name
        self.process = None
        self.command = [executable, *arguments, "--serve"]
        for cpu in cpus:
            self.command += ["--cpu", str(cpu)]

    def start(self):
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def pids(self):
        return [self.process.pid]

    def measure(self, seconds):
        """Forwards for this time; returns frames sent per second."""
        try:
            self.process.stdin.write(f"{seconds}\n")
            self.process.stdin.flush()
            frames, nanoseconds = map(int, self.process.stdout.readline().split())
        except (OSError, ValueError) as error:
            raise Broken(f"{self.name} ended early: {' '.join(self.command)}") from error
        return frames * 1e9 / nanoseconds

    def close(self):
        if self.process:
            stop(self.process)
        self.process = None


class Testpmd:
    """dpdk-testpmd with one forwarding core, controlled on a separate terminal."""

    PROMPT = b"testpmd> "

    def __init__(self, name, devices, cpu, main_cpu, mode="macswap", counts="Tx",
                 mbufs=MBUFS, cache=256):
        self.name = name
        # Frames that are its result: sent or received ones.
        self.counts = counts
        self.process = self.terminal = None
        program = shutil.which("dpdk-testpmd")
        if not program:
            raise Broken("dpdk-testpmd is missing; apt-get install dpdk-dev")
        self.command = [program, "--in-memory", "--iova-mode=va", "--no-pci", "--no-telemetry"]
        self.command += ["--lcores", f"0@{main_cpu},1@{cpu}"]
        self.command += [f"--vdev={device}" for device in devices]
        self.command += ["--", "-i", f"--forward-mode={mode}", "--nb-cores=1", "--burst=32"]
        self.command += [f"--total-num-mbufs={mbufs}", f"--mbcache={cache}"]

    def start(self):
        self.terminal, theirs = pty.openpty()
        self.process = subprocess.Popen(
            self.command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        self._answer()

    def pids(self):
        return [self.process.pid]

    def _answer(self):
        """Output until it is ready for the next command."""
        text, end = b"", time.monotonic() + ANSWER_SECONDS
        while not text.rstrip(b" ").endswith(self.PROMPT.rstrip()):
            ready, _, _ = select.select([self.terminal], [], [], end - time.monotonic())
            try:
                more = os.read(self.terminal, 65536) if ready else b""
            except OSError:
                more = b""
            if not more:
                last = text.decode(errors="replace")[-400:]
                raise Broken(f"{self.name} does not answer; its last words: {last}")
            text += more
        return text.decode(errors="replace")

    def _say(self, command):
        os.write(self.terminal, command.encode() + b"\n")
        return self._answer()

    def measure(self, seconds):
        """Runs for this time; returns frames per second, by testpmd's clock and counters."""
        self._say("start")
        time.sleep(0.02)
        self._say("show port stats all")
        time.sleep(seconds)
        shown = self._say("show port stats all")
        self._say("stop")
        return float(sum(map(int, re.findall(self.counts + r"-pps:\s+(\d+)", shown))))

    def close(self):
        if self.process:
            stop(self.process)
            os.close(self.terminal)
        self.process = None


class Daemon:
    """A switch that polls while it has ports, in a separate directory.

    It is stopped (SIGSTOP) while it is not measured. A subclass starts it, and reads over a
    socket the number of frames that it has sent.
    """

    def __init__(self, name, devices, cpu, main_cpu, directory):
        self.name = name
        self.devices = devices
        self.cpu, self.main_cpu = cpu, main_cpu
        self.directory = Path(directory)
        self.control = self.directory / "control"
        self.env = None
        # The last process is the switch.
        self.processes = []

    def _spawn(self, *command):
        with (self.directory / "log").open("ab") as log:
            process = subprocess.Popen(
                command, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.processes.append(process)

    def _log(self):
        with (self.directory / "log").open(errors="replace") as log:
            return "\n".join(["", *log.read().splitlines()[-8:]])

    def _until(self, is_so, what):
        end = time.monotonic() + ANSWER_SECONDS
        while not is_so():
            if time.monotonic() > end or any(p.poll() is not None for p in self.processes):
                raise Broken(f"{self.name}: {what} does not start{self._log()}")
            time.sleep(0.05)

    def _ask(self, request):
        """Sends one JSON value over the control socket and returns the answer."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(ANSWER_SECONDS)
            connection.connect(str(self.control))
            connection.sendall(json.dumps(request).encode() + b"\n")
            text = b""
            while True:
                more = connection.recv(65536)
                text += more
                try:
                    return json.loads(text)
                except ValueError:
                    if not more:
                        raise Broken(f"{self.name} does not answer{self._log()}") from None

    def _pause(self):
        self.processes[-1].send_signal(signal.SIGSTOP)

    def _resume(self):
        self.processes[-1].send_signal(signal.SIGCONT)

    def pids(self):
        return [process.pid for process in self.processes]

    def _sent(self):
        """Frames sent so far."""
        raise NotImplementedError

    def _sent_at(self):
        """Frames sent so far, and the time: between request and answer."""
        before = time.monotonic()
        frames = self._sent()
        return frames, (before + time.monotonic()) / 2

    def measure(self, seconds):
        """Forwards for this time; returns frames sent per second."""
        self._resume()
        time.sleep(0.05)
        frames, start = self._sent_at()
        time.sleep(seconds)
        frames_end, end = self._sent_at()
        self._pause()
        return (frames_end - frames) / (end - start)

    def close(self):
        for process in reversed(self.processes):
            stop(process)
        self.processes = []
        shutil.rmtree(self.directory, ignore_errors=True)


class SluiceSwitch(Daemon):
    """`sluice switch` with a file made for these devices."""

    PLAIN = """
switch: {name: perf}
defaults:
  shaped: off
  rate: 100G
  core: %(cpu)d
  vlan: %(vlan)s
%(more)s
ports:
%(ports)s
"""

    # Every frame is of priority 3; the device has no rings, so short ones keep headroom small.
    LOSSLESS = """
  rx_descriptors: 64
  tx_descriptors: 64
  pfc: {enable: [3]}
  queues:
    0-7: {weight: 12, ecn: {}}
"""

    def __init__(self, name, executable, lossless, tagged, devices, cpu, main_cpu, directory):
        super().__init__(name, devices, cpu, main_cpu, directory)
        self.executable = executable
        self.text = self.PLAIN % {
            "cpu": cpu,
            "vlan": "{tagged: [1], pvid: 0}" if tagged else "{untagged: [1]}",
            "more": self.LOSSLESS if lossless else "",
            "ports": "\n".join(f"  - device: {device}" for device in devices),
        }

    def start(self):
        self.directory.mkdir()
        file = self.directory / "switch.yaml"
        file.write_text(self.text)
        self._spawn(
            self.executable, "switch", str(file), "--huge", "--quiet", "--idle", "spin",
            "--control", str(self.control),
        )
        self._until(self.control.exists, "sluice switch")
        self._pause()

    def _sent(self):
        answer = self._ask({"command": "show"})
        if not answer.get("ok"):
            raise Broken(f"{self.name}: {answer.get('error')}")
        shown = answer["result"]
        if any(shown["drops"].values()):
            raise Broken(f"{self.name} drops what it should forward: {shown['drops']}")
        return sum(port["tx_frames"] for port in shown["ports"])


class Ovs(Daemon):
    """Open vSwitch's NORMAL bridge on its DPDK datapath, one polling core, beside any system
    service."""

    PROGRAMS = ["/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk", "ovs-vswitchd"]
    SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"

    def _run(self, *command):
        done = subprocess.run(
            command, env=self.env, capture_output=True, text=True, timeout=ANSWER_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise Broken(f"{self.name}: {' '.join(command)}: {done.stderr.strip()}{self._log()}")
        return done.stdout

    def start(self):
        for tool in ["ovsdb-server", "ovsdb-tool", "ovs-vsctl"]:
            if not shutil.which(tool):
                raise Broken(f"{tool} is missing; apt-get install openvswitch-switch-dpdk")
        program = next(filter(shutil.which, self.PROGRAMS), None)
        if not program:
            raise Broken("ovs-vswitchd is missing; apt-get install openvswitch-switch-dpdk")
        self.directory.mkdir()
        here = str(self.directory)
        variables = ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"]
        self.env = {**os.environ, **dict.fromkeys(variables, here)}
        (self.directory / "log").touch()
        socket_path, base = f"{here}/db.sock", f"{here}/conf.db"
        self._run("ovsdb-tool", "create", base, self.SCHEMA)
        self._spawn("ovsdb-server", base, f"--remote=punix:{socket_path}", "--pidfile")
        self._until(Path(socket_path).exists, "ovsdb-server")
        vsctl = ["ovs-vsctl", f"--db=unix:{socket_path}", f"--timeout={ANSWER_SECONDS}"]
        self._run(*vsctl, "--no-wait", "init")
        self._setup(vsctl)
        self._spawn(program, f"unix:{socket_path}", "--pidfile", f"--unixctl={self.control}")
        self._until(self.control.exists, "ovs-vswitchd")
        self._run(*vsctl, "add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")
        for n, device in enumerate(self.devices):
            self._add(vsctl, f"p{n}", device)
        self._pause()

    def _setup(self, vsctl):
        """Settings of the switch before it starts."""
        extra = "--in-memory --iova-mode=va --no-pci --no-telemetry"
        self._run(
            *vsctl, "--no-wait", "set", "Open_vSwitch", ".",
            "other_config:dpdk-init=true", f'other_config:dpdk-extra="{extra}"',
            f"other_config:pmd-cpu-mask={1 << self.cpu:#x}",
            f"other_config:dpdk-lcore-mask={1 << self.main_cpu:#x}",
        )

    def _add(self, vsctl, port, device):
        self._run(
            *vsctl, "add-port", "br0", port, "--", "set", "Interface", port, "type=dpdk",
            f'options:dpdk-devargs="{device}"',
        )
        error = self._run(*vsctl, "get", "Interface", port, "error").strip()
        if error not in ("[]", '""'):
            raise Broken(f"{self.name}: {device}: {error}")

    def _sent(self):
        """By the counters of the two DPDK ports."""
        answer = self._ask({"id": 0, "method": "dpctl/show", "params": ["-s"]})
        if answer.get("error"):
            raise Broken(f"{self.name}: {answer['error']}")
        ports = answer["result"].split("  port ")[1:]
        ours = [port for port in ports if re.match(r"\d+: p\d+ ", port)]
        return sum(int(re.search(r"TX packets:(\d+)", port).group(1)) for port in ours)
