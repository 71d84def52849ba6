"""Sends octets over TCP, or receives them, and says how many and their SHA-256.

usage: transfer.py ADDRESS PORT           receives from one sender
       transfer.py ADDRESS PORT OCTETS    sends
"""

import hashlib
import json
import random
import socket
import sys

address, port = sys.argv[1], int(sys.argv[2])
family = socket.AF_INET6 if ":" in address else socket.AF_INET
digest, total = hashlib.sha256(), 0
if len(sys.argv) == 4:
    peer = socket.create_connection((address, port), timeout=15)
    print('"ready"', flush=True)
    octets = random.Random(1).randbytes(int(sys.argv[3]))
    peer.sendall(octets)
    peer.shutdown(socket.SHUT_WR)
    digest.update(octets)
    total = len(octets)
    # The receiver closes when it has everything.
    assert peer.recv(1) == b""
else:
    listener = socket.create_server((address, port), family=family)
    print('"ready"', flush=True)
    peer, _ = listener.accept()
    peer.settimeout(15)
    while octets := peer.recv(1 << 16):
        digest.update(octets)
        total += len(octets)
    peer.close()
print(json.dumps({"octets": total, "sha256": digest.hexdigest()}), flush=True)
