//! Sizes in cells, and limits on the shared pool.

use super::{Cx, Place};
use crate::quantity::Size;
use crate::raw;
use buffer::{Alpha, SharedLimit};
use ground::units::Cells;

/// Converts bytes to whole cells, rounded down, at most `u32::MAX`.
pub fn cells_below(size: u64, cell: u32) -> Cells {
    Cells(u32::try_from(size / u64::from(cell)).unwrap_or(u32::MAX))
}

/// Converts bytes to whole cells, rounded up, at most `u32::MAX`.
pub fn cells_above(size: u64, cell: u32) -> Cells {
    Cells(u32::try_from(size.div_ceil(u64::from(cell))).unwrap_or(u32::MAX))
}

/// Resolves a limit on the shared pool, in cells; None if it is absent or invalid.
pub fn shared(
    cx: &mut Cx,
    at: &Place<'_>,
    raw: Option<&raw::Shared>,
    cells: impl Fn(Size) -> Cells,
) -> Option<SharedLimit> {
    let raw = raw?;
    match (raw.dynamic_th, raw.static_th, raw.unlimited) {
        (Some(n), None, None) => {
            let alpha = Alpha::new(n);
            if alpha.is_none() {
                let what = format!("{n} is out of range; alpha is 2^n with n from -8 to 8");
                cx.error(&at.key("dynamic_th"), what);
            }
            alpha.map(SharedLimit::Dynamic)
        }
        (None, Some(size), None) => Some(SharedLimit::Static(cells(size))),
        (None, None, Some(true)) => Some(SharedLimit::Unlimited),
        _ => {
            let what = "needs exactly one of `dynamic_th: n`, `static_th: size` and \
                        `unlimited: true`";
            cx.error(at, what);
            None
        }
    }
}
