//! Defects at a change of MACsec keys. Those in the checks of received frames are in `tests/secured.rs`.

use super::*;
use crate::defect::Securing;

#[test]
fn a_new_key_ends_all_pauses() {
    let mut port = Port::with(Defect::Securing(Securing::ResumesAtRekey));
    assert_eq!(all_told(&port.receives(0, pfc(&[(3, 9)]))), ["pfc 00001000 3:9"]);
    assert!(port.0.take_for_node().is_empty());
    port.0.rekeyed(at(10), &mut Memory);
    assert!(port.0.has_news());
    assert_eq!(all_told(&port.0.take_for_node()), ["pfc 11111111"]);
}

#[test]
fn data_is_lost_at_a_new_key_and_pauses_are_not() {
    let mut port = Port::with(Defect::Securing(Securing::LosesAtRekey { frames: 2 }));
    assert_eq!(all_told(&port.sends(0, data(3, 0))), ["data 3 0"]);
    port.0.rekeyed(at(10), &mut Memory);
    assert!(port.sends(20, data(3, 1)).is_empty());
    assert_eq!(all_told(&port.sends(21, pfc(&[(3, 9)]))), ["pfc 00001000 3:9"]);
    assert!(port.sends(22, data(3, 2)).is_empty());
    assert_eq!(all_told(&port.sends(23, data(3, 3))), ["data 3 3"]);
}
