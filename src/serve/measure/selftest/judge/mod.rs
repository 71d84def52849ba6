//! Verdicts on what the steps of the self-test observed. No function here has an effect, so each
//! verdict has a test in which it is `fails` and one in which it is not known.

mod passes;
mod pauses;
mod starts;
mod times;

pub(super) use passes::{Counted, Overrun, Parts, counted, missed, passed};
pub(super) use pauses::{Obeyed, PauseWatch, by_device, left_to_software, obeyed, off};
pub(super) use starts::{LinkTry, LinkUp, RingTry, link, link_up, restarts, rings};
pub(super) use times::{StampTry, at_rest, round_trip, spread, stamped};

#[cfg(test)]
mod tests;
