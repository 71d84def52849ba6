//! The tests, a file each. Each describes itself; its page in the manual is made from that.

mod c01;
mod c02;
mod c03;
mod c04;
mod congestion;
mod counted;
mod d01;
mod d02;
mod d03;
mod d04;
mod d05;
mod dcbx;
mod e01;
mod e02;
mod e03;
mod e04;
mod e05;
mod e06;
mod e07;
mod end;
mod fill;
mod h01;
mod h02;
mod h03;
mod h04;
mod h05;
mod h06;
mod h07;
mod h08;
mod i01;
mod i02;
mod i03;
mod i04;
mod i05;
mod isolation;
mod k01;
mod k02;
mod k03;
mod k04;
mod m01;
mod m02;
mod m03;
mod m04;
mod m05;
mod m06;
mod mac_control;
mod macsec;
mod marks;
mod n01;
mod n02;
mod n03;
mod n04;
mod nic;
mod p01;
mod p02;
mod p03;
mod page;
mod q01;
mod q02;
mod q03;
mod r01;
mod r02;
mod r03;
mod r04;
mod r05;
mod r06;
mod r07;
mod r08;
mod r09;
mod r10;
mod r11;
mod r12;
mod r13;
mod r14;
mod r15;
mod r16;
mod r17;
mod roce;
mod s01;
mod s02;
mod s03;
mod s04;
mod s05;
mod s06;
mod self_check;
mod sfc;
mod shares;
mod stop;
mod w01;
mod w02;
mod w03;
mod w04;
mod w05;
mod w06;
mod w07;
mod w08;
mod watchdog;
mod x01;
mod x02;
mod x03;
mod x04;
mod x05;
mod x06;
mod x07;
mod x08;
mod x09;
mod x10;
mod x11;
mod x12;
mod xon;

use crate::setup::{FlowControl, Setup};
use crate::test::Test;

pub use page::page;
pub use self_check::TEST as SELF_CHECK;

/// Tests of properties of single ports: which pauses they obey and for how long, whether, when and how they pause
/// and resume, how they serve queues, mark and drop. Others look at all ports by themselves, or at what ports have
/// in common.
pub const OF_A_PORT: &[&str] = &[
    "V-R01", "V-R02", "V-R04", "V-R05", "V-R06", "V-R07", "V-R08", "V-R09", "V-R10", "V-R11",
    "V-R12", "V-R13", "V-R14", "V-R15", "V-R16", "V-R17", "V-M01", "V-M02", "V-M03", "V-M04",
    "V-M05", "V-P01", "V-P02", "V-P03", "V-X01", "V-X02", "V-X03", "V-X04", "V-X05", "V-X06",
    "V-X07", "V-X08", "V-X09", "V-X11", "V-H01", "V-H02", "V-H03", "V-S01", "V-S02", "V-S03",
    "V-S04", "V-S06", "V-E01", "V-E02", "V-E03", "V-E04", "V-E05", "V-E06", "V-E07", "V-W01",
    "V-W02", "V-W03", "V-W04", "V-W05", "V-W06", "V-W07",
];

/// All tests of a DUT, in the order of the catalogue.
pub const TESTS: &[Test] = &[
    r01::TEST,
    r02::TEST,
    r03::TEST,
    r04::TEST,
    r05::TEST,
    r06::TEST,
    r07::TEST,
    r08::TEST,
    r09::TEST,
    r10::TEST,
    r11::TEST,
    r12::TEST,
    r13::TEST,
    r14::TEST,
    r15::TEST,
    r16::TEST,
    r17::TEST,
    m01::TEST,
    m02::TEST,
    m03::TEST,
    m04::TEST,
    m05::TEST,
    m06::TEST,
    p01::TEST,
    p02::TEST,
    p03::TEST,
    x01::TEST,
    x02::TEST,
    x03::TEST,
    x04::TEST,
    x05::TEST,
    x06::TEST,
    x07::TEST,
    x08::TEST,
    x09::TEST,
    x10::TEST,
    x11::TEST,
    x12::TEST,
    h01::TEST,
    h02::TEST,
    h03::TEST,
    h04::TEST,
    h05::TEST,
    h06::TEST,
    h07::TEST,
    h08::TEST,
    s01::TEST,
    s02::TEST,
    s03::TEST,
    s04::TEST,
    s05::TEST,
    s06::TEST,
    i01::TEST,
    i02::TEST,
    i03::TEST,
    i04::TEST,
    i05::TEST,
    e01::TEST,
    e02::TEST,
    e03::TEST,
    e04::TEST,
    e05::TEST,
    e06::TEST,
    e07::TEST,
    w01::TEST,
    w02::TEST,
    w03::TEST,
    w04::TEST,
    w05::TEST,
    w06::TEST,
    w07::TEST,
    w08::TEST,
    c01::TEST,
    c02::TEST,
    c03::TEST,
    c04::TEST,
    d01::TEST,
    d02::TEST,
    d03::TEST,
    d04::TEST,
    d05::TEST,
    k01::TEST,
    k02::TEST,
    k03::TEST,
    k04::TEST,
    q01::TEST,
    q02::TEST,
    q03::TEST,
    n01::TEST,
    n02::TEST,
    n03::TEST,
    n04::TEST,
];

/// Tests of ports with PAUSE.
const OF_PAUSE: &[Test] = &[p01::TEST, p02::TEST];

/// Tests of ports with either flow control.
const OF_BOTH: &[Test] = &[p03::TEST];

/// Tests of NICs.
const OF_NICS: &[Test] = &[n01::TEST, n02::TEST, n03::TEST, n04::TEST];

/// Returns the reason why a test is not about a device of this kind; `None` if it is.
#[must_use]
pub fn other_kind(test: &Test, setup: &Setup) -> Option<String> {
    let is_in = |tests: &[Test]| tests.iter().any(|of| of.id == test.id);
    if test.id == SELF_CHECK.id {
        return None;
    }
    if setup.expected.ring && test.id != i05::TEST.id {
        let why = "expected.ring is there, so the ports share the ring's links; the test is about one switch";
        return Some(why.to_owned());
    }
    match (is_in(OF_NICS), &setup.nic) {
        (true, Some(_)) => return None,
        (true, None) => return Some("nic is missing; the test is about NICs".to_owned()),
        (false, Some(_)) => return Some("nic is there; the test is about switches".to_owned()),
        (false, None) => {}
    }
    let given = setup.flow_control;
    let is_of = is_in(OF_BOTH) || is_in(OF_PAUSE) == (given == FlowControl::Pause);
    (!is_of).then(|| format!("flow_control: {given}; the test is about the other kind"))
}

/// Returns true if the file says what a test of an optional protocol or of a ring expects of the device: such a
/// test is run without being named, at every level.
pub(crate) fn is_described(test: &Test, setup: &Setup) -> bool {
    let expected = &setup.expected;
    match test.id.get(..3) {
        Some("V-I") => expected.ring && test.id == i05::TEST.id,
        // A device that is a proxy alone sends no messages.
        Some("V-Q") if test.id == q01::TEST.id => {
            expected.sfc.is_some_and(|sfc| sfc.target.is_some() || sfc.proxy.is_none())
        }
        Some("V-Q") => expected.sfc.is_some_and(|sfc| sfc.proxy.is_some()),
        Some("V-D") => expected.dcbx.is_some(),
        Some("V-K") => setup.ports.iter().any(|port| port.macsec.is_some()),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
