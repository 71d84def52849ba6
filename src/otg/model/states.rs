//! Requests for neighbours and their responses; versions, warnings and errors.

choice! {
    /// A request for states.
    StatesRequest = ipv4_neighbors {
        ipv4_neighbors: Ipv4Neighbors(NeighborsRequest),
        ipv6_neighbors: Ipv6Neighbors(NeighborsRequest),
    }
}

message! {
    /// A request for neighbours.
    NeighborsRequest {
        /// Interfaces. Default: all.
        ethernet_names: Vec<String>,
    }

    /// The response with the states.
    StatesResponse {
        /// The name of the list that answers the request.
        choice: String = "ipv4_neighbors".into(),
        ipv4_neighbors: Vec<NeighborV4>,
        ipv6_neighbors: Vec<NeighborV6>,
    }

    /// A neighbour by IPv4 address.
    NeighborV4 {
        /// The local interface.
        ethernet_name: String,
        ipv4_address: String,
        /// The MAC address, once it is resolved.
        link_layer_address: Option<String>,
    }

    /// A neighbour by IPv6 address.
    NeighborV6 {
        /// The local interface.
        ethernet_name: String,
        ipv6_address: String,
        /// The MAC address, once it is resolved.
        link_layer_address: Option<String>,
    }

    /// The versions of the server.
    Version {
        /// The supported versions of OTG's model as a range (`^1.62.0`).
        api_spec_version: String,
        /// The version of OTG's model that the server was written for.
        sdk_version: String,
        /// The version of the program.
        app_version: String,
    }

    /// Warnings for the client.
    Warning {
        /// One sentence each.
        warnings: Vec<String>,
    }

    /// The reason for which a request is refused.
    Error {
        /// The HTTP status.
        code: i32 = 500; required,
        /// The class of the error: `validation`, `internal`.
        kind: Option<String>,
        /// One sentence each.
        errors: Vec<String>,
    }
}
