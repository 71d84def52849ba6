"""Labs and programs of the tests."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import sluicegate

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[3]

#: A lab of about a millisecond of real time, which depends on its seed.
TINY = """\
name: tiny
seed: 1
duration: 20us
profiles:
  tor:
    buffer: {total: 1MiB, profiles: {roce: {shared: {dynamic_th: -3}, lossless: {xoff: auto}}}}
    defaults:
      pfc: {enable: [3]}
      priority_groups: {3: roce}
      queues: {3: {ecn: {kmin: 2KB, kmax: 90KB, pmax: 50%}}}
topology: {star: {hosts: 3}}
defaults: {links: {rate: 100G, length: 5m}}
flows: [{name: a, from: [h1, h2], to: h3, priority: 3, ecn: ect0, rate: 60G}]
checks: [conservation, lossless]
"""

#: The same, with a check that fails.
BROKEN = TINY.replace("checks: [", "checks: [{value: {path: pauses.xoffs, at_least: 1000000}}, ")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    return file


@pytest.fixture
def incast() -> Path:
    return ROOT / "configs" / "labs" / "incast.yaml"


@pytest.fixture
def sluice(pytestconfig: pytest.Config) -> str:
    """The program that the wheel put beside this Python."""
    program = sluicegate.program()
    assert program is not None, "the wheel has the program"
    return program


def missing(why: str) -> None:
    """Skips a test for want of something, which CI must have."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)


def results(program: str, *arguments: str) -> dict:
    """Results of a command as JSON."""
    command = [program, *arguments, "--format", "json"]
    return json.loads(subprocess.run(command, check=False, capture_output=True, text=True).stdout)
