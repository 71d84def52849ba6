"""Cost per frame of enabled features: Source Flow Control and isolation, idle and with 65,536
flows; MACsec on pauses."""

import resource
import statistics
import subprocess

from .contestants import build
from .machine import Broken
from .measure import SLICES, Row, at_most

BURST = 32

# Polls by job, for at least half a second each.
POLLS = {
    "lossless": 150_000, "sfc-idle": 150_000, "refill": 300_000, "queued": 60_000, "sfc-64k": 60_000,
    "macsec-pfc": 150_000,
}


def _processor_time(steps, job, polls):
    """(seconds on a processor, frames) of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [steps, job, str(polls), str(BURST)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise Broken(f"steps {job}: {done.stderr.strip()[-400:]}")
    return after.ru_utime - before.ru_utime, int(done.stdout)


def _per_frame(steps, job):
    """Nanoseconds per frame: the difference to twice as many polls excludes start and end."""
    few, some = _processor_time(steps, job, POLLS[job])
    many, more = _processor_time(steps, job, 2 * POLLS[job])
    return (many - few) * 1e9 / (more - some)


def _row(case, samples, subject, base, without, limit):
    """Median ratio of runs next in time, less the time of the bench itself."""
    def values(job):
        taken = samples[without] if without else [0] * len(samples[job])
        return [all_of - own for all_of, own in zip(samples[job], taken)]

    ours, theirs = values(subject), values(base)
    ratios = sorted(a / b for a, b in zip(ours, theirs))
    row = Row(
        case, subject, base, statistics.median(ours), statistics.median(theirs), "ns/frame",
        statistics.median(ratios), ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4],
        0, len(ratios), samples=samples,
    )
    return at_most(row, limit)


def _samples(jobs, settings, gate, say):
    """Nanoseconds per frame by job, taken in turn."""
    steps = build("steps", say)
    samples = {job: [] for job in jobs}
    for number in range(settings.rounds * SLICES):
        gate.wait()
        for job, taken in samples.items():
            taken.append(_per_frame(steps, job))
        say(f"slice {number + 1} of {settings.rounds * SLICES}: " + ", ".join(
            f"{job} {taken[-1]:.1f} ns" for job, taken in samples.items()
        ))
    return samples


def run(settings, gate, say):
    """What SFC and CI cost a frame: on but idle, and where every frame is of another of 65,536 flows that congest."""
    jobs = ["lossless", "sfc-idle", "refill", "queued", "sfc-64k"]
    samples = _samples(jobs, settings, gate, say)
    return [
        _row("congestion", samples, "sfc-idle", "lossless", None, 1.10),
        _row("congestion", samples, "sfc-64k", "queued", "refill", 1.40),
    ]


def macsec(settings, gate, say):
    """What MACsec on PFC alone costs a frame of data."""
    samples = _samples(["lossless", "macsec-pfc"], settings, gate, say)
    return [_row("macsec-pfc", samples, "macsec-pfc", "lossless", None, 1.05)]
