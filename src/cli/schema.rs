//! The published JSON Schemas (2020-12) of the files that users write. Tests make them of the models of
//! these files and compare them with `configs/schema`, so the program need not contain what makes them.

macro_rules! published {
    ($name:literal) => {
        include_str!(concat!("../../configs/schema/", $name, ".schema.json"))
    };
}

/// Schema of switch files.
pub(super) const SWITCH: &str = published!("switch");
/// Schema of lab files.
pub(super) const LAB: &str = published!("lab");
/// Schema of DUT files.
pub(super) const DUT: &str = published!("dut");
/// Schema of benchmark files.
pub(super) const BENCHMARK: &str = published!("benchmark");
