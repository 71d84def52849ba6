"""CPU time of a software switch for a lab file: `cpu: {poll, frame}`."""

import statistics
import subprocess
import time

from .contestants import build
from .machine import Broken
from .measure import Row

POLLS = 300_000
BURSTS = (1, 16)


def _seconds(steps, job, polls, burst):
    start = time.perf_counter()
    done = subprocess.run([steps, job, str(polls), str(burst)], capture_output=True, check=False)
    if done.returncode != 0:
        raise Broken(f"steps {job}: {done.stderr.decode().strip()[-400:]}")
    return time.perf_counter() - start


def _costs(steps, job):
    """(ns per poll, ns per frame): two ports, so a burst is on the line twice in every poll.

    The difference to a run of twice as many polls excludes start and end.
    """
    per_poll = [
        (_seconds(steps, job, 2 * POLLS, burst) - _seconds(steps, job, POLLS, burst)) * 1e9 / POLLS
        for burst in BURSTS
    ]
    few, many = (2 * burst for burst in BURSTS)
    frame = (per_poll[1] - per_poll[0]) / (many - few)
    return per_poll[0] - few * frame, frame


def run(settings, gate, say):
    """What a poll and a frame cost the data plane, for `cpu` in lab files."""
    steps = build("steps", say)
    rows = []
    for job in ["plain", "lossless"]:
        found = []
        for _ in range(1 if settings.quick else max(3, settings.rounds)):
            gate.wait()
            found.append(_costs(steps, job))
        poll, frame = (statistics.median(costs) for costs in zip(*found))
        say(f"{job}: in a lab file, `cpu: {{poll: {poll:.0f}ns, frame: {frame:.0f}ns}}`")
        ratio = frame / poll
        rows.append(Row("cpu", f"{job}, a frame", "a poll", frame, poll, "ns", ratio, ratio, ratio,
                        0, len(found), samples=found))
    return rows
