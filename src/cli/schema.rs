//! The published JSON Schemas (2020-12) of the files that users write. Tests make them of the models of
//! these files and hold them to `configs/schema`, so that the program need not have what makes them. The
//! build script takes their white space out.

macro_rules! published {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/", $name, ".json"))
    };
}

/// Of switch files.
pub(super) const SWITCH: &str = published!("switch");
/// Of lab files.
pub(super) const LAB: &str = published!("lab");
/// Of files about a device under test.
pub(super) const DUT: &str = published!("dut");
/// Of benchmark files.
pub(super) const BENCHMARK: &str = published!("benchmark");
