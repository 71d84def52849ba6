"""Scapy's word on MACsec, for tests/outside/macsec.rs.

Reads lines of `open` or `seal`, then key, SCI, association, packet number, whether encrypted, whether
with the SCI, octets that stay readable, SSCI and salt (or - -), and a frame, octets in hexadecimal. Writes
for each the frame that scapy's own SecTAG and AES-GCM make of it, or why it makes none.
"""

import logging
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)

from cryptography.exceptions import InvalidTag  # noqa: E402
from scapy.compat import raw  # noqa: E402
from scapy.contrib.macsec import MACsecSA  # noqa: E402
from scapy.layers.l2 import Ether  # noqa: E402

ICV = 16


def judge(line):
    what, key, sci, an, pn, encrypted, with_sci, readable, ssci, salt, frame = line.split()
    extended = {}
    if ssci != "-":
        extended = {"xpn_en": True, "ssci": bytes.fromhex(ssci), "salt": bytes.fromhex(salt)}
    with_sci = with_sci == "1"
    sa = MACsecSA(bytes.fromhex(sci), int(an), int(pn), bytes.fromhex(key), ICV,
                  int(encrypted), int(with_sci), **extended)
    octets = bytes.fromhex(frame)
    front = 12 + (16 if with_sci else 8)
    end = len(octets) - ICV if what == "open" else len(octets) + front - 12
    associated = min(front + int(readable), end)
    if what == "seal":
        return raw(sa.encrypt(sa.encap(Ether(octets)), assoclen=associated)).hex()
    try:
        return raw(sa.decap(sa.decrypt(Ether(octets), assoclen=associated))).hex()
    except InvalidTag:
        return "not valid"


for line in sys.stdin:
    print(judge(line))
