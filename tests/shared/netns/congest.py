"""Sends packets of one RoCEv2 flow at a steady pace and answers with their number.

usage: congest.py SOURCE_MAC SOURCE_IP DESTINATION_MAC DESTINATION_IP SOURCE_PORT QP FRAMES GAP_US

Frames have a C-tag of priority 3 and 1000 bytes; every checksum and the ICRC are scapy's. Sending starts
with a line of input.
"""

import socket
import sys
import time

from scapy.all import Dot1Q, Ether, IP, Raw, UDP
from scapy.contrib.roce import BTH

source_mac, source_ip, destination_mac, destination_ip = sys.argv[1:5]
source_port, qp, frames, gap_us = (int(word) for word in sys.argv[5:])

link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
link.bind(("eth0", 0))
head = Ether(src=source_mac, dst=destination_mac) / Dot1Q(prio=3, vlan=1)
head /= IP(src=source_ip, dst=destination_ip, tos=26 << 2 | 2)
head /= UDP(sport=source_port, dport=4791) / BTH(opcode=0x0A, dqpn=qp, psn=7)
frame = bytes(head / Raw(bytes(1000 - 4 - len(head))))

print('"ready"', flush=True)
sys.stdin.readline()
due = time.perf_counter()
for _ in range(frames):
    link.send(frame)
    due += gap_us / 1e6
    time.sleep(max(0, due - time.perf_counter()))
print(frames, flush=True)
