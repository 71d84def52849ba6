"""Sweeps: one lab at many points, on this machine or on all workers of an executor."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import active_children
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

from ._errors import TraceMismatch
from ._labs import Lab, LabLike, Plan, fields_of, number_of, sweep_text, variant_number, warn
from ._native import VERSION
from ._parts import parts_in
from ._rows import Rows
from ._worker import Done, Job, Order, run_chunk

#: Duration of a chunk of runs, in ms: long beside the way to a worker, short beside a sweep.
CHUNK_MS = 1000.0
#: Chunks of one run that are sent first, and tell how long a run takes. Also the least number of
#: chunks of a sweep, so that many workers have something to do.
CHUNKS_LEAST = 32
#: One in this many runs is repeated on a second worker, and both traces must be equal.
REPEATED = 16
#: Time in seconds without any result after which the worker that has run a chunk repeats it itself. The
#: time of three chunks is added, in which another worker may be busy.
PATIENCE = 2.0
#: Runs that are validated before the first one starts; every value of every axis is in one of them.
VALIDATED = 256


def sweep(
    lab: LabLike,
    axes: Optional[Mapping[str, Any]] = None,
    executor: Optional[Executor] = None,
    *,
    variant: Union[str, Iterable[str], None] = None,
    set: Optional[Mapping[str, Any]] = None,
    seed: Optional[int] = None,
    duration: Optional[str] = None,
    out: Union[str, os.PathLike[str], None] = None,
    jobs: Optional[int] = None,
    progress: Optional[Callable[[int, int], Any]] = None,
) -> Rows:
    """Runs a lab at every point of the product of axes and returns one flat row for each.

    axes: values by path, the last axis fastest, such as
        `{"seed": range(1, 101), "defaults.links.length": ["5m", "500m"]}`: what `sweep` of a lab file
        may have, ranges (`"5m..500m step 5m"`), `zip` and `points` too. Default: the file's own.
    executor: any `concurrent.futures.Executor`: `Client.get_executor(retries=3)` of Dask, mpi4py's
        `MPIPoolExecutor`, ... Default: a pool of `jobs` processes on this machine, by default as many
        as it has cores. Every worker must have this version of the package.
    variant: one of the lab's variants, or several. Default: all of them.
    set, seed, duration: as of `run`, for all points.
    out: an empty or new folder, in which workers write the rows of each chunk as a part: Parquet
        where pyarrow is installed, JSON lines otherwise. On other machines it is a folder of theirs.
    progress: called with the number of finished runs and of all.

    The rows are those of `sluice run --rows`. One run in 16 is run a second time on another worker
    and both trace hashes are compared.

    Raises ValueError: a lab or a value that is refused, before the first run where possible.
    VersionMismatch: a worker has another version. TraceMismatch: two workers had different traces.
    """
    lab = Lab.of(lab)
    for path, values in (axes or {}).items():
        if not isinstance(values, str) and hasattr(values, "__len__") and len(values) == 0:
            raise ValueError(f"axes: {path} has no values; give it some, or leave it out")
    text = sweep_text(axes) if axes else None
    plan = Plan(lab, text, fields_of(set), number_of("seed", seed), None, duration)
    numbers = _numbers(lab, plan, variant)
    job = Job(VERSION, plan, parts_in(out, axes or {}))
    if executor is not None:
        return _Sweep(executor, job, numbers, progress).rows()
    workers = max(1, min(jobs or len(os.sched_getaffinity(0)), len(numbers)))
    others = frozenset(active_children())
    with ProcessPoolExecutor(workers) as pool:
        try:
            return _Sweep(pool, job, numbers, progress).rows()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            # A worker that was interrupted takes its next chunk.
            for worker in frozenset(active_children()) - others:
                worker.terminate()
            raise


def _numbers(lab: Lab, plan: Plan, variant: Union[str, Iterable[str], None]) -> Sequence[int]:
    """Validates the lab; returns the numbers of the runs of these variants."""
    study = plan.study()
    warn(study.check(VALIDATED))
    points = study.points or 1
    if variant is None:
        return range(points * max(1, len(study.variants)))
    names = [variant] if isinstance(variant, str) else list(variant)
    first = sorted({variant_number(lab, study, name) * points for name in names})
    return [start + n for start in first for n in range(points)]


class _Chunk:
    """A chunk of runs that a worker has."""

    def __init__(
        self, numbers: Sequence[int], unwanted: frozenset[str] = frozenset(), offers: int = 0
    ) -> None:
        self.numbers = tuple(numbers)
        #: Workers that have run them, if they are repeated.
        self.unwanted = unwanted
        self.offers = offers
        self.repeats = offers > 0


class _Sweep:
    """A sweep under way."""

    def __init__(
        self,
        executor: Executor,
        job: Job,
        numbers: Sequence[int],
        progress: Optional[Callable[[int, int], Any]],
    ) -> None:
        self.executor, self.job, self.numbers, self.progress = executor, job, numbers, progress
        self.pending: dict[Future[Done], _Chunk] = {}
        self.ended: SimpleQueue[Future[Done]] = SimpleQueue()
        self.found: dict[int, dict[str, Any]] = {}
        self.by: dict[int, str] = {}
        self.workers: Counter[str] = Counter()
        #: Runs to repeat, by the worker that has run them.
        self.to_repeat: dict[str, list[int]] = defaultdict(list)
        self.repeated, self.repeated_alone = 0, 0
        self.mismatches: list[str] = []
        self.chunk, self.submitted = 1, 0
        #: Time of the latest result.
        self.latest = time.monotonic()
        self.slowest_ms = 0.0

    def rows(self) -> Rows:
        """Runs everything and returns the rows."""
        try:
            self._drive()
        except BaseException:
            for future in self.pending:
                future.cancel()
            raise
        rows = Rows(self.found[n] for n in self.numbers)
        rows.workers = dict(self.workers)
        rows.repeated, rows.repeated_alone = self.repeated, self.repeated_alone
        rows.out = None if self.job.parts is None else Path(self.job.parts.folder)
        if self.mismatches:
            raise TraceMismatch("one lab, one seed, two traces:\n" + "\n".join(self.mismatches), rows)
        return rows

    def _drive(self) -> None:
        first, rest = self.numbers[:CHUNKS_LEAST], self.numbers[CHUNKS_LEAST:]
        for n in first:
            self._submit(_Chunk([n]))
        while self.pending:
            future = self.ended.get()
            self._take(self.pending.pop(future), future.result())
            if rest and self.found:
                # A run has told how long they take.
                by_time, by_number = int(CHUNK_MS / max(self.slowest_ms, 1e-3)), -(-len(rest) // CHUNKS_LEAST)
                self.chunk = max(1, min(by_time, by_number))
                for at in range(0, len(rest), self.chunk):
                    self._submit(_Chunk(rest[at : at + self.chunk]))
                rest = rest[:0]
            self._repeat(everything=not self.pending)

    def _submit(self, chunk: _Chunk) -> None:
        self.submitted += 1
        order = Order(self.submitted, chunk.numbers, chunk.unwanted, not chunk.repeats)
        future = self.executor.submit(run_chunk, self.job, order)
        self.pending[future] = chunk
        future.add_done_callback(self.ended.put)

    def _take(self, chunk: _Chunk, done: Done) -> None:
        if not chunk.numbers:
            return None
        if done.rows is None:
            if self._is_alone():
                return self._submit(_Chunk(chunk.numbers, offers=chunk.offers))
            # A scheduler may prefer the same worker every time: every other time it gets a chunk without
            # runs first, which holds it still if it is not wanted.
            if chunk.offers % 2 == 1:
                self._submit(_Chunk((), chunk.unwanted, 1))
            return self._submit(_Chunk(chunk.numbers, chunk.unwanted, chunk.offers + 1))
        self.workers[done.worker] += len(done.rows)
        self.latest = time.monotonic()
        self.slowest_ms = max([self.slowest_ms, *(row["wall_ms"] for row in done.rows)])
        for n, row in zip(chunk.numbers, done.rows):
            if chunk.repeats:
                self._compare(n, row, done.worker)
                continue
            self.found[n], self.by[n] = row, done.worker
            if n % REPEATED == 0:
                self.to_repeat[done.worker].append(n)
        if self.progress is not None and not chunk.repeats:
            self.progress(len(self.found), len(self.numbers))
        return None

    def _is_alone(self) -> bool:
        """True if there is no other worker for a chunk that is to be repeated."""
        if len(self.workers) == 1 and len(self.found) == len(self.numbers):
            return True
        busy = 3 * self.chunk * self.slowest_ms / 1000
        return time.monotonic() - self.latest > PATIENCE + busy

    def _repeat(self, everything: bool) -> None:
        """Submits runs to be repeated, as soon as there is a chunk of a worker's."""
        for worker, numbers in self.to_repeat.items():
            if numbers and (everything or len(numbers) >= max(self.chunk, 2)):
                self._submit(_Chunk(numbers, frozenset([worker]), 1))
                self.to_repeat[worker] = []

    def _compare(self, n: int, row: dict[str, Any], worker: str) -> None:
        before, by = self.found[n], self.by[n]
        if row["trace_hash"] != before["trace_hash"]:
            self.mismatches.append(
                f"  run {n} ({before['point'] or 'seed ' + str(before['seed'])}): "
                f"{before['trace_hash']} on {by}, {row['trace_hash']} on {worker}"
            )
        elif worker == by:
            self.repeated_alone += 1
        else:
            self.repeated += 1
