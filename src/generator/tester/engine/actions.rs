//! Actions of clients: start and stop of flows and captures, link state, pings.

use core::net::IpAddr;
use core::slice;

use serde_json::Value;

use super::changes::unknown;
use super::{TesterEngine, flow_names, lock, named, port_names, refusal};
use crate::plan::FlowKind;
use crate::session::SessionError;
use host::FlowId;
use otg::engine::{Refusal, Warnings};
use otg::model::capture::{CaptureRequest, Packets, Slice};
use otg::model::control::{
    ActionIpv4, ActionIpv6, ActionProtocol, ActionResponse, ControlAction, ControlActionResponse,
    ControlState, FlowTransmit, PingResponse, PingResponses, PingResult, ResponsePing,
    ResponseProtocol, StartStop, StatePort, StateProtocol, StateTraffic, Transmit, UpDown,
};
use otg::model::states::{NeighborV4, NeighborV6, NeighborsRequest, StatesRequest, StatesResponse};

impl TesterEngine {
    /// Changes the state of flows, captures, links or protocols.
    pub(super) fn state(&self, state: &ControlState) -> Result<Warnings, Refusal> {
        match state {
            ControlState::Traffic(StateTraffic::FlowTransmit(what)) => self.transmit(what),
            ControlState::Traffic(StateTraffic::Other { name, .. }) => {
                Err(unknown("traffic.", name))
            }
            ControlState::Port(StatePort::Link(link)) => {
                let session = self.session()?;
                let names = port_names(session.plan());
                let ports = named(&link.port_names, names, "port.link.port_names", "port")?;
                let up = link.state == UpDown::Up;
                session.set_link(&ports, up).map_err(|error| refusal(&error))?;
                Ok(Warnings::new())
            }
            ControlState::Port(StatePort::Capture(capture)) => {
                let session = self.session()?;
                let names = port_names(session.plan());
                let field = "port.capture.port_names";
                // Without names all ports with a capture are meant; a named port without one is an error.
                let all = capture.port_names.is_empty();
                let mut ports = named(&capture.port_names, names, field, "port")?;
                let has = |port: &usize| session.plan().ports[*port].capture.is_some();
                if let Some(port) = ports.iter().find(|port| !all && !has(port)) {
                    let name = &session.plan().ports[*port].name;
                    return Err(Refusal::validation(format!(
                        "port.capture.port_names: nothing is to be captured on {name}; name it in \
                         captures[].port_names"
                    )));
                }
                ports.retain(|port| has(port));
                let start = capture.state == StartStop::Start;
                session.capture(&ports, start).map_err(|error| refusal(&error))?;
                Ok(Warnings::new())
            }
            ControlState::Port(StatePort::Other { name, .. }) => Err(unknown("port.", name)),
            // Interfaces answer and resolve addresses as soon as they are configured.
            ControlState::Protocol(StateProtocol::All(_) | StateProtocol::Rocev2(_)) => {
                self.session()?;
                Ok(Warnings::new())
            }
            ControlState::Protocol(StateProtocol::Other { name, .. }) => {
                Err(unknown("protocol.", name))
            }
            ControlState::Other { name, .. } => Err(unknown("", name)),
        }
    }

    fn transmit(&self, what: &FlowTransmit) -> Result<Warnings, Refusal> {
        let session = self.session()?;
        let plan = session.plan();
        let field = "traffic.flow_transmit.flow_names";
        let places = named(&what.flow_names, flow_names(plan), field, "flow")?;
        let which: Vec<FlowId> = places.iter().map(|place| plan.flows[*place].id).collect();
        let done = match what.state {
            Transmit::Start => session.start(&which),
            Transmit::Stop => session.stop(&which),
            Transmit::Pause => session.pause(&which),
            Transmit::Resume => session.resume(&which),
        };
        done.map_err(|error| refusal(&error))?;
        let is_connection = |place: &usize| matches!(plan.flows[*place].kind, FlowKind::Roce(_));
        let waits = matches!(what.state, Transmit::Pause | Transmit::Resume);
        if waits && places.iter().any(is_connection) {
            let warning = "connections of RoCEv2 are not paused or resumed, only started and \
                           stopped";
            return Ok(vec![warning.into()]);
        }
        // Warns of losses in the tester's own devices, which clients would take for the
        // network's.
        Ok(if what.state == Transmit::Stop { session.device_losses() } else { Warnings::new() })
    }

    /// Executes pings, one after the other.
    pub(super) fn act(&self, action: &ControlAction) -> Result<Value, Refusal> {
        let protocol = match action {
            ControlAction::Protocol(protocol) => protocol,
            ControlAction::Other { name, .. } => return Err(unknown("", name)),
        };
        let (requests, v4): (Vec<(&str, IpAddr)>, bool) = match protocol {
            ActionProtocol::Ipv4(ActionIpv4::Ping(ping)) => {
                let all = ping.requests.iter().map(|r| (r.src_name.as_str(), r.dst_ip.into()));
                (all.collect(), true)
            }
            ActionProtocol::Ipv6(ActionIpv6::Ping(ping)) => {
                let all = ping.requests.iter().map(|r| (r.src_name.as_str(), r.dst_ip.into()));
                (all.collect(), false)
            }
            ActionProtocol::Ipv4(ActionIpv4::Other { name, .. }) => {
                return Err(unknown("protocol.ipv4.", name));
            }
            ActionProtocol::Ipv6(ActionIpv6::Other { name, .. }) => {
                return Err(unknown("protocol.ipv6.", name));
            }
            ActionProtocol::Other { name, .. } => return Err(unknown("protocol.", name)),
        };
        let session = self.session()?;
        let mut responses = Vec::new();
        for (n, (src, dst)) in requests.into_iter().enumerate() {
            let interface = self.interface_of(src);
            // One after the other: each takes seconds at most.
            let answered = session.ping(&interface, dst).map_err(|error| match error {
                SessionError::Ping(why) => {
                    Refusal::validation(format!("ping.requests[{n}].src_name: {src}: {why}"))
                }
                error => refusal(&error),
            })?;
            let result = if answered { PingResult::Succeeded } else { PingResult::Failed };
            let (src_name, dst_ip) = (src.to_owned(), dst.to_string());
            responses.push(PingResponse { src_name, dst_ip, result, extra: Default::default() });
        }
        let ping = ResponsePing::Ping(PingResponses { responses, ..PingResponses::default() });
        let protocol = if v4 { ResponseProtocol::Ipv4(ping) } else { ResponseProtocol::Ipv6(ping) };
        let response = Some(ActionResponse::Protocol(protocol));
        Ok(json(&ControlActionResponse { response, ..ControlActionResponse::default() }))
    }

    /// Returns the interface of a name, which is its own or that of one of its addresses.
    fn interface_of(&self, name: &str) -> String {
        let config = &lock(&self.now).config;
        let interfaces = config.devices.iter().flat_map(|device| &device.ethernets);
        for ethernet in interfaces {
            let v4 = ethernet.ipv4_addresses.iter().map(|a| &a.name);
            let v6 = ethernet.ipv6_addresses.iter().map(|a| &a.name);
            if v4.chain(v6).any(|address| address == name) {
                return ethernet.name.clone();
            }
        }
        name.to_owned()
    }

    pub(super) fn neighbours(&self, request: &StatesRequest) -> Result<Value, Refusal> {
        let (wanted, v4) = match request {
            StatesRequest::Ipv4Neighbors(wanted) => (wanted, true),
            StatesRequest::Ipv6Neighbors(wanted) => (wanted, false),
            StatesRequest::Other { name, .. } => return Err(unknown("", name)),
        };
        let session = self.session()?;
        let interfaces = session.plan().ports.iter().flat_map(|port| &port.interfaces);
        let interfaces: Vec<&str> = interfaces.map(|i| i.name.as_str()).collect();
        let NeighborsRequest { ethernet_names, .. } = wanted;
        let all = interfaces.iter().copied();
        let places = named(ethernet_names, all, "ethernet_names", "interface")?;
        let wanted: Vec<&str> = places.iter().map(|place| interfaces[*place]).collect();
        let known = session.neighbours().map_err(|error| refusal(&error))?;
        let choice = if v4 { "ipv4_neighbors" } else { "ipv6_neighbors" }.into();
        let mut response = StatesResponse { choice, ..StatesResponse::default() };
        for (name, ip, mac) in known {
            // The session knows the neighbours of both families at all interfaces.
            if !wanted.contains(&name.as_str()) || ip.is_ipv4() != v4 {
                continue;
            }
            let (ethernet_name, address) = (name, ip.to_string());
            let link_layer_address = mac.map(|mac| mac.to_string());
            let extra = Default::default();
            if v4 {
                let ipv4_address = address;
                response.ipv4_neighbors.push(NeighborV4 {
                    ethernet_name,
                    ipv4_address,
                    link_layer_address,
                    extra,
                });
            } else {
                let ipv6_address = address;
                response.ipv6_neighbors.push(NeighborV6 {
                    ethernet_name,
                    ipv6_address,
                    link_layer_address,
                    extra,
                });
            }
        }
        Ok(json(&response))
    }

    /// Returns the capture of a port.
    pub(super) fn captured(&self, request: &CaptureRequest) -> Result<Vec<u8>, Refusal> {
        let session = self.session()?;
        let names = port_names(session.plan());
        let places = named(slice::from_ref(&request.port_name), names, "port_name", "port")?;
        let port = places[0];
        if session.plan().ports[port].capture.is_none() {
            return Err(Refusal::validation(format!(
                "port_name: nothing is captured on {}; name it in captures[].port_names",
                request.port_name
            )));
        }
        let (first, count) = match &request.packets {
            None | Some(Packets::All) => (0, u64::MAX),
            Some(Packets::Slice(Slice::Initial(some))) => {
                if some.start == 0 {
                    let error = "packets.slice.initial.start: packets are counted from 1";
                    return Err(Refusal::validation(error));
                }
                // OTG counts packets from 1.
                (some.start - 1, some.count)
            }
            Some(Packets::Slice(Slice::Other { name, .. })) => {
                return Err(unknown("packets.slice.", name));
            }
            Some(Packets::Other { name, .. }) => return Err(unknown("packets.", name)),
        };
        session.captured(port, first, count).map_err(|error| refusal(&error))
    }
}

/// Serialises a message to JSON.
pub(super) fn json(message: &impl serde::Serialize) -> Value {
    serde_json::to_value(message).expect("a message has nothing that JSON has not")
}
