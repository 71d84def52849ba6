"""The command line and the tables."""

import argparse
import json
import signal
import sys

from .cases import CASES
from .contestants import ROOT
from .machine import Broken, Gate, describe
from .measure import FOREIGN_MAX

EXIT_MISSED, EXIT_BROKEN = 1, 3


def _arguments(words):
    parser = argparse.ArgumentParser(
        prog="perf/run",
        description="Measures Sluice side by side with its peers; perf/README.md has the method.",
        epilog="Cases: " + "; ".join(f"{n}: {c.__doc__}" for n, c in CASES.items()),
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help="default: all of them")
    parser.add_argument("--format", choices=["table", "json"], default="table")
    parser.add_argument("--rounds", type=int, default=5, help="fresh starts (default 5)")
    parser.add_argument(
        "--seconds", type=float, default=0.5, help="length of a slice, four a round (default 0.5)"
    )
    parser.add_argument(
        "--patience", type=float, default=300,
        help="seconds to wait in all for others to leave the machine alone (default 300)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="one round of short slices that waits for nobody"
    )
    parser.add_argument(
        "--check", action="store_true", help="end with status 1 if a target is missed"
    )
    parser.add_argument(
        "--update", action="store_true", help="make what `instructions` counts its new baseline"
    )
    parser.add_argument(
        "--by-file", action="store_true", help="say where the instructions of a frame are"
    )
    parser.add_argument(
        "--htsim", metavar="PATH",
        help="program htsim_roce of csg-htsim, which `sim` runs beside the virtual world",
    )
    settings = parser.parse_args(words)
    unknown = [name for name in settings.cases if name not in CASES]
    if unknown:
        parser.error(f"no case {unknown[0]}; there are {', '.join(CASES)}")
    if settings.rounds < 1 or not settings.seconds > 0:
        parser.error("--rounds is 1 or more, and --seconds above 0")
    if settings.quick:
        settings.rounds, settings.seconds, settings.patience = 1, 0.1, 0
    return settings


def say(message):
    print(f"perf: {message}", file=sys.stderr, flush=True)


def _line(row):
    """Text of a row in the table."""
    number = ".1f" if row.unit == "instr" else ".2f"
    spread = f"{row.low:.2f}..{row.high:.2f}" if row.pairs > 1 and row.low is not None else ""
    base = "-" if row.base_value is None else f"{row.base_value:{number}}"
    ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
    met = {None: "not judged" if row.target else "", True: "met", False: "missed"}[row.met]
    quiet = f"{row.quiet}/{row.pairs}" if row.pairs > 1 else ""
    return [
        row.case, row.subject, f"{row.value:{number}}", row.base, base,
        row.unit, ratio, spread, row.target, met, quiet,
    ]


HEAD = ["case", "subject", "median", "against", "median", "unit", "ratio", "quartiles", "target",
        "", "quiet"]
NUMBERS = {2, 4, 6}


def table(rows):
    """Formats lines with aligned columns."""
    lines = [HEAD, *map(_line, rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(HEAD))]

    def cell(n, text):
        return text.rjust(widths[n]) if n in NUMBERS else text.ljust(widths[n])

    return "\n".join("  ".join(cell(n, t) for n, t in enumerate(line)).rstrip() for line in lines)


def _end(number, _frame):
    sys.exit(128 + number)


def main(words):
    settings = _arguments(words)
    # On a signal it still ends its children and restores the hugepages.
    for number in [signal.SIGTERM, signal.SIGHUP]:
        signal.signal(number, _end)
    gate = Gate(FOREIGN_MAX, settings.patience, say)
    rows, skipped = [], {}
    for name in settings.cases or CASES:
        say(f"case {name}: {CASES[name].__doc__}")
        try:
            rows += CASES[name](settings, gate, say)
        except Broken as error:
            skipped[name] = str(error)
            say(f"skipped {name}: {error}")
    machine = describe(ROOT)
    if settings.format == "json":
        shown = {"rounds": settings.rounds, "seconds": settings.seconds}
        result = {"machine": machine, "settings": shown, "rows": [vars(r) for r in rows],
                  "skipped": skipped}
        print(json.dumps(result, indent=1))
    else:
        print(", ".join(f"{key} {value}" for key, value in machine.items()))
        if rows:
            print(table(rows))
        for name, why in skipped.items():
            print(f"skipped {name}: {why}")
    if skipped and not rows:
        return EXIT_BROKEN
    return EXIT_MISSED if settings.check and any(r.met is False for r in rows) else 0
