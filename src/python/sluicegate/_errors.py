"""Failures of runs on several workers."""

from __future__ import annotations


class VersionMismatch(RuntimeError):
    """A worker has another version than the program that gives it work.

    Results of two versions cannot stand in one table, so the worker refuses and nothing is run.
    """


class TraceMismatch(RuntimeError):
    """Two workers ran one lab with one seed and did not get the same trace hash.

    The same lab and seed give the same hash on every machine, so a machine is broken (its memory, for
    instance), or a worker has another build under the same version. `rows` has all results, of which
    those of the named workers cannot be trusted.
    """

    def __init__(self, message: str, rows: object = None) -> None:
        super().__init__(message)
        self.rows = rows
