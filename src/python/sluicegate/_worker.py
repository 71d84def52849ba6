"""The part of a sweep that runs on a worker: a chunk of points.

It is found by its name on the worker, so the worker needs this package, in the same version.
"""

from __future__ import annotations

import json
import os
import socket
import time
from dataclasses import dataclass, replace
from typing import Any, Optional

from . import _native
from ._errors import VersionMismatch
from ._labs import Changes, Lab
from ._parts import Parts

#: Version of this worker.
VERSION = _native.VERSION

#: Time for which a worker that is not wanted holds still, so that another one takes the chunk.
STILL = 0.05


@dataclass(frozen=True)
class Point:
    """A point of a sweep: its number, and the text of a value for each axis."""

    number: int
    values: tuple[str, ...]


@dataclass(frozen=True)
class Study:
    """Everything that the points of a sweep share."""

    #: Version of the program that gives the work.
    version: str
    lab: Lab
    changes: Changes
    #: Paths of the axes; `variant` and `seed` are the arguments of `run`.
    axes: tuple[str, ...]
    parts: Optional[Parts]

    def changed(self, point: Point) -> Changes:
        """Returns the changes of a point: those of all points, and its values."""
        changes, fields = self.changes, list(self.changes.set)
        for path, value in zip(self.axes, point.values):
            if path == "variant":
                changes = replace(changes, variant=value)
            elif path == "seed":
                changes = replace(changes, seed=int(value))
            else:
                fields.append((path, value))
        return replace(changes, set=tuple(fields))


@dataclass
class Done:
    """Results of a chunk."""

    worker: str
    #: Nothing, if this worker was not wanted.
    rows: Optional[list[dict[str, Any]]]


def worker_name() -> str:
    """Name of this process among all workers."""
    return f"{socket.gethostname()}:{os.getpid()}"


def run_chunk(study: Study, points: tuple[Point, ...], unwanted: frozenset[str], write: bool) -> Done:
    """Runs points, and writes their part if there is a folder for it.

    A worker in `unwanted` has run these points already and declines.

    Raises VersionMismatch: this worker has another version.
    """
    me = worker_name()
    if study.version != VERSION:
        raise VersionMismatch(
            f"worker {me} has sluicegate {VERSION}, and the sweep is of {study.version}; "
            "install the same wheel on both"
        )
    if me in unwanted:
        time.sleep(STILL)
        return Done(me, None)
    parsed = study.lab.parsed()
    rows = [run_point(parsed, study, point) for point in points]
    if study.parts is not None and write:
        study.parts.write(points[0].number, rows)
    return Done(me, rows)


def run_point(parsed: _native.Lab, study: Study, point: Point) -> dict[str, Any]:
    """Runs a point and returns its row. An error names the point."""
    changes = study.changed(point)
    try:
        done, _ = parsed.run(changes)
    except (ValueError, RuntimeError) as error:
        where = ", ".join(f"{path}={value}" for path, value in zip(study.axes, point.values))
        raise type(error)(f"point {point.number} ({where}): {error}") from None
    return row_of(done, point, study.axes)


def row_of(done: _native.Run, point: Point, axes: tuple[str, ...]) -> dict[str, Any]:
    """Returns the flat row of a run."""
    return json.loads(done.row(point.number, list(zip(axes, point.values))))
