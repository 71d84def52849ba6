"""Speed of the virtual world: alone, against its targets, and by size of the network."""

import contextlib
import json
import math
import os
import re
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from .contestants import build
from .machine import Broken
from .measure import Row

# Targets of the virtual world, on one core: frame-hops of an incast and of a tree of 8,192 hosts in the time
# in which a bare heap of the standard library gives out an event, so that a slow machine is not taken for a slow
# program; instructions per frame-hop; that tree's memory, and by how much an event may take longer in a larger
# network than the logarithm of its size says. Where 5.0 M hops/s were measured, HEAP_PER_SECOND was the heap's pace.
HEAP_PER_SECOND = 43e6
HOPS, HOPS_CHECKED, HOPS_OF_TREE = (rate / HEAP_PER_SECOND for rate in (10e6, 6e6, 4e6))
INSTRUCTIONS, INSTRUCTIONS_CHECKED, MEMORY_MIB, GROWTH = 1_290, 2_150, 1536, 1.3

# csg-htsim (Broadcom, 841d9e7) on `two-tier`: shares of its processor time without and with all checks, and of its
# elapsed time as `sluice run` runs the lab by default. It is in no registry; --htsim names its program.
HTSIM_SHARE, HTSIM_SHARE_CHECKED, HTSIM_SHARE_ELAPSED = 0.5, 0.8, 0.45
HTSIM = ["-nodes", "128", "-tiers", "2", "-mtu", "1000", "-linkspeed", "100000", "-hop_latency", "0.5", "-strat",
         "ecmp_host", "-paths", "8", "-queue_type", "lossless_input", "-q", "2000", "-end", "40000"]

INCAST = ["incast", "16", "20000"]
# 20 MB per sender.
TWO_TIER = ["two-tier", "18797"]
TREES = [(4, 2000), (8, 200), (16, 40)]
LARGEST = ["fat-tree", "32", "20"]

# The same labs on two threads and on one, and how many times as fast the first two are to be.
TWO_THREADS = [1.7, 1.8, None, None]
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


def _once(command, directory=None):
    """What the command prints when it runs in this directory, with its processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=directory)
    elapsed = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise Broken(f"{' '.join(command)}: {done.stderr.strip()[-400:]}")
    cpu = sum(getattr(after, of) - getattr(before, of) for of in ("ru_utime", "ru_stime"))
    return {"cpu": cpu, "elapsed": elapsed, "text": done.stdout}


def _ours(executable, arguments):
    run = _once([executable, *arguments])
    return json.loads(run["text"]) | run


@contextlib.contextmanager
def _htsim(program):
    """A function that runs csg-htsim on the same incast as `two-tier`; `None` without its program."""
    if program is None:
        yield None
        return
    if not os.access(program, os.X_OK):
        raise Broken(f"--htsim: {program} is not a program; build csg-htsim and name its htsim_roce")
    # It writes files of its own where it runs.
    with tempfile.TemporaryDirectory(prefix="sluice-perf-") as directory:
        hosts = [*range(8, 121, 8), 121]
        lines = ["Nodes 128", f"Connections {len(hosts)}"]
        lines += [f"{n}->0 start 0 size 20000000" for n in hosts]
        (Path(directory) / "flows.cm").write_text("\n".join(lines) + "\n")
        command = [str(Path(program).resolve()), "-tm", "flows.cm", *HTSIM]
        yield lambda: _once(command, directory)


def instructions(*case):
    """Instructions per frame-hop of a case, by the difference of two runs under callgrind."""
    executable = build("sim", lambda _: None)
    counted = []
    for frames in ["500", "1500"]:
        with tempfile.TemporaryDirectory(prefix="sluice-perf-") as directory:
            out = Path(directory) / "callgrind"
            command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", executable,
                       *case, "incast", "16", frames]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise Broken(f"callgrind could not run sim: {done.stderr.strip()[-400:]}")
            total = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.MULTILINE)
            counted.append((int(total[1]), json.loads(done.stdout)["frames"]))
    (first, frames), (second, more) = counted
    return (second - first) / (more - frames)


def _row(subject, base, pairs, unit, target, better):
    """A row of pairs, each of one round: a value and what it is compared with, in the unit.

    Without anything to compare with it is not judged.
    """
    values = [value for value, _ in pairs]
    bases = [base for _, base in pairs if base is not None]
    ratios = sorted(value / base for value, base in pairs if base is not None)
    if not ratios:
        return Row("sim", subject, base, statistics.median(values), None, unit, None, None, None, 0,
                   len(values), target=target, samples=pairs)
    ratio = statistics.median(ratios)
    low, high = ratios[len(ratios) // 4], ratios[(3 * len(ratios)) // 4]
    met = None if not target else (ratio >= 1 if better == "more" else ratio <= 1)
    return Row("sim", subject, base, statistics.median(values), statistics.median(bases), unit,
               ratio, low, high, 0, len(pairs), target=target, met=met, samples=pairs)


def _measured(executable, settings, gate, say):
    """Results by run, the nth of all taken in the same round."""
    runs = {"incast": INCAST, "hold": ["hold", "40", "5000000"]}
    runs |= {"checked": ["checked", *INCAST], "two-tier": TWO_TIER}
    runs |= {"two-tier checked": ["checked", *TWO_TIER]}
    runs |= {"two-tier by default": _threads(["checked", *TWO_TIER], 0)}
    runs |= {f"tree {k}": ["fat-tree", str(k), str(micros)] for k, micros in TREES}
    runs["tree 32"] = LARGEST
    for name, arguments in DIVIDED.items():
        runs |= {f"{name}, {n}": _threads(arguments, n) for n in (1, 2)}
    results = {name: [] for name in [*runs, "htsim"]}
    with _htsim(settings.htsim) as htsim:
        for n in range(1 if settings.quick else max(3, settings.rounds)):
            for name, arguments in runs.items():
                gate.wait()
                results[name].append(_ours(executable, arguments))
                if htsim and name.startswith("two-tier"):
                    # Next to each of them, so that both ran on the machine as it was then.
                    results["htsim"].append(htsim())
            say(f"round {n + 1}")
    for name, found in results.items():
        if len(hashes := {r["hash"] for r in found if "hash" in r}) > 1:
            raise Broken(f"{name}: the same plan gave several traces, {hashes}")
    for name in DIVIDED:
        one, two = ({r["hash"] for r in results[f"{name}, {n}"]} for n in (1, 2))
        if one != two:
            raise Broken(f"{name}: two threads gave another trace than one, {one} and {two}")
    return results


def run(settings, gate, say):
    """The virtual world: an incast against its targets, fat trees as they grow, a bare heap."""
    executable = build("sim", say)
    results = _measured(executable, settings, gate, say)

    def pace(name, what):
        return [r[what] / r["seconds"] / 1e6 for r in results[name]]

    def per_event(name):
        return [1e9 * r["seconds"] / r["events"] for r in results[name]]

    def against(values, bases):
        return list(zip(values, bases, strict=True))

    rows = []
    heap = pace("hold", "events")
    for name, subject, hops in [
        ("incast", "incast 16, frame-hops/s", HOPS),
        ("checked", "incast 16 with all checks, frame-hops/s", HOPS_CHECKED),
        ("tree 32", "fat tree of 8,192 hosts, frame-hops/s", HOPS_OF_TREE),
    ]:
        pairs = against(pace(name, "frames"), (hops * events for events in heap))
        base = f"{hops:.2f} for each event of a bare heap"
        rows.append(_row(subject, base, pairs, "M/s", ">= 1", "more"))
    for case, subject, target in [
        ([], "incast 16, instructions per hop", INSTRUCTIONS),
        (["checked"], "incast 16 with all checks, instructions per hop", INSTRUCTIONS_CHECKED),
    ]:
        pairs = [(instructions(*case), target)]
        rows.append(_row(subject, "target", pairs, "instr", "<= 1", "less"))
    # Behind each of the three runs of a round there was one of htsim.
    for place, (name, what, share) in enumerate([
        ("two-tier", "cpu", HTSIM_SHARE),
        ("two-tier checked", "cpu", HTSIM_SHARE_CHECKED),
        ("two-tier by default", "elapsed", HTSIM_SHARE_ELAPSED),
    ]):
        times = [r[what] for r in results[name]]
        peer = [r[what] * share for r in results["htsim"][place::3]] or [None] * len(times)
        subject = {"cpu": "processor time", "elapsed": "time"}[what]
        rows.append(_row(f"{name}, {subject}", f"{share:g} of csg-htsim's", against(times, peer),
                         "s", "<= 1", "less"))
    rows.append(_row("incast 16, time per event", "a bare heap of 40",
                     against(per_event("incast"), per_event("hold")), "ns", "", "less"))
    memory = [r["peak_kib"] / 1024 for r in results["tree 32"]]
    rows.append(_row("fat tree of 8,192 hosts, memory", "target",
                     [(value, MEMORY_MIB) for value in memory], "MiB", "<= 1", "less"))
    first = results["tree 4"][0]["nodes"]
    for k, _ in TREES[1:]:
        nodes = results[f"tree {k}"][0]["nodes"]
        allowed = math.log2(nodes) / math.log2(first) * GROWTH
        pairs = against(per_event(f"tree {k}"), (allowed * small for small in per_event("tree 4")))
        rows.append(_row(f"fat tree of {nodes} nodes, time per event",
                         f"{first} nodes, times logarithm and {GROWTH}", pairs, "ns", "<= 1",
                         "less"))
    for n, name in enumerate(DIVIDED):
        one, two = (results[f"{name}, {n}"] for n in (1, 2))
        target = TWO_THREADS[n]
        faster = [(a["seconds"] / b["seconds"], target or 1) for a, b in zip(one, two, strict=True)]
        rows.append(_row(f"{name}, two threads to one", "target" if target else "one thread",
                         faster, "", ">= 1" if target else "", "more"))
    return rows
