"""Two hosts of the kernel with a switch between them: Sluice on the kernel's interfaces, and its peers.

Everything is in network namespaces that a run makes and removes: one for each host, and one for the switch.
"""

import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from .contestants import Ovs, Testpmd, build
from .machine import Broken, stop, two_cpus
from .measure import Row

TOOLS = ["ip", "ethtool", "iperf3", "ping"]
A, SWITCH, B = (f"sluice-perf-{os.getpid()}-{name}" for name in ["a", "switch", "b"])
OFFLOADS = ["tx", "rx", "tso", "gso", "gro"]
# Octets of UDP payload in a frame of 64 octets.
UDP_PAYLOAD = 18
PINGS = 100


def _run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Broken(f"{' '.join(command)}: {done.stderr.strip()[-400:]}")
    return done.stdout


@contextlib.contextmanager
def _hosts(offloads):
    """Two hosts, each with one end of a veth pair; the other ends are v0 and v1 at the switch."""
    try:
        for namespace in (A, SWITCH, B):
            _run("ip", "netns", "add", namespace)
            _run("ip", "-n", namespace, "link", "set", "lo", "up")
        for n, host in enumerate((A, B)):
            _run("ip", "-n", SWITCH, "link", "add", f"v{n}", "type", "veth", "peer", "name", "eth0", "netns", host)
            _run("ip", "-n", host, "address", "add", f"10.9.7.{n + 1}/24", "dev", "eth0")
            for namespace, end in ((host, "eth0"), (SWITCH, f"v{n}")):
                if not offloads:
                    off = [word for offload in OFFLOADS for word in (offload, "off")]
                    _run("ip", "netns", "exec", namespace, "ethtool", "-K", end, *off)
                _run("ip", "-n", namespace, "link", "set", end, "up")
        yield
    finally:
        for namespace in (A, SWITCH, B):
            subprocess.run(["ip", "netns", "delete", namespace], capture_output=True, check=False)


class LinuxBridge:
    """The kernel's own bridge."""

    def __init__(self, name, offloads):
        self.name, self.offloads = name, offloads

    def start(self):
        _run("ip", "-n", SWITCH, "link", "add", "bridge", "type", "bridge")
        for end in ("v0", "v1"):
            _run("ip", "-n", SWITCH, "link", "set", end, "master", "bridge")
        _run("ip", "-n", SWITCH, "link", "set", "bridge", "up")

    def close(self):
        """It ends with its namespace."""


class SluicePorts:
    """`sluice switch --port v0 --port v1`, as a user starts it."""

    def __init__(self, name, executable, offloads):
        self.name, self.executable, self.offloads = name, executable, offloads
        self.process = self.directory = None

    def start(self):
        self.directory = tempfile.mkdtemp(prefix="sluice-perf-")
        control = Path(self.directory) / "control"
        command = [self.executable, "switch", "--port", "v0", "--port", "v1", "--quiet", "--control", str(control)]
        with (Path(self.directory) / "log").open("wb") as log:
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", SWITCH, *command], stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        end = time.monotonic() + 20
        while not control.exists():
            if time.monotonic() > end or self.process.poll() is not None:
                raise Broken(f"{self.name} does not start: {(Path(self.directory) / 'log').read_text()[-400:]}")
            time.sleep(0.05)

    def close(self):
        if self.process:
            stop(self.process)
            shutil.rmtree(self.directory, ignore_errors=True)
        self.process = None


class TestpmdIo(Testpmd):
    """testpmd that passes frames on by `net_af_packet`, as they are."""

    def __init__(self, name):
        cpu, main_cpu = two_cpus()
        devices = [f"net_af_packet{n},iface=v{n}" for n in range(2)]
        super().__init__(name, devices, cpu, main_cpu, "io")
        self.offloads = False
        at = self.command.index("--in-memory")
        # Ordinary pages: the others have no hugepages either.
        self.command[at:at + 1] = ["--no-huge", "-m", "512", "--no-shconf"]
        self.command = ["ip", "netns", "exec", SWITCH, *self.command, "--no-flush-rx"]

    def start(self):
        super().start()
        self._say("start")


class OvsUserspace(Ovs):
    """Open vSwitch's NORMAL bridge in user space, with segmentation offload."""

    def __init__(self, name):
        cpu, main_cpu = two_cpus()
        super().__init__(name, ["v0", "v1"], cpu, main_cpu, Path(tempfile.gettempdir()) / f"sluice-perf-{os.getpid()}-ovs")
        self.offloads = True

    def _spawn(self, *command):
        super()._spawn("ip", "netns", "exec", SWITCH, *command)

    def _setup(self, vsctl):
        self._run(*vsctl, "--no-wait", "set", "Open_vSwitch", ".", "other_config:userspace-tso-enable=true")

    def _add(self, vsctl, port, device):
        self._run(*vsctl, "add-port", "br0", device)

    def _pause(self):
        """It runs while it is measured."""


def _tcp(seconds):
    """(bits per second that arrive, retransmissions)."""
    shown = _iperf(["-t", str(seconds)])
    return shown["end"]["sum_received"]["bits_per_second"], shown["end"]["sum_sent"]["retransmits"]


def _udp(seconds):
    """Datagrams per second that arrive, with a sender that sends what it can."""
    shown = _iperf(["-t", str(seconds), "-u", "-l", str(UDP_PAYLOAD), "-b", "0"])
    received = shown["end"]["sum_received"]
    return (received["packets"] - received["lost_packets"]) / received["seconds"]


def _iperf(options):
    serve = ["ip", "netns", "exec", B, "iperf3", "-s", "-1", "--forceflush"]
    server = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        for line in server.stdout:
            if "listening" in line:
                break
        command = ["ip", "netns", "exec", A, "iperf3", "-c", "10.9.7.2", "-J", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        shown = json.loads(done.stdout)
        if "error" in shown:
            raise Broken(f"iperf3 {' '.join(options)}: {shown['error']}")
        return shown
    except ValueError as error:
        raise Broken(f"iperf3 {' '.join(options)}: {done.stderr.strip()[-400:]}") from error
    finally:
        stop(server)


def _ping():
    """Median round trip in microseconds."""
    shown = _run("ip", "netns", "exec", A, "ping", "-n", "-c", str(PINGS), "-i", "0.01", "10.9.7.2")
    return statistics.median(float(time) * 1000 for time in re.findall(r"time=([\d.]+) ms", shown))


def run(settings, gate, say):
    """TCP, UDP and ping between two namespaces, offloads on and off."""
    for tool in TOOLS:
        if not shutil.which(tool):
            raise Broken(f"{tool} is missing; apt-get install iproute2 ethtool iperf3 iputils-ping")
    if os.geteuid() != 0:
        raise Broken("network namespaces take root")
    sluice = build("sluice", say)
    contestants = [
        LinuxBridge("Linux bridge", True),
        LinuxBridge("Linux bridge, offloads off", False),
        TestpmdIo("testpmd io, net_af_packet"),
        SluicePorts("sluice", sluice, True),
        SluicePorts("sluice, offloads off", sluice, False),
    ]
    if shutil.which("ovs-vswitchd"):
        contestants.append(OvsUserspace("OVS in user space"))
    found = {one.name: [] for one in contestants}
    seconds = 1 if settings.quick else max(3, round(settings.seconds))
    for n in range(1 if settings.quick else max(5, settings.rounds)):
        for one in contestants[n % len(contestants):] + contestants[:n % len(contestants)]:
            gate.wait()
            with _hosts(one.offloads):
                try:
                    one.start()
                    # The first one resolves the address.
                    _ping()
                    tcp, again = _tcp(seconds)
                    found[one.name].append({"tcp": tcp, "again": again, "udp": _udp(seconds), "ping": _ping()})
                except Broken as error:
                    if one.name.startswith("sluice"):
                        raise
                    say(f"{one.name}: {error}")
                finally:
                    one.close()
        say(f"round {n + 1}")

    def row(what, subject, base, unit, scale, target, met):
        pairs = list(zip(found[subject], found.get(base, [])))
        ours = statistics.median(one[what] for one in found[subject]) / scale
        if not pairs:
            return Row("kernel", f"{subject}: {what}", base, ours, None, unit, None, None, None, 0, 0, target=target)
        ratios = sorted(one[what] / max(other[what], 1e-9) for one, other in pairs)
        ratio = statistics.median(ratios)
        theirs = statistics.median(other[what] for _, other in pairs) / scale
        return Row("kernel", f"{subject}: {what}", base, ours, theirs, unit, ratio, ratios[len(ratios) // 4],
                   ratios[(3 * len(ratios)) // 4], 0, len(pairs), target=target,
                   met=None if met is None else met(ratio), samples=pairs)

    on, off = "sluice", "sluice, offloads off"
    bridge, testpmd, ovs = "Linux bridge", "testpmd io, net_af_packet", "OVS in user space"
    return [
        row("tcp", on, ovs, "Gb/s", 1e9, ">= 1.2", lambda ratio: ratio >= 1.2),
        row("tcp", on, bridge, "Gb/s", 1e9, ">= 0.5", lambda ratio: ratio >= 0.5),
        row("again", on, bridge, "segments", 1, "<= 1", lambda ratio: ratio <= 1),
        row("tcp", off, testpmd, "Gb/s", 1e9, ">= 1.3", lambda ratio: ratio >= 1.3),
        row("tcp", off, "Linux bridge, offloads off", "Gb/s", 1e9, "", None),
        row("udp", on, testpmd, "k/s", 1e3, ">= 1.2", lambda ratio: ratio >= 1.2),
        row("udp", on, bridge, "k/s", 1e3, "", None),
        row("ping", on, bridge, "us", 1, "<= 1.3", lambda ratio: ratio <= 1.3),
    ]
