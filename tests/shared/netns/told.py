"""Scapy's word on the congestion messages in a capture, as a JSON list with an object for each.

usage: told.py CAPTURE

The formats are written here from their documents, not from the program: the CIM from Table 47-4 of the
802.1Qcz draft (which the source flow control slides repeat), the CNM from 802.1Q 33.4, the CNP from
scapy's own RoCE layer, and the SFCM from its table in the manual. Scapy recalculates every checksum, and
the ICRC of a CNP.
"""

import json
import sys

from scapy.compat import raw
from scapy.contrib.roce import BTH, CNPPadding
from scapy.fields import (
    BitField,
    FieldLenField,
    IPField,
    IntField,
    MACField,
    ShortField,
    SignedShortField,
    StrLenField,
    XByteField,
    XStrFixedLenField,
)
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, bind_layers
from scapy.utils import PcapReader


class CIM(Packet):
    """Congestion isolation message, Table 47-4: octets from 1."""

    fields_desc = [
        BitField("version", 0, 4),
        BitField("reserved", 0, 3),
        BitField("add", 0, 1),
        MACField("destination_address", None),
        MACField("source_address", None),
        BitField("unstated", 0, 4),
        BitField("vlan_identifier", 0, 12),
        FieldLenField("length", None, length_of="msdu"),
        StrLenField("msdu", b"", length_from=lambda p: p.length),
    ]


class Shared(Packet):
    """The octet of version and subtype behind EtherType 89-A2; 0 is a CIM."""

    fields_desc = [BitField("version", 0, 4), BitField("subtype", 0, 4)]


class CNM(Packet):
    """Congestion notification message, 802.1Q 33.4."""

    fields_desc = [
        BitField("version", 0, 4),
        BitField("reserved", 0, 6),
        BitField("feedback", 0, 6),
        XStrFixedLenField("cpid", None, 8),
        SignedShortField("q_offset", 0),
        SignedShortField("q_delta", 0),
        BitField("priority", 0, 3),
        BitField("unused", 0, 13),
        MACField("destination_address", None),
        FieldLenField("length", None, length_of="msdu"),
        StrLenField("msdu", b"", length_from=lambda p: p.length),
    ]


class SFCM(Packet):
    """Source flow control message over IPv4, in the simplified form."""

    fields_desc = [
        BitField("version", 0, 4),
        BitField("form", 0, 4),
        BitField("locator", 0, 2),
        BitField("reserved", 0, 3),
        BitField("priority", 0, 3),
        BitField("dscp", 0, 6),
        BitField("reserved2", 0, 2),
        XByteField("level", 0),
        IntField("pause", 0),
        ShortField("length", 14),
        IPField("src", None),
        IPField("dst", None),
        XByteField("protocol", 0),
        XByteField("reserved3", 0),
        ShortField("sport", 0),
        ShortField("dport", 0),
    ]


CIM_PORT, SFCM_PORT = 50_000, 58_622
bind_layers(Ether, Shared, type=0x89A2)
bind_layers(Dot1Q, Shared, type=0x89A2)
bind_layers(Shared, CIM, subtype=0)
bind_layers(Ether, CNM, type=0x22E7)
bind_layers(Dot1Q, CNM, type=0x22E7)
bind_layers(UDP, CIM, dport=CIM_PORT)
bind_layers(UDP, SFCM, dport=SFCM_PORT)


def plain(value):
    return value.hex() if isinstance(value, bytes) else value


def sums(ip):
    """Which of the packet's checksums scapy, asked to fill them in anew, gives another value."""
    ip = IP(raw(ip)[: ip.len])
    wrong = []
    for layer, field in [(IP, "chksum"), (UDP, "chksum"), (BTH, "icrc")]:
        if layer in ip and not (layer is UDP and ip[UDP].chksum == 0):
            copy = ip.copy()
            setattr(copy[layer], field, None)
            if getattr(IP(raw(copy))[layer], field) != getattr(ip[layer], field):
                wrong.append(field)
    return wrong


def told(frame):
    """The message in a frame, or nothing."""
    for layer in (CIM, CNM, SFCM):
        if layer in frame:
            fields = {f.name: plain(frame[layer].getfieldval(f.name)) for f in layer.fields_desc}
            fields["kind"] = layer.__name__
            break
    else:
        if CNPPadding not in frame:
            return None
        bth = frame[BTH]
        fields = {"kind": "CNP"} | {n: bth.getfieldval(n) for n in ("opcode", "becn", "dqpn", "pkey", "psn")}
    fields["to"], fields["from"] = frame.dst, frame.src
    if IP in frame:
        ip = frame[IP]
        fields["ip"] = [ip.src, ip.dst, ip.tos >> 2, frame[UDP].sport, frame[UDP].dport]
        fields["wrong_sums"] = sums(ip)
    if Shared in frame:
        fields["shared"] = [frame[Shared].version, frame[Shared].subtype]
    return fields


with PcapReader(sys.argv[1]) as frames:
    print(json.dumps([fields for frame in frames if (fields := told(frame))]))
