//! Forged messages: each is dropped under its reason, and pauses no host beyond the policy.

use super::*;

/// Ports 0 and 2 to hosts, 1 to the fabric.
fn guarded() -> SwitchPlan {
    let mut p = plan(3);
    p.congestion.proxy = Some(proxy());
    p.congestion.ports =
        [AttachedKind::Host, AttachedKind::Switch, AttachedKind::Host].map(attached).to_vec();
    p
}

/// Injects one message by a port, checks that no other port sends it, and returns the proxy's
/// counts.
fn refused(n: u16, message: &[u8]) -> Vec<(&'static str, u64)> {
    let mut lab = lab(&guarded());
    lab.deliver(n, message);
    for other in (0..3).filter(|other| *other != n) {
        assert!(lab.sent(other).is_empty());
    }
    assert!(lab.sent(n).is_empty());
    let drops = lab.drops();
    assert_eq!(drops.iter().map(|(_, n)| n).sum::<u64>(), 1, "{drops:?}");
    lab.check();
    counted(&mut lab).proxy.unwrap().counters.iter().filter(|(_, n)| *n > 0).collect()
}

/// Corrects the checksum of a modified message.
fn resealed(mut message: Vec<u8>) -> Vec<u8> {
    let headers =
        datagram::Repr::parse(EtherType::IPV4, &sfcm_frame(2, None, 3, us(9))[14..]).unwrap().0;
    headers.emit(&mut message[14..]).unwrap();
    message
}

#[test]
fn each_forgery_has_its_counter() {
    let good = sfcm_frame(2, None, 3, us(100));
    assert_eq!(refused(2, &good), [("sfc_proxy_sender", 1)], "closed towards hosts");
    let mut unknown = good.clone();
    unknown[5] = 200;
    assert_eq!(refused(1, &unknown), [("sfc_proxy_not_routed", 1)]);
    let mut group = good.clone();
    group[..6].fill(0xff);
    assert_eq!(refused(1, &group), [("sfc_proxy_not_routed", 1)]);
    let mut back = good.clone();
    back[..6].copy_from_slice(&host(2).0);
    assert_eq!(refused(1, &back), [("sfc_proxy_reflected", 1)]);
    // DSCP 34 is priority 4 at the host's port, as in the message.
    let mut lossy = sfcm_frame(2, None, 4, us(100));
    lossy[44] = 34 << 2;
    assert_eq!(refused(1, &resealed(lossy)), [("sfc_proxy_not_protected", 1)]);
    let mut version = good.clone();
    version[42] |= 0xf0;
    assert_eq!(refused(1, &resealed(version)), [("sfc_proxy_malformed", 1)]);
    // About an SFCM: the flow's destination port is that of SFCMs.
    let mut about = good.clone();
    about[64..66].copy_from_slice(&PORT.to_be_bytes());
    assert_eq!(refused(1, &resealed(about)), [("sfc_proxy_malformed", 1)]);
    // About another host's flow.
    let mut other = good.clone();
    other[55] = 7;
    assert_eq!(refused(1, &resealed(other)), [("sfc_proxy_malformed", 1)]);
    let mut checksum = good.clone();
    checksum[50] ^= 1;
    assert_eq!(refused(1, &checksum), [("sfc_proxy_malformed", 1)]);
    assert_eq!(refused(1, &good[..60]), [("sfc_proxy_malformed", 1)], "cut short");
}

#[test]
fn more_tags_and_extension_headers_hide_nothing() {
    let good = sfcm_frame(2, Some((7, 1)), 3, us(100));
    assert_eq!(refused(2, &good), [("sfc_proxy_sender", 1)]);
    for tpid in [[0x88, 0xa8], [0x81, 0]] {
        let tag = [tpid[0], tpid[1], 0, 1];
        let twice = [&good[..12], &tag, &good[12..]].concat();
        assert_eq!(refused(2, &twice), [("sfc_proxy_sender", 1)]);
    }
    // Over IPv6, behind a destination options header.
    let headers = datagram::Repr {
        src: v6(2),
        dst: v6(1),
        dscp: Dscp::MIN,
        ecn: Ecn::NotEct,
        ttl: 9,
        src_port: PORT,
        dst_port: PORT,
    };
    let flow = FiveTuple { src: v6(1), dst: v6(2), ..flow((7, 9)) };
    let message = Sfcm { form: Form::Simplified(flow), ..said(3, us(100), Locator::Incast) };
    let repr = sfcm::Repr { headers, message };
    let mut packet = vec![0; repr.buffer_len()];
    repr.emit(&mut packet).unwrap();
    let whole = framed((host(3), host(1)), None, EtherType::IPV6, &packet);
    assert_eq!(refused(2, &whole), [("sfc_proxy_sender", 1)]);
    let mut long = [&packet[..40], &[17, 0, 1, 4, 0, 0, 0, 0], &packet[40..]].concat();
    long[6] = 60;
    let len = (long.len() - 40) as u16;
    long[4..6].copy_from_slice(&len.to_be_bytes());
    let hidden = framed((host(3), host(1)), None, EtherType::IPV6, &long);
    assert_eq!(refused(2, &hidden), [("sfc_proxy_sender", 1)]);
}

#[test]
fn data_that_happens_to_have_the_port_goes_on() {
    let mut lab = lab(&guarded());
    // From an ordinary port to the messages' port; and a fragment whose bytes resemble a message.
    let reply = packet(((3, v4(3)), (1, v4(1))), None, (53, PORT), 100);
    let mut fragment = sfcm_frame(3, None, 3, us(100));
    fragment[20..22].copy_from_slice(&[0, 9]);
    for data in [&reply, &fragment] {
        for _ in 0..3 {
            lab.deliver(2, data);
            assert_eq!(&lab.sent(0)[0], data);
        }
    }
    assert!(lab.drops().is_empty());
    lab.check();
}

#[test]
fn a_flood_pauses_no_longer_than_the_policy_allows() {
    let mut plan = guarded();
    let policy = ::congestion::proxy::PausePolicy {
        credit: us(1_000),
        share: 1 << 15,
        ..::congestion::proxy::PausePolicy::standard()
    };
    plan.congestion.proxy.as_mut().unwrap().policy = policy;
    let mut lab = lab(&plan);
    let (mut told, start) = (Duration::ZERO, lab.now);
    let mut until = lab.now;
    for _ in 0..5_000 {
        lab.inject(1, &sfcm_frame(2, None, 3, us(900)));
        lab.advance(us(2));
        for frame in lab.sent(0) {
            let pfc = wire::pfc::Repr::parse(&frame).unwrap();
            let pause = pfc.time(Priority::ALL[3]).unwrap().at(BitsPerSec::gbps(10));
            let end = lab.now + pause;
            told += end.since(until.max(lab.now));
            until = until.max(end);
        }
    }
    // Ten milliseconds at one half, and the credit; a quantum (51.2 ns) per frame for rounding.
    let most = us(5_000) + us(1_000) + us(300);
    assert!(told <= most && told > us(4_000), "{told} in {}", lab.now.since(start));
    let proxy = counted(&mut lab).proxy.unwrap().counters;
    assert!(proxy.too_many > 1_000, "{proxy:?}");
    lab.check();
}
