"""What a SecY takes with the ciphers of DPDK's crypto devices, beside the built-in one."""

import json
import subprocess

from .contestants import build
from .machine import Broken
from .measure import Row

SLICES = 2001


def run(settings, gate, say):
    """MACsec on frames of 64, 1500 and 9000 octets, with each device and with aws-lc-rs in turn."""
    bench = build("cryptodev", say)
    slices = 201 if settings.quick else SLICES
    gate.wait()
    done = subprocess.run([bench, str(slices)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Broken(f"cryptodev: {done.stderr.strip()[-400:]}")
    rows = []
    for one in map(json.loads, done.stdout.splitlines()):
        if one["what"] == "key":
            say(f"{one['cipher']}: a key is ready after {one['us']:.0f} us")
            continue
        subject = f"{one['suite']} {one['kind']}, {one['what']}, {one['octets']} octets"
        rows.append(Row("cryptodev", f"{one['cipher']}, {subject}", "aws-lc-rs", one["ns"],
                        one["built_in_ns"], "ns", one["ratio"], one["low"], one["high"], 0,
                        one["slices"], samples=[one]))
    return rows
