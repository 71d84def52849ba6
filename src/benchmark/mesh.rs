//! Patterns of traffic between the ports of the tester.

use ground::time::Duration;
use validate::trial::{Limit, Port};

use crate::plan::Plan;
use crate::trial::Stream;

/// Pattern of traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mesh {
    /// Both ways between the first port and the second, the third and the fourth ...
    Pairs,
    /// From each port to all others, equal parts (RFC 2889, 5.1).
    Full,
    /// From the first ports to all other ones, equal parts; the number is that of senders
    /// (RFC 2889, 5.3).
    Partial(usize),
}

impl Mesh {
    /// Returns the name in results.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Pairs => "pairs".to_owned(),
            Self::Full => "full mesh".to_owned(),
            Self::Partial(senders) => format!("from {senders}"),
        }
    }

    /// Returns the flows with their shares of what their sender sends.
    #[must_use]
    pub fn flows(self, ports: usize) -> Vec<((Port, Port), f64)> {
        let to_all = |from: usize, to: std::ops::Range<usize>| {
            let others: Vec<usize> = to.filter(|to| *to != from).collect();
            let part = 1.0 / others.len() as f64;
            others.into_iter().map(move |to| ((Port(from), Port(to)), part))
        };
        match self {
            Self::Pairs => (0..ports / 2 * 2).map(|n| ((Port(n), Port(n ^ 1)), 1.0)).collect(),
            Self::Full => (0..ports).flat_map(|from| to_all(from, 0..ports)).collect(),
            Self::Partial(senders) => {
                (0..senders).flat_map(|from| to_all(from, senders..ports)).collect()
            }
        }
    }

    /// Returns the streams of a pattern at a load of each sender. `burst` is the number of frames
    /// that each sender sends, instead of the time.
    #[must_use]
    pub fn streams(self, plan: &Plan, size: u32, load: f64, limit: Limit) -> Vec<Stream> {
        let ports = plan.equal_ports();
        let stream = |(ends, part): ((Port, Port), f64)| {
            let limit = match limit {
                Limit::Frames(frames) => Limit::Frames(((f64::from(frames) * part) as u32).max(1)),
                time @ Limit::Time(_) => time,
            };
            Stream { ends, size, share: load * part, start: Duration::ZERO, limit }
        };
        self.flows(ports).into_iter().map(stream).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(mesh: Mesh, ports: usize) -> Vec<f64> {
        let flows = mesh.flows(ports);
        (0..ports)
            .map(|n| flows.iter().filter(|((from, _), _)| from.0 == n).map(|(_, part)| part).sum())
            .collect()
    }

    #[test]
    fn every_sender_sends_one_line() {
        let near = |a: Vec<f64>, b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(sent(Mesh::Pairs, 5), &[1.0, 1.0, 1.0, 1.0, 0.0]));
        assert!(near(sent(Mesh::Full, 4), &[1.0; 4]));
        assert!(near(sent(Mesh::Partial(3), 4), &[1.0, 1.0, 1.0, 0.0]));
        assert_eq!(Mesh::Full.flows(4).len(), 12);
        assert!(Mesh::Full.flows(4).iter().all(|((from, to), _)| from != to));
        assert_eq!(Mesh::Partial(1).flows(4).len(), 3);
    }
}
