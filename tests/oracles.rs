//! Published numbers, reproduced from their inputs, and the same calculations with other inputs,
//! whose result is a closed form or counted by hand.

#[path = "oracles/chip.rs"]
mod chip;
#[path = "oracles/crossing.rs"]
mod crossing;
#[path = "oracles/headroom.rs"]
mod headroom;
#[path = "oracles/labs.rs"]
mod labs;
#[path = "oracles/net.rs"]
mod net;
#[path = "oracles/overshoot.rs"]
mod overshoot;
#[path = "oracles/seen.rs"]
mod seen;
#[path = "oracles/sharing.rs"]
mod sharing;
