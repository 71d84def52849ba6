"""Rows of a sweep: one flat dict for each run, and the files that hold them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Union

from . import _native
from ._tables import as_frame

if TYPE_CHECKING:
    import pandas


class Rows(List[Dict[str, Any]]):
    """Results of a sweep: a list of dicts, in the order of its points.

    The columns are those of `sluice run --rows`: number, axes, seed, variant, trace hash, verdict,
    failed checks, figures, wall time, version.
    """

    #: Runs by worker, `host:process`. Repeated runs count, too.
    workers: dict[str, int]
    #: Runs that were repeated on another worker and gave the same trace hash.
    repeated: int
    #: Runs that were repeated on the same worker, because there was no other one.
    repeated_alone: int
    #: Folder with the parts, if there is one.
    out: Optional[Path]
    #: Runs of the studies without a row, in rows of `read_rows`.
    missing: int

    def __init__(self, rows: Iterable[dict[str, Any]] = ()) -> None:
        super().__init__(rows)
        self.workers = {}
        self.repeated = 0
        self.repeated_alone = 0
        self.out = None
        self.missing = 0

    @property
    def verdict(self) -> str:
        """Worst verdict of all runs; `not_judged` without any, at best `inconclusive` if some are missing."""
        verdicts = [row["verdict"] for row in self]
        if verdicts and self.missing > 0:
            verdicts.append("inconclusive")
        return _native.verdict_of_all(verdicts)

    @property
    def passed(self) -> bool:
        """True if every run passed, and none is missing."""
        return self.verdict == "pass"

    def frame(self) -> pandas.DataFrame:
        """Returns the rows as a data frame of pandas.

        Raises ImportError: pandas is not installed.
        """
        return as_frame(self)


def read_rows(path: Union[str, os.PathLike[str]]) -> Rows:
    """Reads rows from a file of `sluice run --rows`, or from the parts in the folder of a sweep.

    A study is complete with all runs of its lab by one build; a file of a part, such as of one variant, is not.

    Raises ValueError: a line is not JSON, or the folder has no parts.
    """
    path = Path(path)
    files = [path] if path.is_file() else sorted(path.glob("part-*"))
    if not files:
        raise ValueError(f"{path}: there are no rows; expected a file of JSON lines, or a folder with part-*")
    rows = [row for file in files for row in _read(file)]
    rows.sort(key=lambda row: row.get("n") or 0)
    found = Rows(rows)
    found.out = path if path.is_dir() else None
    found.missing = _missing(rows)
    return found


def _missing(rows: list[dict[str, Any]]) -> int:
    """Returns the number of runs without a row; a row that does not say of how many it is counts as one.

    Rows of two builds are of two studies: they say nothing about each other's runs.
    """
    numbers: dict[tuple[Any, Any, Any], set[Any]] = {}
    for row in rows:
        numbers.setdefault((row.get("study"), row.get("version"), row.get("runs")), set()).add(row.get("n"))

    def left(runs: Any, own: set[Any]) -> int:
        return runs - sum(1 for n in own if n in range(runs)) if isinstance(runs, int) else 1

    return sum(left(runs, own) for (_, _, runs), own in numbers.items())


def _read(file: Path) -> Iterable[dict[str, Any]]:
    if file.suffix == ".parquet":
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise ImportError("Parquet needs pyarrow: pip install 'sluicegate[parquet]'") from error
        table: list[dict[str, Any]] = pyarrow.parquet.read_table(file).to_pylist()
        return table
    lines = file.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]
