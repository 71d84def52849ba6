use super::*;

#[test]
fn what_is_emitted_parses_to_the_same() {
    let repr = Repr {
        dst: DESTINATION,
        src: Mac([2, 0, 0, 0, 0, 1]),
        chassis: Id { subtype: CHASSIS_MAC, octets: &[2, 0, 0, 0, 0, 9] },
        port: Id { subtype: PORT_INTERFACE_NAME, octets: b"eth0" },
        ttl: 121,
    };
    let mut out = vec![0xa5; repr.buffer_len()];
    repr.emit(&mut out).unwrap();
    assert_eq!(Repr::parse(&out), Ok(repr));
}
