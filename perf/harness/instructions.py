"""How many instructions a frame takes: counted by callgrind, so the same whoever else is busy."""

import json
import re
import shutil
import subprocess

from .contestants import ROOT, build
from .machine import Broken
from .measure import Row

BASELINE = ROOT / "perf/baselines/instructions.json"

# How far above its baseline a count may be.
TOLERANCE = 0.10

# Pipeline and frames in a burst: a burst of one shows what a poll costs besides its frames.
RUNS = [("ports", 32), ("plain", 32), ("lossless", 32), ("plain", 1), ("lossless", 1)]

# The difference between a run of so many polls and a run of twice as many is their frames' alone:
# starting, learning and ending are the same in both.
POLLS = 2000


def _count(steps, job, polls, burst):
    """(instructions, frames) of one run."""
    command = [
        "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
        steps, job, str(polls), str(burst),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not collected:
        raise Broken(f"callgrind could not run steps: {done.stderr.strip()[-400:]}")
    return int(collected.group(1)), int(done.stdout)


def _per_frame(steps, job, burst):
    first, frames = _count(steps, job, POLLS, burst)
    second, more_frames = _count(steps, job, 2 * POLLS, burst)
    return (second - first) / (more_frames - frames)


def run(settings, _gate, say):
    """Instructions per frame of the pipeline on ports in memory, against the baseline."""
    if not shutil.which("valgrind"):
        raise Broken("valgrind is missing; apt-get install valgrind")
    steps = build("steps", say)
    counts = {}
    for job, burst in RUNS:
        name = f"{job}, bursts of {burst}"
        counts[name] = round(_per_frame(steps, job, burst), 1)
        say(f"{name}: {counts[name]} instructions per frame")
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    rustc = rustc.stdout.strip()
    if settings.update:
        text = json.dumps({"rustc": rustc, "instructions_per_frame": counts}, indent=2)
        BASELINE.write_text(text + "\n")
        say(f"wrote {BASELINE.relative_to(ROOT)}")
    try:
        baseline = json.loads(BASELINE.read_text())
    except OSError as error:
        raise Broken(f"{BASELINE.relative_to(ROOT)}: {error.strerror}") from error
    if baseline["rustc"] != rustc:
        say(f"the baseline is of {baseline['rustc']} and this is {rustc}: counts may differ")
    rows = []
    for name, count in counts.items():
        before = baseline["instructions_per_frame"].get(name, count)
        ratio = count / before
        rows.append(Row(
            "instructions", name, "baseline", count, before, "instr", ratio, ratio, ratio, 1, 1,
            target=f"<= {1 + TOLERANCE:g}", met=ratio <= 1 + TOLERANCE,
        ))
    return rows
