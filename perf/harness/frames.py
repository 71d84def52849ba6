"""Frames that circulate between the pcap devices, the same for every contestant."""

import struct

FLOWS = 256


def _frame(side, flow, tagged, port=4791, payload=None):
    """64 bytes on the wire, FCS included: Ethernet, VLAN 1 with PCP 3 or none, IPv4, UDP."""

    def mac(side):
        return bytes([2, 0, 0, side, 0, flow])

    payload = payload or bytes(14 if tagged else 18)
    udp = struct.pack("!4H", port, port, 8 + len(payload), 0) + payload
    # DSCP 24, which the switch maps to priority 3 without a tag, and ECT(0).
    head = struct.pack("!BBHHHBBH", 0x45, 24 << 2 | 2, 20 + len(udp), 0, 0, 64, 17, 0)
    addresses = bytes([10, 0, side, flow, 10, 0, 1 - side, flow])
    total = sum(struct.unpack("!10H", head + addresses))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    head = head[:10] + struct.pack("!H", checksum)
    tag = struct.pack("!HH", 0x8100, 3 << 13 | 1) if tagged else b""
    frame = mac(1 - side) + mac(side) + tag + b"\x08\x00" + head + addresses + udp
    assert len(frame) == 60, len(frame)
    return frame


def _write(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for n, frame in enumerate(frames):
            file.write(struct.pack("<4I", 0, n, len(frame), len(frame)) + frame)


def write(path, side, tagged):
    """Writes a capture of a frame from each host behind `side` to its counterpart on the other."""
    _write(path, (_frame(side, flow, tagged) for flow in range(FLOWS)))


def write_probed(path):
    """Writes a capture of the first frame of each of a generator's flows, to UDP port 5000."""

    def probe(flow):
        return b"SLUI" + struct.pack("!H", flow) + bytes(12)

    _write(path, (_frame(0, flow, False, 5000, probe(flow)) for flow in range(FLOWS)))
