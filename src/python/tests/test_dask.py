"""Dask as the engine: a scheduler and three workers, each in a network namespace of its own."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT, TINY, missing

import sluicegate
from sluicegate._program import lacks_namespaces

BIN = Path(sys.executable).parent
EXAMPLE = ROOT / "configs" / "scale" / "dask_sweep.py"
SCHEDULER = "tcp://10.77.0.1:8786"
SEEDS = 1200
_NUMBERS = itertools.count()


class Cluster:
    """A scheduler in a namespace with a bridge, and workers in others behind it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tag = f"sluice-{os.getpid()}-{next(_NUMBERS)}"
        self.spaces: list[str] = []
        self.processes: list[subprocess.Popen] = []
        try:
            self.base = self.space("base")
            ip("-n", self.base, "link", "add", "br0", "type", "bridge")
            ip("-n", self.base, "address", "add", "10.77.0.1/24", "dev", "br0")
            ip("-n", self.base, "link", "set", "br0", "up")
            self.start(self.base, "scheduler", "--host", "10.77.0.1", "--no-dashboard")
        except BaseException:
            self.close()
            raise

    def space(self, name: str) -> str:
        whole = f"{self.tag}-{name}"
        ip("netns", "add", whole)
        self.spaces.append(whole)
        ip("-n", whole, "link", "set", "lo", "up")
        return whole

    def worker(self, number: int, **environment: str) -> subprocess.Popen:
        """Starts a worker of one thread, without a nanny that would start it again."""
        space = self.space(f"w{number}")
        ip("-n", self.base, "link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0", "netns", space)
        ip("-n", self.base, "link", "set", f"v{number}", "master", "br0", "up")
        ip("-n", space, "address", "add", f"10.77.0.{number + 1}/24", "dev", "eth0")
        ip("-n", space, "link", "set", "eth0", "up")
        words = [SCHEDULER, "--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", f"10.77.0.{number + 1}"]
        words += ["--worker-port", "9000", "--local-directory", str(self.folder / f"w{number}")]
        return self.start(space, "worker", *words, **environment)

    def start(self, space: str, *words: str, **environment: str) -> subprocess.Popen:
        log = (self.folder / f"{space}-{words[0]}.log").open("w")
        command = ["ip", "netns", "exec", space, str(BIN / "dask"), *words]
        # Compute from the installed package, not from the sources.
        process = subprocess.Popen(
            command, stdout=log, stderr=log, cwd=self.folder, env={**os.environ, **environment}
        )
        self.processes.append(process)
        return process

    def sweep(self, lab: Path, *words: str) -> subprocess.Popen:
        """Starts the example beside the scheduler."""
        command = ["ip", "netns", "exec", self.base, sys.executable, str(EXAMPLE), SCHEDULER, str(lab), *words]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)

    def logs(self) -> str:
        return "\n".join(f"{log.name}:\n{log.read_text()[-2000:]}" for log in self.folder.glob("*.log"))

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        for space in reversed(self.spaces):
            subprocess.run(["ip", "netns", "del", space], check=False)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def cluster(tmp_path):
    why = lacks_namespaces()
    if why is not None:
        missing(why)
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.close()


def test_a_killed_worker_costs_no_run_and_another_version_is_refused(cluster, tmp_path):
    lab, out = tmp_path / "tiny.yaml", tmp_path / "out"
    lab.write_text(TINY)
    workers = [cluster.worker(number) for number in (1, 2, 3)]
    running = cluster.sweep(lab, "--seeds", str(SEEDS), "--out", str(out))
    begun = time.monotonic()
    # Half of the chunks behind the first ones of a single run each.
    while len(list(out.glob("part-*"))) < 32 + 16 and running.poll() is None:
        assert time.monotonic() - begun < 120, cluster.logs()
        time.sleep(0.005)
    assert running.poll() is None, "the sweep ended before a worker could be killed"
    workers[1].send_signal(signal.SIGKILL)
    said, wrong = running.communicate(timeout=180)
    assert running.returncode == 0, wrong + cluster.logs()
    told = json.loads(said.splitlines()[-1])
    assert told["runs"] == SEEDS and told["verdicts"] == {"pass": SEEDS}
    assert len(told["workers"]) == 3, told
    # One in sixteen was repeated, on another worker, with the same hash.
    assert told["repeated on another worker"] == SEEDS // 16, told
    assert told["repeated on the same worker"] == 0
    # Rows of all workers are those of this machine.
    rows = sluicegate.read_rows(out)
    assert [row["seed"] for row in rows] == list(range(1, SEEDS + 1))
    for row in rows[::97]:
        assert row["trace_hash"] == sluicegate.run(lab, seed=row["seed"]).trace_hash

    old = tmp_path / "old"
    old.mkdir()
    (old / "sitecustomize.py").write_text("import sluicegate._worker\nsluicegate._worker.VERSION = '0.0.9'\n")
    cluster.worker(4, PYTHONPATH=str(old))
    refused = cluster.sweep(lab, "--seeds", "5", "--workers", "tcp://10.77.0.5:9000")
    _, wrong = refused.communicate(timeout=120)
    assert refused.returncode != 0
    assert "VersionMismatch" in wrong and "sluicegate 0.0.9" in wrong and sluicegate.__version__ in wrong, wrong
