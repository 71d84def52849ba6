//! Good networks pass, and each checker objects to what is done wrong.

mod agreed;
mod changed;
mod classes;
mod excuses;
mod fixture;
mod isolated;
mod isolation;
mod matrix;
mod networks;
mod samples;
mod secured;
mod still;
