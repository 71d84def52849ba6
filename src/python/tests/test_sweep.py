"""Sweeps: points, rows, parts, repetition, and what goes wrong on workers."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import duckdb
import pandas
import pytest
from conftest import TINY

import sluicegate
from sluicegate import _worker
from sluicegate._sweep import CHUNKS_LEAST, REPEATED


class Here(Executor):
    """Workers of one process under names of their own, of which one after the other is drawn."""

    def __init__(self, names=("a", "b"), spoil=None):
        self.names, self.spoil, self.rng, self.chunks = names, spoil, random.Random(1), []

    def submit(self, function, /, *arguments):
        name = self.rng.choice(self.names)
        future: Future = Future()
        before, _worker.worker_name = _worker.worker_name, lambda: name
        try:
            done = function(*arguments)
            self.chunks.append(len(arguments[1].runs))
            if self.spoil is not None:
                self.spoil(name, done)
            future.set_result(done)
        except Exception as error:
            future.set_exception(error)
        finally:
            _worker.worker_name = before
        return future


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(_worker, "STILL", 0.0)


def same(rows):
    """Rows without what differs between two runs of one lab."""
    return [{k: v for k, v in row.items() if k != "wall_ms"} for row in rows]


AXES = {"flows.a.rate": ["10G", "40G"], "seed": range(1, 21)}


def test_rows_are_the_product_in_order(tiny):
    rows = sluicegate.sweep(tiny, AXES)
    assert len(rows) == 40 and [row["n"] for row in rows] == list(range(40))
    assert [row["seed"] for row in rows[:21]] == [*range(1, 21), 1]
    assert {row["flows.a.rate"] for row in rows[:20]} == {"10G"}
    assert rows.passed and rows.verdict == "pass"
    alone = sluicegate.run(tiny, seed=3, set={"flows.a.rate": "40G"})
    assert rows[22]["trace_hash"] == alone.trace_hash
    assert rows[22]["queue_peak_bytes"] == alone.figures["queue_peak_bytes"]
    assert rows[22]["version"] == sluicegate.__version__
    frame = rows.frame()
    assert frame.groupby("flows.a.rate")["queue_peak_bytes"].max()["40G"] > 0


def test_every_executor_gives_the_same_rows(tiny):
    rows = same(sluicegate.sweep(tiny, AXES))
    with ProcessPoolExecutor(3) as pool:
        assert same(sluicegate.sweep(tiny, AXES, pool)) == rows
    with ThreadPoolExecutor(2) as pool:
        assert same(sluicegate.sweep(tiny, AXES, pool)) == rows
    assert same(sluicegate.sweep(tiny, AXES, Here())) == rows


def test_one_point_in_sixteen_is_repeated_on_another_worker(tiny):
    axes = {"seed": range(100)}
    rows = sluicegate.sweep(tiny, axes, Here())
    asked = -(-100 // REPEATED)
    assert (rows.repeated, rows.repeated_alone) == (asked, 0)
    assert sum(rows.workers.values()) == 100 + asked and set(rows.workers) == {"a", "b"}
    alone = sluicegate.sweep(tiny, axes, Here(["a"]))
    assert (alone.repeated, alone.repeated_alone) == (0, asked)
    pool = sluicegate.sweep(tiny, axes, jobs=2)
    assert pool.repeated + pool.repeated_alone == asked and pool.repeated > 0


def test_two_traces_are_a_failure_with_a_name(tiny):
    def spoil(name, done):
        for row in done.rows or ():
            if name == "b" and row["n"] == 32:
                row["trace_hash"] = "0123456789abcdef"

    with pytest.raises(sluicegate.TraceMismatch) as error:
        sluicegate.sweep(tiny, {"seed": range(5, 55)}, Here(spoil=spoil))
    text = str(error.value)
    assert "run 32 (seed=37)" in text and "0123456789abcdef on b" in text, text
    assert len(error.value.rows) == 50


def test_another_version_is_refused(tiny, monkeypatch):
    monkeypatch.setattr(_worker, "VERSION", "0.0.9")
    with pytest.raises(sluicegate.VersionMismatch) as error:
        sluicegate.sweep(tiny, {"seed": range(5)}, ThreadPoolExecutor(1))
    text = str(error.value)
    assert "sluicegate 0.0.9" in text and sluicegate.__version__ in text, text


def test_chunks_take_about_a_second(tiny, monkeypatch):
    executor = Here()
    sluicegate.sweep(tiny, {"seed": range(700)}, executor)
    assert executor.chunks[:CHUNKS_LEAST] == [1] * CHUNKS_LEAST
    assert max(executor.chunks) == -(-(700 - CHUNKS_LEAST) // CHUNKS_LEAST)
    real = _worker.run_one
    monkeypatch.setattr(_worker, "run_one", lambda *a: {**real(*a), "wall_ms": 300.0})
    executor = Here()
    sluicegate.sweep(tiny, {"seed": range(200)}, executor)
    assert max(executor.chunks) == 3


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_parts_hold_all_rows(tiny, tmp_path, monkeypatch, form):
    if form == "jsonl":
        monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    rows = sluicegate.sweep(tiny, AXES, out=tmp_path / "out", jobs=2)
    parts = sorted((tmp_path / "out").iterdir())
    assert len(parts) > 4 and {part.suffix for part in parts} == {f".{form}"}
    monkeypatch.undo()
    again = sluicegate.read_rows(tmp_path / "out")
    assert [row["trace_hash"] for row in again] == [row["trace_hash"] for row in rows]
    assert again[7]["queue_peak_bytes"] == rows[7]["queue_peak_bytes"]
    table = f"'{tmp_path}/out/part-*'"
    read = f"read_json_auto({table})" if form == "jsonl" else f"read_parquet({table})"
    found = duckdb.sql(f'select count(*), max("queue_peak_bytes"), count(distinct seed) from {read}').fetchall()
    assert found == [(40, max(row["queue_peak_bytes"] for row in rows), 20)]
    if form == "parquet":
        frame = pandas.read_parquet(tmp_path / "out")
        assert len(frame) == 40 and frame["queue_peak_bytes"].max() == found[0][1]
    with pytest.raises(ValueError, match="out: .* is not an empty folder"):
        sluicegate.sweep(tiny, AXES, out=tmp_path / "out")


def test_rows_of_the_program_are_read(tiny, tmp_path, sluice):
    file = tmp_path / "rows.jsonl"
    subprocess.run([sluice, "run", str(tiny), "--rows", str(file)], check=True, capture_output=True)
    [row] = sluicegate.read_rows(file)
    [own] = sluicegate.sweep(tiny, {})
    assert row["trace_hash"] == own["trace_hash"] and set(row) == set(own), set(row) ^ set(own)
    assert duckdb.sql(f"select trace_hash from '{file}'").fetchall() == [(row["trace_hash"],)]
    frame = pandas.read_json(file, lines=True)
    assert frame["trace_hash"][0] == row["trace_hash"] and frame["elapsed_ns"][0] == row["elapsed_ns"]


def test_rows_of_a_part_do_not_pass(tiny, tmp_path, sluice):
    file, part = tmp_path / "rows.jsonl", tmp_path / "part.jsonl"
    tiny.write_text(tiny.read_text() + "\nsweep: {seed: 1..4}\n")
    subprocess.run([sluice, "run", str(tiny), "--rows", str(file)], check=True, capture_output=True)
    lines = file.read_text().splitlines(keepends=True)
    whole = sluicegate.read_rows(file)
    assert whole.passed and whole.missing == 0
    part.write_text("".join(lines[:1]))
    found = sluicegate.read_rows(part)
    assert not found.passed and (found.verdict, found.missing) == ("inconclusive", 3)
    # A line that is there twice is no other run.
    part.write_text("".join([*lines[:3], lines[0]]))
    assert sluicegate.read_rows(part).missing == 1
    # Nor is a line of another build, or of a run that the lab does not have.
    version = f'"{sluicegate.read_rows(file)[0]["version"]}"'
    part.write_text("".join([*lines[:3], lines[3].replace(version, '"another"')]))
    assert not sluicegate.read_rows(part).passed
    part.write_text("".join([*lines[:3], lines[3].replace('"n":3,', '"n":4,')]))
    assert sluicegate.read_rows(part).missing == 1


def test_bad_points_are_refused_before_the_first_run(tiny):
    class Never(Executor):
        def submit(self, *_):
            raise AssertionError("a run was started")

    for axes, text in [
        ({"flows.a.rate": ["10G", "fast"]}, r"tiny\.yaml:\d+:\d+: flows.*fast.*\(run 1: rate=fast\)"),
        ({"flow.a.rate": ["10G"]}, "no `flow`"),
        ({"seed": []}, "seed has no values"),
        ({"seed": [1, 1]}, "1 is there twice"),
        ({"seed": "1..x"}, "sweep.seed"),
    ]:
        with pytest.raises(ValueError, match=text):
            sluicegate.sweep(tiny, axes, Never())
    with pytest.raises(ValueError, match="variant: there is no `pfc`; the lab has no variants"):
        sluicegate.sweep(tiny, {}, Never(), variant="pfc")


def test_an_error_of_a_run_names_it(tiny):
    # More values than are validated before the first run.
    values = [f"{n}M" for n in range(1000, 2000)]
    values[77] = "fast"
    with pytest.raises(ValueError, match=r"tiny\.yaml.*run 77: rate=fast"):
        sluicegate.sweep(tiny, {"flows.a.rate": values}, Here())


def test_failed_checks_are_in_the_rows():
    broken = TINY.replace("[conservation", "[{value: {path: pauses.xoffs, at_least: 1000000}}, conservation")
    rows = sluicegate.sweep(broken, {"seed": [1, 2]}, jobs=1)
    assert rows.verdict == "fail" and not rows.passed
    assert rows[0]["failed"] == "pauses.xoffs"


def test_progress_is_told(tiny):
    told = []
    sluicegate.sweep(tiny, {"seed": range(40)}, Here(), progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (40, 40) and told == sorted(told)


def test_axes_are_those_of_lab_files(tiny):
    axes = {
        "seed": range(9, 2, -3),
        "zip": {"flows.a.rate": ["10G", "40G"], "until_done": [True, False]},
        "points": {"short": {"duration": "5us"}, "long": {}},
        "topology.star.hosts": "3..5 step 2",
    }
    rows = sluicegate.sweep(tiny, axes, Here())
    assert len(rows) == 3 * 2 * 2 * 2
    assert [row["seed"] for row in rows[::8]] == [9, 6, 3]
    assert (rows[0]["flows.a.rate"], rows[0]["until_done"]) == ("10G", True)
    assert (rows[0]["points"], rows[0]["topology.star.hosts"], rows[3]["topology.star.hosts"]) == ("short", 3, 5)


def test_a_labs_own_sweep_and_variants_are_run(tmp_path, sluice):
    file = tmp_path / "study.yaml"
    file.write_text(TINY + "sweep: {seed: 1..3}\nvariants: {slow: {flows: [{name: a, from: h1, to: h3, priority: 3, rate: 1G}]}, fast: {}}\n")
    rows = sluicegate.sweep(file, jobs=2)
    assert [(row["n"], row["variant"], row["seed"]) for row in rows][2:4] == [(2, "slow", 3), (3, "fast", 1)]
    fast = sluicegate.sweep(file, variant="fast", jobs=1)
    assert same(fast) == same(rows)[3:]
    with pytest.raises(ValueError, match="sweep: the lab has 3 points; run them by sluicegate.sweep"):
        sluicegate.run(file, variant="fast")
    outcome = sluicegate.run(file, number=4)
    assert outcome.trace_hash == rows[4]["trace_hash"] and outcome.command.endswith("study.yaml --number 4")
    assert same([outcome.row]) == same([rows[4]])
    with pytest.raises(IndexError, match="there is no run 6; the lab has 6"):
        sluicegate.run(file, number=6)
    short = sluicegate.sweep(file, set={"duration": "5us"}, jobs=1)
    assert len(short) == 6 and {row["elapsed_ns"] for row in short} == {5000.0}
    made = tmp_path / "rows.jsonl"
    subprocess.run([sluice, "run", str(file), "--rows", str(made)], check=True, capture_output=True)
    assert same(sluicegate.read_rows(made)) == same(rows)


def test_ctrl_c_ends_a_sweep_and_its_workers(tiny, tmp_path):
    script = tmp_path / "endless.py"
    script.write_text(
        f"""
import signal
import sluicegate

if __name__ == "__main__":
    # A shell's background job, which the tests may be, ignores Ctrl-C and so do its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    told = lambda done, of: print(done, flush=True)
    sluicegate.sweep({str(tiny)!r}, {{"seed": [1, 2, 3], "duration": ["20us", "10s"]}}, jobs=2, progress=told)
"""
    )
    # A group of its own, as a terminal makes one, gets the signal.
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout.readline() == "1\n"
        os.killpg(process.pid, signal.SIGINT)
        _, wrong = process.communicate(timeout=60)
        assert process.returncode != 0 and "KeyboardInterrupt" in wrong, wrong
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
