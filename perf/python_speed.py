#!/usr/bin/env python3
"""Measures the Python package: the cost of a call, and Dask against a process pool.

    ./dev wheel                  # or ./dev wheel demo, which the tests use
    target/python/bin/pip install --force-reinstall --no-deps target/wheels/*.whl
    target/python/bin/python perf/python_speed.py

Prints a line for each figure with its limit; exit status 1 if one is above it.
"""

import argparse
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import sluicegate
from sluicegate._labs import Lab, Plan

#: Most ms that a call from Python may add to a lab.
CALL_MS = 2.0
#: Longest time of a sweep over Dask in times of that over a process pool.
DASK = 1.3
WORKERS = 3


def call(lab, runs=50):
    """Medians in ms of processor time of what a call adds to a run of a lab that is parsed already: with
    verdict, figures and row, and with all results as a dict as well."""
    took = {"bare": [], "call": [], "all": []}
    study = Plan(Lab.of(lab), seed=1).study()
    for _ in range(runs):
        begun = time.process_time()
        run, _ = study.run(0)
        took["bare"].append((time.process_time() - begun) * 1e3)
        begun = time.process_time()
        outcome = sluicegate.run(lab, seed=1)
        results = outcome.figures, outcome.row, outcome.verdict
        took["call"].append((time.process_time() - begun) * 1e3)
        assert all(results) and run.trace_hash == outcome.trace_hash
        results = dict(outcome)
        took["all"].append((time.process_time() - begun) * 1e3)
    bare = statistics.median(took["bare"])
    return statistics.median(took["call"]) - bare, statistics.median(took["all"]) - bare


def sweeps(lab, seeds, rounds):
    """Medians of the seconds of a sweep over a process pool and over Dask, one after the other."""
    from dask.distributed import Client, LocalCluster

    took = {"pool": [], "dask": []}
    axes = {"seed": range(1, seeds + 1)}

    def timed(name, executor):
        begun = time.perf_counter()
        rows = sluicegate.sweep(lab, axes, executor)
        took[name].append(time.perf_counter() - begun)
        return [row["trace_hash"] for row in rows]

    cluster = LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client, ProcessPoolExecutor(WORKERS) as pool:
        executors = {"pool": pool, "dask": client.get_executor(retries=3)}
        for name, executor in executors.items():
            # Workers that have loaded the package.
            sluicegate.sweep(lab, {"seed": range(64)}, executor)
        for _ in range(rounds):
            hashes = [timed(name, executor) for name, executor in executors.items()]
            assert hashes[0] == hashes[1], "one lab, two traces"
    return {name: statistics.median(times) for name, times in took.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lab", default="configs/labs/incast.yaml")
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    added, whole = call(args.lab)
    print(f"a call adds {added:.2f} ms to a lab, at most {CALL_MS} ms; all results as a dict {whole:.2f} ms")
    took = sweeps(args.lab, args.seeds, args.rounds)
    ratio = took["dask"] / took["pool"]
    print(f"{args.seeds} labs with {WORKERS} workers: pool {took['pool']:.2f} s, Dask {took['dask']:.2f} s")
    print(f"Dask takes {ratio:.2f} times the pool's time, at most {DASK}")
    sys.exit(added > CALL_MS or ratio > DASK)


if __name__ == "__main__":
    main()
