"""Measurement of links: response time of a loaded worker, and the cost to the data path."""

import json
import statistics
import subprocess

from .contestants import build
from .machine import Broken, hugepages, two_cpus
from .measure import Row, at_least, at_most

# Most hugepages that the bench of the responder needs.
MIB = 128

# Limits: for the answer, for a measurement, and for the remaining rate.
ANSWER_US = 2
MEASUREMENT_MS = 100
RATE_LEFT = 0.99

SECONDS = 10

# Number of slices of the 64 ports, and the length of one.
SLICES, SLICE_SECONDS = 40, 0.1

# A slice is noisy when its thread waited for its CPU for more than this share of it.
WAITED_MAX = 0.01


def _run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Broken(f"{' '.join(command)}: {done.stderr.strip()[-400:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _against(case, subject, what, values, limit, unit):
    """A row of values of several runs against a limit, which the median must not exceed."""
    values = sorted(values)
    value = statistics.median(values)
    row = Row(case, subject, what, value, limit, unit, value / limit, values[0] / limit,
              values[-1] / limit, 0, len(values), samples=values)
    return at_most(row, 1)


def responder(settings, gate, say):
    """t3 - t2 of a switch that forwards at full rate, found out by a measurement over rings."""
    cpu, other = two_cpus()
    bench = build("responder", say)
    seconds = 2 if settings.quick else SECONDS
    rows = []
    with hugepages(MIB, say):
        for pipeline in ["plain", "lossless"]:
            found = []
            for _ in range(1 if settings.quick else max(3, settings.rounds)):
                gate.wait()
                found.append(_run(bench, pipeline, str(seconds), "--huge", "--cpu", str(cpu),
                                  "--asker", str(other)))
                one = found[-1]
                say(f"{pipeline}: t3 - t2 of {one['answers']} answers, ns: "
                    f"{json.dumps(one['turnaround_ns'])}; answers below so many ns: "
                    f"{json.dumps(one['below_ns'])}; {one['measurements']} measurements, ns: "
                    f"{json.dumps(one['measurement_ns'])}, {one['failed']} failed; "
                    f"{one['frames_per_second'] / 1e6:.1f} Mpps beside them")
            for name in ["p50", "p99", "max"]:
                values = [one["turnaround_ns"][name] / 1e3 for one in found]
                row = _against("responder", f"{pipeline}, t3 - t2, {name}", "limit of p99", values,
                               ANSWER_US, "us")
                if name != "p99":
                    row.target, row.met = "", None
                rows.append(row)
            values = [one["measurement_ns"]["max"] / 1e6 for one in found]
            rows.append(_against("responder", f"{pipeline}, 100 rounds, longest", "limit", values,
                                 MEASUREMENT_MS, "ms"))
    return rows


def measuring(settings, _gate, say):
    """The rate of a worker with 64 ports, with agents that measure, that idle, and without any."""
    bench = build("measuring", say)
    slices = 8 if settings.quick else SLICES
    rows = []
    for pipeline in ["plain", "lossless"]:
        found = _run(bench, pipeline, str(SLICE_SECONDS), str(slices))
        for subject in ["measuring", "spaced"]:
            busy = found[subject]
            say(f"{pipeline}, {subject}: {busy['done']} measurements came to their end, "
                f"{busy['failed']} failed; "
                f"{busy['agent_frames_per_second']} frames of agents per second")
        base = found["none"]
        for subject in ["again", "idle", "measuring", "spaced"]:
            one, against = found[subject], "without agents"
            other, other_waited = base["rates"], base["waited"]
            if subject in ["measuring", "spaced"]:
                # Two switches differ by more than measurements cost, as they have other memory.
                against = "the same at rest"
                other, other_waited = one["resting"], one["resting_waited"]
            pairs = list(zip(one["rates"], other, one["waited"], other_waited))
            quiet = [p for p in pairs if max(p[2], p[3]) <= WAITED_MAX]
            used = quiet if 3 * len(quiet) >= len(pairs) else pairs
            ratios = sorted(p[0] / p[1] for p in used)
            row = Row(
                "measuring", f"{pipeline}, 64 ports, {subject}", against,
                statistics.median(p[0] for p in used) / 1e6,
                statistics.median(p[1] for p in used) / 1e6, "Mpps", statistics.median(ratios),
                ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4], len(quiet), len(pairs),
                samples=pairs,
            )
            # Two switches without agents: their ratio is the error of the others.
            rows.append(row if subject == "again" else at_least(row, RATE_LEFT))
    return rows
