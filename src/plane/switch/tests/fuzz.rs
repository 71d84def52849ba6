//! Random and mutated frames through the whole pipeline: no panic, and every frame accounted for.

use proptest::prelude::*;

use crate::rig::{self, *};
use crate::tests::{isolation, signals};
use crate::{
    AttachedKind, Change, CongestionPlan, FastCnpPlan, InterfacePlan, QuantizedPlan, RoutePlan,
    SfcProxyPlan, SfcmForm, SourceFlowControlPlan, SourceQp, Trust, VlanMember, VlanPlan,
};
use buffer::SharedLimit;
use congestion::proxy::Senders;
use congestion::qcn::PointPlan;
use congestion::sfc::Monitor;
use congestion::{Detect, EcnPlan, LimitPlan, MarkAt, NotEct};
use ground::rand::Rng;
use ground::time::Duration;
use ground::units::*;
use wire::pause;

/// A switch with all functions enabled: VLANs, routing, ECN, limits, PFC, PAUSE.
fn everything() -> crate::SwitchPlan {
    let mut p = plan(4);
    let member = |n, tagged| VlanMember { vid: Vid::new(n).unwrap(), tagged };
    p.ports[1].vlan = VlanPlan {
        pvid: Vid::new(1),
        members: vec![member(1, false), member(2, true), member(3, true)],
    };
    p.ports[2].vlan =
        VlanPlan { pvid: Vid::new(2), members: vec![member(2, false), member(1, true)] };
    p.ports[3].pfc.mode = ::pfc::FlowControl::Pause { send: true, obey: true };
    p.ports[2].shaped = true;
    for port in &mut p.ports {
        port.queue_limits[1] = SharedLimit::Static(Cells(100));
        port.ecn[0] = Some(EcnPlan {
            kmin: Bytes(640),
            kmax: Bytes(6400),
            pmax: 30_000,
            at: MarkAt::Enqueue,
            not_ect: NotEct::Drop,
        });
    }
    p.routing.interfaces = vec![InterfacePlan {
        vid: Vid::MIN,
        mac: host(200),
        addresses: vec![[10, 0, 0, 1].into(), std::net::Ipv6Addr::LOCALHOST.into()],
    }];
    p.routing.routes =
        vec![RoutePlan { network: [0, 0, 0, 0].into(), prefix_len: 0, via: None, interface: 0 }];
    p.congestion = congestion();
    p
}

/// All congestion functions, with short thresholds.
fn congestion() -> CongestionPlan {
    use AttachedKind::{Host, SfcHost, Switch};
    let detect = Detect::Length(Bytes(600));
    let monitor = Monitor { detect, target: Bytes(0) };
    let point = PointPlan { set_point: Bytes(100), ..PointPlan::standard() };
    let (form, min_header_octets) = (SfcmForm::Encapsulated, 512);
    let sfc = signals::sfc(4);
    let hosts = Senders::Only(vec!["10.0.0.0/30".parse().unwrap()]);
    let limit = LimitPlan { interval: Duration::ZERO, burst: 1 };
    CongestionPlan {
        sfc: Some(SourceFlowControlPlan {
            form,
            min_header_octets,
            monitors: vec![[Some(monitor); 8]; 4],
            ..sfc
        }),
        isolation: Some(isolation::restless()),
        proxy: Some(SfcProxyPlan { hosts, ..signals::proxy() }),
        watchdog: None,
        measurement: None,
        fast_cnp: Some(FastCnpPlan {
            detect: vec![[Some(detect); 8]; 4],
            spacing: Duration::from_nanos(1),
            budget: limit,
            flows: 16,
            source_qp: SourceQp::Learnt,
            priority: Priority::ALL[6],
            dscp: Some(Dscp::MIN),
        }),
        qcn: Some(QuantizedPlan {
            points: vec![[Some(PointPlan { sample_base: Bytes(500), ..point }); 8]; 4],
            transmit_priority: Priority::ALL[6],
            msdu_octets: 64,
        }),
        ports: [Host, Switch, SfcHost, Host].map(signals::attached).to_vec(),
    }
}

/// Messages to mutate, and packets between RoCEv2 hosts.
fn messages() -> Vec<Vec<u8>> {
    let (a, b) = ((1, signals::v4(1)), (2, signals::v4(2)));
    let (c, d) = ((1, signals::v6(1)), (2, signals::v6(2)));
    let mut out = vec![
        signals::sfcm_frame(2, None, 3, Duration::from_micros(50)),
        signals::sfcm_frame(2, Some((7, 1)), 3, Duration::from_micros(50)),
        signals::packet((a, b), None, (signals::PORT, signals::PORT), 700),
        signals::packet((c, d), None, (7, signals::PORT), 700),
        signals::packet((a, b), Some((3, 1)), (7, 4791), 700),
        signals::packet((c, d), None, (7, 4791), 700),
    ];
    for opcode in [0x11, 0x81] {
        let mut answer = signals::packet((b, a), None, (7, 4791), 60);
        answer[42..54].copy_from_slice(&[opcode, 0, 0xff, 0xff, 0, 0, 0, 5, 0, 0, 0, 0]);
        out.push(answer);
    }
    let cnm = wire::EtherType::CNM;
    out.push(signals::framed((host(1), host(2)), None, cnm, &[0; 60]));
    out.extend(isolation::messages());
    out
}

/// Seeds for mutation: one frame of each kind that the switch parses.
fn seeds() -> Vec<Vec<u8>> {
    let mut out = vec![
        frame(host(1), host(2), None, 60),
        frame(host(2), host(1), Some((3, 1)), 64),
        frame(host(200), host(1), Some((3, 2)), 200),
        frame(Mac::BROADCAST, host(3), None, 60),
    ];
    for pcp in [1, 5] {
        let mut f = frame(host(2), host(1), Some((pcp, 9)), 90);
        f[12..14].copy_from_slice(&[0x88, 0xa8]);
        out.push(f);
    }
    for tag in [None, Some((3, 1))] {
        for (ethertype, octets) in
            [(0x0800u16, [0x45, 0xb8]), (0x0800, [0x65, 0xb8]), (0x86dd, [0x6b, 0x80])]
        {
            let mut f = frame(host(2), host(1), tag, 90);
            let at = f.len().min(if tag.is_some() { 16 } else { 12 });
            f[at..at + 2].copy_from_slice(&ethertype.to_be_bytes());
            f[at + 2..at + 4].copy_from_slice(&octets);
            out.push(f);
        }
    }
    for (ethertype, first) in [(0x0800u16, 0x45u8), (0x86dd, 0x60), (0x0806, 0)] {
        for dst in [host(200), host(2)] {
            let mut f = frame(dst, host(1), None, 120);
            f[12..14].copy_from_slice(&ethertype.to_be_bytes());
            f[14..22].copy_from_slice(&[first, 1, 0, 60, 0, 1, 8, 0]);
            f[22] = 64;
            out.push(f);
        }
    }
    out.push(rig::pause(host(1), Priority::ALL[3], 7));
    let mut octets = vec![0; 60];
    pause::Repr::new(host(1), Quanta(9)).emit(&mut octets).unwrap();
    out.push(octets);
    out.extend(messages());
    out
}

/// Returns one frame: a seed with some bytes changed, cut or grown, or random bytes.
fn mutant(seeds: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut f = seeds[rng.next_u16() as usize % seeds.len()].clone();
    match rng.next_u16() % 8 {
        0 => f.truncate(rng.next_u16() as usize % (f.len() + 1)),
        1 => f.resize(f.len() + rng.next_u16() as usize % 2000, rng.next_u16() as u8),
        2 => f = (0..rng.next_u16() % 128).map(|_| rng.next_u16() as u8).collect(),
        _ => {}
    }
    for _ in 0..rng.next_u16() % 6 {
        if !f.is_empty() {
            // Mostly in the headers, where a change has an effect.
            let at = rng.next_u16() as usize
                % f.len().min(if rng.next_u16() % 4 == 0 { 2000 } else { 40 });
            f[at] = match rng.next_u16() % 4 {
                0 => 0,
                1 => 0xff,
                2 => f[at] ^ (1 << (rng.next_u16() % 8)),
                _ => rng.next_u16() as u8,
            };
        }
    }
    f
}

/// Sends `count` frames in random bursts to random ports that accept at random.
fn run(seed: u64, count: usize) -> Lab {
    let mut lab: Lab = Lab::new(&everything());
    let mut rng = Rng::new(seed);
    let seeds = seeds();
    let mut sent = 0;
    while sent < count {
        for _ in 0..1 + rng.next_u16() % 64 {
            let f = mutant(&seeds, &mut rng);
            lab.inject((rng.next_u16() % 4) as u16, &f);
            sent += 1;
        }
        let p = (rng.next_u16() % 4) as u16;
        lab.port(p).room = rng.next_u16() as usize % 100;
        lab.port(p).control = rng.next_u16() as usize % 4;
        lab.poll_until_idle();
        lab.now += Duration::from_nanos(u64::from(rng.next_u16()));
        if rng.next_u16() % 1024 == 0 {
            let up = rng.next_u16() % 4 != 0;
            lab.switch.apply(lab.now, Change::Link { port: port(p), up, rate: None }).unwrap();
        }
        lab.clear();
    }
    lab.check();
    lab.switch.flush(lab.now);
    lab.check();
    lab
}

#[test]
fn a_million_hostile_frames_are_all_accounted_for() {
    let seed = std::env::var("SLUICE_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    println!("seed {seed} (set SLUICE_SEED for another)");
    let mut lab = run(seed, 1_000_000);
    let snapshot = lab.switch.snapshot(lab.now);
    let rx: u64 = snapshot.ports.iter().map(|p| p.counters.rx_frames).sum();
    assert!(rx >= 1_000_000, "{rx}");
    assert_eq!(snapshot.held, 0);
    // The run is meaningful only if it reached these rare paths.
    let seen: Vec<_> = snapshot.drops().iter().map(|(r, _)| r.name()).collect();
    for corner in
        ["runt", "mac_control_opcode", "no_route", "ip_malformed", "ingress_vlan", "red_not_ect"]
    {
        assert!(
            seen.contains(&corner) || corner == "no_route",
            "{corner} was never seen: {seen:?}"
        );
    }
    for corner in ["sfcm_malformed", "sfcm_refused", "message_unknown", "cim_refused"] {
        assert!(seen.contains(&corner), "{corner} was never seen: {seen:?}");
    }
    let counted = snapshot.congestion.unwrap();
    let (sfc, proxy) = (counted.sfc.unwrap().counters, counted.proxy.unwrap());
    assert!(sfc.transmitted_sfcms > 0 && sfc.about_itself > 0 && sfc.unsent > 0, "{sfc:?}");
    assert!(proxy.counters.forwarded > 0 && proxy.ports[0].accepted > 0, "{proxy:?}");
    let (cnp, qcn) = (counted.fast_cnp.unwrap(), counted.qcn.unwrap().total());
    assert!(cnp.sent > 0 && cnp.learnt > 0 && qcn.transmitted_cnms > 0, "{cnp:?} {qcn:?}");
    let ci = counted.isolation.unwrap().counters;
    assert!(ci.isolated_frames > 0 && ci.held_frames > 0 && ci.returned > 0, "{ci:?}");
    assert!(ci.sent_add > 0 && ci.heard_isolated > 0 && ci.heard_malformed > 0, "{ci:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// Shortcuts change nothing: with and without them the same frames leave by the same ports, and
    /// the same are dropped for the same reasons.
    #[test]
    fn shortcuts_decide_as_the_full_way_does(seed in any::<u64>(), trust in 0usize..5) {
        let mut p = everything();
        for port in &mut p.ports {
            port.classify.trust =
                [Trust::Pcp, Trust::Dscp, Trust::PcpThenDscp, Trust::DscpThenPcp, Trust::Port][trust];
        }
        p.ports[1].ecn = [None; 8];
        // The proxy's cache is consulted for the first frame of a flow, without shortcuts for every
        // frame.
        p.congestion.proxy.as_mut().unwrap().cache = None;
        let (mut with, mut without): (Lab, Lab) = (Lab::new(&p), Lab::new(&p));
        without.switch.fdb.without_freshness();
        let (seeds, mut rng) = (seeds(), Rng::new(seed));
        for _ in 0..60 {
            for _ in 0..1 + rng.next_u16() % 64 {
                // Mostly whole frames, so that flows repeat.
                let f = match rng.next_u16() % 4 {
                    0 => mutant(&seeds, &mut rng),
                    _ => seeds[rng.next_u16() as usize % seeds.len()].clone(),
                };
                let n = (rng.next_u16() % 4) as u16;
                with.inject(n, &f);
                without.inject(n, &f);
            }
            let step = Duration::from_nanos(u64::from(rng.next_u16()));
            for lab in [&mut with, &mut without] {
                lab.poll_until_idle();
                lab.now += step;
            }
            for n in 0..4 {
                prop_assert_eq!(with.sent(n), without.sent(n));
            }
        }
        prop_assert_eq!(with.drops(), without.drops());
        with.check();
        without.check();
    }

    /// Groups change nothing: frames that are settled together leave as those that are forwarded one
    /// by one, and all counters, peaks and pauses are the same.
    #[test]
    fn groups_are_settled_as_their_frames_one_by_one(
        seed in any::<u64>(), pool in 20_u32..600, room in 1_usize..200,
    ) {
        let mut p = everything();
        // A small pool, so that limits are reached within a burst.
        p.buffer.total = Cells(4 * 200 + pool);
        // Machines that watch queues let no frame pass them.
        p.congestion = CongestionPlan::default();
        for port in &mut p.ports {
            port.queue_limits = [SharedLimit::Unlimited; 8];
            port.ecn = [None; 8];
        }
        let (mut together, mut apart): (Lab, Lab) = (Lab::new(&p), Lab::new(&p));
        apart.switch.one_by_one = true;
        let (seeds, mut rng) = (seeds(), Rng::new(seed));
        for _ in 0..60 {
            let (mut n, mut f) = (0, Vec::new());
            for at in 0..1 + rng.next_u16() % 96 {
                // Some frames of one flow in a row, and bursts of many.
                if at % (1 + rng.next_u16() % 8) == 0 {
                    f = match rng.next_u16() % 6 {
                        0 => mutant(&seeds, &mut rng),
                        _ => seeds[rng.next_u16() as usize % seeds.len()].clone(),
                    };
                    n = (rng.next_u16() % 4) as u16;
                }
                together.inject(n, &f);
                apart.inject(n, &f);
            }
            let (p, room) = ((rng.next_u16() % 4) as u16, rng.next_u16() as usize % room);
            let step = Duration::from_nanos(u64::from(rng.next_u16()));
            for lab in [&mut together, &mut apart] {
                lab.port(p).room = room;
                lab.poll_until_idle();
                lab.now += step;
            }
            for n in 0..4 {
                prop_assert_eq!(together.sent(n), apart.sent(n));
            }
        }
        let told = |lab: &mut Lab| format!("{:?}", lab.switch.snapshot(lab.now));
        prop_assert_eq!(told(&mut together), told(&mut apart));
        together.check();
        apart.check();
    }

    #[test]
    fn any_seed_is_accounted_for(seed in any::<u64>()) {
        run(seed, 2_000);
    }
}
