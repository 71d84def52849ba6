//! The tests, a file each. Each describes itself; its page in the manual is made from that.

mod congestion;
mod e01;
mod e03;
mod fill;
mod h01;
mod h02;
mod m01;
mod page;
mod r01;
mod r04;
mod r05;
mod r06;
mod s01;
mod s04;
mod self_check;
mod shares;
mod stop;
mod w01;
mod w04;
mod watchdog;
mod x01;
mod x02;
mod x03;
mod x04;
mod x05;
mod x06;
mod x07;
mod x08;
mod x10;
mod x11;

use crate::test::Test;

pub use page::page;
pub use self_check::TEST as SELF_CHECK;

/// All tests of a DUT, in the order of the catalogue.
pub const TESTS: &[Test] = &[
    r01::TEST,
    r04::TEST,
    r05::TEST,
    r06::TEST,
    m01::TEST,
    x01::TEST,
    x02::TEST,
    x03::TEST,
    x04::TEST,
    x05::TEST,
    x06::TEST,
    x07::TEST,
    x08::TEST,
    x10::TEST,
    x11::TEST,
    h01::TEST,
    h02::TEST,
    s01::TEST,
    s04::TEST,
    e01::TEST,
    e03::TEST,
    w01::TEST,
    w04::TEST,
];

#[cfg(test)]
mod tests;
