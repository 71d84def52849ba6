"""Speed of the virtual world: alone, against its targets, and by size of the network."""

import json
import math
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

from .contestants import build
from .machine import Broken
from .measure import Row

# Targets of the virtual world, on one core: frame-hops per second of an incast and of a tree of 8,192
# hosts, that tree's memory, and by how much an event may take longer in a larger network than the
# logarithm of its size says.
HOPS, HOPS_CHECKED, HOPS_OF_TREE, MEMORY_MIB, GROWTH = 10e6, 6e6, 4e6, 1536, 1.3

# csg-htsim (Broadcom, 841d9e7) on `two-tier`: processor time in seconds, recorded on a quiet machine with
# two CPUs (AMD EPYC), and the share of it that is the target. It is in no registry and not run here. Its command, with
# 16 lines `N->0 start 0 size 20000000` in FILE, for hosts of 16 leaves:
#   htsim_roce -tm FILE -nodes 128 -tiers 2 -mtu 1000 -linkspeed 100000 -hop_latency 0.5 -strat ecmp_host -paths 8 \
#       -queue_type lossless_input -q 2000 -end 40000
HTSIM_SECONDS, HTSIM_SHARE = 0.57, 0.5

INCAST = ["incast", "16", "20000"]
# 20 MB per sender.
TWO_TIER = ["two-tier", "18797"]
TREES = [(4, 2000), (8, 200), (16, 40)]
LARGEST = ["fat-tree", "32", "20"]

# The same lab on two threads and on one, how often it is faster, and the target of the first.
TWO_THREADS = 1.7
DIVIDED = {
    "fat tree of 208 nodes": ["fat-tree", "8", "400"],
    "fat tree of 208 nodes with all checks": ["checked", "fat-tree", "8", "400"],
    "incast 16": INCAST,
    "two tiers of 128 hosts with all checks": ["checked", *TWO_TIER],
}


def _threads(arguments, number):
    """The arguments of a run on this number of threads."""
    at = 1 if arguments[0] == "checked" else 0
    return [*arguments[:at], "threads", str(number), *arguments[at:]]


def _once(executable, arguments):
    done = subprocess.run([executable, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Broken(f"sim {' '.join(arguments)}: {done.stderr.strip()[-400:]}")
    return json.loads(done.stdout)


def instructions():
    """Instructions per frame-hop of the incast, by the difference of two runs under callgrind."""
    executable = build("sim", lambda _: None)
    counted = []
    for frames in ["500", "1500"]:
        with tempfile.TemporaryDirectory(prefix="sluice-perf-") as directory:
            out = Path(directory) / "callgrind"
            command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", executable,
                       "incast", "16", frames]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise Broken(f"callgrind could not run sim: {done.stderr.strip()[-400:]}")
            total = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.MULTILINE)
            counted.append((int(total[1]), json.loads(done.stdout)["frames"]))
    (first, frames), (second, more) = counted
    return (second - first) / (more - frames)


def _row(subject, base, samples, base_value, unit, target, better):
    """A row whose value is the median of its samples, against a number or another median."""
    ratios = sorted(s / base_value for s in samples)
    ratio = statistics.median(ratios)
    low, high = ratios[len(ratios) // 4], ratios[(3 * len(ratios)) // 4]
    met = None if not target else (ratio >= 1 if better == "more" else ratio <= 1)
    return Row("sim", subject, base, statistics.median(samples), base_value, unit, ratio, low, high,
               0, len(samples), target=target, met=met, samples=samples)


def run(settings, gate, say):
    """The virtual world: an incast against its targets, fat trees as they grow, a bare heap."""
    executable = build("sim", say)
    runs = {"incast": INCAST, "hold": ["hold", "40", "5000000"]}
    runs |= {"checked": ["checked", *INCAST], "two-tier": ["checked", *TWO_TIER]}
    runs |= {f"tree {k}": ["fat-tree", str(k), str(micros)] for k, micros in TREES}
    runs["tree 32"] = LARGEST
    for name, arguments in DIVIDED.items():
        runs |= {f"{name}, {n}": _threads(arguments, n) for n in (1, 2)}
    results = {name: [] for name in runs}
    for n in range(1 if settings.quick else max(3, settings.rounds)):
        for name, arguments in runs.items():
            gate.wait()
            results[name].append(_once(executable, arguments))
        say(f"round {n + 1}")
    for name, found in results.items():
        hashes = {r["hash"] for r in found if "hash" in r}
        if len(hashes) > 1:
            raise Broken(f"{name}: the same plan gave several traces, {hashes}")

    for name in DIVIDED:
        one, two = ({r["hash"] for r in results[f"{name}, {n}"]} for n in (1, 2))
        if one != two:
            raise Broken(f"{name}: two threads gave another trace than one, {one} and {two}")

    def per_second(name, what):
        return [r[what] / r["seconds"] for r in results[name]]

    def per_event(name):
        return [1e9 * r["seconds"] / r["events"] for r in results[name]]

    million = [v / 1e6 for v in per_second("incast", "frames")]
    rows = [_row("incast 16, frame-hops/s", "target", million, HOPS / 1e6, "M/s", ">= 1", "more")]
    million = [v / 1e6 for v in per_second("checked", "frames")]
    rows.append(_row("incast 16 with all checks, frame-hops/s", "target", million,
                     HOPS_CHECKED / 1e6, "M/s", ">= 1", "more"))
    seconds = [r["seconds"] for r in results["two-tier"]]
    rows.append(_row("two tiers of 128 hosts with all checks", "half of csg-htsim's time", seconds,
                     HTSIM_SECONDS * HTSIM_SHARE, "s", "<= 1", "less"))
    heap = statistics.median(per_event("hold"))
    rows.append(_row("incast 16, time per event", "a bare heap of 40", per_event("incast"), heap,
                     "ns", "", "less"))
    million = [v / 1e6 for v in per_second("tree 32", "frames")]
    rows.append(_row("fat tree of 8,192 hosts, frame-hops/s", "target", million, HOPS_OF_TREE / 1e6,
                     "M/s", ">= 1", "more"))
    memory = [r["peak_kib"] / 1024 for r in results["tree 32"]]
    rows.append(_row("fat tree of 8,192 hosts, memory", "target", memory, MEMORY_MIB, "MiB",
                     "<= 1", "less"))
    base = statistics.median(per_event("tree 4"))
    first = results["tree 4"][0]["nodes"]
    for k, _ in TREES[1:]:
        nodes = results[f"tree {k}"][0]["nodes"]
        allowed = math.log2(nodes) / math.log2(first)
        rows.append(_row(f"fat tree of {nodes} nodes, time per event",
                         f"{first} nodes, times logarithm and {GROWTH}", per_event(f"tree {k}"),
                         base * allowed * GROWTH, "ns", "<= 1", "less"))
    for n, name in enumerate(DIVIDED):
        one, two = (results[f"{name}, {n}"] for n in (1, 2))
        faster = [a["seconds"] / b["seconds"] for a, b in zip(one, two, strict=True)]
        target = (TWO_THREADS, ">= 1.7") if n == 0 else (1, "")
        rows.append(_row(f"{name}, two threads to one", "target" if n == 0 else "one thread",
                         faster, target[0], "", target[1], "more"))
    return rows
