//! Tests of the switch, stepped by hand in a world in memory.

mod bridge;
mod buffer;
mod flow_control;
mod fuzz;
mod isolation;
mod messages;
mod polling;
mod routing;
mod secured;
mod signals;
mod workers;
