//! Division of a network into parts of about equal work, with few lines between them.
//!
//! The result of a run does not depend on it, only the time that the run takes.

mod load;

use super::ids::NodeId;
use super::plan::{NetworkPlan, NodeKind};
use load::load;

/// The part of every node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// By node.
    of: Box<[u32]>,
    parts: usize,
}

impl Partition {
    /// Divides a network into up to `parts` parts. The work of a node is estimated from the flows that the
    /// plan lets pass through it. A host is in the part of its switch, unless that has too much work.
    #[must_use]
    pub fn new(plan: &NetworkPlan, parts: usize) -> Self {
        let nodes = plan.nodes.len();
        let parts = parts.clamp(1, nodes.max(1));
        if parts == 1 {
            return Self::of_parts(&vec![0; nodes]);
        }
        Growth::new(plan, parts).grow(parts)
    }

    /// The partition with these parts, by node. Parts are numbered anew, so that none is empty.
    #[must_use]
    pub fn of_parts(of: &[u32]) -> Self {
        let mut used = of.to_vec();
        used.sort_unstable();
        used.dedup();
        let number = |part: &u32| used.partition_point(|other| other < part) as u32;
        Self { of: of.iter().map(number).collect(), parts: used.len().max(1) }
    }

    /// Returns the number of parts, 1 or more.
    #[must_use]
    pub const fn parts(&self) -> usize {
        self.parts
    }

    /// Returns the number of nodes.
    #[must_use]
    pub const fn nodes(&self) -> usize {
        self.of.len()
    }

    /// Returns the part of a node.
    ///
    /// # Panics
    /// If there is none of that number.
    #[must_use]
    pub const fn of(&self, node: NodeId) -> u32 {
        self.of[node.index()]
    }
}

/// Parts that grow, one after the other, from their heaviest cluster along the lines.
struct Growth {
    /// By node: its cluster, which goes to one part.
    cluster: Vec<usize>,
    /// By cluster: its work, its lines to others as cluster numbers, and its part.
    work: Vec<u64>,
    lines: Vec<Vec<usize>>,
    part: Vec<Option<u32>>,
}

impl Growth {
    fn new(plan: &NetworkPlan, parts: usize) -> Self {
        let load = load(plan);
        let target = load.iter().sum::<u64>() / parts as u64;
        // A host belongs to its switch.
        let mut head: Vec<usize> = (0..plan.nodes.len()).collect();
        let is_host = |n: usize| matches!(plan.nodes[n].kind, NodeKind::Host(_));
        for link in &plan.links {
            let (a, b) = (link.a.node.index(), link.b.node.index());
            match (is_host(a), is_host(b)) {
                (true, false) => head[a] = b,
                (false, true) => head[b] = a,
                _ => {}
            }
        }
        let mut work = vec![0; plan.nodes.len()];
        load.iter().zip(&head).for_each(|(load, head)| work[*head] += load);
        // With too much work it is divided.
        for n in 0..head.len() {
            if work[head[n]] > target + target / 16 {
                head[n] = n;
            }
        }
        work.fill(0);
        load.iter().zip(&head).for_each(|(load, head)| work[*head] += load);
        let heads: Vec<usize> = (0..head.len()).filter(|n| head[*n] == *n).collect();
        let number = |n: usize| heads.partition_point(|head| *head < n);
        let cluster: Vec<usize> = head.iter().map(|head| number(*head)).collect();
        let mut lines = vec![Vec::new(); heads.len()];
        for link in &plan.links {
            let [a, b] = [link.a, link.b].map(|end| cluster[end.node.index()]);
            if a != b {
                lines[a].push(b);
                lines[b].push(a);
            }
        }
        let part = vec![None; heads.len()];
        Self { cluster, work: heads.iter().map(|head| work[*head]).collect(), lines, part }
    }

    fn grow(mut self, parts: usize) -> Partition {
        let mut left: u64 = self.work.iter().sum();
        for part in 0..parts as u32 - 1 {
            left -= self.grow_one(part, left / (parts as u64 - u64::from(part)));
        }
        let last = parts as u32 - 1;
        let of = self.cluster.iter().map(|cluster| self.part[*cluster].unwrap_or(last));
        Partition::of_parts(&of.collect::<Vec<_>>())
    }

    /// Fills a part up to `target`; returns its work.
    fn grow_one(&mut self, part: u32, target: u64) -> u64 {
        let mut sum = 0;
        // By cluster: the lines that lead into the part.
        let mut near = vec![0_u64; self.work.len()];
        loop {
            // The most of its lines, then the most work, then the first.
            let free = (0..self.work.len()).filter(|n| self.part[*n].is_none());
            let fits = free.filter(|n| sum == 0 || sum + self.work[*n] / 2 <= target);
            let share = |n: usize| 1_000_000 * near[n] / self.lines[n].len().max(1) as u64;
            let best = fits.max_by_key(|n| (share(*n), self.work[*n], usize::MAX - n));
            let Some(best) = best.filter(|_| sum < target) else { return sum };
            self.part[best] = Some(part);
            sum += self.work[best];
            for n in self.lines[best].clone() {
                near[n] += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::teststar::incast;

    #[test]
    fn a_star_is_divided_into_its_switch_and_its_hosts() {
        let partition = Partition::new(&incast(16, 100), 2);
        let of: Vec<u32> = (0..18).map(|n| partition.of(NodeId(n))).collect();
        assert_eq!(partition.parts(), 2);
        assert!(of[1..].iter().all(|part| *part != of[0]), "{of:?}");
    }

    #[test]
    fn there_are_no_more_parts_than_nodes_and_none_is_empty() {
        for parts in [1, 2, 3, 7, 64] {
            let partition = Partition::new(&incast(4, 10), parts);
            assert!(partition.parts() <= parts.min(6), "{partition:?}");
            let of = |part| (0..6).filter(|n| partition.of(NodeId(*n)) == part).count();
            assert!((0..partition.parts() as u32).all(|part| of(part) > 0), "{partition:?}");
        }
        assert_eq!(Partition::of_parts(&[7, 2, 7]), Partition::of_parts(&[1, 0, 1]));
    }
}
