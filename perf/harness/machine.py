"""The machine: its CPUs, its hugepages, and the load by other programs."""

import contextlib
import os
import re
import signal
import subprocess
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
HUGEPAGES = Path("/proc/sys/vm/nr_hugepages")

# A thread that was runnable for more than this share of the time is a polling one.
POLLING = 0.3

# Interval of a waiting gate, long enough to be more than a few ticks.
LOOK_SECONDS = 0.3


class Broken(Exception):
    """The machine lacks what a case needs; the message gives the fault and the remedy."""


def cpus():
    """CPUs that this process may use, the one to measure on last."""
    return sorted(os.sched_getaffinity(0))


def two_cpus():
    """CPU to measure on, and one for everything else."""
    usable = cpus()
    if len(usable) < 2:
        raise Broken("this takes two CPUs: one to measure on, and one for everything else")
    return usable[-1], usable[0]


def _first(pattern, path, default="unknown"):
    try:
        found = re.search(pattern, Path(path).read_text(), re.M)
    except OSError:
        found = None
    return found.group(1).strip() if found else default


def _output(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()


def describe(root):
    """Description of the machine for the figures, without its owner or name."""
    memory = int(_first(r"^MemTotal:\s+(\d+)", "/proc/meminfo", "0")) / 1024 / 1024
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": _output("git", "-C", str(root), "describe", "--always", "--dirty"),
        "cpu": _first(r"^model name\s*:\s*(.+)$", "/proc/cpuinfo"),
        "cpus": len(cpus()),
        "virtual": "hypervisor" in _first(r"^flags\s*:\s*(.+)$", "/proc/cpuinfo", ""),
        "memory_gib": round(memory),
        "kernel": os.uname().release.split("-")[0],
        "dpdk": _output("pkg-config", "--modversion", "libdpdk"),
        "rustc": _output("rustc", "--version"),
    }


@contextlib.contextmanager
def hugepages(mib, say):
    """Provides `mib` of free hugepages, and restores the setting afterwards."""

    def of_meminfo(key):
        return int(_first(rf"^{key}:\s+(\d+)", "/proc/meminfo", "0"))

    size = of_meminfo("Hugepagesize") * 1024
    if size == 0:
        raise Broken("this kernel has no hugepages")
    missing = -(-mib * 1024 * 1024 // size) - of_meminfo("HugePages_Free")
    if missing <= 0:
        yield
        return
    before = int(HUGEPAGES.read_text())
    try:
        HUGEPAGES.write_text(str(before + missing))
    except OSError as error:
        raise Broken(
            f"{mib} MiB of hugepages are needed and not free; as root: "
            f"echo {before + missing} > {HUGEPAGES}"
        ) from error
    say(f"set nr_hugepages to {before + missing} (it was {before})")
    try:
        if of_meminfo("HugePages_Free") * size < mib * 1024 * 1024:
            raise Broken(f"the kernel has no {mib} MiB in one piece for hugepages")
        yield
    finally:
        HUGEPAGES.write_text(str(before))
        say(f"set nr_hugepages back to {before}")


def _busy_seconds():
    """CPU time of all CPUs since the start that was not idle, including time of the hypervisor."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _wait, irq, softirq, steal = map(int, fields[:8])
    return (user + nice + system + irq + softirq + steal) / TICKS


def _own_seconds(pids):
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
    return total / TICKS


def _threads(pids):
    """Nanoseconds for which each thread ran, and was runnable without a CPU."""
    threads = {}
    for pid in pids:
        for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError, ValueError):
                ran, waited, _ = path.read_text().split()
                threads[path.parent.name] = (int(ran), int(waited))
    return threads


class Watch:
    """CPU time of other programs while one contestant was measured."""

    def __init__(self, pids):
        self.pids = [*pids, os.getpid()]
        self.start = time.monotonic()
        self.busy, self.own = _busy_seconds(), _own_seconds(self.pids)
        self.threads = _threads(pids)
        self.measured = list(pids)

    def end(self):
        """(CPUs that others used, share of their time for which the polling threads waited)."""
        took = time.monotonic() - self.start
        foreign = (_busy_seconds() - self.busy) - (_own_seconds(self.pids) - self.own)
        polled, waited = 0, 0
        for thread, (ran_now, waited_now) in _threads(self.measured).items():
            ran_before, waited_before = self.threads.get(thread, (0, 0))
            wanted = ran_now - ran_before + waited_now - waited_before
            if wanted > POLLING * took * 1e9:
                polled, waited = polled + wanted, waited + waited_now - waited_before
        return max(0.0, foreign / took), waited / max(1, polled)


class Gate:
    """Delays a measurement while other programs use the machine, for a limited time."""

    def __init__(self, foreign_max, patience, say):
        self.foreign_max = foreign_max
        self.left = patience
        self.say = say

    def wait(self):
        said = False
        while self.left > 0:
            watch = Watch([])
            time.sleep(LOOK_SECONDS)
            foreign, _ = watch.end()
            if foreign <= self.foreign_max:
                return
            self.left -= LOOK_SECONDS
            if not said:
                self.say(f"others use {foreign:.2f} CPUs: waiting, for {self.left:.0f} s at most")
                said = True


def stop(process, seconds=5):
    """Ends a child process: by SIGTERM, then by SIGKILL."""
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
