"""Sweeps: one lab at many points, on this machine or on all workers of an executor."""

from __future__ import annotations

import itertools
import os
from collections import Counter, defaultdict
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Callable, Iterable, Mapping, Optional, Union

from ._errors import TraceMismatch
from ._labs import Lab, LabLike, as_yaml, changes_of, named, warn
from ._native import VERSION
from ._parts import parts_in
from ._rows import Rows
from ._worker import Done, Point, Study, run_chunk

#: Duration of a chunk of runs, in seconds: long beside the way to a worker, short beside a sweep.
CHUNK = 1.0
#: Chunks of one point that are sent first, and tell how long a point takes. Also the least number of
#: chunks of a sweep, so that many workers have something to do.
CHUNKS_LEAST = 32
#: One in this many points is run on a second worker, and both traces must be equal.
REPEATED = 16
#: Times that a chunk is offered to workers that have not run it yet.
OFFERS = 40
#: Values of an axis that are validated before the first run; of more, the first and the last.
VALIDATED = 64


def sweep(
    lab: LabLike,
    axes: Mapping[str, Iterable[Any]],
    executor: Optional[Executor] = None,
    *,
    variant: Optional[str] = None,
    set: Optional[Mapping[str, Any]] = None,
    duration: Optional[str] = None,
    out: Optional[Union[str, os.PathLike[str]]] = None,
    jobs: Optional[int] = None,
    progress: Optional[Callable[[int, int], Any]] = None,
) -> Rows:
    """Runs a lab at every point of the product of axes and returns one flat row for each.

    axes: values by path, the last axis fastest, such as
        `{"seed": range(100), "defaults.links.length": ["5m", "500m"]}`. Paths are those of `run`'s
        `set`; `variant` is an axis, too.
    executor: any `concurrent.futures.Executor`: `Client.get_executor(retries=3)` of Dask, mpi4py's
        `MPIPoolExecutor`, ... Default: a pool of `jobs` processes on this machine, by default as many
        as it has cores. Every worker must have this version of the package.
    variant, set, duration: as of `run`, for all points; axes are written last.
    out: an empty or new folder, in which workers write the rows of each chunk as a part: Parquet
        where pyarrow is installed, JSON lines otherwise. On other machines it is a folder of theirs.
    progress: called with the number of finished points and of all.

    One point in 16 is run a second time on another worker and both trace hashes are compared.

    Raises ValueError: a lab or a value that is refused, before the first run where possible.
    VersionMismatch: a worker has another version. TraceMismatch: two workers had different traces.
    """
    lab = Lab.of(lab)
    axes = {path: [as_yaml(value) for value in values] for path, values in axes.items()}
    study = _study(lab, axes, changes_of(variant, None, None, duration, set), out)
    points = [Point(n, values) for n, values in enumerate(itertools.product(*axes.values()))]
    if executor is not None:
        return _Run(executor, study, points, progress).rows()
    workers = max(1, min(jobs or len(os.sched_getaffinity(0)), len(points)))
    with ProcessPoolExecutor(workers) as pool:
        try:
            return _Run(pool, study, points, progress).rows()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _study(lab: Lab, axes: Mapping[str, list[str]], changes: Any, out: Any) -> Study:
    """Validates the lab at the first value of every axis, and each value with these."""
    for path, values in axes.items():
        if not values:
            raise ValueError(f"axes: {path} has no values; give it some, or leave it out")
    study = Study(VERSION, lab, changes, tuple(axes), None)
    parsed = lab.parsed()
    if "variant" not in axes:
        named(parsed, lab, changes)
    first = tuple(values[0] for values in axes.values())
    told: dict[str, None] = {}
    for at, (path, values) in enumerate(axes.items()):
        few = values if len(values) <= VALIDATED else [values[0], values[-1]]
        for value in few:
            point = Point(0, (*first[:at], value, *first[at + 1 :]))
            try:
                told.update(dict.fromkeys(parsed.check(study.changed(point))))
            except ValueError as error:
                raise ValueError(f"{path}={value}: {error}") from None
    if not axes:
        told.update(dict.fromkeys(parsed.check(changes)))
    warn(told)
    return Study(VERSION, lab, changes, tuple(axes), parts_in(out))


class _Chunk:
    """A chunk that a worker has."""

    def __init__(self, points: list[Point], unwanted: frozenset[str] = frozenset(), offers: int = 0):
        self.points = points
        #: Workers that have run these points, if they are repeated.
        self.unwanted = unwanted
        self.offers = offers
        self.repeats = offers > 0


class _Run:
    """A sweep under way."""

    def __init__(
        self,
        executor: Executor,
        study: Study,
        points: list[Point],
        progress: Optional[Callable[[int, int], Any]],
    ) -> None:
        self.executor, self.study, self.points, self.progress = executor, study, points, progress
        self.pending: dict[Future[Done], _Chunk] = {}
        self.ended: SimpleQueue[Future[Done]] = SimpleQueue()
        self.found: dict[int, dict[str, Any]] = {}
        self.by: dict[int, str] = {}
        self.workers: Counter[str] = Counter()
        #: Points to repeat, by the worker that has run them.
        self.to_repeat: dict[str, list[Point]] = defaultdict(list)
        self.repeated, self.repeated_alone = 0, 0
        self.mismatches: list[str] = []
        self.chunk = 1

    def rows(self) -> Rows:
        """Runs everything and returns the rows."""
        try:
            self._drive()
        except BaseException:
            for future in self.pending:
                future.cancel()
            raise
        rows = Rows(self.found[point.number] for point in self.points)
        rows.workers = dict(self.workers)
        rows.repeated, rows.repeated_alone = self.repeated, self.repeated_alone
        rows.out = None if self.study.parts is None else Path(self.study.parts.folder)
        if self.mismatches:
            raise TraceMismatch("one lab, one seed, two traces:\n" + "\n".join(self.mismatches), rows)
        return rows

    def _drive(self) -> None:
        first, rest = self.points[:CHUNKS_LEAST], self.points[CHUNKS_LEAST:]
        for point in first:
            self._submit(_Chunk([point]))
        while self.pending:
            future = self.ended.get()
            self._take(self.pending.pop(future), future.result())
            if rest:
                # A point has told how long they take.
                seconds = max(row["wall_s"] for row in self.found.values()) or 1e-6
                by_time, by_number = int(CHUNK / seconds), -(-len(rest) // CHUNKS_LEAST)
                self.chunk = max(1, min(by_time, by_number))
                for at in range(0, len(rest), self.chunk):
                    self._submit(_Chunk(rest[at : at + self.chunk]))
                rest = []
            self._repeat(everything=not self.pending)

    def _submit(self, chunk: _Chunk) -> None:
        arguments = (self.study, tuple(chunk.points), chunk.unwanted, not chunk.repeats)
        future = self.executor.submit(run_chunk, *arguments)
        self.pending[future] = chunk
        future.add_done_callback(self.ended.put)

    def _take(self, chunk: _Chunk, done: Done) -> None:
        if done.rows is None:
            # Without another worker the same one repeats it.
            only_one = len(self.workers) == 1 and len(self.found) == len(self.points)
            alone = only_one or chunk.offers >= OFFERS
            unwanted = frozenset() if alone else chunk.unwanted
            return self._submit(_Chunk(chunk.points, unwanted, chunk.offers + 1))
        self.workers[done.worker] += len(done.rows)
        for point, row in zip(chunk.points, done.rows):
            if chunk.repeats:
                self._compare(point, row, done.worker)
                continue
            self.found[point.number], self.by[point.number] = row, done.worker
            if point.number % REPEATED == 0:
                self.to_repeat[done.worker].append(point)
        if self.progress is not None and not chunk.repeats:
            self.progress(len(self.found), len(self.points))

    def _repeat(self, everything: bool) -> None:
        """Submits points to be repeated, as soon as there is a chunk of a worker's."""
        for worker, points in self.to_repeat.items():
            if points and (everything or len(points) >= max(self.chunk, 2)):
                self._submit(_Chunk(points, frozenset([worker]), 1))
                self.to_repeat[worker] = []

    def _compare(self, point: Point, row: dict[str, Any], worker: str) -> None:
        before, by = self.found[point.number], self.by[point.number]
        if row["trace_hash"] != before["trace_hash"]:
            at = ", ".join(f"{p}={v}" for p, v in zip(self.study.axes, point.values))
            self.mismatches.append(
                f"  point {point.number} ({at}): {before['trace_hash']} on {by}, "
                f"{row['trace_hash']} on {worker}"
            )
        elif worker == by:
            self.repeated_alone += 1
        else:
            self.repeated += 1

