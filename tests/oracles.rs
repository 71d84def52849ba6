//! Numbers from outside, reproduced from their inputs, and the same questions with other inputs,
//! where the answer is a closed form or is counted here by hand.

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
