"""The part of a sweep that runs on a worker: a chunk of runs.

It is found by its name on the worker, so the worker needs this package, in the same version.
"""

from __future__ import annotations

import json
import os
import socket
import time
from dataclasses import dataclass
from typing import Any, Optional

from . import _native
from ._errors import VersionMismatch
from ._labs import Plan
from ._parts import Parts

#: Version of this worker.
VERSION = _native.VERSION

#: Time for which a worker that is not wanted holds still, so that another one takes the chunk.
STILL = 0.05


@dataclass(frozen=True)
class Job:
    """Everything that the runs of a sweep share."""

    #: Version of the program that gives the work.
    version: str
    plan: Plan
    parts: Optional[Parts]


@dataclass(frozen=True)
class Done:
    """Results of a chunk."""

    worker: str
    #: Nothing, if this worker was not wanted.
    rows: Optional[list[dict[str, Any]]]


def worker_name() -> str:
    """Name of this process among all workers."""
    return f"{socket.gethostname()}:{os.getpid()}"


def run_chunk(job: Job, numbers: tuple[int, ...], unwanted: frozenset[str], write: bool) -> Done:
    """Runs some runs of a sweep, and writes their part if there is a folder for it.

    A worker in `unwanted` has run them already and declines.

    Raises VersionMismatch: this worker has another version.
    """
    me = worker_name()
    if job.version != VERSION:
        raise VersionMismatch(
            f"worker {me} has sluicegate {VERSION}, and the sweep is of {job.version}; "
            "install the same wheel on both"
        )
    if me in unwanted:
        time.sleep(STILL)
        return Done(me, None)
    study = job.plan.study()
    rows = [run_one(study, n) for n in numbers]
    if job.parts is not None and write:
        job.parts.write(numbers[0], rows)
    return Done(me, rows)


def run_one(study: _native.Study, n: int) -> dict[str, Any]:
    """Runs a run and returns its row."""
    done, _ = study.run(n)
    row: dict[str, Any] = json.loads(done.row())
    return row
