//! Iterations of the buffer test: the ports that send, and those that are congested (RFC 8239, 3.2).

use validate::trial::Port;

/// Load beyond a full line, as a share of it.
const EXTRA: f64 = 0.01;

/// Load of the line itself.
const LINE: f64 = 0.9998;

/// Ports of the smallest test of two pairs: two pairs with full lines, and two ports that send more.
pub(super) const PAIRS_LEAST: usize = 6;

/// Loads of an iteration.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Iteration {
    pub(super) pattern: &'static str,
    /// Congested ports.
    pub(super) egress: Vec<Port>,
    /// Flows, and their shares of the sender's line.
    pub(super) loads: Vec<((Port, Port), f64)>,
}

/// Returns the load beyond the line, as a share of it.
pub(super) fn excess() -> f64 {
    LINE + EXTRA - 1.0
}

/// Returns the number of pairs with full lines: the last two ports are left to send more.
pub(super) fn pairs(ports: usize) -> usize {
    ports.saturating_sub(2) / 2
}

impl Iteration {
    /// Port `n` sends a full line to the next one, and the port behind that 1 % more (procedures 1 and 2).
    pub(crate) fn port(n: usize, ports: usize) -> Self {
        let [line, egress, more] = [0, 1, 2].map(|next| Port((n + next) % ports));
        let loads = vec![((line, egress), LINE), ((more, egress), EXTRA)];
        Self { pattern: "port", egress: vec![egress], loads }
    }

    /// All pairs of ports carry full lines, and the last two ports send 1 % more, to pair `n` and to the next
    /// one (procedure 3). The RFC names neighbours of an egress port, which are ingress ports of full lines;
    /// egress ports of neighbouring pairs are meant.
    pub(super) fn pairs(n: usize, ports: usize) -> Self {
        let egress = vec![Port(2 * n + 1), Port(2 * n + 3)];
        let lines = (0..pairs(ports)).map(|pair| ((Port(2 * pair), Port(2 * pair + 1)), LINE));
        let more = egress.iter().enumerate();
        let more = more.map(|(k, to)| ((Port(ports - 2 + k), *to), EXTRA));
        Self { pattern: "port pair", loads: lines.chain(more).collect(), egress }
    }

    /// All other ports have equal parts of a line and 1 %, to port `n` (procedure 4).
    pub(super) fn many(n: usize, ports: usize) -> Self {
        let part = (LINE + EXTRA) / (ports - 1) as f64;
        let others = (0..ports).filter(|from| *from != n);
        let loads = others.map(|from| ((Port(from), Port(n)), part)).collect();
        Self { pattern: "many to one", egress: vec![Port(n)], loads }
    }

    /// Returns the number of senders to a congested port.
    pub(super) fn senders(&self) -> usize {
        self.loads.iter().filter(|((_, to), _)| *to == self.egress[0]).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the load of each port, sent and received.
    fn loads(of: &Iteration, ports: usize) -> Vec<(f64, f64)> {
        let sum = |chosen: &dyn Fn(&(Port, Port)) -> bool| {
            of.loads.iter().filter(|(ends, _)| chosen(ends)).map(|(_, share)| share).sum()
        };
        (0..ports).map(|n| (sum(&|ends| ends.0.0 == n), sum(&|ends| ends.1.0 == n))).collect()
    }

    /// Every iteration overloads its own ports by 1 % and no other, and no sender has more than its line.
    #[test]
    fn iterations_congest_their_ports_and_no_other() {
        for ports in [3, 4, 6, 9] {
            let port = (0..ports).map(|n| Iteration::port(n, ports));
            let two = (1..pairs(ports)).map(|n| Iteration::pairs(n - 1, ports));
            let many = (0..ports).map(|n| Iteration::many(n, ports));
            let all: Vec<_> = port.chain(two).chain(many).collect();
            assert_eq!(all.len(), 2 * ports + pairs(ports).saturating_sub(1));
            for one in &all {
                for (n, (sent, received)) in loads(one, ports).into_iter().enumerate() {
                    let congested = one.egress.contains(&Port(n));
                    assert!(sent <= 1.0, "{one:?}");
                    let whole = (received - LINE - EXTRA).abs() < 1e-9;
                    assert!(if congested { whole } else { received <= 1.0 }, "{one:?}, port {n}");
                }
            }
        }
        assert_eq!((pairs(PAIRS_LEAST), pairs(PAIRS_LEAST - 1), pairs(9)), (2, 1, 3));
        assert_eq!(Iteration::pairs(1, 9).egress, [Port(3), Port(5)]);
        assert_eq!(Iteration::many(0, 4).senders(), 3);
    }
}
