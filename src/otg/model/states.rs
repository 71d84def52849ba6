//! Neighbours, asked for and answered; versions, warnings and errors.

choice! {
    /// Which states are wanted.
    StatesRequest = ipv4_neighbors {
        /// Neighbours by IPv4 address.
        ipv4_neighbors: Ipv4Neighbors(NeighborsRequest),
        /// Neighbours by IPv6 address.
        ipv6_neighbors: Ipv6Neighbors(NeighborsRequest),
    }
}

message! {
    /// Neighbours.
    NeighborsRequest {
        /// The interfaces whose neighbours are wanted. Default: all.
        ethernet_names: Vec<String>,
    }

    /// States.
    StatesResponse {
        /// Which of the lists is meant.
        choice: String = "ipv4_neighbors".into(),
        /// Neighbours by IPv4 address.
        ipv4_neighbors: Vec<NeighborV4>,
        /// Neighbours by IPv6 address.
        ipv6_neighbors: Vec<NeighborV6>,
    }

    /// A neighbour by IPv4 address.
    NeighborV4 {
        /// The interface whose neighbour it is.
        ethernet_name: String,
        /// Its address.
        ipv4_address: String,
        /// Its hardware address, once it is known.
        link_layer_address: Option<String>,
    }

    /// A neighbour by IPv6 address.
    NeighborV6 {
        /// The interface whose neighbour it is.
        ethernet_name: String,
        /// Its address.
        ipv6_address: String,
        /// Its hardware address, once it is known.
        link_layer_address: Option<String>,
    }

    /// Who answers.
    Version {
        /// The versions of OTG's model that it speaks, as a range (`^1.62.0`).
        api_spec_version: String,
        /// The version of OTG's model that it was written by.
        sdk_version: String,
        /// Its own version.
        app_version: String,
    }

    /// What may be of interest.
    Warning {
        /// A sentence each.
        warnings: Vec<String>,
    }

    /// Why a request is refused.
    Error {
        /// As in HTTP.
        code: i32 = 500; required,
        /// Whose fault it is: `validation`, `internal`.
        kind: Option<String>,
        /// A sentence each.
        errors: Vec<String>,
    }
}
