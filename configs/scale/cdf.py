#!/usr/bin/env python3
"""Draws the distribution of message completion times, or of slowdowns, of a data set.

    sluice run LAB.yaml --csv tables
    python3 cdf.py tables cdf.png
    python3 cdf.py tables cdf.png --column slowdown --by variant

The lab has `record: {messages: true}`. Needs pandas and matplotlib, and pyarrow for Parquet.
"""

# %% Arguments
import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("tables", type=Path, help="folder of --csv or --parquet")
parser.add_argument("picture", type=Path, help="PNG or SVG file")
parser.add_argument("--column", default="completion_ns", help="completion_ns or slowdown")
parser.add_argument("--by", default="n", help="column that tells the lines apart: n, variant, flow")
arguments = parser.parse_args()

# %% Messages, without those that were not complete at the end
parquet = arguments.tables / "messages.parquet"
messages = pd.read_parquet(parquet) if parquet.exists() else pd.read_csv(parquet.with_suffix(".csv"))
unfinished = int(messages[arguments.column].isna().sum())
messages = messages.dropna(subset=arguments.column)

# %% One line for each group
figure, axes = plt.subplots(figsize=(7, 4))
for name, group in messages.groupby(arguments.by):
    values = group[arguments.column].sort_values()
    if arguments.column.endswith("_ns"):
        values = values / 1e3
    axes.step(values, (1 + pd.RangeIndex(len(values))) / len(values), where="post", label=f"{name}")
axes.set_xscale("log")
axes.set_xlabel("completion time (us)" if arguments.column.endswith("_ns") else arguments.column)
axes.set_ylabel("share of messages")
axes.grid(alpha=0.3)
axes.legend(title=arguments.by)
axes.set_title(f"{len(messages)} messages, {unfinished} not complete")
figure.tight_layout()
figure.savefig(arguments.picture)
