//! Control of a running test: updates of flows, start and stop, single actions.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::flow::Flow;

choice! {
    /// An update of the configuration.
    ConfigUpdate = flows {
        flows: Flows(FlowsUpdate),
    }
}

message! {
    /// An update of flows.
    FlowsUpdate {
        /// The properties to update.
        property_names: Vec<FlowProperty>,
        /// The flows with the new values.
        flows: Vec<Flow>,
    }

    /// Flows to add.
    ConfigAppend {
        config_append_list: Vec<AppendResources>,
    }

    /// Flows to remove.
    ConfigDelete {
        config_delete_list: Vec<DeleteResources>,
    }
}

words! {
    /// An updatable property of a flow.
    FlowProperty {
        rate: Rate,
        /// The frame size.
        size: Size,
    }
}

choice! {
    /// Resources to add.
    AppendResources = flows {
        flows: Flows(Vec<Flow>),
    }

    /// Resources to remove.
    DeleteResources = flows {
        /// Flows by name.
        flows: Flows(Vec<String>),
    }

    /// A change of state.
    ControlState = traffic {
        port: Port(StatePort),
        protocol: Protocol(StateProtocol),
        traffic: Traffic(StateTraffic),
    }

    /// A change of state of ports.
    StatePort = link {
        link: Link(StateLink),
        capture: Capture(StateCapture),
    }

    /// A change of state of protocols.
    StateProtocol = all {
        all: All(StateAll),
        rocev2: Rocev2(StateRocev2),
    }

    /// A change of state of RoCEv2 connections.
    StateRocev2 = peers {
        peers: Peers(StatePeers),
    }

    /// A change of state of flows.
    StateTraffic = flow_transmit {
        flow_transmit: FlowTransmit(FlowTransmit),
    }
}

message! {
    /// The link state of ports.
    StateLink {
        /// Default: all.
        port_names: Vec<String>,
        state: UpDown = UpDown::Up; required,
    }

    /// The capture state of ports.
    StateCapture {
        /// Default: all.
        port_names: Vec<String>,
        state: StartStop = StartStop::Stop; required,
    }

    /// The state of all protocols.
    StateAll {
        state: StartStop = StartStop::Stop; required,
    }

    /// The state of RoCEv2 peers.
    StatePeers {
        /// Default: all.
        peer_names: Vec<String>,
        state: UpDown = UpDown::Up; required,
    }

    /// The transmit state of flows.
    FlowTransmit {
        /// Default: all.
        flow_names: Vec<String>,
        state: Transmit = Transmit::Stop; required,
    }
}

words! {
    /// Up or down.
    UpDown {
        up: Up,
        down: Down,
    }

    /// Start or stop.
    StartStop {
        start: Start,
        stop: Stop,
    }

    /// The transmit state of a flow.
    Transmit {
        /// Starts with all counters at 0.
        start: Start,
        stop: Stop,
        pause: Pause,
        resume: Resume,
    }
}

choice! {
    /// A single action.
    ControlAction = protocol {
        protocol: Protocol(ActionProtocol),
    }

    /// An action of a protocol.
    ActionProtocol = ipv4 {
        ipv4: Ipv4(ActionIpv4),
        ipv6: Ipv6(ActionIpv6),
    }

    /// An action of IPv4.
    ActionIpv4 = ping {
        ping: Ping(PingIpv4),
    }

    /// An action of IPv6.
    ActionIpv6 = ping {
        ping: Ping(PingIpv6),
    }
}

message! {
    /// Pings over IPv4.
    PingIpv4 {
        requests: Vec<PingIpv4Request>,
    }

    /// Pings over IPv6.
    PingIpv6 {
        requests: Vec<PingIpv6Request>,
    }

    /// One ping over IPv4.
    PingIpv4Request {
        /// Name of the source address.
        src_name: String,
        dst_ip: Ipv4Addr = Ipv4Addr::UNSPECIFIED; required,
    }

    /// One ping over IPv6.
    PingIpv6Request {
        /// Name of the source address.
        src_name: String,
        dst_ip: Ipv6Addr = Ipv6Addr::UNSPECIFIED; required,
    }

    /// The response to an action.
    ControlActionResponse {
        warnings: Vec<String>,
        response: Option<ActionResponse>,
    }
}

choice! {
    /// The response to an action.
    ActionResponse = protocol {
        protocol: Protocol(ResponseProtocol),
    }

    /// The response to an action of a protocol.
    ResponseProtocol = ipv4 {
        ipv4: Ipv4(ResponsePing),
        ipv6: Ipv6(ResponsePing),
    }

    /// The response to an action of IP.
    ResponsePing = ping {
        ping: Ping(PingResponses),
    }
}

message! {
    /// The results of pings.
    PingResponses {
        /// One per request.
        responses: Vec<PingResponse>,
    }

    /// The result of one ping.
    PingResponse {
        src_name: String; required,
        dst_ip: String; required,
        result: PingResult = PingResult::Failed; required,
    }
}

words! {
    /// The result of one ping.
    PingResult {
        succeeded: Succeeded,
        failed: Failed,
    }
}
