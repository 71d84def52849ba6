//! What a running test is told: changes of its flows, starts and stops, single actions.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::flow::Flow;

choice! {
    /// A change of what is configured.
    ConfigUpdate = flows {
        /// Of flows.
        flows: Flows(FlowsUpdate),
    }
}

message! {
    /// A change of flows.
    FlowsUpdate {
        /// What changes.
        property_names: Vec<FlowProperty>,
        /// The flows, with what it changes to.
        flows: Vec<Flow>,
    }

    /// Flows to be added.
    ConfigAppend {
        /// What is added.
        config_append_list: Vec<AppendResources>,
    }

    /// Flows to be taken away.
    ConfigDelete {
        /// What is taken away.
        config_delete_list: Vec<DeleteResources>,
    }
}

words! {
    /// What of a flow can change.
    FlowProperty {
        /// How fast it is.
        rate: Rate,
        /// How long its frames are.
        size: Size,
    }
}

choice! {
    /// What is added.
    AppendResources = flows {
        /// Flows.
        flows: Flows(Vec<Flow>),
    }

    /// What is taken away.
    DeleteResources = flows {
        /// Flows, by name.
        flows: Flows(Vec<String>),
    }

    /// Something to be started or stopped.
    ControlState = traffic {
        /// Of ports.
        port: Port(StatePort),
        /// Of protocols.
        protocol: Protocol(StateProtocol),
        /// Of flows.
        traffic: Traffic(StateTraffic),
    }

    /// Something of ports.
    StatePort = link {
        /// Their links.
        link: Link(StateLink),
        /// Their captures.
        capture: Capture(StateCapture),
    }

    /// Something of protocols.
    StateProtocol = all {
        /// All of them.
        all: All(StateAll),
        /// Connections of RoCEv2.
        rocev2: Rocev2(StateRocev2),
    }

    /// Something of connections of RoCEv2.
    StateRocev2 = peers {
        /// Peers.
        peers: Peers(StatePeers),
    }

    /// Something of flows.
    StateTraffic = flow_transmit {
        /// Sending.
        flow_transmit: FlowTransmit(FlowTransmit),
    }
}

message! {
    /// The links of ports.
    StateLink {
        /// The ports. Default: all.
        port_names: Vec<String>,
        /// What they are to be.
        state: UpDown = UpDown::Up; required,
    }

    /// The captures of ports.
    StateCapture {
        /// The ports. Default: all.
        port_names: Vec<String>,
        /// What they are to do.
        state: StartStop = StartStop::Stop; required,
    }

    /// All protocols.
    StateAll {
        /// What they are to do.
        state: StartStop = StartStop::Stop; required,
    }

    /// Peers.
    StatePeers {
        /// The peers. Default: all.
        peer_names: Vec<String>,
        /// What they are to be.
        state: UpDown = UpDown::Up; required,
    }

    /// The sending of flows.
    FlowTransmit {
        /// The flows. Default: all.
        flow_names: Vec<String>,
        /// What they are to do.
        state: Transmit = Transmit::Stop; required,
    }
}

words! {
    /// What something is to be.
    UpDown {
        /// Working.
        up: Up,
        /// Not working.
        down: Down,
    }

    /// What something is to do.
    StartStop {
        /// Begin.
        start: Start,
        /// End.
        stop: Stop,
    }

    /// What a flow is to do.
    Transmit {
        /// Begin, with all counters at nothing.
        start: Start,
        /// End.
        stop: Stop,
        /// Wait.
        pause: Pause,
        /// Go on after waiting.
        resume: Resume,
    }
}

choice! {
    /// Something to be done once.
    ControlAction = protocol {
        /// By a protocol.
        protocol: Protocol(ActionProtocol),
    }

    /// Something that a protocol is to do once.
    ActionProtocol = ipv4 {
        /// IPv4.
        ipv4: Ipv4(ActionIpv4),
        /// IPv6.
        ipv6: Ipv6(ActionIpv6),
    }

    /// Something that IPv4 is to do once.
    ActionIpv4 = ping {
        /// Ask for echoes.
        ping: Ping(PingIpv4),
    }

    /// Something that IPv6 is to do once.
    ActionIpv6 = ping {
        /// Ask for echoes.
        ping: Ping(PingIpv6),
    }
}

message! {
    /// Echoes to be asked for.
    PingIpv4 {
        /// By whom, of whom.
        requests: Vec<PingIpv4Request>,
    }

    /// Echoes to be asked for.
    PingIpv6 {
        /// By whom, of whom.
        requests: Vec<PingIpv6Request>,
    }

    /// An echo to be asked for.
    PingIpv4Request {
        /// The name of the address that asks.
        src_name: String,
        /// Whom it asks.
        dst_ip: Ipv4Addr = Ipv4Addr::UNSPECIFIED; required,
    }

    /// An echo to be asked for.
    PingIpv6Request {
        /// The name of the address that asks.
        src_name: String,
        /// Whom it asks.
        dst_ip: Ipv6Addr = Ipv6Addr::UNSPECIFIED; required,
    }

    /// What came of an action.
    ControlActionResponse {
        /// What may be of interest.
        warnings: Vec<String>,
        /// What came of it.
        response: Option<ActionResponse>,
    }
}

choice! {
    /// What came of an action.
    ActionResponse = protocol {
        /// By a protocol.
        protocol: Protocol(ResponseProtocol),
    }

    /// What came of an action of a protocol.
    ResponseProtocol = ipv4 {
        /// IPv4.
        ipv4: Ipv4(ResponsePing),
        /// IPv6.
        ipv6: Ipv6(ResponsePing),
    }

    /// What came of an action of IP.
    ResponsePing = ping {
        /// Echoes.
        ping: Ping(PingResponses),
    }
}

message! {
    /// Which echoes came.
    PingResponses {
        /// One per request.
        responses: Vec<PingResponse>,
    }

    /// Whether an echo came.
    PingResponse {
        /// Who asked.
        src_name: String; required,
        /// Of whom.
        dst_ip: String; required,
        /// Whether it came.
        result: PingResult = PingResult::Failed; required,
    }
}

words! {
    /// Whether an echo came.
    PingResult {
        /// It did.
        succeeded: Succeeded,
        /// It did not.
        failed: Failed,
    }
}
