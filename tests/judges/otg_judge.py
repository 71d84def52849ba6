"""Scapy's word on the headers of Open Traffic Generator flows, for tests/outside/generated.rs.

Reads one JSON object a line, {"packet": [..], "size": N}, the packet as a flow of OTG has it with
values alone, and writes the frame that scapy makes of it, without FCS, as a hex line. What the
packet leaves out scapy fills in by itself, where scapy and OTG mean the same; else OTG's default
stands here.
"""

import json
import logging
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)

from scapy.compat import raw  # noqa: E402
from scapy.contrib.mac_control import (  # noqa: E402
    MACControlClassBasedFlowControl,
    MACControlPause,
)
from scapy.layers.inet import IP, TCP, UDP  # noqa: E402
from scapy.layers.inet6 import IPv6  # noqa: E402
from scapy.layers.l2 import ARP, Dot1Q, Ether  # noqa: E402
from scapy.packet import Raw  # noqa: E402

DEI = "dei" if "dei" in [f.name for f in Dot1Q.fields_desc] else "id"
ZERO_MAC = "00:00:00:00:00:00"
GROUP = "01:80:c2:00:00:01"


class Header:
    """A header of OTG's, by its fields."""

    def __init__(self, said):
        self.said = said

    def get(self, name, default):
        return self.said.get(name, {}).get("value", default)

    def into(self, layer, **names):
        """Sets the layer's fields to what is said under OTG's names, if it is."""
        for field, name in names.items():
            if name in self.said:
                setattr(layer, field, self.said[name]["value"])
        return layer

    def checksum(self, layer, field, name):
        said = self.said.get(name, {})
        if "custom" in said:
            setattr(layer, field, said["custom"])
        return layer


def ethernet(h, last):
    layer = Ether(dst=h.get("dst", ZERO_MAC), src=h.get("src", ZERO_MAC))
    if last:
        layer.type = 0xFFFF
    return h.into(layer, type="ether_type")


def vlan(h, last):
    layer = Dot1Q(prio=h.get("priority", 0), vlan=h.get("id", 0))
    setattr(layer, DEI, h.get("cfi", 0))
    if last:
        layer.type = 0xFFFF
    return h.into(layer, type="tpid")


def tos(said):
    if "raw" in said:
        return said["raw"]["value"]
    if "dscp" in said:
        h = Header(said["dscp"])
        return h.get("phb", 0) << 2 | h.get("ecn", 0)
    h = Header(said.get("tos", {}))
    octet = h.get("precedence", 0)
    for bit in ("delay", "throughput", "reliability", "monetary", "unused"):
        octet = octet << 1 | h.get(bit, 0)
    return octet


def ipv4(h, last):
    flags = h.get("reserved", 0) << 2 | h.get("dont_fragment", 0) << 1 | h.get("more_fragments", 0)
    layer = IP(
        src=h.get("src", "0.0.0.0"),
        dst=h.get("dst", "0.0.0.0"),
        tos=tos(h.said.get("priority", {})),
        id=h.get("identification", 0),
        flags=flags,
        frag=h.get("fragment_offset", 0),
        ttl=h.get("time_to_live", 64),
    )
    if last:
        layer.proto = 61
    h.into(layer, version="version", ihl="header_length", len="total_length", proto="protocol")
    return h.checksum(layer, "chksum", "header_checksum")


def ipv6(h, last):
    layer = IPv6(
        src=h.get("src", "::"),
        dst=h.get("dst", "::"),
        tc=h.get("traffic_class", 0),
        fl=h.get("flow_label", 0),
        hlim=h.get("hop_limit", 64),
    )
    if last:
        layer.nh = 59
    return h.into(layer, version="version", plen="payload_length", nh="next_header")


def udp(h, _):
    layer = UDP(sport=h.get("src_port", 0), dport=h.get("dst_port", 0))
    return h.checksum(h.into(layer, len="length"), "chksum", "checksum")


def tcp(h, _):
    flags = 0
    for bit in "ecn_ns ecn_cwr ecn_echo ctl_urg ctl_ack ctl_psh ctl_rst ctl_syn ctl_fin".split():
        flags = flags << 1 | h.get(bit, 0)
    layer = TCP(
        sport=h.get("src_port", 0),
        dport=h.get("dst_port", 0),
        seq=h.get("seq_num", 0),
        ack=h.get("ack_num", 0),
        flags=flags,
        window=h.get("window", 0),
    )
    return h.checksum(h.into(layer, dataofs="data_offset"), "chksum", "checksum")


def arp(h, _):
    return ARP(
        hwtype=h.get("hardware_type", 1),
        ptype=h.get("protocol_type", 0x0800),
        hwlen=h.get("hardware_length", 6),
        plen=h.get("protocol_length", 4),
        op=h.get("operation", 1),
        hwsrc=h.get("sender_hardware_addr", ZERO_MAC),
        psrc=h.get("sender_protocol_addr", "0.0.0.0"),
        hwdst=h.get("target_hardware_addr", ZERO_MAC),
        pdst=h.get("target_protocol_addr", "0.0.0.0"),
    )


def control(h, op_code, layer):
    layer.setfieldval("_op_code", h.get("control_op_code", op_code))
    kind = h.get("ether_type", 0x8808)
    return Ether(dst=h.get("dst", GROUP), src=h.get("src", ZERO_MAC), type=kind) / layer


def pfcpause(h, _):
    vector = h.get("class_enable_vector", 0)
    layer = MACControlClassBasedFlowControl()
    layer.setfieldval("_reserved", vector >> 8)
    for n in range(8):
        layer.setfieldval(f"c{n}_enabled", vector >> n & 1)
        layer.setfieldval(f"c{n}_pause_time", h.get(f"pause_class_{n}", 0))
    return control(h, 0x0101, layer)


def ethernetpause(h, _):
    return control(h, 0x0001, MACControlPause(pause_time=h.get("time", 0)))


def custom(h, _):
    return Raw(bytes.fromhex(h.said["bytes"].removeprefix("0x").replace(":", "")))


def frame(packet, size):
    headers = []
    for n, header in enumerate(packet):
        (name,) = header
        last = n + 1 == len(packet) or "custom" in packet[n + 1]
        headers.append(globals()[name](Header(header[name]), last))
    whole = headers[0]
    for header in headers[1:]:
        whole = whole / header
    if "pause" in next(iter(packet[0])):
        # Scapy pads these by itself, which no length in them depends on.
        return raw(whole / Raw(bytes(size)))[: size - 4]
    room = size - 4 - len(raw(whole))
    return raw(whole / Raw(bytes(room))) if room else raw(whole)


for line in sys.stdin:
    asked = json.loads(line)
    print(frame(asked["packet"], asked["size"]).hex())
