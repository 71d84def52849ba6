//! Topology Recognition over whole networks: levels follow from the positions of the servers.

use proptest::prelude::*;

use super::super::recognition::Recognition;
use super::*;

/// Systems, and links between them by system number; a link's index in the list of a system's links
/// is its port.
struct Network {
    systems: Vec<Recognition>,
    servers: Vec<bool>,
    links: Vec<(usize, usize)>,
    /// State of each link.
    up: Vec<bool>,
}

impl Network {
    fn new(devices: &[Device], links: &[(usize, usize)]) -> Self {
        let ports = |n: usize| links.iter().filter(|(a, b)| *a == n || *b == n).count();
        let systems = devices.iter().enumerate().map(|(n, d)| Recognition::new(*d, ports(n)));
        let servers = devices.iter().map(|device| *device == Device::EndStation).collect();
        let (systems, links) = (systems.collect(), links.to_vec());
        Self { up: vec![true; links.len()], systems, servers, links }
    }

    fn port(&self, link: usize, system: usize) -> usize {
        let before = self.links[..link].iter();
        before.filter(|(a, b)| *a == system || *b == system).count()
    }

    /// Delivers one end's advertisement to the other. Returns true if that changed the receiver's
    /// own.
    fn hear(&mut self, link: usize, swapped: bool) -> bool {
        let (a, b) = self.links[link];
        let (from, to) = if swapped { (b, a) } else { (a, b) };
        let said = self.systems[from].advertised(self.port(link, from));
        let port = self.port(link, to);
        let before = self.systems[to].clone();
        self.systems[to].hear(port, self.up[link].then_some(said));
        self.systems[to] != before
    }

    /// Delivers all advertisements, in an order that `seed` selects, until none changes; returns
    /// the number of rounds.
    fn settle(&mut self, mut seed: u64) -> usize {
        for round in 0..2_000 {
            let mut changed = false;
            let mut order: Vec<usize> = (0..2 * self.links.len()).collect();
            for n in (1..order.len()).rev() {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                order.swap(n, (seed >> 33) as usize % (n + 1));
            }
            for n in order {
                changed |= self.hear(n / 2, n % 2 == 1);
            }
            if !changed {
                return round;
            }
        }
        panic!("it never settles");
    }

    fn levels(&self) -> Vec<Option<u8>> {
        self.systems.iter().map(Recognition::level).collect()
    }

    fn orientation(&self, link: usize, system: usize) -> Orientation {
        self.systems[system].advertised(self.port(link, system)).orientation
    }

    /// Returns the number of links to the nearest server, if reachable.
    fn distances(&self) -> Vec<Option<u8>> {
        let mut all: Vec<_> = self.servers.iter().map(|server| server.then_some(0)).collect();
        for _ in 0..all.len() {
            for (&(a, b), _) in self.links.iter().zip(&self.up).filter(|(_, up)| **up) {
                for (to, from) in [(a, b), (b, a)] {
                    let by = all[from].map(|level: u8| level + 1);
                    all[to] = [all[to], by].into_iter().flatten().min();
                }
            }
        }
        all
    }
}

/// Two spines, three leaves, four servers; the third leaf has none.
fn fabric() -> Network {
    use Device::{Bridge, EndStation, Router};
    let devices =
        [Router, Bridge, Bridge, Bridge, Bridge, EndStation, EndStation, EndStation, EndStation];
    let spines = [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)];
    let servers = [(2, 5), (2, 6), (3, 7), (3, 8)];
    Network::new(&devices, &[&spines[..], &servers[..], &[(2, 3)]].concat())
}

#[test]
fn a_leaf_is_above_its_servers_and_a_spine_above_its_leaves() {
    for seed in 0..50 {
        let mut fabric = fabric();
        fabric.settle(seed);
        let levels = [2, 2, 1, 1, 3, 0, 0, 0, 0].map(Some);
        assert_eq!(fabric.levels(), levels, "seed {seed}");
        let of = |link, system| fabric.orientation(link, system);
        assert_eq!((of(0, 0), of(0, 2)), (Orientation::Downlink, Orientation::Uplink));
        assert_eq!((of(6, 2), of(6, 5)), (Orientation::Downlink, Orientation::Uplink));
        assert_eq!((of(10, 2), of(10, 3)), (Orientation::Crosslink, Orientation::Crosslink));
        // A leaf without servers is above the spines by the available information.
        assert_eq!((of(2, 0), of(2, 4)), (Orientation::Uplink, Orientation::Downlink));
    }
}

#[test]
fn who_has_heard_nobody_knows_nothing_and_a_server_is_at_the_edge() {
    for (device, level) in
        [(Device::Bridge, None), (Device::Router, None), (Device::EndStation, Some(0))]
    {
        let mut one = Recognition::new(device, 2);
        let orientation = Orientation::Unknown;
        assert_eq!(one.advertised(1), Topology { device, level, orientation });
        one.hear(1, Some(Topology { device: Device::Bridge, level: None, orientation }));
        assert_eq!(
            one.advertised(1),
            Topology { device, level, orientation },
            "unknown is ignored"
        );
    }
}

#[test]
fn a_level_that_cannot_be_said_is_not_taken() {
    let mut one = Recognition::new(Device::Bridge, 1);
    let (device, orientation) = (Device::Bridge, Orientation::Unknown);
    one.hear(0, Some(Topology { device, level: Some(254), orientation }));
    assert_eq!(one.level(), None);
    one.hear(0, Some(Topology { device, level: Some(253), orientation }));
    assert_eq!(one.level(), Some(254));
}

/// Networks of up to three servers with one link each, and bridges with any.
fn networks() -> impl Strategy<Value = (Vec<Device>, Vec<(usize, usize)>)> {
    let picks = prop::collection::vec((any::<usize>(), any::<usize>()), 0..24);
    (1_usize..9, 1_usize..4, picks).prop_map(|(bridges, servers, picks)| {
        let all = bridges + servers;
        let device = |n| if n < bridges { Device::Bridge } else { Device::EndStation };
        let between = picks.iter().map(|(a, b)| (a % bridges, b % bridges));
        let mut links: Vec<_> = between.filter(|(a, b)| a != b).collect();
        links.extend((bridges..all).map(|server| (server * 7 % bridges, server)));
        ((0..all).map(device).collect(), links)
    })
}

proptest! {
    /// For any network and any order of messages: the level of a system with a path to a server is
    /// its number of links to the nearest, and links that fail or return leave no stale level.
    #[test]
    fn levels_are_distances_to_the_nearest_server(
        (devices, links) in networks(), seed in any::<u64>(),
        down in prop::collection::vec(any::<bool>(), 32)
    ) {
        let mut network = Network::new(&devices, &links);
        for turn in 0..3_u32 {
            for (link, down) in network.up.iter_mut().zip(&down) {
                *link = turn != 1 || !down;
            }
            network.settle(seed.rotate_left(7 * turn));
            let (levels, distances) = (network.levels(), network.distances());
            for (n, distance) in distances.iter().enumerate().filter(|(_, way)| way.is_some()) {
                prop_assert_eq!(&levels[n], distance, "turn {}, system {} of {:?}", turn, n, links);
            }
        }
    }
}
