//! Published numbers, reproduced from their inputs, and the same calculations with other inputs,
//! whose result is a closed form or counted by hand.

mod chip;
mod crossing;
mod headroom;
mod labs;
mod net;
mod overshoot;
mod seen;
mod sharing;
