"""The built wheel in an empty environment, the types of the package, and the manual's page."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
import venv
from pathlib import Path

import pytest
from conftest import ROOT

import sluicegate

PACKAGE = Path(sluicegate.__file__).parent


def test_the_wheel_is_the_whole_virtual_lab(tmp_path, incast):
    [wheel] = (ROOT / "target" / "wheels").glob("sluicegate-*.whl")
    assert "-cp39-abi3-" in wheel.name, "one wheel for every Python"
    venv.create(tmp_path / "empty")
    packages = next((tmp_path / "empty" / "lib").glob("python*/site-packages"))
    assert list(packages.iterdir()) == [], "there is not even pip"
    bin = tmp_path / "empty" / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(bin / "python"), "install", "--quiet"]
    if pip_is_old():
        # It cannot install into other environments.
        subprocess.run([str(bin / "python"), "-m", "ensurepip"], check=True, capture_output=True)
        pip = [str(bin / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--no-index", "--disable-pip-version-check", str(wheel)], check=True)
    environment = {"PATH": f"{bin}:/usr/bin:/bin"}

    def said(*command):
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert said("sluice", "--version") == f"sluice {sluicegate.__version__}\n"
    program = said("sluice", "run", str(incast), "--format", "json")
    script = f"import sluicegate; print(sluicegate.run({str(incast)!r}).json())"
    assert sluicegate.run(incast).trace_hash in program
    assert f'"trace_hash":"{sluicegate.run(incast).trace_hash}"' in said("python", "-c", script)
    script = "import sluicegate; sluicegate.run({'topology': {'star': {'hosts': 3}}}).frame('ports')"
    failed = subprocess.run(["python", "-c", script], capture_output=True, text=True, env=environment)
    assert "data frames need pandas: pip install 'sluicegate[frames]'" in failed.stderr, failed.stderr


def pip_is_old():
    said = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, text=True).stdout
    numbers = re.match(r"pip (\d+)\.(\d+)", said)
    return numbers is None or (int(numbers[1]), int(numbers[2])) < (22, 3)


def test_sources_are_those_of_python_39():
    for file in PACKAGE.glob("*.py"):
        ast.parse(file.read_text(), file.name, feature_version=(3, 9))


def test_types_are_complete_and_those_of_the_extension(tmp_path):
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\npython_version = 3.11\nignore_missing_imports = True\n")
    cache = ["--cache-dir", str(tmp_path / "cache"), "--config-file", str(config)]
    judges = [
        ["mypy", "--strict", *cache, "-p", "sluicegate"],
        ["mypy.stubtest", "sluicegate._native", "--mypy-config-file", str(config)],
    ]
    for module, *words in judges:
        done = subprocess.run([sys.executable, "-m", module, *words], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr


def blocks():
    """Blocks of Python of the manual."""
    for page in sorted((ROOT / "docs" / "src").rglob("*.md")):
        for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)):
            yield pytest.param(block, id=f"{page.stem}-{number}")


@pytest.mark.parametrize("block", list(blocks()))
def test_the_manuals_python_runs(block, tmp_path, monkeypatch, pytester):
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    monkeypatch.chdir(tmp_path)
    if "def test_" in block:
        (tmp_path / "test_page.py").write_text(block)
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
        return
    # The cluster of the page is one on this machine.
    block = block.replace('Client("tcp://10.0.0.1:8786")', "Client(n_workers=2, threads_per_worker=1, dashboard_address=None)")
    body = textwrap.indent(block, "    ")
    script = tmp_path / "page.py"
    script.write_text(f"def main():\n{body}\nif __name__ == '__main__':\n    main()\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
