//! Both ends against numbers calculated by hand and against independent models in floating point,
//! and the two together in a closed loop.

mod closed_loop;
mod point;
mod reaction;
