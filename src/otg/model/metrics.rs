//! Counters, asked for and answered.

choice! {
    /// Which counters are wanted.
    MetricsRequest = port {
        /// Those of ports.
        port: Port(PortMetricsRequest),
        /// Those of flows.
        flow: Flow(FlowMetricsRequest),
        /// Those of endpoints of RoCEv2 on IPv4.
        rocev2_ipv4: Rocev2Ipv4(Rocev2PeersRequest),
        /// Those of endpoints of RoCEv2 on IPv6.
        rocev2_ipv6: Rocev2Ipv6(Rocev2PeersRequest),
        /// Those of flows of RoCEv2.
        rocev2_flow: Rocev2Flow(Rocev2FlowsRequest),
    }

    /// Which counters of endpoints are wanted.
    Rocev2PeersRequest = per_peer {
        /// Those of peers.
        per_peer: PerPeer(PeerColumns),
    }

    /// Which counters of flows of RoCEv2 are wanted.
    Rocev2FlowsRequest = per_qp {
        /// Those of queue pairs.
        per_qp: PerQp(QpColumns),
    }
}

message! {
    /// Counters of ports.
    PortMetricsRequest {
        /// The ports. Default: all.
        port_names: Vec<String>,
        /// The counters, by name. Default: all.
        column_names: Vec<String>,
    }

    /// Counters of flows.
    FlowMetricsRequest {
        /// The flows. Default: all.
        flow_names: Vec<String>,
        /// The counters, by name. Default: all.
        metric_names: Vec<String>,
    }

    /// Counters of peers.
    PeerColumns {
        /// The peers. Default: all.
        peer_names: Vec<String>,
        /// The counters, by name. Default: all.
        column_names: Vec<String>,
    }

    /// Counters of queue pairs.
    QpColumns {
        /// The counters, by name. Default: all.
        column_names: Vec<String>,
    }

    /// Counters.
    MetricsResponse {
        /// Which of the lists is meant.
        choice: String = "port_metrics".into(),
        /// Of ports.
        port_metrics: Vec<PortMetric>,
        /// Of flows.
        flow_metrics: Vec<FlowMetric>,
        /// Of endpoints of RoCEv2 on IPv4.
        rocev2_ipv4_per_peer_metrics: Vec<PeerMetric>,
        /// Of endpoints of RoCEv2 on IPv6.
        rocev2_ipv6_per_peer_metrics: Vec<PeerMetric>,
        /// Of flows of RoCEv2.
        rocev2_flow_per_qp_metrics: Vec<QpMetric>,
    }

    /// The counters of a port; octets are with FCS, rates per second.
    PortMetric {
        /// Its name.
        name: String,
        /// Where it is.
        location: Option<String>,
        /// Whether its link is there: `up`, `down`.
        link: Option<String>,
        /// Whether it captures: `started`, `stopped`.
        capture: Option<String>,
        /// Frames sent.
        frames_tx: Option<u64>,
        /// Frames received.
        frames_rx: Option<u64>,
        /// Octets sent.
        bytes_tx: Option<u64>,
        /// Octets received.
        bytes_rx: Option<u64>,
        /// Frames sent.
        frames_tx_rate: Option<f64>,
        /// Frames received.
        frames_rx_rate: Option<f64>,
        /// Octets sent.
        bytes_tx_rate: Option<f64>,
        /// Octets received.
        bytes_rx_rate: Option<f64>,
        /// Whether any of its flows sends: `started`, `stopped`.
        transmit: Option<String>,
        /// When its link last changed, in nanoseconds since 1970.
        last_change: Option<u64>,
        /// Its rate, in bits per second.
        speed: Option<u64>,
    }

    /// The counters of a flow; octets are with FCS, rates per second.
    FlowMetric {
        /// Its name.
        name: String,
        /// The port that sends it.
        port_tx: Option<String>,
        /// The port that receives it.
        port_rx: Option<String>,
        /// Whether it sends: `started`, `stopped`, `paused`.
        transmit: Option<String>,
        /// Frames sent.
        frames_tx: Option<u64>,
        /// Frames received.
        frames_rx: Option<u64>,
        /// Octets sent.
        bytes_tx: Option<u64>,
        /// Octets received.
        bytes_rx: Option<u64>,
        /// Frames sent.
        frames_tx_rate: Option<f64>,
        /// Frames received.
        frames_rx_rate: Option<f64>,
        /// Lost frames, in per cent of those sent.
        loss: Option<f64>,
        /// When its first and last frame came.
        timestamps: Option<MetricTimestamp>,
        /// How long its frames took.
        latency: Option<MetricLatency>,
        /// Bits on the line, with preamble and gap.
        tx_l1_rate_bps: Option<f64>,
        /// Bits on the line, with preamble and gap.
        rx_l1_rate_bps: Option<f64>,
        /// Octets sent.
        tx_rate_bytes: Option<f64>,
        /// Octets received.
        rx_rate_bytes: Option<f64>,
        /// Bits sent.
        tx_rate_bps: Option<f64>,
        /// Bits received.
        rx_rate_bps: Option<f64>,
        /// Thousands of bits sent.
        tx_rate_kbps: Option<f64>,
        /// Thousands of bits received.
        rx_rate_kbps: Option<f64>,
        /// Millions of bits sent.
        tx_rate_mbps: Option<f64>,
        /// Millions of bits received.
        rx_rate_mbps: Option<f64>,
    }

    /// When the first and the last frame of a flow came, in nanoseconds.
    MetricTimestamp {
        /// The first.
        first_timestamp_ns: Option<f64>,
        /// The last.
        last_timestamp_ns: Option<f64>,
    }

    /// How long the frames of a flow took, in nanoseconds.
    MetricLatency {
        /// The shortest.
        minimum_ns: Option<f64>,
        /// The longest.
        maximum_ns: Option<f64>,
        /// The mean.
        average_ns: Option<f64>,
    }

    /// The counters of an endpoint of RoCEv2.
    PeerMetric {
        /// Its name.
        name: String,
        /// Queue pairs configured.
        qp_configured: Option<u64>,
        /// Queue pairs connected.
        qp_up: Option<u64>,
        /// Queue pairs not connected.
        qp_down: Option<u64>,
        /// Of connection management.
        connect_request_tx: Option<u64>,
        /// Of connection management.
        connect_request_rx: Option<u64>,
        /// Of connection management.
        connect_reply_tx: Option<u64>,
        /// Of connection management.
        connect_reply_rx: Option<u64>,
        /// Of connection management.
        ready_tx: Option<u64>,
        /// Of connection management.
        ready_rx: Option<u64>,
        /// Of connection management.
        disconnect_request_tx: Option<u64>,
        /// Of connection management.
        disconnect_request_rx: Option<u64>,
        /// Of connection management.
        disconnect_reply_tx: Option<u64>,
        /// Of connection management.
        disconnect_reply_rx: Option<u64>,
        /// Of connection management.
        reject_tx: Option<u64>,
        /// Of connection management.
        unknown_msg_rx: Option<u64>,
    }

    /// The counters of a flow of RoCEv2.
    QpMetric {
        /// The flow.
        flow_name: String,
        /// The port that sends.
        port_tx: Option<String>,
        /// The port that receives.
        port_rx: Option<String>,
        /// The queue pair that sends.
        src_qp: Option<u64>,
        /// The queue pair that receives.
        dest_qp: Option<u64>,
        /// The address that sends.
        src_ipv4: Option<String>,
        /// The address that receives.
        dest_ipv4: Option<String>,
        /// Data frames sent.
        data_frames_tx: Option<u64>,
        /// Data frames received.
        data_frames_rx: Option<u64>,
        /// Sent and not received.
        frame_delta: Option<u64>,
        /// Data frames sent again.
        data_frames_retransmitted: Option<u64>,
        /// Data frames out of sequence.
        frame_sequence_error: Option<u64>,
        /// Octets sent.
        tx_bytes: Option<u64>,
        /// Octets received.
        rx_bytes: Option<u64>,
        /// Bits sent per second.
        data_tx_rate: Option<f64>,
        /// Bits received per second.
        data_rx_rate: Option<f64>,
        /// Messages sent.
        message_tx: Option<u64>,
        /// Messages received.
        message_complete_rx: Option<u64>,
        /// Messages given up.
        message_fail: Option<u64>,
        /// From the start to the last acknowledgement, in nanoseconds.
        flow_completion_time: Option<u64>,
        /// Nanoseconds.
        avg_latency: Option<u64>,
        /// Nanoseconds.
        min_latency: Option<u64>,
        /// Nanoseconds.
        max_latency: Option<u64>,
        /// Data frames received with congestion experienced.
        ecn_ce_rx: Option<u64>,
        /// Congestion notifications sent.
        cnp_tx: Option<u64>,
        /// Congestion notifications received.
        cnp_rx: Option<u64>,
        /// Acknowledgements sent.
        ack_tx: Option<u64>,
        /// Acknowledgements received.
        ack_rx: Option<u64>,
        /// Negative acknowledgements sent.
        nak_tx: Option<u64>,
        /// Negative acknowledgements received.
        nak_rx: Option<u64>,
        /// When the first frame came.
        first_timestamp: Option<String>,
        /// When the last frame came.
        last_timestamp: Option<String>,
    }
}
