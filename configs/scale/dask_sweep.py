#!/usr/bin/env python3
"""Sweeps a lab over the workers of a Dask cluster.

Install the same wheel of sluicegate, with dask[distributed], on every machine. On one of them

    dask scheduler --host 10.0.0.1

on each of the others

    dask worker tcp://10.0.0.1:8786 --nthreads 1 --nworkers auto

and where the lab file is

    python3 configs/scale/dask_sweep.py tcp://10.0.0.1:8786 configs/labs/incast.yaml --seeds 1000

Whoever reaches the scheduler can run any program on all workers: keep it on loopback, in a private
network, behind ssh, or use Dask's TLS.
"""

import argparse
import collections
import json

from dask.distributed import Client

import sluicegate


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scheduler", help="address of the scheduler, such as tcp://10.0.0.1:8786")
    parser.add_argument("lab", help="lab file")
    parser.add_argument("--seeds", type=int, default=100, help="seeds from 1 on")
    parser.add_argument("--length", action="append", help="length of all cables; may be repeated")
    parser.add_argument("--out", help="empty folder, the same on all machines, for the rows")
    parser.add_argument("--workers", nargs="*", help="only these workers, by address")
    args = parser.parse_args()

    axes = {"seed": range(1, args.seeds + 1)}
    if args.length:
        axes = {"defaults.links.length": args.length, **axes}
    with Client(args.scheduler) as client:
        # A run whose worker is lost is started again on another one.
        executor = client.get_executor(retries=3, workers=args.workers)
        rows = sluicegate.sweep(args.lab, axes, executor, out=args.out)
    verdicts = collections.Counter(row["verdict"] for row in rows)
    print(json.dumps({
        "runs": len(rows),
        "verdicts": verdicts,
        "workers": rows.workers,
        "repeated on another worker": rows.repeated,
        "repeated on the same worker": rows.repeated_alone,
    }))


if __name__ == "__main__":
    main()
