"""Sends frames at a steady pace until its input ends, and then says how many.

usage: traffic.py SOURCE DESTINATION VLAN LENGTH GAP_US LINK_MBPS PRIORITY...

Frames carry a C-tag with one of the priorities, in turn, and behind the type 0x88b5 the priority,
a number within it and the time of sending. With a VLAN of 0 they have no tag. A sender that comes
late is not faster afterwards, so it never exceeds its pace. With LINK_MBPS above 0 it obeys PFC and
PAUSE for that rate of the link, as 802.3 annexes 31D and 31B have it, except that it takes
REACTION_NS to do so: what it sends meanwhile is what headroom is for.
"""

import collections
import json
import select
import socket
import struct
import sys
import time

REACTION_NS = 2_000_000

source, destination = (bytes.fromhex(mac.replace(":", "")) for mac in sys.argv[1:3])
vlan, length, gap_us, link_mbps = (int(word) for word in sys.argv[3:7])
priorities = [int(word) for word in sys.argv[7:]]

link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
link.bind(("eth0", 0))
pauses = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
if link_mbps:
    pauses.bind(("eth0", 0x8808))
pauses.setblocking(False)


def head(priority):
    tag = struct.pack("!HH", 0x8100, priority << 13 | vlan) if vlan else b""
    return destination + source + tag + b"\x88\xb5" + bytes([priority])


heads = {priority: head(priority) for priority in priorities}
sent = {priority: 0 for priority in priorities}
until = [0] * 8
came = collections.deque()
obeyed = 0


def obey(frame, now):
    """Loads the timers; True for a pause that came in and is no echo of our own."""
    if frame[6:12] == source:
        return False
    if frame[14:16] == b"\x01\x01":
        enabled, *times = struct.unpack("!H8H", frame[16:34])
    else:
        enabled, times = 0xFF, struct.unpack("!H", frame[16:18]) * 8
    for priority in range(8):
        if enabled >> priority & 1:
            until[priority] = now + times[priority] * 512_000 // link_mbps
    return True


def end():
    print(json.dumps({"sent": sent, "obeyed": obeyed}), flush=True)
    sys.exit()


ended = select.poll()
ended.register(sys.stdin, select.POLLIN | select.POLLHUP)
print('"ready"', flush=True)
turn, due, look = 0, time.monotonic_ns(), 0
while True:
    now = time.monotonic_ns()
    if now >= look:
        if ended.poll(0):
            end()
        look = now + 5_000_000
    if now < due:
        time.sleep((due - now) / 1e9)
        continue
    if link_mbps:
        try:
            while True:
                came.append((time.monotonic_ns() + REACTION_NS, pauses.recv(128)))
        except BlockingIOError:
            pass
        while came and came[0][0] <= time.monotonic_ns():
            obeyed += obey(came.popleft()[1], time.monotonic_ns())
    due = max(due + gap_us * 1000, now)
    priority = priorities[turn % len(priorities)]
    turn += 1
    if time.monotonic_ns() < until[priority]:
        continue
    frame = heads[priority] + struct.pack("!IQ", sent[priority], time.time_ns())
    try:
        link.send(frame.ljust(length, b"\0"))
        sent[priority] += 1
    except OSError as error:
        # The queue of the interface is full: the frame was not sent.
        if error.errno not in (12, 105):
            raise
