"""Who is measured: Sluice's benches and its peers, each a process that forwards only when told."""

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

# Every contestant has as many packet buffers, takes bursts of 32 and caches 256 free buffers.
MBUFS = 8192

# How long a process has to start, or to answer.
ANSWER_SECONDS = 60


def build(bench, say):
    """Builds one of the benches with the release profile and returns its executable."""
    say(f"building the bench {bench}")
    command = ["cargo", "bench", "--no-run", "--bench", bench, "--message-format=json"]
    if os.environ.get("CI"):
        command.append("--locked")
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    for line in built.stdout.splitlines():
        message = json.loads(line)
        is_bench = message.get("target", {}).get("name") == bench
        if is_bench and message.get("executable"):
            executable = message["executable"]
    if built.returncode != 0:
        raise Broken(f"cargo could not build the bench {bench}")
    return executable


class Sluice:
    """The bench `forward`, driven over its standard input."""

    def __init__(self, name, executable, arguments, cpus):
        self.name = name
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
        """Forwards for so long; frames sent per second."""
        try:
            self.process.stdin.write(f"{seconds}\n")
            self.process.stdin.flush()
            frames, nanoseconds = map(int, self.process.stdout.readline().split())
        except (OSError, ValueError) as error:
            raise Broken(f"{self.name} ended early: {' '.join(self.command)}") from error
        return frames * 1e9 / nanoseconds

    def close(self):
        stop(self.process)


class Testpmd:
    """dpdk-testpmd with one forwarding core, spoken to on a terminal of its own."""

    PROMPT = b"testpmd> "

    def __init__(self, name, devices, cpu, main_cpu, mode="macswap"):
        self.name = name
        program = shutil.which("dpdk-testpmd")
        if not program:
            raise Broken("dpdk-testpmd is missing; apt-get install dpdk-dev")
        self.command = [program, "--in-memory", "--iova-mode=va", "--no-pci", "--no-telemetry"]
        self.command += ["--lcores", f"0@{main_cpu},1@{cpu}"]
        self.command += [f"--vdev={device}" for device in devices]
        self.command += ["--", "-i", f"--forward-mode={mode}", "--nb-cores=1", "--burst=32"]
        self.command += [f"--total-num-mbufs={MBUFS}", "--mbcache=256"]

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
        """What it prints until it is ready for the next command."""
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
        """Forwards for so long; frames sent per second, by testpmd's own clock and counters."""
        self._say("start")
        time.sleep(0.02)
        self._say("show port stats all")
        time.sleep(seconds)
        shown = self._say("show port stats all")
        self._say("stop")
        return float(sum(map(int, re.findall(r"Tx-pps:\s+(\d+)", shown))))

    def close(self):
        stop(self.process)
        os.close(self.terminal)


class Ovs:
    """Open vSwitch's NORMAL bridge on its DPDK datapath, one polling core.

    It runs in a directory of its own, beside any system service; it is stopped (SIGSTOP) while it
    is not measured, because its core polls for as long as it has ports.
    """

    PROGRAMS = ["/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk", "ovs-vswitchd"]
    SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"

    def __init__(self, name, devices, cpu, main_cpu, directory):
        self.name = name
        self.devices = devices
        self.cpu, self.main_cpu = cpu, main_cpu
        self.directory = Path(directory)
        for tool in ["ovsdb-server", "ovsdb-tool", "ovs-vsctl"]:
            if not shutil.which(tool):
                raise Broken(f"{tool} is missing; apt-get install openvswitch-switch-dpdk")
        self.program = next(filter(shutil.which, self.PROGRAMS), None)
        self.processes = []

    def _spawn(self, *command):
        with (self.directory / "log").open("ab") as log:
            process = subprocess.Popen(command, env=self.env, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def _run(self, *command):
        done = subprocess.run(
            command, env=self.env, capture_output=True, text=True, timeout=ANSWER_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise Broken(f"{self.name}: {' '.join(command)}: {done.stderr.strip()}{self._log()}")
        return done.stdout

    def _log(self):
        with (self.directory / "log").open(errors="replace") as log:
            return "\n".join(["", *log.read().splitlines()[-8:]])

    def start(self):
        self.directory.mkdir()
        here = str(self.directory)
        variables = ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"]
        self.env = {**os.environ, **dict.fromkeys(variables, here)}
        (self.directory / "log").touch()
        socket_path, base = f"{here}/db.sock", f"{here}/conf.db"
        self._run("ovsdb-tool", "create", base, self.SCHEMA)
        self._spawn("ovsdb-server", base, f"--remote=punix:{socket_path}", "--pidfile")
        self._until(lambda: Path(socket_path).exists(), "ovsdb-server")
        self.vsctl = ["ovs-vsctl", f"--db=unix:{socket_path}", "--timeout=60"]
        extra = "--in-memory --iova-mode=va --no-pci --no-telemetry"
        self._run(*self.vsctl, "--no-wait", "init")
        self._run(
            *self.vsctl, "--no-wait", "set", "Open_vSwitch", ".",
            "other_config:dpdk-init=true", f'other_config:dpdk-extra="{extra}"',
            f"other_config:pmd-cpu-mask={1 << self.cpu:#x}",
            f"other_config:dpdk-lcore-mask={1 << self.main_cpu:#x}",
        )
        self.control = self.directory / "control"
        self.switch = self._spawn(
            self.program, f"unix:{socket_path}", "--pidfile", f"--unixctl={self.control}"
        )
        self._until(self.control.exists, "ovs-vswitchd")
        bridge = ["add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev"]
        self._run(*self.vsctl, "--", *bridge)
        for n, device in enumerate(self.devices):
            port = f"p{n}"
            self._run(
                *self.vsctl, "add-port", "br0", port, "--", "set", "Interface", port, "type=dpdk",
                f'options:dpdk-devargs="{device}"',
            )
            error = self._run(*self.vsctl, "get", "Interface", port, "error").strip()
            if error not in ("[]", '""'):
                raise Broken(f"{self.name}: {device}: {error}")
        self._pause()

    def _until(self, is_so, what):
        end = time.monotonic() + ANSWER_SECONDS
        while not is_so():
            if time.monotonic() > end or any(p.poll() is not None for p in self.processes):
                raise Broken(f"{self.name}: {what} does not start{self._log()}")
            time.sleep(0.05)

    def pids(self):
        return [process.pid for process in self.processes]

    def _pause(self):
        self.switch.send_signal(signal.SIGSTOP)

    def _ask(self, method, *parameters):
        """Asks the daemon over its control socket, which is quicker than ovs-appctl."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(ANSWER_SECONDS)
            connection.connect(str(self.control))
            request = {"id": 0, "method": method, "params": list(parameters)}
            connection.sendall(json.dumps(request).encode())
            text = b""
            while True:
                more = connection.recv(65536)
                text += more
                try:
                    answer = json.loads(text)
                    break
                except ValueError:
                    if not more:
                        raise Broken(f"{self.name} does not answer{self._log()}") from None
        if answer.get("error"):
            raise Broken(f"{self.name}: {method}: {answer['error']}")
        return answer["result"]

    def _sent(self):
        """Frames that the two devices were given, and when that was."""
        before = time.monotonic()
        shown = self._ask("dpctl/show", "-s")
        now = (before + time.monotonic()) / 2
        ports = shown.split("  port ")[1:]
        ours = [p for p in ports if re.match(r"\d+: p\d+ ", p)]
        return sum(int(re.search(r"TX packets:(\d+)", p).group(1)) for p in ours), now

    def measure(self, seconds):
        """Forwards for so long; frames sent per second, by its devices' counters."""
        self.switch.send_signal(signal.SIGCONT)
        time.sleep(0.05)
        frames, start = self._sent()
        time.sleep(seconds)
        frames_end, end = self._sent()
        self._pause()
        return (frames_end - frames) / (end - start)

    def flows(self):
        """The datapath's flows, to see that it forwards and does not flood or drop."""
        self.switch.send_signal(signal.SIGCONT)
        return self._ask("dpctl/dump-flows")

    def close(self):
        for process in reversed(self.processes):
            stop(process)
        shutil.rmtree(self.directory, ignore_errors=True)
