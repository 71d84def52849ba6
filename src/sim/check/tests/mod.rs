//! Good networks pass, and each checker objects to a stream of events that was doctored.

mod agreed;
mod changed;
mod classes;
mod doctored;
mod excuses;
mod fixture;
mod isolation;
mod matrix;
mod networks;
mod samples;
mod secured;
mod still;
