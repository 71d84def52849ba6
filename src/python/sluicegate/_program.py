"""The program `sluice` as a process, for fixtures of tests."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Optional, Sequence

#: Longest time in which a program has to start, in seconds.
PATIENCE = 60.0


def lacks_dpdk(program: Optional[str]) -> Optional[str]:
    """Returns the reason why a program has no ports, None if it has some."""
    if program is None:
        return "there is no program `sluice` on PATH; name one with --sluice PROGRAM"
    if shutil.which(program) is None:
        return f"there is no program {program}; name another one with --sluice PROGRAM"
    asked = subprocess.run([program, "switch", "--help"], capture_output=True, check=False)
    if asked.returncode == 0:
        return None
    return f"{program} was built without DPDK and has no ports; name another one with --sluice PROGRAM"


def lacks_namespaces() -> Optional[str]:
    """Returns the reason why this process cannot make network namespaces, None if it can."""
    for tool in ("ip", "ethtool"):
        if shutil.which(tool) is None:
            return f"network namespaces need {tool}; on Debian: apt install iproute2 ethtool"
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"sluice-try-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return f"network namespaces cannot be made here: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", name], check=False)
    return None


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


class Host:
    """A host of the kernel behind a port of a switch: a network namespace with the interface `eth0`."""

    def __init__(self, namespace: str, address: str) -> None:
        self.namespace = namespace
        #: Address of `eth0`, without the prefix.
        self.address = address

    def run(self, *command: str, check: bool = True, timeout: float = PATIENCE) -> subprocess.CompletedProcess[str]:
        """Runs a command on this host and returns it with its output as text."""
        whole = ["ip", "netns", "exec", self.namespace, *command]
        return subprocess.run(whole, check=check, capture_output=True, text=True, timeout=timeout)

    def start(self, *command: str, **options: Any) -> subprocess.Popen[str]:
        """Starts a command on this host that goes on; the caller ends it."""
        whole = ["ip", "netns", "exec", self.namespace, *command]
        return subprocess.Popen(whole, text=True, **options)


class Switch:
    """`sluice switch` between hosts of the kernel, in network namespaces of its own.

    Host n, from 0, is behind port `p{n}` and has the address 10.0.0.{n + 1}/24.
    """

    def __init__(self, program: str, folder: Path, ports: int, file: Optional[str], tag: str) -> None:
        self._program, self._folder, self._tag = program, folder, tag
        self._process: Optional[subprocess.Popen[str]] = None
        self._namespaces: list[str] = []
        self.hosts: list[Host] = []
        folder.mkdir(parents=True, exist_ok=True)
        # Names of sockets are short: the folders of pytest are too deep.
        self._sockets = tempfile.TemporaryDirectory(prefix="sluice-")
        self._socket = str(Path(self._sockets.name) / "control.sock")
        self._file = folder / "switch.yaml"
        self._file.write_text(file or self.file(ports), encoding="utf-8")
        try:
            self._cables(ports)
            self._start()
        except BaseException:
            self.close()
            raise

    @staticmethod
    def file(ports: int) -> str:
        """Returns the switch file that a switch gets by default: 1 Gb/s, PFC for priority 3."""
        lines = [f"- {{name: p{n}, device: 'net_af_packet{n},iface=s{n}'}}" for n in range(ports)]
        return "defaults: {rate: 1G, pfc: {enable: [3]}}\nports:\n" + "\n".join(lines) + "\n"

    def _namespace(self, name: str) -> str:
        whole = f"sluice-{self._tag}-{name}"
        _ip("netns", "add", whole)
        self._namespaces.append(whole)
        _ip("-n", whole, "link", "set", "lo", "up")
        return whole

    def _cables(self, ports: int) -> None:
        inside = self._namespace("switch")
        for n in range(ports):
            host = self._namespace(f"h{n}")
            _ip("-n", inside, "link", "add", f"s{n}", "type", "veth", "peer", "name", "eth0", "netns", host)
            for space, device in ((inside, f"s{n}"), (host, "eth0")):
                _ip("-n", space, "link", "set", device, "addrgenmode", "none")
                # Checksums that the kernel leaves to the device would not be calculated here.
                off = ["tx", "off", "rx", "off", "tso", "off", "gso", "off", "gro", "off"]
                command = ["ip", "netns", "exec", space, "ethtool", "-K", device, *off]
                subprocess.run(command, check=True, capture_output=True)
                _ip("-n", space, "link", "set", device, "up")
            _ip("-n", host, "address", "add", f"10.0.0.{n + 1}/24", "dev", "eth0")
            self.hosts.append(Host(host, f"10.0.0.{n + 1}"))

    def _start(self) -> None:
        self._log = self._folder / "switch.log"
        command = ["ip", "netns", "exec", self._namespaces[0], self._program, "switch", str(self._file)]
        command += ["--no-huge", "--ignore-late-polls", "--idle", "yield", "--format", "json", "--quiet"]
        command += ["--control", self._socket]
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(self._folder)}
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
            )
        begun = time.monotonic()
        while True:
            asked = self.ctl("show", check=False)
            if asked.returncode == 0:
                return
            if self._process.poll() is not None or time.monotonic() - begun > PATIENCE:
                said = self._log.read_text() + asked.stderr
                raise RuntimeError(f"the switch did not start:\n{said}")
            time.sleep(0.05)

    def ctl(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs `sluice ctl` with these arguments."""
        command = [self._program, "ctl", "--control", self._socket, *arguments]
        return subprocess.run(command, check=check, capture_output=True, text=True)

    def show(self) -> dict[str, Any]:
        """Returns the summary of the running switch, as of `sluice ctl --format json show`."""
        shown: dict[str, Any] = json.loads(self.ctl("--format", "json", "show").stdout)
        return shown

    def stop(self) -> dict[str, Any]:
        """Ends the switch and returns its last summary."""
        assert self._process is not None, "it runs"
        self._process.send_signal(signal.SIGINT)
        said, _ = self._process.communicate(timeout=PATIENCE)
        self._process = None
        summary: dict[str, Any] = json.loads(said)
        return summary

    def close(self) -> None:
        """Ends the switch and removes its namespaces."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
        for name in reversed(self._namespaces):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        self._namespaces.clear()
        self._sockets.cleanup()


class OtgServer:
    """`sluice gen --listen`, a server of the Open Traffic Generator API on the loopback."""

    def __init__(self, program: str, arguments: Sequence[str] = ()) -> None:
        command = [program, "gen", "--listen", "127.0.0.1:0", *arguments]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None, "it is piped"
        said = []
        #: Address, such as `127.0.0.1:40051`, for HTTP and gRPC.
        self.address = ""
        for line in self._process.stderr:
            said.append(line)
            if line.startswith("OTG on "):
                self.address = line.split()[2]
                break
        if not self.address:
            self.close()
            raise RuntimeError("sluice gen did not start:\n" + "".join(said))

    def close(self) -> None:
        """Ends the generator."""
        self._process.kill()
        self._process.communicate()
