"""Labs of Sluice: networks that lose nothing, in exact virtual time.

    outcome = sluicegate.run("incast.yaml", seed=7)
    rows = sluicegate.sweep("incast.yaml", {"seed": range(1, 101)})

A lab is the path of a lab file, its text, or a dict with its fields. The same lab and seed give the
same trace hash on every machine. Errors of a lab are `ValueError`, with line, field and remedy.
"""

from __future__ import annotations

from ._calls import headroom, program, swarm
from ._errors import TraceMismatch, VersionMismatch
from ._labs import Lab, check, run, variants
from ._native import VERSION as __version__
from ._outcome import Outcome
from ._rows import Rows, read_rows
from ._sweep import sweep

__all__ = [
    "Lab",
    "Outcome",
    "Rows",
    "TraceMismatch",
    "VersionMismatch",
    "__version__",
    "check",
    "headroom",
    "program",
    "read_rows",
    "run",
    "swarm",
    "sweep",
    "variants",
]
