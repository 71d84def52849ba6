//! Observer that counts on the lines of a small network.

use sluice::frame::Frame;
use sluice::sim::{Direction, NodeId, Note, VirtualFrame, Witness};
use sluice::time::Instant;
use sluice::units::{PortId, Quanta};
use sluice::wire::pfc;

use super::net::LOSSLESS;

/// Observations on the lines and of the switches.
#[derive(Debug, Default)]
pub struct Seen {
    /// Links at the ports of each switch.
    links: Vec<Vec<usize>>,
    hosts: usize,
    /// Data frames that arrived, by direction.
    arrived: Vec<u64>,
    /// Time of the first group's XOFF.
    pub first_xoff: Option<Instant>,
    /// By link: data frames that had arrived by its port at its first XOFF.
    pub frames_at_xoff: Vec<(usize, u64)>,
    /// By link: data frames that had arrived by its port at its first drop.
    pub frames_at_drop: Vec<(usize, u64)>,
    /// Time at which the first pause had arrived at a host.
    pub first_pause: Option<Instant>,
    /// Pauses that arrived at hosts, without those that end one.
    pub pauses: u64,
    /// Frames that switches dropped.
    pub drops: u64,
}

impl Seen {
    /// Empty observations of switches with these links at their ports, the first `hosts` of which
    /// have a host at end `b`.
    pub fn new(links: Vec<Vec<usize>>, hosts: usize) -> Self {
        let highest = links.iter().flatten().max().map_or(0, |l| l + 1);
        Self { links, hosts, arrived: vec![0; 2 * highest], ..Self::default() }
    }

    /// Data frames that arrived at a host.
    pub fn delivered(&self, host: usize) -> u64 {
        self.arrived[2 * host]
    }

    /// Data frames that a host brought to its switch.
    fn brought(&self, link: usize) -> u64 {
        self.arrived[2 * link + 1]
    }
}

impl Witness for Seen {
    fn arrived(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        let link = direction.link();
        let to_host = direction == link.ab() && link.index() < self.hosts;
        match pfc::Repr::parse(frame.head()) {
            Ok(pause) if to_host && pause.time(LOSSLESS).is_some_and(|time| time > Quanta(0)) => {
                self.pauses += 1;
                self.first_pause.get_or_insert(at);
            }
            Ok(_) => {}
            Err(_) => self.arrived[direction.index()] += 1,
        }
    }

    fn noted(&mut self, at: Instant, node: NodeId, note: &Note) {
        let link = |port: PortId| self.links[node.index()][port.index()];
        let (port, first) = match note {
            Note::Crossed { xoff: true, port, .. } => {
                self.first_xoff.get_or_insert(at);
                (link(*port), &self.frames_at_xoff)
            }
            Note::Dropped { port, .. } => {
                self.drops += 1;
                (link(*port), &self.frames_at_drop)
            }
            _ => return,
        };
        if first.iter().all(|(of, _)| *of != port) {
            let entry = (port, self.brought(port));
            match note {
                Note::Dropped { .. } => self.frames_at_drop.push(entry),
                _ => self.frames_at_xoff.push(entry),
            }
        }
    }
}
