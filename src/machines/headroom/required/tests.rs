use super::*;
use crate::{Interface, Phy};
use ground::units::BitsPerSec;
use proptest::prelude::*;

fn link(gbps: u64) -> DelayInputs {
    DelayInputs::standard(Interface::plain(Phy::of_rate(BitsPerSec::gbps(gbps))))
}

#[test]
fn hardware_alone_needs_the_delay_value_and_the_frame_that_crosses() {
    let r = required(&link(100), &SoftwareTerms::default(), 1);
    let bare = |r: &Required| Term::sum(&r.sum.terms[..r.sum.terms.len() - 1]).div_ceil(8);
    assert_eq!(bare(&r), 42_096 + 2_000);
    // With byte-sized cells the line's overhead needs no space: 20 of every 2020 bytes.
    assert_eq!(r.cells, Cells((42_096 * 2_000_u32).div_ceil(2_020) + 2_000));
    // With 208-byte cells, 64-byte frames waste most: one cell for every 84 bytes on the line.
    let r = required(&link(100), &SoftwareTerms::default(), 208);
    assert_eq!(r.cells, Cells(42_096_u32.div_ceil(84) + 10));
    assert_eq!(bare(&r), 42_096 + 2_000);
    assert!(r.to_string().starts_with("512 cells for 106496 B = 2020 B frame begun"), "{r}");
    assert!(r.to_string().ends_with("+ 62400 B cells that short frames waste"), "{r}");
}

#[test]
fn each_software_term_adds_what_it_says() {
    let line = |software| {
        let terms = required(&link(10), &software, 1).sum.terms;
        Term::sum(&terms[..terms.len() - 1]).div_ceil(8)
    };
    let bare = line(SoftwareTerms::default());
    let with = |software| line(software) - bare;
    let gap = Duration::from_micros(10);
    let none = SoftwareTerms::default();
    // 10 us at 10 Gb/s are 12,500 bytes; the smaller of ring and gap counts.
    let ring =
        |rx_backlog, poll_gap| SoftwareTerms { rx_backlog: Bytes(rx_backlog), poll_gap, ..none };
    assert_eq!(with(ring(100_000, gap)), 12_500);
    assert_eq!(with(ring(8_000, gap)), 8_000);
    assert_eq!((with(ring(0, gap)), with(ring(100_000, Duration::ZERO))), (0, 0));
    // What is known alone counts by itself.
    let polled = |rx_backlog, poll_gap| none.polled(rx_backlog, poll_gap);
    assert_eq!(with(polled(None, Some(gap))), 12_500);
    assert_eq!(with(polled(Some(Bytes(8_000)), None)), 8_000);
    assert_eq!(with(polled(None, None)), 0);
    assert_eq!(polled(Some(Bytes(8_000)), Some(gap)), ring(8_000, gap));
    assert_eq!(
        (with(polled(Some(Bytes(0)), Some(gap))), with(polled(None, Some(Duration::ZERO)))),
        (0, 0)
    );
    // One longest frame each is in the delay value already.
    assert_eq!(with(SoftwareTerms { peer_committed: Bytes(2_000), ..none }), 0);
    assert_eq!(with(SoftwareTerms { peer_committed: Bytes(6_400), ..none }), 4_400);
    assert_eq!(with(SoftwareTerms { tx_committed: Bytes(1_500), ..none }), 0);
    assert_eq!(with(SoftwareTerms { tx_committed: Bytes(6_400), ..none }), 8_400 - 2_020);
}

#[test]
fn an_endless_ring_needs_more_than_any_buffer_has() {
    let endless = SoftwareTerms { peer_committed: Bytes(u64::MAX), ..SoftwareTerms::default() };
    assert_eq!(required(&link(400), &endless, 1).cells, Cells(u32::MAX));
}

proptest! {
    /// The sizes that are tried are enough: none of the others wastes more.
    #[test]
    fn no_size_wastes_more_than_the_worst_of_those_tried(
        cell in 1_u64..=300, max in 0_u64..=2_000, overhead in 0_u64..60,
    ) {
        let worst = Density::worst(cell, max, overhead);
        let taken = |len: u64| len.div_ceil(cell) * worst.octets;
        let sizes = 64..=max.max(64);
        prop_assert!(sizes.clone().all(|len| taken(len) <= worst.cells * (len + overhead)));
        prop_assert!(sizes.contains(&(worst.octets - overhead)));
    }

    /// Frames of any one length, back to back on the line and packed in the rings, never take
    /// more cells than the sum says.
    #[test]
    fn no_frame_length_needs_more(
        len in 64_u64..=2_000,
        cell in 1_u32..=4_096,
        gbps in prop::sample::select(vec![1_u64, 10, 25, 100, 400]),
        cable_m in 0_u32..=2_000,
        peer in 0_u64..100_000,
        backlog in 0_u64..100_000,
        tx in 0_u64..100_000,
        gap_ns in 0_u64..50_000,
    ) {
        let link = DelayInputs { cable_m, ..link(gbps) };
        let software = SoftwareTerms {
            rx_backlog: Bytes(backlog),
            tx_committed: Bytes(tx),
            peer_committed: Bytes(peer),
            poll_gap: Duration::from_nanos(gap_ns),
        };
        let needs = required(&link, &software, cell);
        let cells = u64::from(needs.cells.0);
        prop_assert_eq!(needs.sum.bits(), cells * u64::from(cell) * 8, "the terms are the cells");
        let each = len.div_ceil(u64::from(cell));
        let on_line = |octets: u64| octets / (len + 20);
        // Data in flight during the pause: the peer's last frame is one of its ring's.
        let longest = 2_020;
        let way = delay_value(&link).bytes().0 - 2 * longest;
        let tx_time = ((tx / len) * (len + 20)).max(longest);
        let gap = link.rate().bytes_in(software.poll_gap).0;
        let waiting = on_line(gap).min(backlog / len);
        let frames = 1 + waiting + on_line(way + tx_time) + (peer / len).max(on_line(longest));
        prop_assert!(frames * each <= cells, "{frames} frames of {each} cells, {cells} said");
    }
}
