//! Requests for counters and their responses.

choice! {
    /// A request for counters.
    MetricsRequest = port {
        port: Port(PortMetricsRequest),
        flow: Flow(FlowMetricsRequest),
        /// RoCEv2 endpoints on IPv4.
        rocev2_ipv4: Rocev2Ipv4(Rocev2PeersRequest),
        /// RoCEv2 endpoints on IPv6.
        rocev2_ipv6: Rocev2Ipv6(Rocev2PeersRequest),
        /// RoCEv2 flows.
        rocev2_flow: Rocev2Flow(Rocev2FlowsRequest),
    }

    /// A request for counters of RoCEv2 endpoints.
    Rocev2PeersRequest = per_peer {
        per_peer: PerPeer(PeerColumns),
    }

    /// A request for counters of RoCEv2 flows.
    Rocev2FlowsRequest = per_qp {
        /// Per queue pair.
        per_qp: PerQp(QpColumns),
    }
}

message! {
    /// A request for counters of ports.
    PortMetricsRequest {
        /// Default: all.
        port_names: Vec<String>,
        /// Names of the counters. Default: all.
        column_names: Vec<String>,
    }

    /// A request for counters of flows.
    FlowMetricsRequest {
        /// Default: all.
        flow_names: Vec<String>,
        /// Names of the counters. Default: all.
        metric_names: Vec<String>,
    }

    /// The selected counters of peers.
    PeerColumns {
        /// Default: all.
        peer_names: Vec<String>,
        /// Names of the counters. Default: all.
        column_names: Vec<String>,
    }

    /// The selected counters of queue pairs.
    QpColumns {
        /// Names of the counters. Default: all.
        column_names: Vec<String>,
    }

    /// The response with the counters.
    MetricsResponse {
        /// The name of the list that answers the request.
        choice: String = "port_metrics".into(),
        port_metrics: Vec<PortMetric>,
        flow_metrics: Vec<FlowMetric>,
        /// RoCEv2 endpoints on IPv4.
        rocev2_ipv4_per_peer_metrics: Vec<PeerMetric>,
        /// RoCEv2 endpoints on IPv6.
        rocev2_ipv6_per_peer_metrics: Vec<PeerMetric>,
        /// RoCEv2 flows.
        rocev2_flow_per_qp_metrics: Vec<QpMetric>,
    }

    /// The counters of a port; bytes are with FCS, rates per second.
    PortMetric {
        name: String,
        location: Option<String>,
        /// The link state: `up`, `down`.
        link: Option<String>,
        /// The capture state: `started`, `stopped`.
        capture: Option<String>,
        frames_tx: Option<u64>,
        frames_rx: Option<u64>,
        bytes_tx: Option<u64>,
        bytes_rx: Option<u64>,
        frames_tx_rate: Option<f64>,
        frames_rx_rate: Option<f64>,
        bytes_tx_rate: Option<f64>,
        bytes_rx_rate: Option<f64>,
        /// The transmit state of the port's flows: `started` if one of them sends, `stopped`.
        transmit: Option<String>,
        /// Time of the last change of the link, in nanoseconds since 1970.
        last_change: Option<u64>,
        /// In bits per second.
        speed: Option<u64>,
    }

    /// The counters of a flow; bytes are with FCS, rates per second.
    FlowMetric {
        name: String,
        port_tx: Option<String>,
        port_rx: Option<String>,
        /// The transmit state: `started`, `stopped`, `paused`.
        transmit: Option<String>,
        frames_tx: Option<u64>,
        frames_rx: Option<u64>,
        bytes_tx: Option<u64>,
        bytes_rx: Option<u64>,
        frames_tx_rate: Option<f64>,
        frames_rx_rate: Option<f64>,
        /// Lost frames in percent of those sent.
        loss: Option<f64>,
        /// Arrival times of the first and the last frame.
        timestamps: Option<MetricTimestamp>,
        latency: Option<MetricLatency>,
        /// Bit rate on the line, with preamble and inter-frame gap.
        tx_l1_rate_bps: Option<f64>,
        /// Bit rate on the line, with preamble and inter-frame gap.
        rx_l1_rate_bps: Option<f64>,
        tx_rate_bytes: Option<f64>,
        rx_rate_bytes: Option<f64>,
        tx_rate_bps: Option<f64>,
        rx_rate_bps: Option<f64>,
        tx_rate_kbps: Option<f64>,
        rx_rate_kbps: Option<f64>,
        tx_rate_mbps: Option<f64>,
        rx_rate_mbps: Option<f64>,
    }

    /// Arrival times of the first and the last frame of a flow, in nanoseconds.
    MetricTimestamp {
        first_timestamp_ns: Option<f64>,
        last_timestamp_ns: Option<f64>,
    }

    /// The latency of a flow, in nanoseconds.
    MetricLatency {
        minimum_ns: Option<f64>,
        maximum_ns: Option<f64>,
        average_ns: Option<f64>,
    }

    /// The counters of a RoCEv2 endpoint; those from `connect_request_tx` on count messages of
    /// connection management.
    PeerMetric {
        name: String,
        qp_configured: Option<u64>,
        /// Connected queue pairs.
        qp_up: Option<u64>,
        /// Queue pairs that are not connected.
        qp_down: Option<u64>,
        connect_request_tx: Option<u64>,
        connect_request_rx: Option<u64>,
        connect_reply_tx: Option<u64>,
        connect_reply_rx: Option<u64>,
        ready_tx: Option<u64>,
        ready_rx: Option<u64>,
        disconnect_request_tx: Option<u64>,
        disconnect_request_rx: Option<u64>,
        disconnect_reply_tx: Option<u64>,
        disconnect_reply_rx: Option<u64>,
        reject_tx: Option<u64>,
        unknown_msg_rx: Option<u64>,
    }

    /// The counters of a RoCEv2 flow.
    QpMetric {
        flow_name: String,
        port_tx: Option<String>,
        port_rx: Option<String>,
        src_qp: Option<u64>,
        dest_qp: Option<u64>,
        src_ipv4: Option<String>,
        dest_ipv4: Option<String>,
        data_frames_tx: Option<u64>,
        data_frames_rx: Option<u64>,
        /// Data frames sent and not received.
        frame_delta: Option<u64>,
        data_frames_retransmitted: Option<u64>,
        /// Data frames out of sequence.
        frame_sequence_error: Option<u64>,
        tx_bytes: Option<u64>,
        rx_bytes: Option<u64>,
        /// Bits per second.
        data_tx_rate: Option<f64>,
        /// Bits per second.
        data_rx_rate: Option<f64>,
        message_tx: Option<u64>,
        message_complete_rx: Option<u64>,
        /// Aborted messages.
        message_fail: Option<u64>,
        /// From the start to the last acknowledgement, in nanoseconds.
        flow_completion_time: Option<u64>,
        /// Nanoseconds.
        avg_latency: Option<u64>,
        /// Nanoseconds.
        min_latency: Option<u64>,
        /// Nanoseconds.
        max_latency: Option<u64>,
        /// Data frames received with the codepoint CE (congestion experienced).
        ecn_ce_rx: Option<u64>,
        cnp_tx: Option<u64>,
        cnp_rx: Option<u64>,
        ack_tx: Option<u64>,
        ack_rx: Option<u64>,
        nak_tx: Option<u64>,
        nak_rx: Option<u64>,
        /// Arrival time of the first frame.
        first_timestamp: Option<String>,
        /// Arrival time of the last frame.
        last_timestamp: Option<String>,
    }
}
