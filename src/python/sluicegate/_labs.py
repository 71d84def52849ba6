"""Labs: from a file, a text or a dict to results."""

from __future__ import annotations

import json
import os
import shlex
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterable, Mapping, Optional, Tuple, Union

from . import _native
from ._outcome import Outcome

LabLike = Union["Lab", str, "os.PathLike[str]", Mapping[str, Any]]

#: Name in messages of a lab that was given as text or as a dict.
NAMELESS = "lab"


@dataclass(frozen=True)
class Changes:
    """Changes of a lab before a run. The extension reads the fields by their names."""

    variant: Optional[str] = None
    seed: Optional[int] = None
    shuffle: Optional[int] = None
    duration: Optional[str] = None
    set: Tuple[Tuple[str, str], ...] = ()

    def arguments(self) -> list[str]:
        """Returns the arguments of `sluice run` that make these changes."""
        found = []
        for name in ("variant", "seed", "shuffle", "duration"):
            value = getattr(self, name)
            if value is not None:
                found += [f"--{name}", str(value)]
        for path, value in self.set:
            found += ["--set", f"{path}={value}"]
        return found


@dataclass(frozen=True)
class Lab:
    """A lab file: its name in messages, and its text.

    Paths of files that it names are relative to the folder of its name. `of` makes one of whatever
    the functions of this package take as a lab.
    """

    name: str
    text: str = field(repr=False)

    @classmethod
    def of(cls, lab: LabLike) -> Lab:
        """Reads a lab: a path, the text of a file (with at least two lines), or a dict of its fields."""
        if isinstance(lab, Lab):
            return lab
        if isinstance(lab, Mapping):
            # JSON is YAML, too.
            return cls(NAMELESS, json.dumps(lab, default=_plain))
        if isinstance(lab, str) and "\n" in lab:
            return cls(NAMELESS, lab)
        return cls(os.fspath(lab), Path(lab).read_text(encoding="utf-8"))

    def parsed(self) -> _native.Lab:
        """Parses the text.

        Raises ValueError: it is not YAML, or its variants are invalid.
        """
        return _native.Lab(self.name, self.text)

    def command(self, changes: Changes) -> str:
        """Returns the `sluice run` that repeats a run with these changes."""
        return shlex.join(["sluice", "run", self.name, *changes.arguments()])


def _plain(value: Any) -> Any:
    """Makes a number of one of numpy's."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} has no place in a lab; use text, numbers, lists and dicts")


def as_yaml(value: Any) -> str:
    """Returns a value as it stands in a lab file. Text is taken as YAML, as the file would be."""
    return value if isinstance(value, str) else json.dumps(value, default=_plain)


def changes_of(
    variant: Optional[str] = None,
    seed: Optional[int] = None,
    shuffle: Optional[int] = None,
    duration: Optional[str] = None,
    set: Optional[Mapping[str, Any]] = None,
) -> Changes:
    """Returns changes from the arguments of a function."""
    fields = tuple((path, as_yaml(value)) for path, value in (set or {}).items())
    return Changes(variant, _seed(seed), _seed(shuffle), duration, fields)


def _seed(seed: Optional[int]) -> Optional[int]:
    if seed is None:
        return None
    seed = int(seed)
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed: {seed} is not a number from 0 to 2**64 - 1")
    return seed


def named(parsed: _native.Lab, lab: Lab, changes: Changes) -> Changes:
    """Returns the changes of a lab that has variants with the only one, or refuses to choose one."""
    if changes.variant is None and parsed.variants:
        names = ", ".join(parsed.variants)
        raise ValueError(f"{lab.name}: variant: the lab has the variants {names}; name one of them")
    return changes


def warn(messages: Iterable[str]) -> None:
    """Passes warnings of a lab on to Python's."""
    for message in messages:
        warnings.warn(message, stacklevel=3)


def variants(lab: LabLike) -> list[str]:
    """Returns the names of a lab's variants, in the order of the file.

    Raises ValueError: the file is not YAML, or its variants are invalid.
    """
    return Lab.of(lab).parsed().variants


def check(
    lab: LabLike,
    seed: Optional[int] = None,
    variant: Optional[str] = None,
    set: Optional[Mapping[str, Any]] = None,
    *,
    duration: Optional[str] = None,
) -> dict[str, Any]:
    """Validates a lab and returns its resolved configuration, as of `sluice check --format json`.

    Sizes are in bytes, times in nanoseconds. Nothing is run. The arguments are those of `run`.

    Raises ValueError: all errors of the lab, a line each, with file, line, field and remedy.
    """
    lab = Lab.of(lab)
    parsed = lab.parsed()
    changes = named(parsed, lab, changes_of(variant, seed, None, duration, set))
    resolved, told = parsed.resolved(changes)
    warn(told)
    return json.loads(resolved)


def run(
    lab: LabLike,
    seed: Optional[int] = None,
    variant: Optional[str] = None,
    set: Optional[Mapping[str, Any]] = None,
    *,
    duration: Optional[str] = None,
    shuffle: Optional[int] = None,
) -> Outcome:
    """Runs a lab in the virtual world and returns its results.

    seed: seed of all random decisions, 0 to 2**64 - 1. Default: the file's.
    variant: one of the lab's variants; must be given if it has any.
    set: values of fields by path, such as `{"defaults.links.length": "500m"}`; written after the
        variant. Parts of a path are keys, entries of lists by `name` or by index from 0, `*` for all
        of them, `**` for any number of levels.
    duration: end of the run at the latest, in time of the lab, such as `5ms`. Default: the file's.
    shuffle: seed of the order of events at the same picosecond. Default: the fixed order.

    The interpreter lock is released meanwhile, and Ctrl-C ends the run with `KeyboardInterrupt`.

    Raises ValueError: all errors of the lab, a line each, with file, line, field and remedy.
    """
    lab = Lab.of(lab)
    parsed = lab.parsed()
    changes = named(parsed, lab, changes_of(variant, seed, shuffle, duration, set))
    done, told = parsed.run(changes)
    warn(told)
    return Outcome(done, lab, changes)
