"""How many instructions a frame takes: counted by callgrind, so the same whoever else is busy."""

import json
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

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
    """(instructions by source file, frames) of one run."""
    with tempfile.TemporaryDirectory(prefix="sluice-perf-") as directory:
        out = f"{directory}/callgrind"
        command = [
            "valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
            steps, job, str(polls), str(burst),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Broken(f"callgrind could not run steps: {done.stderr.strip()[-400:]}")
        return _by_file(Path(out).read_text()), int(done.stdout)


def _by_file(profile):
    """Reads callgrind's output: each line of costs belongs to the last file that was named.

    A name is written once, with a number in parentheses that stands for it afterwards. The line
    after `calls=` is what the called function cost, which is counted there already.
    """
    names, costs = {}, Counter()
    file, is_call = "", False
    for line in profile.splitlines():
        named = re.match(r"(fl|fi|fe)=\((\d+)\)(?: (.+))?$", line)
        if named:
            number, name = named.group(2), named.group(3)
            file = names.setdefault(number, name)
        elif line.startswith("calls="):
            is_call = True
        elif re.match(r"[+\-*\d]", line):
            if not is_call:
                costs[file] += int(line.split()[1])
            is_call = False
        else:
            known = re.match(r"cfi?l?=\((\d+)\) (.+)$", line)
            if known and line.startswith(("cfi=", "cfl=")):
                names.setdefault(known.group(1), known.group(2))
    return costs


def _per_frame(steps, job, burst):
    """Instructions per frame by source file."""
    first, frames = _count(steps, job, POLLS, burst)
    second, more_frames = _count(steps, job, 2 * POLLS, burst)
    frames = more_frames - frames
    return {file: (second[file] - first[file]) / frames for file in second}


def _short(file):
    """A source file's name without the places where toolchains and registries keep theirs."""
    if file.startswith("/rustc/") or "/rustlib/" in file:
        return "the standard library, inlined"
    registry = re.search(r"/registry/src/[^/]+/([^/]+)/", file)
    if registry:
        return f"crate {registry.group(1)}"
    return file.removeprefix(f"{ROOT}/") if file.endswith(".rs") else "the C library"


def _explain(name, files, say):
    """Says where the instructions of one pipeline are."""
    short = Counter()
    for file, count in files.items():
        short[_short(file)] += count
    for file, count in short.most_common():
        if count >= 1:
            say(f"  {name}: {count:6.1f}  {file}")


def run(settings, _gate, say):
    """Instructions per frame of the pipeline on ports in memory, against the baseline."""
    if not shutil.which("valgrind"):
        raise Broken("valgrind is missing; apt-get install valgrind")
    steps = build("steps", say)
    counts = {}
    for job, burst in RUNS:
        name = f"{job}, bursts of {burst}"
        files = _per_frame(steps, job, burst)
        counts[name] = round(sum(files.values()), 1)
        say(f"{name}: {counts[name]} instructions per frame")
        if settings.by_file:
            _explain(name, files, say)
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
