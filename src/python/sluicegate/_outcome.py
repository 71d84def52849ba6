"""Results of a run: the dict of `sluice run --format json`, and tables of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Union

from . import _native
from ._tables import TABLES, as_frame

if TYPE_CHECKING:
    import pandas

    from ._labs import Changes, Lab


@dataclass(frozen=True)
class _Kept:
    """A run that came from another process."""

    verdict: str
    trace_hash: str
    wall: float
    text: str

    def json(self) -> str:
        return self.text

    def figures(self) -> str:
        return json.dumps(json.loads(self.text)["figures"])


class Outcome(Mapping[str, Any]):
    """Results of a run, as a read-only dict with the fields of `sluice run --format json`.

    Times are in nanoseconds, sizes in bytes, rates in bit/s.
    """

    def __init__(self, run: Union[_native.Run, _Kept], lab: Lab, changes: Changes) -> None:
        self._run = run
        self._changes = changes
        #: The lab before changes.
        self.lab = lab

    def __reduce__(self) -> Any:
        run = self._run
        kept = _Kept(run.verdict, run.trace_hash, run.wall, run.json())
        return Outcome, (kept, self.lab, self._changes)

    @property
    def command(self) -> str:
        """Command that repeats the run; its file is `lab` where the lab was no file."""
        return self.lab.command(self._changes)

    def of_file(self, name: str) -> Outcome:
        """Returns the same results, whose command names another file with the lab."""
        return Outcome(self._run, replace(self.lab, name=name), self._changes)

    @property
    def verdict(self) -> str:
        """Worst verdict of the checks: `pass`, `not_judged`, `inconclusive` or `fail`."""
        return self._run.verdict

    @property
    def passed(self) -> bool:
        """True if no check failed and at least one passed: exit status 0 of `sluice run`."""
        return self.verdict == "pass"

    @property
    def trace_hash(self) -> str:
        """Hash of all events, 16 hexadecimal digits: the same for the same lab and seed everywhere."""
        return self._run.trace_hash

    @property
    def wall(self) -> float:
        """Duration of the run in seconds of real time."""
        return self._run.wall

    @cached_property
    def figures(self) -> dict[str, Any]:
        """Key figures for comparing runs."""
        return json.loads(self._run.figures())

    @property
    def failed(self) -> list[str]:
        """Names of the checks that failed or are inconclusive, in the order of the lab."""
        checks = self["checks"]
        return [check["name"] for check in checks if check["verdict"] in ("fail", "inconclusive")]

    def json(self) -> str:
        """Returns all results as JSON."""
        return self._run.json()

    def find(self, path: str) -> Any:
        """Returns the value at a path, such as `pauses.first_ns`, as `value` checks of lab files find it.

        Raises LookupError: there is no such value; says what there is.
        """
        return json.loads(_native.find(self._run.json(), path))

    def table(self, name: str) -> list[dict[str, Any]]:
        """Returns a part of the results as flat rows: see `tables`.

        Raises ValueError: there is no such table.
        """
        if name not in TABLES:
            raise ValueError(f"there is no table `{name}`; there are {', '.join(TABLES)}")
        return TABLES[name](self._all)

    @property
    def tables(self) -> list[str]:
        """Names of the tables: `checks`, `flows`, `ports`, `priorities`, `groups`, `hops`, `faults`."""
        return list(TABLES)

    def frame(self, name: str) -> pandas.DataFrame:
        """Returns a table as a data frame of pandas.

        Raises ImportError: pandas is not installed.
        """
        return as_frame(self.table(name))

    def write_page(self, path: Union[str, PathLike[str]]) -> Path:
        """Writes the page of `sluice run --report` with plots; the lab is run again for it."""
        path = Path(path)
        page = self.lab.parsed().page(self._changes, self.command)
        path.write_text(page, encoding="utf-8")
        return path

    @cached_property
    def _all(self) -> dict[str, Any]:
        return json.loads(self._run.json())

    def __getitem__(self, key: str) -> Any:
        return self._all[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self) -> str:
        return f"<Outcome of {self['lab']}: {self.verdict}, seed {self['seed']}, trace {self.trace_hash}>"
