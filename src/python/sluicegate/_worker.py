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
class Order:
    """A chunk of runs that a worker is given."""

    #: Its number among all orders: Dask would answer an equal call with the result of the first.
    number: int
    runs: tuple[int, ...]
    #: Workers that have run them already, and decline.
    unwanted: frozenset[str]
    #: True if their part is written.
    write: bool


@dataclass(frozen=True)
class Done:
    """Results of a chunk."""

    worker: str
    #: Nothing, if this worker was not wanted.
    rows: Optional[list[dict[str, Any]]]


def worker_name() -> str:
    """Name of this process among all workers."""
    return f"{socket.gethostname()}:{os.getpid()}"


def run_chunk(job: Job, order: Order) -> Done:
    """Runs a chunk of a sweep, and writes its part if there is a folder for it.

    Raises VersionMismatch: this worker has another version.
    """
    me = worker_name()
    if job.version != VERSION:
        raise VersionMismatch(
            f"worker {me} has sluicegate {VERSION}, and the sweep is of {job.version}; "
            "install the same wheel on both"
        )
    if me in order.unwanted:
        time.sleep(STILL)
        return Done(me, None)
    study = job.plan.study()
    rows = [run_one(study, n) for n in order.runs]
    if job.parts is not None and order.write:
        job.parts.write(order.runs[0], rows)
    return Done(me, rows)


def run_one(study: _native.Study, n: int) -> dict[str, Any]:
    """Runs a run and returns its row."""
    done, _ = study.run(n)
    row: dict[str, Any] = json.loads(done.row())
    return row
