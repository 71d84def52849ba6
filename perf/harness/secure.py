"""Cost of a SecY compared with the cipher of its library, which seals and opens the same bytes."""

import json
import subprocess

from .contestants import build
from .machine import Broken
from .measure import Row, at_most

# Largest ratio of the time of a SecY to that of the library alone, for the shortest frames.
SHORTEST, LIMIT = 64, 1.5

SLICES = 501


def results(name, slices, gate, say):
    """Output of a bench of ciphers, a line of JSON for each of its results."""
    bench = build(name, say)
    gate.wait()
    done = subprocess.run([bench, str(slices)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Broken(f"{name}: {done.stderr.strip()[-400:]}")
    return map(json.loads, done.stdout.splitlines())


def run(settings, gate, say):
    """MACsec on frames of 64, 1500 and 9000 octets, with the library's own seal and open in turn."""
    rows = []
    for one in results("secure", 51 if settings.quick else SLICES, gate, say):
        subject = f"{one['suite']} {one['kind']}, {one['what']}, {one['octets']} octets"
        say(f"{subject}: {one['gbps']:.1f} Gb/s, the library {one['library_gbps']:.1f} Gb/s")
        row = Row("secure", subject, "the library", one["ns"], one["library_ns"], "ns",
                  one["ratio"], one["low"], one["high"], 0, one["slices"], samples=[one])
        rows.append(at_most(row, LIMIT) if one["octets"] == SHORTEST else row)
    return rows
