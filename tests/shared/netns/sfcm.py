"""Sends messages of Source Flow Control, each octet of them written here: one for each line of input.

usage: sfcm.py SOURCE SENDER

    message TO_MAC TO_IP FIELD=VALUE ...    repeat TIMES GAP_US TO_MAC TO_IP FIELD=VALUE ...

    flow TO_MAC FROM_IP TO_IP PCP FRAMES LENGTH GAP_US

Messages come from the MAC address SOURCE and the IP address SENDER. Fields are named below, with what
they are by default. Each line is answered by the number of octets or, of several frames, of frames. A
flow is of UDP, in frames of so many octets with a C-tag.
"""

import itertools
import struct
import sys
import time

from scapy.all import Dot1Q, Ether, IP, IPv6, Raw, UDP, conf

conf.verb = 0
link = conf.L2socket(iface="eth0")
source, sender = sys.argv[1:3]

FIELDS = {
    "vlan": "",  # PCP.VID of a C-tag
    "port": "58622",  # UDP, on both sides
    "udp_sum": "",  # a UDP checksum in place of the right one
    "ip_sum": "",  # an IPv4 checksum in place of the right one
    "version": "0",
    "form": "0",  # simplified
    "locator": "1",  # incast
    "pcp": "3",
    "dscp": "",  # one that ports map to the priority, unless it is given
    "pause": "0",  # nanoseconds
    "length": "",  # octets of the flow, in place of as many as there are
    "from": "",  # the flow's source, in place of the address that the message goes to
    "to": "",  # the flow's destination, in place of the message's sender
    "protocol": "17",
    "dport": "4791",
    "msdu": "",  # the start of a frame in hexadecimal, in place of a simplified flow
    "keep": "",  # so many octets of the message
    "cut": "",  # so many octets of the frame
}


def packed(address):
    if ":" in address:
        return bytes(IPv6(src=address))[8:24]
    return bytes(IP(src=address, dst=address))[12:16]


def message(to_mac, to_ip, *said):
    """The frame of a message, from the layout: octets 0 to 9, and the flow."""
    f = FIELDS | dict(word.split("=") for word in said)
    source_ip = sender if (":" in sender) == (":" in to_ip) else "fd00::9"
    flow = packed(f["from"] or to_ip) + packed(f["to"] or source_ip)
    flow += bytes([int(f["protocol"]), 0]) + struct.pack("!HH", 49_152, int(f["dport"]))
    if f["msdu"]:
        flow = bytes.fromhex(f["msdu"])
    octets = bytes(
        [
            int(f["version"]) << 4 | int(f["form"]),
            int(f["locator"]) << 6 | int(f["pcp"]),
            int(f["dscp"] or (26 if f["pcp"] == "3" else 8 * int(f["pcp"]))) << 2,
            0,
        ]
    )
    octets += struct.pack("!IH", int(f["pause"]), int(f["length"] or len(flow))) + flow
    if f["keep"]:
        octets = octets[: int(f["keep"])]
    ether = Ether(src=source, dst=to_mac)
    if f["vlan"]:
        pcp, vid = f["vlan"].split(".")
        ether = ether / Dot1Q(prio=int(pcp), vlan=int(vid))
    if ":" in to_ip:
        ip = IPv6(src=source_ip, dst=to_ip, tc=48 << 2)
    else:
        ip = IP(src=source_ip, dst=to_ip, tos=48 << 2)
        if f["ip_sum"]:
            ip.chksum = int(f["ip_sum"])
    udp = UDP(sport=int(f["port"]), dport=int(f["port"]))
    if f["udp_sum"]:
        udp.chksum = int(f["udp_sum"])
    frame = bytes(ether / ip / udp / Raw(octets))
    return Raw(frame[: int(f["cut"])] if f["cut"] else frame)


FLOWS = itertools.count()


def repeat(times, gap_us, *words):
    """Messages about as many flows, whose destinations differ, also from those of lines before."""
    for n in itertools.islice(FLOWS, int(times)):
        link.send(message(*words, f"to=10.7.{n >> 8 & 255}.{n & 255}"))
        time.sleep(int(gap_us) / 1e6)
    return int(times)


def flow(to_mac, from_ip, to_ip, pcp, frames, length, gap_us):
    head = Ether(src=source, dst=to_mac) / Dot1Q(prio=int(pcp), vlan=1)
    head = head / IP(src=from_ip, dst=to_ip, tos=26 << 2) / UDP(sport=49_152, dport=4_791)
    frame = Raw(bytes(head / Raw(bytes(int(length) - 46))))
    for _ in range(int(frames)):
        link.send(frame)
        time.sleep(int(gap_us) / 1e6)
    return int(frames)


print('"ready"', flush=True)
for line in sys.stdin:
    kind, *words = line.split()
    if kind == "message":
        print(link.send(message(*words)), flush=True)
    else:
        print({"repeat": repeat, "flow": flow}[kind](*words), flush=True)
