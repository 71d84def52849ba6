"""Plugin of pytest: labs over seeds, switches in network namespaces, and a traffic generator.

    @pytest.mark.lab("incast.yaml", seeds=50)
    def test_incast(lab):
        assert lab.figures["lost_frames"] == 0

A failure prints the command that repeats the run, and keeps its page with plots.
"""

from __future__ import annotations

import itertools
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Generator, Iterable, Iterator, Mapping, Optional, Union

import pytest

from . import _calls
from ._labs import NAMELESS, Lab, LabLike, run
from ._outcome import Outcome
from ._program import OtgServer, Switch, lacks_dpdk, lacks_namespaces

_NUMBERS = itertools.count()
_RUNS = pytest.StashKey["list[Outcome]"]()
#: Runs of a failed test that get a page: the last ones.
_PAGES_MOST = 3


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sluicegate")
    group.addoption(
        "--sluice",
        metavar="PROGRAM",
        help="the program sluice of the fixtures switch and otg, built with DPDK. Default: that of "
        "the package, else the first one on PATH",
    )
    group.addoption(
        "--lab-pages",
        metavar="DIR",
        help="folder for the pages of failed labs. Default: sluice in the cache folder of pytest",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "lab(file, seeds=None, variant=None, set=None, duration=None, checks=True): runs a lab; the "
        "fixture lab has the results. seeds is a number (1 to N) or a list, variant a name or a list. "
        "The test fails unless the lab's verdict is PASS; with checks=False its own asserts decide.",
    )
    config.addinivalue_line(
        "markers", "otg_allow(*locations): locations that the fixture otg may use, such as iface:eth1."
    )


@dataclass(frozen=True)
class _Case:
    """One run of a marker."""

    file: LabLike
    arguments: Mapping[str, Any]
    checks: bool


def _cases(
    file: LabLike,
    seeds: Union[int, Iterable[int], None] = None,
    variant: Union[str, Iterable[str], None] = None,
    set: Optional[Mapping[str, Any]] = None,
    duration: Optional[str] = None,
    checks: bool = True,
) -> Iterator[tuple[str, _Case]]:
    """Names and runs of a marker, from its arguments."""
    every: list[Optional[int]] = [None]
    if seeds is not None:
        every = list(range(1, seeds + 1) if isinstance(seeds, int) else seeds)
    names = [variant] if variant is None or isinstance(variant, str) else list(variant)
    for name, seed in itertools.product(names, every):
        arguments = {"variant": name, "seed": seed, "set": set, "duration": duration}
        words = [] if name is None else [name]
        words += [] if seed is None else [f"seed{seed}"]
        yield "-".join(words) or "lab", _Case(file, arguments, checks)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("lab")
    if marker is None:
        return
    try:
        names, cases = zip(*_cases(*marker.args, **marker.kwargs))
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: marker lab: {error}") from None
    metafunc.parametrize("_lab_case", cases, ids=names, indirect=True)


def _found(file: LabLike, item: pytest.Item) -> Lab:
    """Reads a lab whose path is relative to the test's folder or to the root of all tests. In
    messages and commands it is relative to the folder in which pytest was started."""
    if not isinstance(file, (str, os.PathLike)) or isinstance(file, str) and "\n" in file:
        return Lab.of(file)
    folders = (item.path.parent, item.config.rootpath)
    path = next((folder / file for folder in folders if (folder / file).exists()), Path(file))
    lab = Lab.of(path)
    return Lab(os.path.relpath(path.absolute(), item.config.invocation_params.dir), lab.text)


def _run(item: pytest.Item, file: LabLike, arguments: Mapping[str, Any]) -> Outcome:
    """Runs a lab for a test, and keeps its results for the test's report."""
    outcome = run(_found(file, item), **arguments)
    item.stash.setdefault(_RUNS, []).append(outcome)
    return outcome


@pytest.fixture(autouse=True)
def _lab_case(request: pytest.FixtureRequest) -> Optional[Outcome]:
    """Results of the lab of the marker `lab`, which is run even if the test does not look at them."""
    case: Optional[_Case] = getattr(request, "param", None)
    return None if case is None else _run(request.node, case.file, case.arguments)


@pytest.fixture
def lab(
    request: pytest.FixtureRequest, _lab_case: Optional[Outcome]
) -> Union[Outcome, Callable[..., Outcome]]:
    """Results of the lab of the marker `lab`; without the marker a function with the arguments of
    `sluicegate.run`, whose paths are relative to the test's folder."""
    if _lab_case is not None:
        return _lab_case
    return lambda file, **arguments: _run(request.node, file, arguments)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Fails a test of the marker before its body if the lab did not pass."""
    callspec = getattr(item, "callspec", None)
    case = callspec.params.get("_lab_case") if callspec is not None else None
    if not isinstance(case, _Case) or not case.checks:
        return
    outcome = item.stash[_RUNS][0]
    if not outcome.passed:
        bad = (c for c in outcome["checks"] if c["verdict"] != "pass")
        lines = [f"  {c['name']}: {c['verdict']}: {c['detail']}" for c in bad]
        why = "\n".join(lines) or "  the lab has no checks; give it some, or the marker checks=False"
        pytest.fail(f"{outcome['lab']}: {outcome.verdict}\n{why}", pytrace=False)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Adds to the report of a failed test the commands that repeat its labs, and their pages."""
    result = yield
    report = result.get_result()
    runs = item.stash.get(_RUNS, [])
    if report.when == "call" and report.failed and runs:
        lines = []
        for number, outcome in enumerate(runs[-_PAGES_MOST:]):
            lines += _kept(item, outcome, number)
        report.sections.append(("sluice", "\n".join(lines)))


def _kept(item: pytest.Item, outcome: Outcome, number: int) -> list[str]:
    """Writes the page of a run, and its lab if that has no file; returns lines for the report."""
    folder = _folder(item.config)
    name = re.sub(r"[^\w.-]+", "_", item.nodeid).strip("_") + (f"-{number}" if number else "")
    command = outcome.command
    if outcome.file == NAMELESS:
        file = folder / f"{name}.yaml"
        file.write_text(outcome.text, encoding="utf-8")
        command = outcome.command_of(os.path.relpath(file, item.config.invocation_params.dir))
    page = outcome.write_page(folder / f"{name}.html", command)
    return [f"repeat: {command}", f"page: {page}"]


def _folder(config: pytest.Config) -> Path:
    """Folder of the pages."""
    given = config.getoption("--lab-pages")
    cache = getattr(config, "cache", None)
    if given is None and cache is not None:
        made: Path = cache.mkdir("sluice")
        return made
    folder = Path(given or config.rootpath / "sluice-pages")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _program(config: pytest.Config) -> str:
    """The program with DPDK; skips the test without one."""
    program: Optional[str] = config.getoption("--sluice")
    if program is None:
        program = _calls.program()
    elif os.path.dirname(program):
        program = str(config.invocation_params.dir / program)
    why = lacks_dpdk(program)
    if program is None or why is not None:
        pytest.skip(str(why))
    return program


@pytest.fixture
def switch(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Switch]]:
    """A function that starts `sluice switch` between hosts of the kernel in network namespaces.

    `switch(ports=2, file=None)` returns it, with `hosts`, `show`, `ctl` and `stop`; `file` is the text
    of a switch file with the interfaces s0, s1, ... Everything ends with the test. Needs root and a
    program with DPDK, and skips with the reason where they are missing.
    """
    program = _program(request.config)
    why = lacks_namespaces()
    if why is not None:
        pytest.skip(why)
    started: list[Switch] = []

    def start(ports: int = 2, file: Optional[str] = None) -> Switch:
        number = next(_NUMBERS)
        folder = tmp_path / f"switch{number}"
        started.append(Switch(program, folder, ports, file, f"{os.getpid()}-{number}"))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def otg(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The api of snappi for a `sluice gen --listen` that runs beside the test.

    Ports are pairs in memory (`ring:NAME.a`, `ring:NAME.b`), and the locations of the marker
    `otg_allow` (`iface:eth1`). Needs snappi and a program with DPDK, and skips with the reason where
    they are missing.
    """
    snappi = pytest.importorskip("snappi", reason="snappi is missing: pip install 'sluicegate[otg]'")
    allowed = [place for mark in request.node.iter_markers("otg_allow") for place in mark.args]
    arguments = [word for place in allowed for word in ("--allow", place)]
    generator = OtgServer(_program(request.config), arguments)
    try:
        yield snappi.api(location=f"http://{generator.address}", verify=False)
    finally:
        generator.close()
