"""Hands packets with offload headers to an interface, for the kernel to cut, or tells the frames that arrive at one.

usage: segments.py send INTERFACE    sends each line of its input, in hexadecimal: the header and the packet
       segments.py tell INTERFACE    writes each frame that arrives, until its input ends and none came for a second
"""

import json
import select
import socket
import struct
import sys

SOL_PACKET, PACKET_AUXDATA, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING, ALL = 263, 8, 15, 23, 3
# TP_STATUS_VLAN_VALID: the kernel has taken the tag out of the frame.
VLAN = 0x10


def frame():
    """Receives a frame with its tag."""
    octets, extras, _, _ = s.recvmsg(1 << 17, 64)
    for level, kind, extra in extras:
        status, _, _, _, _, tci, tpid = struct.unpack("=IIIHHHH", extra[:20])
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA) and status & VLAN:
            return octets[:12] + struct.pack(">HH", tpid, tci) + octets[12:]
    return octets


what, interface = sys.argv[1:]
if what == "send":
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    s.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    s.bind((interface, 0))
    print('"ready"', flush=True)
    for line in sys.stdin:
        s.send(bytes.fromhex(line))
    print("0", flush=True)
else:
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
    s.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    s.bind((interface, ALL))
    print('"ready"', flush=True)
    frames, patience = [], None
    while True:
        ready = select.select([s] if patience else [s, sys.stdin], [], [], patience)[0]
        if s in ready:
            frames.append(frame().hex())
        elif ready:
            patience = 1
        else:
            break
    print(json.dumps(frames), flush=True)
