"""VLAN interfaces for kernels without them: taps whose frames go over eth0 with a tag.

usage: vlans.py VLAN:PCP ...

Makes an interface eth0.VLAN, with the address of eth0, for each VLAN. What the host sends there gets
a C-tag with that PCP; what comes in by eth0 with a tag of the VLAN comes out there.
"""

import fcntl
import select
import socket
import struct
import subprocess
import sys

TUNSETIFF = 0x400454CA
IFF_TAP_WITHOUT_INFORMATION = 0x0002 | 0x1000
SOL_PACKET, PACKET_AUXDATA, PACKET_OUTGOING = 263, 8, 4
TP_STATUS_VLAN_VALID = 1 << 4

link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
link.bind(("eth0", 3))
# The kernel takes tags off before it hands frames out, and tells them beside the frame.
link.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
mac = link.getsockname()[4].hex(":")

taps, tags = {}, {}
for word in sys.argv[1:]:
    vlan, pcp = (int(number) for number in word.split(":"))
    tap = open("/dev/net/tun", "r+b", buffering=0)
    name = f"eth0.{vlan}"
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP_WITHOUT_INFORMATION))
    for change in (f"address {mac}", "addrgenmode none", "up"):
        subprocess.run(["ip", "link", "set", name, *change.split()], check=True)
    taps[vlan] = tap
    tags[tap.fileno()] = struct.pack("!HH", 0x8100, pcp << 13 | vlan)


def from_link():
    frame, beside, _, address = link.recvmsg(1 << 14, 64)
    if address[2] == PACKET_OUTGOING:
        return
    for level, kind, data in beside:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, _, _, _, _, tci, _ = struct.unpack("=IIIHHHH", data[:20])
            tap = taps.get(tci & 0xFFF)
            if status & TP_STATUS_VLAN_VALID and tap:
                tap.write(frame)


ready = select.poll()
for source in (link, sys.stdin, *taps.values()):
    ready.register(source, select.POLLIN)
descriptors = {tap.fileno(): tap for tap in taps.values()}
print('"ready"', flush=True)
while True:
    for descriptor, _ in ready.poll():
        if descriptor == link.fileno():
            from_link()
        elif descriptor in descriptors:
            frame = descriptors[descriptor].read(1 << 14)
            link.send(frame[:12] + tags[descriptor] + frame[12:])
        else:
            sys.exit()
