//! Good networks pass, and each checker objects to a stream of events that was doctored.

mod agreed;
mod bench;
mod changed;
mod classes;
mod doctored;
mod excuses;
mod isolation;
mod matrix;
mod networks;
mod samples;
mod secured;
mod still;
