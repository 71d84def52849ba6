//! Union of what the checkers of several parts know.

/// Replaces the entries for which `theirs` is true by those of another part's checker.
pub(super) fn take<T>(to: &mut [T], from: Vec<T>, theirs: impl Fn(usize) -> bool) {
    for (n, (to, from)) in to.iter_mut().zip(from).enumerate() {
        if theirs(n) {
            *to = from;
        }
    }
}
