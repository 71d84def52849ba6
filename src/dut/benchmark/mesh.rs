//! Patterns of traffic between the ports of the tester.

use ground::time::Duration;
use validate::trial::{Bursts, Limit, Port};

use crate::plan::Plan;
use crate::trial::Stream;

/// Least number of bursts in a trial. A choice: the load is right within a tenth in any span of the trial.
pub const BURSTS: u32 = 10;

/// The two ends of a flow, and its share of what its sender sends.
pub type Share = ((Port, Port), f64);

/// Pattern of traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mesh {
    /// Both ways between the first port and the second, the third and the fourth ...
    Pairs,
    /// From each port to all others, equal parts, in turn: first the port behind the sender, then the
    /// next one (RFC 2889, 5.1.3).
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
    pub fn flows(self, ports: usize) -> Vec<Share> {
        let to_all = |from: usize, to: std::ops::Range<usize>| {
            let mut others: Vec<usize> = to.filter(|to| *to != from).collect();
            let part = 1.0 / others.len() as f64;
            // All senders begin with another receiver.
            let count = others.len();
            others.rotate_left(from % count);
            others.into_iter().map(move |to| ((Port(from), Port(to)), part))
        };
        match self {
            // Partners differ in the lowest bit: 0 and 1, 2 and 3. A last odd port stays idle.
            Self::Pairs => (0..ports / 2 * 2).map(|n| ((Port(n), Port(n ^ 1)), 1.0)).collect(),
            Self::Full => (0..ports).flat_map(|from| to_all(from, 0..ports)).collect(),
            Self::Partial(senders) => {
                (0..senders).flat_map(|from| to_all(from, senders..ports)).collect()
            }
        }
    }

    /// Returns the streams of a pattern at a load of each sender, whose frames go to its receivers in turn. A
    /// number of frames in `limit` is that of all frames of a sender.
    #[must_use]
    pub fn streams(self, plan: &Plan, size: u32, load: f64, limit: Limit) -> Vec<Stream> {
        let stream = |((ends, part), turn): (Share, u32)| {
            let of_sender = |frames: u32| ((f64::from(frames) * part).round() as u32).max(1);
            let limit = match limit {
                Limit::Frames(frames) => Limit::Frames(of_sender(frames)),
                Limit::Bursts(all) => {
                    Limit::Bursts(Bursts { frames: of_sender(all.frames), ..all })
                }
                time @ Limit::Time(_) => time,
            };
            // One frame interval of the sender apart, so that the frames of its streams alternate.
            let line = plan.setup.line_time(size).as_picos() as f64 / load;
            let start = Duration::from_picos((line * f64::from(turn)) as u64);
            Stream { ends, size, share: load * part, start, limit }
        };
        self.in_turn(plan.equal_ports()).into_iter().map(stream).collect()
    }

    /// Returns the flows with the place of each among those of its sender.
    fn in_turn(self, ports: usize) -> Vec<(Share, u32)> {
        let mut last = None;
        let turn = |flow: Share| {
            let from = flow.0.0;
            let turn = last.filter(|(port, _)| *port == from).map_or(0, |(_, turn)| turn + 1);
            last = Some((from, turn));
            (flow, turn)
        };
        self.flows(ports).into_iter().map(turn).collect()
    }
}

/// A mesh whose senders send their frames in bursts at line rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pattern {
    pub mesh: Mesh,
    /// Frames that each sender sends one behind the other; 1 is a constant load.
    pub burst: u32,
}

impl Pattern {
    /// Returns the streams for `time` at a load of each sender. Bursts are so frequent that the load is kept, and
    /// there are at least [`BURSTS`] of them even where they take longer: fewer are no load.
    #[must_use]
    pub fn streams(self, plan: &Plan, size: u32, load: f64, time: Duration) -> Vec<Stream> {
        let Self { mesh, burst } = self;
        if burst == 1 {
            return mesh.streams(plan, size, load, Limit::Time(time));
        }
        let flows = mesh.flows(plan.equal_ports());
        let receivers = flows.iter().filter(|((from, _), _)| from.0 == 0).count() as u32;
        // Every receiver gets the same number of frames, so bursts are rounded up.
        let frames = burst.next_multiple_of(receivers);
        let line = plan.setup.line_time(size);
        let every = line.saturating_mul(frames.into()).as_picos() as f64 / load;
        let count = (time.as_picos() as f64 / every) as u32;
        // Rounded up: the load must not be above the intended one.
        let every = Duration::from_picos(every.ceil() as u64);
        let bursts = Bursts { count: count.max(BURSTS), frames, every };
        // The load is in the rests; within a burst frames follow at line rate.
        mesh.streams(plan, size, 1.0, Limit::Bursts(bursts))
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
    fn senders_begin_with_the_port_behind_them_and_go_on_in_turn() {
        let of = |mesh: Mesh, from: usize| -> Vec<(usize, u32)> {
            let all = mesh.in_turn(4).into_iter();
            let own = all.filter(|(((sender, _), _), _)| sender.0 == from);
            own.map(|(((_, to), _), turn)| (to.0, turn)).collect()
        };
        assert_eq!(of(Mesh::Full, 0), [(1, 0), (2, 1), (3, 2)]);
        assert_eq!(of(Mesh::Full, 1), [(2, 0), (3, 1), (0, 2)]);
        assert_eq!(of(Mesh::Full, 3), [(0, 0), (1, 1), (2, 2)]);
        assert_eq!(of(Mesh::Partial(2), 1), [(3, 0), (2, 1)]);
        assert_eq!(of(Mesh::Pairs, 3), [(2, 0)]);
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
