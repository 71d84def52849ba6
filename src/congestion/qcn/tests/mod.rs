//! Both ends against numbers worked out by hand and against models in floating point that were written
//! apart, and the two together in a closed loop.

mod closed_loop;
mod point;
mod reaction;
