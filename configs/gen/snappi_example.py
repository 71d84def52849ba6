#!/usr/bin/env python3
"""Drives `sluice gen` with snappi, the client of the Open Traffic Generator API.

Needs no NIC and no root: the two ports are back to back in memory. In one terminal

    sluice gen --listen 127.0.0.1:8080

and in another

    pip install snappi==1.62.0
    python3 configs/gen/snappi_example.py --api http://127.0.0.1:8080

With --grpc the same goes over gRPC, and with --a iface:eth1 --b iface:eth2 by real ports, which `sluice
gen` has to allow its clients: --allow iface:eth1 --allow iface:eth2.

A flow of priority 3 and one of priority 4 are sent; then the far end pauses priority 3 by PFC for a
second and resumes it. What is printed is what each flow sent in every half of a second.
"""

import argparse
import time

import snappi

# At 100 Mb/s a pause of 65535 quanta of 512 bits lasts 336 ms: five a second are without a gap.
SPEED = "speed_100_fd_mbps"
PAUSES_PER_SECOND = 5


def main():
    args = arguments()
    if args.grpc:
        api = snappi.api(location=args.api, transport=snappi.Transport.GRPC)
    else:
        api = snappi.api(location=args.api, verify=False)
    api.set_config(configuration(api, args))

    transmit(api, "start", ["on3", "on4"])
    show(api, "running", 2)
    transmit(api, "start", ["storm"])
    show(api, "priority 3 paused", 2)
    transmit(api, "stop", ["storm"])
    transmit(api, "start", ["resume"])
    show(api, "resumed", 2)
    transmit(api, "stop", ["on3", "on4"])

    metrics = wait_until_stopped(api, ["on3", "on4"])
    for flow in metrics:
        latency = flow.latency
        print(
            f"{flow.name}: sent {flow.frames_tx}, received {flow.frames_rx}, lost {flow.loss} %, "
            f"latency {latency.minimum_ns:.0f} to {latency.maximum_ns:.0f} ns"
        )
    if any(flow.frames_tx != flow.frames_rx for flow in metrics):
        raise SystemExit("frames were lost")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--api", default="http://127.0.0.1:8080", help="where sluice gen listens")
    parser.add_argument("--grpc", action="store_true", help="speak gRPC; --api is then host:port")
    parser.add_argument("--a", default="ring:example.a", help="location of the sending port")
    parser.add_argument("--b", default="ring:example.b", help="location of the receiving port")
    return parser.parse_args()


def configuration(api, args):
    config = api.config()
    # snappi always says that all eight classes are obeyed; `?pfc=` keeps it to those that are meant.
    config.ports.port(name="p1", location=args.a + "?pfc=3,4")
    config.ports.port(name="p2", location=args.b)
    link = config.layer1.layer1(name="link", port_names=["p1", "p2"])[-1]
    link.speed = SPEED
    link.flow_control.ieee_802_1qbb.pfc_delay = 0
    for priority in (3, 4):
        data(config, f"on{priority}", priority)
    # Without an end: it goes on until it is stopped.
    pauses(config, "storm", quanta=65535, packets=None)
    pauses(config, "resume", quanta=0, packets=1)
    return config


def data(config, name, priority):
    flow = config.flows.flow(name=name)[-1]
    flow.tx_rx.port.tx_name = "p1"
    flow.tx_rx.port.rx_names = ["p2"]
    ethernet, vlan, ipv4, udp = flow.packet.ethernet().vlan().ipv4().udp()
    ethernet.src.value = "02:00:00:00:00:01"
    ethernet.dst.value = "02:00:00:00:00:02"
    ethernet.pfc_queue.value = priority
    vlan.priority.value = priority
    vlan.id.value = 100
    ipv4.src.value = "10.0.0.1"
    ipv4.dst.value = "10.0.0.2"
    udp.src_port.increment.start = 50000
    udp.src_port.increment.count = 16
    udp.dst_port.value = 4791
    flow.size.fixed = 256
    flow.rate.pps = 1000
    flow.duration.choice = flow.duration.CONTINUOUS
    flow.metrics.enable = True
    flow.metrics.loss = True
    flow.metrics.latency.enable = True
    flow.metrics.latency.mode = flow.metrics.latency.CUT_THROUGH


def pauses(config, name, quanta, packets):
    flow = config.flows.flow(name=name)[-1]
    flow.tx_rx.port.tx_name = "p2"
    flow.tx_rx.port.rx_names = ["p1"]
    pause = flow.packet.pfcpause()[-1]
    pause.src.value = "02:00:00:00:00:02"
    pause.class_enable_vector.value = 1 << 3
    pause.pause_class_3.value = quanta
    flow.rate.pps = PAUSES_PER_SECOND
    if packets is None:
        flow.duration.choice = flow.duration.CONTINUOUS
    else:
        flow.duration.fixed_packets.packets = packets


def transmit(api, state, flows):
    control = api.control_state()
    control.traffic.flow_transmit.state = state
    control.traffic.flow_transmit.flow_names = flows
    api.set_control_state(control)


def flow_metrics(api, names):
    request = api.metrics_request()
    request.flow.flow_names = names
    return api.get_metrics(request).flow_metrics


def show(api, what, halves):
    before = {flow.name: flow.frames_tx for flow in flow_metrics(api, ["on3", "on4"])}
    for _ in range(halves):
        time.sleep(0.5)
        now = {flow.name: flow.frames_tx for flow in flow_metrics(api, ["on3", "on4"])}
        sent = ", ".join(f"{name} +{now[name] - before[name]}" for name in sorted(now))
        print(f"{what}: {sent}")
        before = now


def wait_until_stopped(api, names):
    while True:
        metrics = flow_metrics(api, names)
        if all(flow.transmit == flow.STOPPED for flow in metrics):
            return metrics
        time.sleep(0.1)


if __name__ == "__main__":
    main()
