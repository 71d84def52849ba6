//! Tests that a configuration that needs more memory than the machine has is refused, with the
//! product in the message, before memory is allocated.

use super::*;

/// Returns the error for a text on a machine with this much memory.
fn said(text: &str, memory: Option<u64>) -> String {
    let machine = Machine { memory, ..Machine::any() };
    parse("f.yaml", text, &machine).map_or_else(|error| error.to_string(), |_| String::new())
}

const GIB: u64 = 1 << 30;

#[test]
fn memory_beyond_the_machines_is_refused_with_the_product_the_field_and_the_remedy() {
    for (text, field, product, remedy) in [
        (
            "buffer: {cell: 64, total: 4000MiB}\nports: [{device: net_null0}]\n",
            "f.yaml:1:27: buffer.total: ",
            "65537600 frames of the pool x 2368 bytes = 144.5 GiB, more than the 8 GiB that are \
             available here: ",
            "lower `buffer.total`, or raise `buffer.cell`",
        ),
        (
            "switch: {max_frame: 16384}\nbuffer: {total: 1GiB}\nports: [{device: net_null0}]\n",
            "buffer.total: ",
            " frames of the pool x 16704 bytes = 65.",
            "lower `buffer.total`",
        ),
        (
            "eal: {memory: 4000GiB}\nports: [{device: net_null0}]\n",
            "f.yaml:1:15: eal.memory: ",
            "4096000 MiB of `memory` x 1048576 bytes = 4000 GiB, more than the 8 GiB",
            "lower it, or leave it out",
        ),
        (
            "ports: [{device: 'net_af_packet0,iface=v,framecnt=1000000,qpairs=4'}]\n",
            "f.yaml:1:18: ports[0].device: ",
            "8 rings (`qpairs`, `framecnt`) x 2048000000 bytes = 15.3 GiB, more than the 8 GiB",
            "lower `framecnt`, or `framesz` and `blocksz`",
        ),
    ] {
        let refused = said(text, Some(8 * GIB));
        for part in [field, product, remedy] {
            assert!(refused.contains(part), "{part}\nis not in\n{refused}");
        }
        // Enough memory, and unknown memory.
        assert_eq!(said(text, Some(1 << 50)), "");
        assert_eq!(said(text, None), "");
    }
}

#[test]
fn a_ring_that_no_kernel_takes_is_refused_whatever_the_machine() {
    for (arguments, product) in [
        (
            "framecnt=4000000000",
            "2000000000 blocks of the ring (`framecnt`) x 4096 bytes = 7629.4 GiB",
        ),
        ("framecnt=100000,framesz=65536,blocksz=65536", "100000 blocks of the ring"),
        ("framecnt=4,blocksz=4294963200,framesz=2147481600", "2 blocks of the ring"),
    ] {
        let text = format!("ports: [{{device: 'net_af_packet0,iface=v,{arguments}'}}]\n");
        let refused = said(&text, None);
        assert!(refused.contains("f.yaml:1:18: ports[0].device: "), "{refused}");
        assert!(
            refused.contains(product) && refused.contains("4.0 GiB that the kernel takes"),
            "{refused}"
        );
    }
    let text = "ports: [{device: 'net_af_packet0,iface=v,framecnt=4096,blocksz=4096'}]\n";
    assert_eq!(said(text, Some(GIB)), "");
}
