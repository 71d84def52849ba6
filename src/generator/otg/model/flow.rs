//! Flows.

use super::read::Extra;

types_of!("flow");

impl FlowPort {
    /// Returns the receiving ports, from either field.
    pub fn receivers(&self) -> impl Iterator<Item = &str> {
        self.rx_names.iter().chain(&self.rx_name).map(String::as_str)
    }
}

impl Flow {
    /// A flow with only a name and its ports.
    #[must_use]
    pub fn between(name: &str, tx: &str, rx: &[&str]) -> Self {
        let port = FlowPort {
            tx_name: tx.into(),
            rx_name: None,
            rx_names: rx.iter().map(|name| (*name).into()).collect(),
            extra: Extra::new(),
        };
        Self { name: name.into(), tx_rx: FlowTxRx::Port(port), ..Self::default() }
    }
}
