"""Files with the rows of a chunk, written by the worker that ran it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Optional, Union

#: Columns of text in every row.
TEXT = ("point", "lab", "variant", "world", "trace_hash", "verdict", "failed", "version", "study")
#: Columns that are whole numbers in every row; all other numbers may have fractions.
WHOLE = ("n", "runs", "seed")


@dataclass(frozen=True)
class Parts:
    """Folder and format of the parts of a sweep."""

    folder: str
    #: `jsonl` or `parquet`.
    form: str
    #: Axes that have words among their values, and so are columns of text.
    words: frozenset[str]

    def write(self, first: int, rows: list[dict[str, Any]]) -> None:
        """Writes the part that begins with run `first`: whole or not at all, and the same again
        if the chunk is repeated after a worker was lost."""
        folder = Path(self.folder)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"part-{first:08}.{self.form}"
        unfinished = folder / f".{path.name}.{os.getpid()}"
        if self.form == "parquet":
            _write_parquet(unfinished, rows, self.words)
        else:
            lines = [json.dumps(row, separators=(",", ":")) + "\n" for row in rows]
            unfinished.write_text("".join(lines), encoding="utf-8")
        os.replace(unfinished, path)


def parts_in(
    folder: Union[str, os.PathLike[str], None], axes: Mapping[str, Any]
) -> Optional[Parts]:
    """Returns the parts of a new folder: Parquet if pyarrow is installed, JSON lines otherwise.

    Raises ValueError: there is something in the folder.
    """
    if folder is None:
        return None
    where = Path(folder).absolute()
    if where.exists() and (not where.is_dir() or any(where.iterdir())):
        raise ValueError(f"out: {where} is not an empty folder; choose another one, or remove it")
    lists = ((path, values) for path, values in axes.items() if isinstance(values, (list, tuple)))
    words = frozenset(path for path, values in lists if any(isinstance(v, str) for v in values))
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        return Parts(str(where), "jsonl", words)
    return Parts(str(where), "parquet", words)


def _write_parquet(path: Path, rows: list[dict[str, Any]], words: frozenset[str]) -> None:
    """Writes rows with the same types in every part, so that all parts are one table."""
    import pyarrow
    import pyarrow.parquet

    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        columns[name] = pyarrow.array(*_typed(name, values, words, pyarrow))
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def _typed(name: str, values: list[Any], words: frozenset[str], pyarrow: Any) -> tuple[list[Any], Any]:
    """Returns values with the type of their column. A figure without any value is a number."""
    there = [value for value in values if value is not None]
    if name in WHOLE:
        return values, pyarrow.uint64()
    if name not in TEXT and name not in words:
        if there and all(isinstance(value, bool) for value in there):
            return values, pyarrow.bool_()
        if all(isinstance(value, (int, float)) for value in there):
            return [None if value is None else float(value) for value in values], pyarrow.float64()
    text = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
    return text, pyarrow.string()
