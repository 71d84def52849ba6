"""Results of a run: the dict of `sluice run --format json`, and tables of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Optional, Union

from . import _native
from ._tables import TABLES, as_frame

if TYPE_CHECKING:
    import pandas

    from ._labs import Call


@dataclass(frozen=True)
class _Kept:
    """A run that came from another process."""

    verdict: str
    trace_hash: str
    wall_ms: float
    text: str
    line: str

    def json(self) -> str:
        return self.text

    def figures(self) -> str:
        return json.dumps(json.loads(self.text)["figures"])

    def row(self) -> str:
        return self.line


class Outcome(Mapping[str, Any]):
    """Results of a run, as a read-only dict with the fields of `sluice run --format json`.

    Times are in nanoseconds, sizes in bytes, rates in bit/s.
    """

    def __init__(self, run: Union[_native.Run, _Kept], call: Call) -> None:
        self._run = run
        self._call = call

    def __reduce__(self) -> Any:
        run = self._run
        kept = _Kept(run.verdict, run.trace_hash, run.wall_ms, run.json(), run.row())
        return Outcome, (kept, self._call)

    @property
    def command(self) -> str:
        """Command that repeats the run; its file is `lab` where the lab was no file."""
        return self._call.command()

    def command_of(self, name: str) -> str:
        """Returns the command that repeats the run with the lab in this file."""
        return self._call.command(name)

    @property
    def text(self) -> str:
        """Text of the lab file, before changes."""
        return self._call.lab.text

    @property
    def file(self) -> str:
        """Name of the lab file; `lab` where the lab was no file."""
        return self._call.lab.name

    @property
    def verdict(self) -> str:
        """Worst verdict of the checks: `pass`, `not_judged`, `inconclusive` or `fail`."""
        return self._run.verdict

    @property
    def passed(self) -> bool:
        """True if every check was judged and holds: exit status 0 of `sluice run`."""
        return self.verdict == "pass"

    @property
    def trace_hash(self) -> str:
        """Hash of all events, 16 hexadecimal digits: the same for the same lab and seed everywhere."""
        return self._run.trace_hash

    @property
    def wall_ms(self) -> float:
        """Duration of the run in ms of real time."""
        return self._run.wall_ms

    @cached_property
    def figures(self) -> dict[str, Any]:
        """Key figures for comparing runs."""
        found: dict[str, Any] = json.loads(self._run.figures())
        return found

    @cached_property
    def row(self) -> dict[str, Any]:
        """The flat row of the run, as of `sluice run --rows`."""
        found: dict[str, Any] = json.loads(self._run.row())
        return found

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

    @property
    def tables(self) -> list[str]:
        """Names of the tables: `checks`, `flows`, `ports`, `priorities`, `groups`, `hops`, `faults`."""
        return list(TABLES)

    def table(self, name: str) -> list[dict[str, Any]]:
        """Returns a part of the results as flat rows: one of `tables`.

        Raises ValueError: there is no such table.
        """
        if name not in TABLES:
            raise ValueError(f"there is no table `{name}`; there are {', '.join(TABLES)}")
        return TABLES[name](self._all)

    def frame(self, name: str) -> pandas.DataFrame:
        """Returns a table as a data frame of pandas.

        Raises ImportError: pandas is not installed.
        """
        return as_frame(self.table(name))

    def write_page(self, path: Union[str, PathLike[str]], command: Optional[str] = None) -> Path:
        """Writes the page of `sluice run --report` with plots; the lab is run again for it."""
        study, n = self._call.run()
        path = Path(path)
        path.write_text(study.page(n, command or self.command), encoding="utf-8")
        return path

    @cached_property
    def _all(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._run.json())
        return found

    def __getitem__(self, key: str) -> Any:
        return self._all[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self) -> str:
        return f"<Outcome of {self['lab']}: {self.verdict}, seed {self['seed']}, trace {self.trace_hash}>"
