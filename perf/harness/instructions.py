"""Instructions per frame: counted by callgrind, so independent of the load of the machine."""

import json
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from . import sim
from .contestants import ROOT, build
from .machine import Broken
from .measure import Row

BASELINE = ROOT / "perf/baselines/instructions.json"

# Tolerance of a count above its baseline.
TOLERANCE = 0.10

# Pipeline and frames in a burst: a burst of one shows the cost of a poll besides its frames.
RUNS = [("ports", 32), ("plain", 32), ("agents", 32), ("measuring", 32), ("lossless", 32), ("plain", 1),
        ("agents", 1), ("lossless", 1), ("sfc-idle", 32), ("queued", 32),
        ("sfc-64k", 32), ("macsec-pfc", 32), ("stream", 32), ("sink", 32)]

# The difference between a run of this number of polls and a run of twice as many is that of their
# frames alone: start, learning and end are the same in both.
POLLS = 2000


def _count(steps, job, polls, burst):
    """(instructions by object and address, frames) of one run."""
    with tempfile.TemporaryDirectory(prefix="sluice-perf-") as directory:
        out = Path(directory) / "callgrind"
        command = [
            "valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--dump-instr=yes",
            "--compress-pos=no", "--compress-strings=no", steps, job, str(polls), str(burst),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Broken(f"callgrind could not run steps: {done.stderr.strip()[-400:]}")
        return _by_address(out), int(done.stdout)


def _by_address(profile):
    """Reads callgrind's output: lines of address, line and cost under the object they are in.

    The line after `calls=` is the cost of the called function, which is counted there already.
    """
    costs = Counter()
    thing, is_call = "", False
    with profile.open() as lines:
        for line in lines:
            if line.startswith("ob="):
                thing = line[3:].strip()
            elif line.startswith("calls="):
                is_call = True
            elif line.startswith("0x"):
                if not is_call:
                    address, _, cost = line.split()
                    costs[thing, address] += int(cost)
                is_call = False
    return costs


def _per_frame(steps, job, burst):
    """Instructions per frame by object and address."""
    first, frames = _count(steps, job, POLLS, burst)
    second, more_frames = _count(steps, job, 2 * POLLS, burst)
    frames = more_frames - frames
    return {at: (second[at] - first[at]) / frames for at in second if second[at] != first[at]}


def _explain(steps, name, costs, say):
    """Prints the instructions of a frame by file of the project.

    Inlined code of other files counts for its caller.
    """
    ours = [address for thing, address in costs if thing == steps]
    found = subprocess.run(
        ["addr2line", "-a", "-i", "-e", steps], input="\n".join(ours), capture_output=True,
        text=True, check=True,
    )
    places, address = {}, None
    for line in found.stdout.splitlines():
        if line.startswith("0x"):
            address = int(line, 16)
        elif address not in places:
            file = line.rsplit(":", 1)[0].removeprefix(f"{ROOT}/").removeprefix("./")
            if re.match(r"(src|perf|tests)/", file):
                places[address] = file
    files = Counter()
    for (thing, address), cost in costs.items():
        elsewhere = "out of line in a library"
        files[places.get(int(address, 16), elsewhere) if thing == steps else elsewhere] += cost
    for file, count in files.most_common():
        if count >= 0.5:
            say(f"  {name}: {count:6.1f}  {file}")


def run(settings, _gate, say):
    """Instructions per frame of the pipeline on ports in memory, against the baseline."""
    if not shutil.which("valgrind"):
        raise Broken("valgrind is missing; apt-get install valgrind")
    steps = build("steps", say)
    counts = {}
    for job, burst in RUNS:
        name = f"{job}, bursts of {burst}"
        costs = _per_frame(steps, job, burst)
        counts[name] = round(sum(costs.values()), 1)
        say(f"{name}: {counts[name]} instructions per frame")
        if settings.by_file:
            _explain(steps, name, costs, say)
    for case, name in [([], "virtual incast, per frame-hop"),
                       (["checked"], "virtual incast with all checks, per frame-hop")]:
        counts[name] = round(sim.instructions(*case), 1)
        say(f"{name}: {counts[name]} instructions")
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
