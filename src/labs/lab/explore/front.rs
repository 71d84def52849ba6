//! The Pareto front.

use super::Sense;

/// Returns for each candidate if no other one dominates it. One dominates another if it is nowhere
/// worse and somewhere better; equal candidates do not dominate each other. `None` is no candidate.
#[must_use]
pub fn front(candidates: &[Option<Vec<f64>>], senses: &[Sense]) -> Vec<bool> {
    let dominates = |a: &[f64], b: &[f64]| {
        let better = |(n, sense): (usize, &Sense)| match sense {
            Sense::Minimize => a[n].total_cmp(&b[n]),
            Sense::Maximize => b[n].total_cmp(&a[n]),
        };
        let orders = || senses.iter().enumerate().map(better);
        orders().all(|order| order.is_le()) && orders().any(|order| order.is_lt())
    };
    let beaten = |own: &[f64]| candidates.iter().flatten().any(|other| dominates(other, own));
    candidates.iter().map(|one| one.as_ref().is_some_and(|own| !beaten(own))).collect()
}
