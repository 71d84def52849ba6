"""Interleaved measurements and their result: medians of ratios of samples next in time."""

import contextlib
import statistics
from dataclasses import dataclass, field

from .machine import Watch

# A slice is noisy if other programs used more of the machine than the first (in CPUs), or if the
# measured thread waited for its CPU for more than the second (a share of its time).
FOREIGN_MAX = 0.05
WAITED_MAX = 0.01

# Slices of every contestant in a round.
SLICES = 4

WARM_UP_SECONDS = 0.1


@dataclass
class Sample:
    """One contestant measured once."""

    # Frames per second of the time for which its polling threads had their CPUs.
    rate: float
    # CPUs that others used.
    foreign: float
    # Share of the time for which its polling threads waited for their CPUs.
    waited: float

    def noisy(self):
        return self.foreign > FOREIGN_MAX or self.waited > WAITED_MAX


@dataclass
class Row:
    """One line of the result: a subject against its base."""

    case: str
    subject: str
    base: str
    # In the unit of the case, such as nanoseconds per frame.
    value: float
    # What is compared is None where the base is unknown.
    base_value: float | None
    unit: str
    ratio: float | None
    low: float | None
    high: float | None
    quiet: int
    pairs: int
    target: str = ""
    met: bool | None = None
    samples: list = field(default_factory=list)


def rounds(contestants, settings, gate, say):
    """Samples by contestant's name. The nth samples of all were taken right after each other.

    Each round restarts all of them, so that the memory layout varies; within a round they
    alternate, each time in another order, so that a drift of the machine affects all equally.
    """
    samples = {c.name: [] for c in contestants}
    for number in range(settings.rounds):
        with contextlib.ExitStack() as open_ones:
            for contestant in contestants:
                open_ones.callback(contestant.close)
                contestant.start()
            for contestant in contestants:
                contestant.measure(WARM_UP_SECONDS)
            for turn in range(SLICES):
                first = (number + turn) % len(contestants)
                for contestant in contestants[first:] + contestants[:first]:
                    gate.wait()
                    watch = Watch(contestant.pids())
                    rate = contestant.measure(settings.seconds)
                    foreign, waited = watch.end()
                    sample = Sample(rate / (1 - waited), foreign, waited)
                    samples[contestant.name].append(sample)
        say(f"round {number + 1} of {settings.rounds}: " + ", ".join(
            f"{name} {statistics.median(s.rate for s in taken[-SLICES:]) / 1e6:.1f} Mpps"
            for name, taken in samples.items()
        ))
    return samples


def compare(case, samples, subject, base, ratio_of, unit="ns/frame"):
    """A row of `subject` against `base`; `ratio_of` takes their rates.

    Pairs in which either was disturbed are left out, if at least a third remain; else all
    count, and the row shows the number of undisturbed ones in `quiet`.
    """
    pairs = list(zip(samples[subject], samples[base]))
    quiet = [p for p in pairs if not (p[0].noisy() or p[1].noisy())]
    used = quiet if 3 * len(quiet) >= len(pairs) else pairs
    ratios = sorted(ratio_of(a.rate, b.rate) for a, b in used)

    def value(rates):
        rate = statistics.median(rates)
        return 1e9 / rate if unit == "ns/frame" else rate / 1e6

    return Row(
        case, subject, base,
        value(a.rate for a, _ in used), value(b.rate for _, b in used), unit,
        statistics.median(ratios), ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4],
        len(quiet), len(pairs),
        samples=[[vars(a), vars(b)] for a, b in pairs],
    )


def time_ratio(rate, base_rate):
    """Ratio of the times per frame, subject to base."""
    return base_rate / rate


def rate_ratio(rate, base_rate):
    """Ratio of the frames per second, subject to base."""
    return rate / base_rate


def at_most(row, limit):
    row.target, row.met = f"<= {limit:g}", row.ratio <= limit
    return row


def at_least(row, limit):
    row.target, row.met = f">= {limit:g}", row.ratio >= limit
    return row
