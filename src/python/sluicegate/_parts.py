"""Files with the rows of a chunk, written by the worker that ran it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

#: Columns that are whole numbers in every row; all other numbers may have fractions.
WHOLE = ("n", "seed", "shuffle")


@dataclass(frozen=True)
class Parts:
    """Folder and format of the parts of a sweep."""

    folder: str
    #: `jsonl` or `parquet`.
    form: str

    def write(self, first: int, rows: list[dict[str, Any]]) -> None:
        """Writes the part that begins with point `first`: whole or not at all, and the same again
        if the chunk is repeated after a worker was lost."""
        folder = Path(self.folder)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"part-{first:08}.{self.form}"
        unfinished = folder / f".{path.name}.{os.getpid()}"
        if self.form == "parquet":
            _write_parquet(unfinished, rows)
        else:
            lines = [json.dumps(row, separators=(",", ":")) + "\n" for row in rows]
            unfinished.write_text("".join(lines), encoding="utf-8")
        os.replace(unfinished, path)


def parts_in(folder: Optional[os.PathLike[str]]) -> Optional[Parts]:
    """Returns the parts of a new folder: Parquet if pyarrow is installed, JSON lines otherwise.

    Raises ValueError: there is something in the folder.
    """
    if folder is None:
        return None
    path = Path(folder).absolute()
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ValueError(f"out: {path} is not an empty folder; choose another one, or remove it")
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        return Parts(str(path), "jsonl")
    return Parts(str(path), "parquet")


def _write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    """Writes rows with the same types in every part, so that all parts are one table: a column is of
    whole numbers by its name, of numbers if it has one or nothing at all, else of text."""
    import pyarrow
    import pyarrow.parquet

    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        columns[name] = pyarrow.array(*_typed(name, values, pyarrow))
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def _typed(name: str, values: list[Any], pyarrow: Any) -> tuple[list[Any], Any]:
    there = [value for value in values if value is not None]
    if name in WHOLE:
        return values, pyarrow.uint64()
    if there and all(isinstance(value, bool) for value in there):
        return values, pyarrow.bool_()
    if all(isinstance(value, (int, float)) for value in there):
        if not there and not name.startswith("figures."):
            return values, pyarrow.string()
        return [None if value is None else float(value) for value in values], pyarrow.float64()
    text = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
    return text, pyarrow.string()
