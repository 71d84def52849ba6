//! Takes over knowledge of other parts, as several checkers do.

/// Replaces those entries for which `theirs` is true, of what another part knows.
pub(super) fn take<T>(to: &mut [T], from: Vec<T>, theirs: impl Fn(usize) -> bool) {
    for (n, (to, from)) in to.iter_mut().zip(from).enumerate() {
        if theirs(n) {
            *to = from;
        }
    }
}
