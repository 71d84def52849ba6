"""Cost of a SecY with the ciphers of DPDK's crypto devices, compared with the built-in one."""

from .measure import Row
from .secure import results

SLICES = 2001


def run(settings, gate, say):
    """MACsec on frames of 64, 1500 and 9000 octets, with each device and with aws-lc-rs in turn."""
    rows = []
    for one in results("cryptodev", 201 if settings.quick else SLICES, gate, say):
        if one["what"] == "key":
            say(f"{one['cipher']}: a key is ready after {one['us']:.0f} us")
            continue
        subject = f"{one['suite']} {one['kind']}, {one['what']}, {one['octets']} octets"
        rows.append(Row("cryptodev", f"{one['cipher']}, {subject}", "aws-lc-rs", one["ns"],
                        one["built_in_ns"], "ns", one["ratio"], one["low"], one["high"], 0,
                        one["slices"], samples=[one]))
    return rows
