"""Scapy's word on frames, for tests/outside/frames.rs.

scapy_judge.py describe        reads frames as hex lines, writes one line of text for each
scapy_judge.py build SEED N    writes N frames of every format as hex lines, made by scapy alone

The text has the form that tests/outside/frames.rs writes for the same frame; the two must agree.
Checksums are judged by letting scapy fill them in anew. The ICRC over IPv6, which scapy does not
know, is computed here from the InfiniBand rule with zlib.
"""

import logging
import random
import socket
import sys
import zlib

logging.getLogger("scapy").setLevel(logging.ERROR)

from scapy.compat import raw  # noqa: E402
from scapy.contrib.lldp import (  # noqa: E402
    LLDPDU,
    LLDPDUChassisID,
    LLDPDUEndOfLLDPDU,
    LLDPDUGenericOrganisationSpecific,
    LLDPDUPortID,
    LLDPDUTimeToLive,
)
from scapy.contrib.mac_control import (  # noqa: E402
    MACControlClassBasedFlowControl,
    MACControlPause,
)
from scapy.contrib.roce import AETH, BTH, CNPPadding, cnp  # noqa: E402
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP  # noqa: E402
from scapy.layers.inet6 import (  # noqa: E402
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
    IPv6ExtHdrDestOpt,
    PadN,
)
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether  # noqa: E402
from scapy.packet import Raw  # noqa: E402

# Scapy renamed the drop eligible bit between releases.
DEI = "dei" if "dei" in [f.name for f in Dot1Q.fields_desc] else "id"


def hex4(text):
    return socket.inet_aton(text).hex()


def hex6(text):
    return socket.inet_pton(socket.AF_INET6, text).hex()


def refilled(layer, field):
    """Whether scapy, asked to fill `field` in anew, comes to the value that it had."""
    copy = layer.copy()
    setattr(copy, field, None)
    return getattr(layer.__class__(raw(copy)), field) == getattr(layer, field)


def refilled_in(ip, layer, field):
    """The same for a field whose value depends on the IP header around it."""
    copy = ip.copy()
    had = getattr(copy[layer], field)
    setattr(copy[layer], field, None)
    return getattr(ip.__class__(raw(copy))[layer], field) == had


def icrc6(ip):
    """The ICRC of a RoCEv2 packet over IPv6, by the rule of InfiniBand Annex A17."""
    octets = bytearray(raw(ip)[: 40 + ip[UDP].len - 4])
    octets[0] |= 0x0F
    octets[1:4] = b"\xff" * 3
    octets[7] = 0xFF
    octets[46:48] = b"\xff" * 2
    octets[52] = 0xFF
    return zlib.crc32(b"\xff" * 8 + bytes(octets)).to_bytes(4, "little")


def bit(value):
    return str(int(bool(value)))


def describe_roce(ip, out):
    bth = ip[BTH]
    out.append(
        f"bth {bth.opcode} {bth.solicited}{bth.migreq} {bth.padcount} {bth.pkey:04x}"
        f" {bth.fecn}{bth.becn} {bth.dqpn} {bth.ackreq} {bth.psn}"
    )
    want = icrc6(ip) if isinstance(ip, IPv6) else None
    if want is None:
        right = refilled_in(ip, BTH, "icrc")
    else:
        right = want == bth.icrc.to_bytes(4, "big")
    out.append("icrc " + bit(right))
    if AETH in ip:
        out.append(f"aeth {ip[AETH].syndrome:02x} {ip[AETH].msn}")
    if right and bth.opcode == 0x81 and CNPPadding in ip:
        out.append("cnp")


def describe_echo(ip, layer, request, data, out):
    echo = ip[layer]
    right = refilled_in(ip, layer, "chksum" if layer is ICMP else "cksum")
    out.append(f"echo {bit(request)} {echo.id} {echo.seq} {data.hex() or '-'} {bit(right)}")


def describe_neighbour(ip, layer, option, word, out):
    message = ip[layer]
    right = bit(refilled_in(ip, layer, "cksum"))
    out.append(f"{word} {hex6(message.tgt)} {ip[option].lladdr} {right}")


def describe_upper(ip, out):
    if UDP in ip:
        udp = ip[UDP]
        right = udp.chksum == 0 or refilled_in(ip, UDP, "chksum")
        out.append(f"udp {udp.sport} {udp.dport} {udp.len} {udp.chksum:04x} {bit(right)}")
        if BTH in ip:
            describe_roce(ip, out)
    elif TCP in ip:
        out.append(f"tcp {ip[TCP].sport} {ip[TCP].dport}")
    elif ICMP in ip:
        describe_echo(ip, ICMP, ip[ICMP].type == 8, raw(ip[ICMP].payload), out)
    elif ICMPv6EchoRequest in ip:
        describe_echo(ip, ICMPv6EchoRequest, True, raw(ip[ICMPv6EchoRequest])[8:], out)
    elif ICMPv6EchoReply in ip:
        describe_echo(ip, ICMPv6EchoReply, False, raw(ip[ICMPv6EchoReply])[8:], out)
    elif ICMPv6ND_NS in ip:
        describe_neighbour(ip, ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr, "solicits", out)
    elif ICMPv6ND_NA in ip:
        na = ip[ICMPv6ND_NA]
        word = f"advertises {na.R}{na.S}{na.O}"
        describe_neighbour(ip, ICMPv6ND_NA, ICMPv6NDOptDstLLAddr, word, out)


def describe_lldp(ether, out):
    tlv = ether[LLDPDUChassisID]
    while not isinstance(tlv, LLDPDUEndOfLLDPDU):
        value = raw(tlv)[2 : 2 + tlv._length]
        if isinstance(tlv, LLDPDUChassisID):
            out.append(f"chassis {tlv.subtype} {value[1:].hex()}")
        elif isinstance(tlv, LLDPDUPortID):
            out.append(f"port {tlv.subtype} {value[1:].hex()}")
        elif isinstance(tlv, LLDPDUTimeToLive):
            out.append(f"ttl {tlv.ttl}")
        elif isinstance(tlv, LLDPDUGenericOrganisationSpecific):
            out.append(f"org {tlv.org_code:06x} {tlv.subtype} {bytes(tlv.data).hex()}")
        else:
            out.append(f"tlv {tlv._type} {value.hex()}")
        tlv = tlv.payload


def describe(frame):
    ether = Ether(frame)
    out = [f"eth {ether.dst} {ether.src}"]
    tag, ethertype = ether.payload, ether.type
    while isinstance(tag, Dot1Q):
        out.append(f"tag {ethertype:04x} {tag.prio} {getattr(tag, DEI)} {tag.vlan}")
        tag, ethertype = tag.payload, tag.type
    out.append(f"type {ethertype:04x}")
    if MACControlClassBasedFlowControl in ether:
        pfc = ether[MACControlClassBasedFlowControl]
        on = [getattr(pfc, f"c{n}_enabled") for n in range(8)]
        times = [getattr(pfc, f"c{n}_pause_time") if on[n] else 0 for n in range(8)]
        out.append("pfc " + "".join(map(str, on)) + " " + " ".join(map(str, times)))
    elif MACControlPause in ether:
        out.append(f"pause {ether[MACControlPause].pause_time}")
    elif LLDPDU in ether:
        describe_lldp(ether, out)
    elif ARP in ether:
        arp = ether[ARP]
        out.append(f"arp {arp.op} {arp.hwsrc} {hex4(arp.psrc)} {arp.hwdst} {hex4(arp.pdst)}")
    elif IP in ether:
        # Without the frame's padding, which scapy would take into the ICRC.
        ip = IP(raw(ether[IP])[: ether[IP].len])
        options = raw(ip)[20 : ip.ihl * 4].hex() or "-"
        out.append(
            f"ip4 {ip.tos >> 2} {ip.tos & 3} {ip.id} {bit(ip.flags.DF)}{bit(ip.flags.MF)}"
            f" {ip.frag} {ip.ttl} {ip.proto} {hex4(ip.src)} {hex4(ip.dst)} {options}"
            f" {ip.len - ip.ihl * 4} {bit(refilled(ip, 'chksum'))}"
        )
        describe_upper(ip, out)
    elif IPv6 in ether:
        ip = IPv6(raw(ether[IPv6])[: 40 + ether[IPv6].plen])
        out.append(
            f"ip6 {ip.tc >> 2} {ip.tc & 3} {ip.fl} {ip.plen} {ip.nh} {ip.hlim}"
            f" {hex6(ip.src)} {hex6(ip.dst)}"
        )
        describe_upper(ip, out)
    return " | ".join(out)


class Builder:
    """Frames with random fields. Every length and checksum is left to scapy."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def n(self, bits):
        return self.rng.getrandbits(bits)

    def mac(self):
        return "02:" + ":".join(f"{self.n(8):02x}" for _ in range(5))

    def ip4(self):
        return ".".join(str(self.n(8)) for _ in range(4))

    def ip6(self):
        return "2001:db8:" + ":".join(f"{self.n(16) | 1:x}" for _ in range(6))

    def octets(self, most):
        return self.rng.randbytes(self.rng.randint(0, most))

    def tagged(self, payload):
        frame, tags = Ether(dst=self.mac(), src=self.mac()), self.rng.randint(0, 2)
        for _ in range(tags):
            kind = self.rng.choice([Dot1Q, Dot1AD])
            # 4095 is no VLAN; the library refuses it, which tests of its own see to.
            frame /= kind(prio=self.n(3), vlan=self.rng.randint(0, 4094), **{DEI: self.n(1)})
        return self.padded(raw(frame / payload))

    @staticmethod
    def padded(frame):
        return frame.ljust(60, b"\0")

    def header(self, v6, **more):
        tos = self.n(8)
        if v6:
            return IPv6(src=self.ip6(), dst=self.ip6(), tc=tos, fl=self.n(20), hlim=self.n(8))
        flags = self.rng.choice(["", "DF"])
        return IP(src=self.ip4(), dst=self.ip4(), tos=tos, id=self.n(16), ttl=self.n(8),
                  flags=flags, **more)

    def ports(self):
        return {"sport": self.rng.randint(50000, 60000), "dport": self.rng.randint(50000, 60000)}

    def pfc(self):
        fields = {}
        for n in range(8):
            fields[f"c{n}_enabled"] = self.n(1)
            fields[f"c{n}_pause_time"] = self.n(16)
        ether = Ether(dst="01:80:c2:00:00:01", src=self.mac())
        return raw(ether / MACControlClassBasedFlowControl(**fields))

    def pause(self):
        dst = self.rng.choice(["01:80:c2:00:00:01", self.mac()])
        return raw(Ether(dst=dst, src=self.mac()) / MACControlPause(pause_time=self.n(16)))

    def arp(self):
        return self.tagged(ARP(op=self.rng.choice([1, 2]), hwsrc=self.mac(), psrc=self.ip4(),
                               hwdst=self.mac(), pdst=self.ip4()))

    def ip(self, v6, upper, **more):
        return self.tagged(self.header(v6, **more) / upper / Raw(self.octets(100)))

    def udp4(self):
        return self.ip(False, UDP(**self.ports()))

    def udp4_options(self):
        options = [IPOption_NOP()] * (4 * self.rng.randint(1, 10))
        return self.ip(False, UDP(**self.ports()), options=options)

    def tcp4(self):
        return self.ip(False, TCP(**self.ports()))

    def udp6(self):
        return self.ip(True, UDP(**self.ports()))

    def tcp6_extension(self):
        padding = PadN(optdata=b"\0" * 4)
        return self.ip(True, IPv6ExtHdrDestOpt(options=[padding]) / TCP(**self.ports()))

    def cnp(self):
        header = self.header(False)
        udp = UDP(sport=self.n(16), dport=4791, chksum=0)
        return self.tagged(header / udp / cnp(self.n(24)))

    def roce(self):
        bth = BTH(opcode=self.rng.choice([0x04, 0x0A, 0x24, 0x64]), solicited=self.n(1),
                  migreq=self.n(1), padcount=self.n(2), pkey=self.n(16), fecn=self.n(1),
                  becn=self.n(1), resv6=self.n(6), dqpn=self.n(24), ackreq=self.n(1),
                  resv7=self.n(7), psn=self.n(24))
        udp = UDP(sport=self.n(16), dport=4791)
        return self.tagged(self.header(False) / udp / bth / Raw(self.octets(64)))


def main():
    if sys.argv[1] == "describe":
        for line in sys.stdin:
            print(describe(bytes.fromhex(line)))
    else:
        build = Builder(int(sys.argv[2]))
        kinds = [build.pfc, build.pause, build.arp, build.udp4, build.udp4_options, build.tcp4,
                 build.udp6, build.tcp6_extension, build.cnp, build.roce]
        for _ in range(int(sys.argv[3])):
            for kind in kinds:
                print(kind().hex())


if __name__ == "__main__":
    main()
