"""Makes every call of the API with an unmodified snappi, and prints what came of it as JSON.

usage: otg_client.py LOCATION TRANSPORT [CERTIFICATE]
"""

import json
import sys

import snappi

location, transport = sys.argv[1:3]
api = snappi.api(location=location, transport=transport, version_check=True)
if len(sys.argv) > 3:
    api._use_secure_connection(sys.argv[3], "localhost")
said = {}


def fails(call, argument):
    try:
        call(argument)
    except Exception as raised:
        error = api.from_exception(raised)
        return {"code": error.code, "kind": error.kind, "errors": list(error.errors)}
    return None


config = snappi.Config()
a, b = config.ports.port(name="a", location="ring:t.a").port(name="b", location="ring:t.b")
layer1 = config.layer1.layer1(name="l1", port_names=["a", "b"], speed="speed_100_gbps")[-1]
layer1.flow_control.ieee_802_1qbb.pfc_delay = 3
capture = config.captures.add(name="c", port_names=["b"])
capture.filters.custom(offset=96, bit_length=16, value="8808", mask="ffff")
flow = config.flows.add(name="data")
flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = "a", ["b"]
ethernet, ipv4, udp = flow.packet.ethernet().ipv4().udp()
ethernet.src.value, ethernet.dst.value = "02:00:00:00:00:01", "02:00:00:00:00:02"
ethernet.pfc_queue.value = 3
ipv4.src.increment.start, ipv4.src.increment.count = "10.0.0.1", 5
ipv4.priority.dscp.phb.value = 26
udp.dst_port.random.count = 7
udp.checksum.generated = "bad"
flow.size.weight_pairs.predefined = "imix"
flow.rate.pps = 1_000_000
flow.duration.fixed_packets.packets = 1000
flow.duration.fixed_packets.delay.nanoseconds = 5
flow.metrics.enable = flow.metrics.loss = True
flow.metrics.latency.enable = True
storm = config.flows.add(name="storm")
storm.tx_rx.port.tx_name, storm.tx_rx.port.rx_names = "b", ["a"]
pause = storm.packet.pfcpause()[-1]
pause.class_enable_vector.value, pause.pause_class_3.value = 8, 65535
storm.rate.percentage = 12.3
storm.duration.burst.inter_burst_gap.microseconds = 0.5

said["warnings"] = list(api.set_config(config).warnings)
said["config"] = json.loads(api.get_config().serialize("json"))

if transport == "grpc":
    # With chunks this small every message is a stream of many.
    api.enable_grpc_streaming, api._chunk_size = True, 64
    api.set_config(config)
    said["streamed"] = json.loads(api.get_config().serialize("json"))

state = snappi.ControlState()
state.traffic.flow_transmit.state = "start"
said["started"] = list(api.set_control_state(state).warnings)

request = snappi.MetricsRequest()
request.port.port_names = ["a"]
said["ports"] = [
    (m.name, m.frames_tx, m.frames_tx_rate, m.link) for m in api.get_metrics(request).port_metrics
]
request.flow.flow_names = ["data"]
said["flows"] = [
    (m.name, m.transmit, m.frames_rx, m.latency.average_ns)
    for m in api.get_metrics(request).flow_metrics
]

states = snappi.StatesRequest()
states.ipv4_neighbors.ethernet_names = ["e"]
said["neighbours"] = [
    (n.ipv4_address, n.link_layer_address) for n in api.get_states(states).ipv4_neighbors
]

wanted = snappi.CaptureRequest()
wanted.port_name = "b"
said["capture"] = len(api.get_capture(wanted).read())

update = snappi.ConfigUpdate()
update.flows.property_names = ["rate"]
flow.rate.pps = 5
update.flows.flows.append(flow)
said["updated"] = list(api.update_config(update).warnings)
append = snappi.ConfigAppend()
append.config_append_list.add().flows.append(storm)
said["appended"] = list(api.append_config(append).warnings)
delete = snappi.ConfigDelete()
delete.config_delete_list.add().flows = ["storm"]
said["deleted"] = list(api.delete_config(delete).warnings)

action = snappi.ControlAction()
action.protocol.ipv4.ping.requests.add(src_name="ip", dst_ip="10.0.0.9")
answer = api.set_control_action(action).response.protocol.ipv4.ping.responses
said["pings"] = [(p.src_name, p.dst_ip, p.result) for p in answer]

# An error, a crowd of errors, and what there is no type for.
api.enable_grpc_streaming = False
flow.name = "wrong"
said["refused"] = fails(api.set_config, config)
flow.name = "failing"
said["failed"] = fails(api.set_config, config)
flow.name = "verbose"
verbose = fails(api.set_config, config)
said["verbose"] = (verbose["code"], len(verbose["errors"]))
flow.name = "data"
flow.packet.gre()
config.devices.add(name="d").bgp.router_id = "1.1.1.1"
said["unsupported"] = list(api.set_config(config).warnings)

version = api.get_version()
said["version"] = version.api_spec_version
api.close()
print(json.dumps(said))
