"""Functions without a lab."""

from __future__ import annotations

import json
import os
import re
import shutil
import sysconfig
from typing import Any, Optional

from . import _native


def headroom(model: str = "ieee", rate: str = "100G", length: str = "100m", **options: Any) -> dict[str, Any]:
    """Calculates the headroom of a link, as `sluice headroom calc` does.

    model: `ieee` (802.1Q Annex N), `cisco`, `sonic` or `mlx5`.
    rate: link rate, such as `400G`. length: cable, one way, such as `40m`.
    options: the options of the command with `_` for `-`, such as `max_frame=9216`, `cell=208`,
        `fec="rs"` or `complete=True`; `sluice headroom calc --help` has all of them.

    Returns the result of `--format json`: `bytes`, `bits`, `formula`, the `terms` of the sum with their
    sources, `cells` if a cell was given, and further figures of the model.

    Raises ValueError: an option that the model does not have, or a value out of its range.
    """
    arguments = []
    for name, value in {"model": model, "rate": rate, "length": length, **options}.items():
        if value is None or value is False:
            continue
        arguments.append("--" + name.replace("_", "-"))
        if value is not True:
            arguments[-1] += f"={value}"
    try:
        found: dict[str, Any] = json.loads(_native.headroom(arguments))
    except ValueError as error:
        option = re.compile(r"--([a-z][a-z-]*)")
        text = option.sub(lambda found: found[1].replace("-", "_"), str(error))
        raise ValueError(text) from None
    return found


def swarm(seed: int = 1, count: int = 1000, jobs: Optional[int] = None) -> dict[str, Any]:
    """Generates random labs and runs them with every checker, as `sluice swarm` does.

    seed: seed of all labs. count: number of labs. jobs: labs that run at the same time; default: the
    number of cores. Returns the summary of `--format json`: `verdict`, `labs`, `trace_hash`, `failed`
    and the totals. The same seed and count give the same hash, whatever the number of jobs.
    """
    jobs = jobs or len(os.sched_getaffinity(0))
    summary: dict[str, Any] = json.loads(_native.swarm(seed, count, jobs))
    return summary


def program() -> Optional[str]:
    """Returns the path of the program `sluice`: that of this package, else the first one on PATH."""
    own = os.path.join(sysconfig.get_path("scripts"), "sluice")
    return own if os.access(own, os.X_OK) else shutil.which("sluice")
