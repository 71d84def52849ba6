"""Labs: from a file, a text or a dict to results."""

from __future__ import annotations

import json
import os
import re
import shlex
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterable, Mapping, Optional, Union

from . import _native
from ._outcome import Outcome

LabLike = Union["Lab", str, "os.PathLike[str]", Mapping[str, Any]]

#: Name in messages of a lab that was given as text or as a dict.
NAMELESS = "lab"


@dataclass(frozen=True)
class Lab:
    """A lab file: its name in messages, and its text.

    Paths of files that it names are relative to the folder of its name.
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
            return cls(NAMELESS, as_json(lab))
        if isinstance(lab, str) and "\n" in lab:
            return cls(NAMELESS, lab)
        return cls(os.fspath(lab), Path(lab).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Plan:
    """A lab with the changes of a call, as it travels to workers."""

    lab: Lab
    #: Sweep instead of the file's, as YAML.
    sweep: Optional[str] = None
    #: Values of fields by path, as YAML.
    fields: tuple[tuple[str, str], ...] = ()
    seed: Optional[int] = None
    shuffle: Optional[int] = None
    duration: Optional[str] = None

    def study(self) -> _native.Study:
        """Parses the lab and its sweep.

        Raises ValueError: one of them is invalid.
        """
        name, text = self.lab.name, self.lab.text
        return _native.Study(
            name, text, self.sweep, self.fields, self.seed, self.shuffle, self.duration
        )


def as_json(value: Any) -> str:
    """Returns a value as JSON, which is YAML, too."""
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    """Makes a number of one of numpy's."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} has no place in a lab; use text, numbers, lists and dicts")


def fields_of(set: Optional[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Returns values by path as YAML."""
    return tuple((path, as_json(value)) for path, value in (set or {}).items())


def sweep_text(axes: Mapping[str, Any]) -> str:
    """Returns the sweep of axes as YAML."""
    members = [f"{json.dumps(path)}: {_axis(path, values)}" for path, values in axes.items()]
    return "{" + ", ".join(members) + "}"


def _axis(path: str, values: Any) -> str:
    """Returns the values of an axis as YAML."""
    if path == "zip":
        groups = [values] if isinstance(values, Mapping) else values
        return "[" + ", ".join(sweep_text(group) for group in groups) + "]"
    if isinstance(values, range) and values.step > 0 and len(values) > 1:
        return f"{values[0]}..{values[-1]} step {values.step}"
    if isinstance(values, str):
        # A range of the lab file's kind, which is no text there.
        return values
    return as_json(values if isinstance(values, Mapping) else list(values))


def number_of(name: str, value: Optional[int]) -> Optional[int]:
    """Returns a seed.

    Raises ValueError: it is not from 0 to 2**64 - 1.
    """
    if value is not None and not 0 <= int(value) < 2**64:
        raise ValueError(f"{name}: {value} is not a number from 0 to 2**64 - 1")
    return None if value is None else int(value)


def warn(messages: Iterable[str]) -> None:
    """Passes warnings of a lab on to Python's."""
    for message in messages:
        warnings.warn(message, stacklevel=3)


def variant_number(lab: Lab, study: _native.Study, variant: Optional[str]) -> int:
    """Returns the number of a variant among those of the file; 0 in a file without variants.

    Raises ValueError: there is no such variant, or none is named and there are some.
    """
    names = study.variants
    if variant is None and not names:
        return 0
    if variant in names:
        return names.index(variant)
    known = f"there are {', '.join(names)}; name one of them" if names else "the lab has no variants"
    what = "none is given" if variant is None else f"there is no `{variant}`"
    raise ValueError(f"{lab.name}: variant: {what}; {known}")


@dataclass(frozen=True)
class Call:
    """The arguments of a call for one run."""

    lab: Lab
    variant: Optional[str]
    number: Optional[int]
    fields: tuple[tuple[str, Any], ...]
    plan: Plan

    @classmethod
    def of(
        cls,
        lab: LabLike,
        seed: Optional[int],
        variant: Optional[str],
        fields: Optional[Mapping[str, Any]],
        number: Optional[int],
        duration: Optional[str],
        shuffle: Optional[int],
    ) -> Call:
        """Reads the lab and the arguments."""
        found = Lab.of(lab)
        seed, shuffle = number_of("seed", seed), number_of("shuffle", shuffle)
        plan = Plan(found, None, fields_of(fields), seed, shuffle, duration)
        return cls(found, variant, number, tuple((fields or {}).items()), plan)

    def run(self) -> tuple[_native.Study, int]:
        """Parses the lab; returns its runs, and the number of the one that is meant.

        Raises ValueError: the lab is invalid, or has several runs.
        """
        study = self.plan.study()
        if self.number is not None:
            if self.variant is not None:
                raise ValueError("variant: the number stands for a variant, too; leave out one of them")
            return study, self.number
        if study.points is not None:
            raise ValueError(
                f"{self.lab.name}: sweep: the lab has {study.points} points; run them by "
                "sluicegate.sweep, or choose one by its number"
            )
        return study, variant_number(self.lab, study, self.variant)

    def command(self, name: Optional[str] = None) -> str:
        """Returns the `sluice run` that repeats the run; the lab is in the file `name`."""
        words = ["sluice", "run", name or self.lab.name]
        for option, value in (
            ("--variant", self.variant),
            ("--number", self.number),
            ("--seed", self.plan.seed),
            ("--shuffle", self.plan.shuffle),
            ("--duration", self.plan.duration),
        ):
            words += [] if value is None else [option, str(value)]
        for path, value in self.fields:
            words += ["--set", f"{path}={_shown(value)}"]
        return shlex.join(words)


#: Text that YAML reads as text without quotes.
_TEXT = re.compile(r"(?!(true|false|null|yes|no|on|off)$)\d*\.?\d*[A-Za-z][\w./%-]*", re.IGNORECASE)


def _shown(value: Any) -> str:
    """Returns a value as a command line has it."""
    return value if isinstance(value, str) and _TEXT.fullmatch(value) else as_json(value)


def variants(lab: LabLike) -> list[str]:
    """Returns the names of a lab's variants, in the order of the file.

    Raises ValueError: the file is not YAML, or its variants are invalid.
    """
    return Plan(Lab.of(lab)).study().variants


def check(
    lab: LabLike,
    seed: Optional[int] = None,
    variant: Optional[str] = None,
    set: Optional[Mapping[str, Any]] = None,
    *,
    number: Optional[int] = None,
    duration: Optional[str] = None,
) -> dict[str, Any]:
    """Validates a lab and returns its resolved configuration, as of `sluice check --format json`.

    Sizes are in bytes, times in nanoseconds. Nothing is run. The arguments are those of `run`.

    Raises ValueError: all errors of the lab, a line each, with file, line, field and remedy.
    """
    study, n = Call.of(lab, seed, variant, set, number, duration, None).run()
    resolved, told = study.resolved(n)
    warn(told)
    found: dict[str, Any] = json.loads(resolved)
    return found


def run(
    lab: LabLike,
    seed: Optional[int] = None,
    variant: Optional[str] = None,
    set: Optional[Mapping[str, Any]] = None,
    *,
    number: Optional[int] = None,
    duration: Optional[str] = None,
    shuffle: Optional[int] = None,
) -> Outcome:
    """Runs a lab in the virtual world and returns its results.

    seed: seed of all random decisions, 0 to 2**64 - 1. Default: the file's.
    variant: one of the lab's variants; must be given if it has any.
    set: values of fields by path, such as `{"defaults.links.length": "500m"}`; written after the
        variant. Parts of a path are keys, entries of lists by `name` or by index from 0, `*` for all
        of them, `**` for any number of levels.
    number: number of the run, from 0, in a lab with a sweep. Its rows have it as `n`.
    duration: end of the run at the latest, in time of the lab, such as `5ms`. Default: the file's.
    shuffle: seed of the order of events at the same picosecond. Default: the fixed order.

    The interpreter lock is released meanwhile, and Ctrl-C ends the run with `KeyboardInterrupt`.

    Raises ValueError: all errors of the lab, a line each, with file, line, field and remedy.
    """
    call = Call.of(lab, seed, variant, set, number, duration, shuffle)
    study, n = call.run()
    done, told = study.run(n)
    warn(told)
    return Outcome(done, call)
