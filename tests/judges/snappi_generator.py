"""What an unmodified snappi client finds at `sluice gen --listen`.

usage: snappi_generator.py http|https|grpc HOST:PORT

Says `ok NAME` for each part that holds; whatever does not hold raises.
"""

import struct
import sys
import time
import zlib

import snappi

PATIENCE = 20.0


def main():
    transport, address = sys.argv[1:3]
    if transport == "grpc":
        api = snappi.api(location=address, transport=snappi.Transport.GRPC)
    else:
        api = snappi.api(location=f"{transport}://{address}", verify=False)
    for part in (flows_arrive, captures_are_what_was_asked, filters_keep_what_they_name,
                 a_storm_stops_one_priority,
                 neighbours_are_found, bad_configurations_are_refused):
        part(api)
        print("ok", part.__name__, flush=True)


def new_config(api, pair, speed, pfc=""):
    config = api.config()
    config.ports.port(name="p1", location=f"ring:{pair}.a{pfc}")
    config.ports.port(name="p2", location=f"ring:{pair}.b{pfc}")
    layer1 = config.layer1.layer1(name="l1", port_names=["p1", "p2"])[-1]
    layer1.speed = speed
    layer1.mtu = 9000
    layer1.flow_control.ieee_802_1qbb.pfc_delay = 0
    return config


def new_flow(config, name, tx, rx):
    flow = config.flows.flow(name=name)[-1]
    flow.tx_rx.port.tx_name = tx
    flow.tx_rx.port.rx_names = [rx]
    return flow


def measure(flow):
    flow.metrics.enable = True
    flow.metrics.loss = True
    flow.metrics.timestamps = True
    flow.metrics.latency.enable = True
    flow.metrics.latency.mode = flow.metrics.latency.CUT_THROUGH


def udp_packet(flow, priority):
    ethernet, ipv4, udp = flow.packet.ethernet().ipv4().udp()
    ethernet.dst.value = "02:00:00:00:00:02"
    ethernet.src.value = "02:00:00:00:00:01"
    ethernet.pfc_queue.value = priority
    ipv4.src.value = "10.0.0.1"
    ipv4.dst.value = "10.0.0.2"
    udp.src_port.increment.start = 5000
    udp.src_port.increment.step = 2
    udp.src_port.increment.count = 3
    udp.dst_port.value = 4791


def pause_packet(flow, quanta):
    pause = flow.packet.pfcpause()[-1]
    pause.src.value = "02:00:00:00:00:02"
    pause.class_enable_vector.value = 1 << 3
    pause.pause_class_3.value = quanta
    flow.metrics.enable = True


def transmit(api, state, names=()):
    control = api.control_state()
    control.traffic.flow_transmit.state = state
    if names:
        control.traffic.flow_transmit.flow_names = list(names)
    api.set_control_state(control)


def capturing(api, state):
    control = api.control_state()
    control.port.capture.state = state
    control.port.capture.port_names = []
    api.set_control_state(control)


def metrics(api, names=()):
    request = api.metrics_request()
    request.flow.flow_names = list(names)
    found = {flow.name: flow for flow in api.get_metrics(request).flow_metrics}
    assert not names or set(found) == set(names), found
    return found


def until(what, holds):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        result = holds()
        if result:
            return result
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {PATIENCE} s")


def all_stopped(api, names=()):
    found = metrics(api, names)
    return found if all(flow.transmit == "stopped" for flow in found.values()) else None


def flows_arrive(api):
    """Both ways, all that was sent, with loss, times and latency; and again after a restart."""
    config = new_config(api, "arrive", "speed_1_gbps")
    there = new_flow(config, "there", "p1", "p2")
    udp_packet(there, 0)
    there.size.fixed = 128
    there.rate.pps = 20000
    there.duration.fixed_packets.packets = 4000
    measure(there)
    back = new_flow(config, "back", "p2", "p1")
    back.packet.ethernet().vlan().ipv6().udp()
    back.size.random.min = 128
    back.size.random.max = 1500
    back.rate.percentage = 5
    back.duration.fixed_seconds.seconds = 0.2
    measure(back)
    api.set_config(config)
    assert [port.location for port in api.get_config().ports] == ["ring:arrive.a", "ring:arrive.b"]
    for _ in range(2):
        transmit(api, "start")
        found = until("all flows stopped", lambda: all_stopped(api))
        assert found["there"].frames_tx == 4000, found["there"]
        assert found["there"].bytes_rx == 4000 * 128, found["there"]
        for flow in found.values():
            assert flow.frames_tx == flow.frames_rx > 0, flow
            assert flow.loss == 0 and flow.port_tx and flow.port_rx, flow
            latency = flow.latency
            assert 0 <= latency.minimum_ns <= latency.average_ns <= latency.maximum_ns, flow
            stamps = flow.timestamps
            assert 0 <= stamps.first_timestamp_ns < stamps.last_timestamp_ns, flow
    request = api.metrics_request()
    request.port.port_names = ["p1"]
    (port,) = api.get_metrics(request).port_metrics
    assert port.link == "up" and port.frames_tx >= 4000 and port.transmit == "stopped", port


def captures_are_what_was_asked(api):
    """Every octet of every captured frame, probes apart, which are Sluice's own."""
    config = new_config(api, "capture", "speed_1_gbps")
    config.captures.capture(name="c", port_names=["p2"], format="pcap")
    config.captures.capture(name="d", port_names=["p1"], format="pcap")
    probed = new_flow(config, "probed", "p1", "p2")
    udp_packet(probed, 0)
    probed.size.fixed = 128
    probed.rate.pps = 1000
    probed.duration.fixed_packets.packets = 30
    measure(probed)
    plain = new_flow(config, "plain", "p1", "p2")
    plain.packet.custom()[-1].bytes = "02000000000202000000000188b5" + "cafe" * 8
    plain.size.fixed = 100
    plain.rate.pps = 1000
    plain.duration.fixed_packets.packets = 10
    pause = new_flow(config, "pause", "p2", "p1")
    pause_packet(pause, 0)
    pause.rate.pps = 100
    pause.duration.fixed_packets.packets = 3
    api.set_config(config)
    capturing(api, "start")
    transmit(api, "start")
    until("all flows stopped", lambda: all_stopped(api))
    capturing(api, "stop")
    frames = captured(api, "p2")
    udp = [frame for frame in frames if frame[12:14] == b"\x08\x00"]
    other = [frame for frame in frames if frame[12:14] != b"\x08\x00"]
    assert len(udp) == 30, len(udp)
    for number, frame in enumerate(udp):
        assert frame == expected_udp(frame, 5000 + 2 * (number % 3)), (number, frame.hex())
    asked = bytes.fromhex("02000000000202000000000188b5" + "cafe" * 8)
    assert other == [with_fcs(asked.ljust(96, b"\0"))] * 10, [frame.hex() for frame in other]
    pauses = captured(api, "p1")
    asked = bytes.fromhex("0180c2000001020000000002" "8808" "0101" "0008" + "0000" * 8)
    assert pauses == [with_fcs(asked.ljust(60, b"\0"))] * 3, [frame.hex() for frame in pauses]


def expected_udp(frame, src_port):
    """The frame that was asked for, with the probe of the one that was captured."""
    payload = frame[42:60] + bytes(128 - 4 - 60)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 110, 0, 0, 64, 17, 0,
                     bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    udp = struct.pack("!HHHH", src_port, 4791, 90, 0)
    pseudo = ip[12:20] + struct.pack("!HH", 17, 90)
    total = checksum(pseudo + udp + payload) or 0xFFFF
    udp = udp[:6] + struct.pack("!H", total)
    ethernet = bytes.fromhex("020000000002" "020000000001" "0800")
    return with_fcs(ethernet + ip + udp + payload)


def with_fcs(frame):
    return frame + zlib.crc32(frame).to_bytes(4, "little")


def filters_keep_what_they_name(api):
    """A value alone, which snappi sends with a mask of zeros; negated; behind a tag; and together."""
    def kept(tagged, *filters):
        config = new_config(api, "filters", "speed_1_gbps")
        for number, say in enumerate(filters):
            say(config.captures.capture(name=f"c{number}", port_names=["p2"])[-1].filters)
        flow = new_flow(config, "f", "p1", "p2")
        measure(flow)
        flow.rate.pps, flow.size.fixed = 2000, 128
        flow.duration.fixed_packets.packets = 60
        flow.packet.ethernet()[-1].src.values = ["02:00:00:00:00:01", "02:00:00:00:00:03"]
        if tagged:
            flow.packet.vlan()[-1].id.values = [5, 6, 7]
        flow.packet.ipv4()[-1].src.values = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]
        flow.packet.udp()
        api.set_config(config)
        capturing(api, "start")
        transmit(api, "start")
        until("stopped", lambda: all_stopped(api))
        capturing(api, "stop")
        return len(captured(api, "p2"))

    def source(filters, **said):
        field = filters.ethernet()[-1].src
        for name, value in said.items():
            setattr(field, name, value)

    one = lambda filters: source(filters, value="020000000001")
    others = lambda filters: source(filters, value="020000000001", negate=True)

    def address(filters):
        filters.ipv4()[-1].src.value = "0a000002"

    def tag(filters):
        vlan = filters.vlan()[-1].id
        vlan.value, vlan.mask = "0006", "F000"

    for tagged in (False, True):
        assert kept(tagged, one) == 30 and kept(tagged, others) == 30
        assert kept(tagged, address) == 15
        assert kept(tagged, tag) == (20 if tagged else 0)
    assert kept(True, address, tag) == 15 + 20 - 5


def checksum(octets):
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def captured(api, port):
    """The frames of a pcap file with nanosecond stamps, whose times must not go back."""
    request = api.capture_request()
    request.port_name = port
    octets = api.get_capture(request).read()
    order = {b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\x3c\x4d": ">"}[octets[:4]]
    frames, at, last = [], 24, 0
    while at < len(octets):
        seconds, nanos, kept, length = struct.unpack(f"{order}IIII", octets[at:at + 16])
        now = seconds * 1_000_000_000 + nanos
        assert kept == length and nanos < 1_000_000_000 and now >= last, (at, now, last)
        frames.append(octets[at + 16:at + 16 + kept])
        at, last = at + 16 + kept, now
    return frames


def a_storm_stops_one_priority(api):
    """PFC of priority 3 stops the flow on 3 and no other; zero quanta let it go on."""
    # At 10 Mb/s a pause of 65535 quanta lasts 3.4 s: it ends by a resume or not at all here.
    config = new_config(api, "storm", "speed_10_fd_mbps", pfc="?pfc=3,4")
    for priority in (3, 4):
        flow = new_flow(config, f"on{priority}", "p1", "p2")
        udp_packet(flow, priority)
        flow.size.fixed = 128
        flow.rate.pps = 500
        flow.duration.choice = flow.duration.CONTINUOUS
        measure(flow)
    storm = new_flow(config, "storm", "p2", "p1")
    pause_packet(storm, 65535)
    storm.rate.pps = 2
    storm.duration.choice = storm.duration.CONTINUOUS
    resume = new_flow(config, "resume", "p2", "p1")
    pause_packet(resume, 0)
    resume.rate.pps = 100
    resume.duration.fixed_packets.packets = 1
    api.set_config(config)
    names = ["on3", "on4"]
    transmit(api, "start", names)
    sent = lambda: {name: flow.frames_tx for name, flow in metrics(api, names).items()}
    until("both send", lambda: min(sent().values()) > 50)
    transmit(api, "start", ["storm"])
    until("the storm began", lambda: metrics(api, ["storm"])["storm"].frames_tx >= 1)
    time.sleep(0.2)
    before = sent()
    # In memory a busy machine slows the time of the test, so the other flow is its clock.
    until("priority 4 sends on", lambda: sent()["on4"] > before["on4"] + 250)
    assert sent()["on3"] == before["on3"], (before, sent())
    transmit(api, "stop", ["storm"])
    stopped = sent()
    until("priority 4 sends on", lambda: sent()["on4"] > stopped["on4"] + 100)
    assert sent()["on3"] == before["on3"], "a pause of 3.4 s lasted less"
    transmit(api, "start", ["resume"])
    until("priority 3 goes on", lambda: sent()["on3"] > before["on3"] + 50)
    transmit(api, "stop")
    found = until("all stopped", lambda: all_stopped(api, names))
    for flow in found.values():
        assert flow.frames_tx == flow.frames_rx, flow


def neighbours_are_found(api):
    """What scripts wait for before they start: every gateway has answered."""
    config = new_config(api, "arp", "speed_1_gbps")
    for number, other in ((1, 2), (2, 1)):
        device = config.devices.device(name=f"d{number}")[-1]
        ethernet = device.ethernets.ethernet(name=f"e{number}")[-1]
        ethernet.connection.port_name = f"p{number}"
        ethernet.mac = f"02:00:00:00:01:0{number}"
        ethernet.ipv4_addresses.ipv4(
            name=f"i{number}", address=f"10.1.0.{number}", gateway=f"10.1.0.{other}", prefix=24)
    api.set_config(config)
    control = api.control_state()
    control.protocol.all.state = "start"
    api.set_control_state(control)

    def resolved():
        request = api.states_request()
        request.ipv4_neighbors.ethernet_names = []
        states = api.get_states(request).ipv4_neighbors
        found = {s.ethernet_name: (s.ipv4_address, s.link_layer_address) for s in states}
        whole = len(found) == 2 and all(mac for _, mac in found.values())
        return found if whole else None

    found = until("all neighbours answered", resolved)
    assert found == {"e1": ("10.1.0.2", "02:00:00:00:01:02"),
                     "e2": ("10.1.0.1", "02:00:00:00:01:01")}, found


def bad_configurations_are_refused(api):
    """By field, with a remedy, and without harm to what is there."""
    good = new_config(api, "good", "speed_1_gbps")
    api.set_config(good)
    config = new_config(api, "good", "speed_1_gbps")
    flow = new_flow(config, "f", "p1", "nowhere")
    udp_packet(flow, 0)
    flow.size.fixed = 40
    try:
        api.set_config(config)
    except Exception as error:
        said = api.from_exception(error)
        assert said is not None and said.kind == "validation", error
        text = " ".join(said.errors)
        assert "nowhere" in text and "flows[0].size" in text, text
    else:
        raise AssertionError("a flow to nowhere was accepted")
    assert [port.name for port in api.get_config().ports] == ["p1", "p2"]
    assert len(api.get_config().flows) == 0


if __name__ == "__main__":
    main()
