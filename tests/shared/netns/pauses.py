"""Sends MAC control frames made by scapy: one for each line of input.

usage: pauses.py SOURCE

    pfc PRIORITY:QUANTA ...    pause QUANTA    opcode    short    address    tagged

    storm PRIORITY:QUANTA          calm

Each line is answered by the number of octets that were sent. A storm is a PFC frame every 20 ms
until calm, which is answered by the number of frames.
"""

import sys
import threading

from scapy.all import Dot1Q, Ether, Raw, conf
from scapy.contrib.mac_control import MACControlClassBasedFlowControl, MACControlPause

GROUP = "01:80:c2:00:00:01"
conf.verb = 0
link = conf.L2socket(iface="eth0")
source = sys.argv[1]


def pfc(*pauses):
    fields = {}
    for pause in pauses:
        priority, quanta = pause.split(":")
        fields[f"c{priority}_enabled"] = 1
        fields[f"c{priority}_pause_time"] = int(quanta)
    return MACControlClassBasedFlowControl(**fields)


def frame(kind, *words):
    ether = Ether(dst=GROUP, src=source, type=0x8808)
    if kind == "pfc":
        return ether / pfc(*words)
    if kind == "pause":
        return ether / MACControlPause(pause_time=int(words[0]))
    if kind == "opcode":
        return ether / Raw(b"\x01\x02" + bytes(44))
    if kind == "short":
        return Raw(bytes(ether / pfc("3:65535"))[:40])
    if kind == "address":
        ether.dst = "02:00:00:00:00:99"
        return ether / pfc("3:65535")
    if kind == "tagged":
        ether.type = 0x8100
        return ether / Dot1Q(prio=7, vlan=1, type=0x8808) / pfc("3:65535")
    raise ValueError(kind)


class Storm(threading.Thread):
    def __init__(self, pauses):
        super().__init__(daemon=True)
        self.frame, self.sent, self.over = frame("pfc", pauses), 0, threading.Event()

    def run(self):
        while not self.over.is_set():
            link.send(self.frame)
            self.sent += 1
            self.over.wait(0.02)

    def calm(self):
        self.over.set()
        self.join()
        return self.sent


print('"ready"', flush=True)
storm = None
for line in sys.stdin:
    kind, *words = line.split()
    if kind == "storm":
        storm = Storm(*words)
        storm.start()
        print(0, flush=True)
    elif kind == "calm":
        print(storm.calm(), flush=True)
    else:
        print(link.send(frame(kind, *words)), flush=True)
