"""The script that draws distributions from tables of a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from conftest import ROOT

#: Fifty messages of two hosts.
MESSAGES = """\
duration: 1ms
until_done: true
topology: {star: {hosts: 3}}
profiles: {tor: {defaults: {pfc: {enable: [3]}}}}
record: {messages: true}
flows:
  - {name: m, from: [h1, h2], to: h3, priority: 3, transport: {roce: {messages: {bytes: 9KB, count: 25}}}}
"""


@pytest.mark.parametrize("column", ["completion_ns", "slowdown"])
def test_distributions_are_drawn_from_tables(sluice: str, tmp_path: Path, column: str) -> None:
    (tmp_path / "lab.yaml").write_text(MESSAGES)
    subprocess.run([sluice, "run", "lab.yaml", "--csv", "tables"], cwd=tmp_path, check=True)
    messages = pd.read_csv(tmp_path / "tables" / "messages.csv")
    assert len(messages) == 50 and messages["slowdown"].min() >= 1
    script = ROOT / "configs" / "scale" / "cdf.py"
    arguments = [sys.executable, str(script), "tables", "cdf.png", "--column", column, "--by", "flow"]
    subprocess.run(arguments, cwd=tmp_path, check=True)
    assert (tmp_path / "cdf.png").read_bytes()[:4] == b"\x89PNG"
