"""A wire between two interfaces, with planted faults.

usage: wire.py A B FAULT ...

Passes each frame from A to B and from B to A. Faults:
  control   frames of EtherType 0x8808 are lost
  untag     the outer tag is taken off
  short     frames of more than 1,400 bytes are lost
  obey      a PAUSE or PFC from B stops the frames from A for half a second, as a NIC at A would
  deaf      every fourth frame of other EtherTypes to A is lost
"""

import select
import socket
import struct
import sys
import time

SOL_PACKET, PACKET_AUXDATA, PACKET_OUTGOING = 263, 8, 4
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6
names, faults = sys.argv[1:3], set(sys.argv[3:])


def opened(name):
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    end.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 23)
    end.bind((name, 3))
    end.setblocking(False)
    return end


def received(end):
    """The frame with its tag, or None for one that was sent."""
    frame, beside, _, address = end.recvmsg(1 << 15, 64)
    if address[2] == PACKET_OUTGOING:
        return None
    for level, kind, data in beside:
        if (level, kind) != (SOL_PACKET, PACKET_AUXDATA):
            continue
        status, _, _, _, _, tci, tpid = struct.unpack("=IIIHHHH", data[:20])
        # The kernel takes the outer tag off and tells it beside the frame.
        if status & TP_STATUS_VLAN_VALID and "untag" not in faults:
            tpid = tpid if status & TP_STATUS_VLAN_TPID_VALID else 0x8100
            frame = frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]
    return frame


ends = [opened(name) for name in names]
numbers = {end.fileno(): n for n, end in enumerate(ends)}
ready = select.poll()
for source in (*ends, sys.stdin):
    ready.register(source, select.POLLIN)
print('"ready"', flush=True)
stopped_until, count = 0.0, 0
while True:
    for descriptor, _ in ready.poll():
        n = numbers.get(descriptor)
        if n is None:
            sys.exit()
        for _ in range(64):
            try:
                frame = received(ends[n])
            except BlockingIOError:
                break
            if frame is None:
                continue
            control = frame[12:14] == b"\x88\x08"
            if control and "obey" in faults and n == 1:
                times = frame[18:34] if frame[14:16] == b"\x01\x01" else frame[16:18]
                stopped_until = time.monotonic() + (0.5 if any(times) else 0)
            count += 1
            lost = (
                (control and "control" in faults)
                or (len(frame) > 1400 and "short" in faults)
                or (n == 0 and time.monotonic() < stopped_until)
                or ("deaf" in faults and n == 1 and not control and count % 4 == 0)
            )
            if not lost:
                try:
                    ends[1 - n].send(frame)
                except OSError:
                    pass
