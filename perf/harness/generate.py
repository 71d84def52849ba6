"""The traffic generator's sending side: its rate, and the accuracy of its pace."""

import json
import statistics
import subprocess

from .contestants import Sluice, Testpmd, build
from .machine import Broken, hugepages, two_cpus
from .measure import Row, at_least, at_most, compare, rate_ratio, rounds

# A device that accepts frames and returns none. Its length is without the FCS.
DEVICE = "net_null0,size=60,no-rx=1"

# Most hugepages that a contestant needs.
MIB_EACH = 128

# Configured rate of the pacing case, and its duration.
PACE_PPS = 1_000_000
PACE_SECONDS = 10


class Txonly(Testpmd):
    """testpmd that sends the same frame of 64 bytes (FCS included) for ever."""

    def __init__(self, name, cpu, main_cpu):
        super().__init__(name, [DEVICE], cpu, main_cpu, mode="txonly")
        self.command += ["--port-topology=loop", "--txpkts=60"]


def tx(settings, gate, say):
    """A stream with numbers, times, a field that changes and checksums against testpmd's txonly."""
    cpu, main_cpu = two_cpus()
    generate = build("generate", say)
    peer = Txonly("testpmd txonly", cpu, main_cpu)
    ours = Sluice("sluice stream", generate, ["tx", "--huge"], [cpu])
    with hugepages(2 * MIB_EACH, say):
        samples = rounds([peer, ours], settings, gate, say)
    return [at_least(compare("gen-tx", samples, ours.name, peer.name, rate_ratio, "Mpps"), 0.95)]


def queues(settings, gate, say):
    """Two transmit queues of one port with a thread each against one queue."""
    cpu, other = two_cpus()
    generate = build("generate", say)
    one = Sluice("one queue", generate, ["tx", "--huge"], [cpu])
    two = Sluice("two queues", generate, ["tx", "--huge", "--queues", "2"], [cpu, other])
    with hugepages(3 * MIB_EACH, say):
        samples = rounds([one, two], settings, gate, say)
    row = compare("gen-queues", samples, two.name, one.name, rate_ratio, "Mpps")
    return [at_least(row, 1.8)]


def pace(settings, gate, say):
    """How far from a million frames per second a stream is over ten seconds, and its gaps."""
    cpu, _ = two_cpus()
    generate = build("generate", say)
    found = []
    with hugepages(MIB_EACH, say):
        for _ in range(1 if settings.quick else max(3, settings.rounds)):
            gate.wait()
            command = [generate, "pace", str(PACE_SECONDS), "--huge", "--cpu", str(cpu)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise Broken(f"generate: {done.stderr.strip()[-400:]}")
            found.append(json.loads(done.stdout.splitlines()[-1]))
            gaps = ", ".join(f"{name} {ns} ns" for name, ns in found[-1]["gap_ns"].items())
            say(f"{found[-1]['error_ppm']:+.3f} ppm off; gaps: {gaps}")
    rates = sorted(one["pps"] for one in found)
    off = sorted(abs(one["error_ppm"]) / 1e6 for one in found)
    rate = statistics.median(rates)
    row = Row("gen-pace", "off the set rate", "1 Mpps", rate / 1e6, PACE_PPS / 1e6, "Mpps",
              statistics.median(off), off[0], off[-1], 0, len(found), samples=found)
    return [at_most(row, 0.001)]
