//! Each outcome of a message.

use super::*;

fn proxy() -> Proxy {
    Proxy::new(&plan(RATE), 1)
}

#[test]
fn a_message_becomes_quanta_of_the_hosts_port_rounded_up() {
    for (gbps, pause_ns, quanta) in [(100, 10_000, 1_954), (10, 10_000, 196), (100, 512, 100)] {
        let mut proxy = Proxy::new(&plan(BitsPerSec::gbps(gbps)), 1);
        let pause = Duration::from_nanos(pause_ns);
        assert_eq!(proxy.on_message(us(5), &message(pause)), Outcome::Paused(us(5) + pause));
        assert!(proxy.next_deadline(HOST) <= us(5) && proxy.due(us(5), OTHER).is_none());
        let times = proxy.due(us(5), HOST).unwrap();
        assert_eq!((times.enabled, times.time[3]), (PrioritySet::of(P3), Quanta(quanta)));
        // It is due until it is sent; then nothing is pending.
        assert_eq!(proxy.due(us(5), HOST), Some(times));
        proxy.on_sent(us(5), HOST, &times);
        assert_eq!((proxy.due(us(6), HOST), proxy.next_deadline(HOST)), (None, Instant::NEVER));
    }
}

#[test]
fn each_wrong_message_is_counted_by_what_is_wrong_with_it() {
    let good = message(Duration::from_micros(10));
    let wrong = [
        (Message { ingress: Some(OTHER), ..good }, Refusal::Sender),
        // Not even to another switch, which would accept it as one from the fabric.
        (Message { ingress: Some(OTHER), egress: Some(FABRIC), ..good }, Refusal::Sender),
        (Message { egress: None, ..good }, Refusal::NotRouted),
        (Message { egress: Some(FABRIC), ..good }, Refusal::Reflected),
        (of_flow(good, ("10.0.1.2", "10.0.9.1")), Refusal::OtherHost),
        (of_flow(good, ("::ffff:10.0.1.1", "10.0.9.1")), Refusal::OtherHost),
        (Message { priority: Priority::MIN, ..good }, Refusal::NotProtected),
    ];
    for (message, why) in wrong {
        let mut proxy = proxy();
        assert_eq!(proxy.on_message(us(1), &message), Outcome::Refused(why));
        assert_eq!(proxy.refused(why), 1);
        let counted: u64 = Refusal::ALL.iter().map(|&why| proxy.refused(why)).sum();
        assert_eq!((counted, proxy.next_deadline(HOST)), (1, Instant::NEVER), "{why:?}");
    }
}

#[test]
fn refusals_are_counted_where_they_say() {
    for (at, why) in Refusal::ALL.into_iter().enumerate() {
        assert_eq!(why as usize, at);
    }
}

#[test]
fn switches_and_hosts_that_obey_messages_get_them() {
    let mut proxy = proxy();
    let good = message(Duration::from_micros(10));
    // Pauses of hosts that obey messages themselves are not checked here.
    let on = Message { egress: Some(SMART), priority: Priority::MIN, ..good };
    assert_eq!(proxy.on_message(us(1), &on), Outcome::Forward);
    proxy.set_kind(HOST, Kind::Fabric);
    proxy.set_kind(FABRIC, Kind::Fabric);
    assert_eq!(proxy.on_message(us(1), &good), Outcome::Forward);
    assert_eq!((proxy.forwarded(), proxy.due(us(1), SMART)), (2, None));
}

#[test]
fn senders_are_those_of_the_policy() {
    let only =
        Senders::Only(vec!["10.0.9.0/24".parse().unwrap(), "2001:db8::/32".parse().unwrap()]);
    let mut proxy = Proxy::new(&ProxyPlan { fabric: only.clone(), hosts: only, ..plan(RATE) }, 1);
    let good = message(Duration::from_micros(10));
    let from = |sender: &str| Message { sender: ip(sender), ..good };
    let refused = Outcome::Refused(Refusal::Sender);
    assert!(matches!(proxy.on_message(us(1), &from("10.0.9.255")), Outcome::Paused(_)));
    assert!(matches!(proxy.on_message(us(1), &from("2001:db8::1")), Outcome::Paused(_)));
    assert_eq!(proxy.on_message(us(1), &from("10.0.10.0")), refused);
    // An IPv4 address within an IPv6 one is another address.
    assert_eq!(proxy.on_message(us(1), &from("::ffff:10.0.9.1")), refused);
    let host = Message { ingress: Some(OTHER), ..good };
    assert!(matches!(proxy.on_message(us(1), &host), Outcome::Paused(_)), "hosts may be let in");
}

#[test]
fn a_shorter_pause_changes_nothing_and_a_longer_one_lengthens() {
    let mut proxy = proxy();
    let mut host = receiver(RATE);
    proxy.on_message(us(0), &message(Duration::from_micros(100)));
    assert!(send(&mut proxy, us(0), HOST, &mut host).is_some());
    let shorter = message(Duration::from_micros(20));
    assert_eq!(proxy.on_message(us(10), &shorter), Outcome::Paused(us(100)));
    assert_eq!(send(&mut proxy, us(10), HOST, &mut host), None);
    let longer = message(Duration::from_micros(100));
    assert_eq!(proxy.on_message(us(20), &longer), Outcome::Paused(us(120)));
    assert_eq!(send(&mut proxy, us(20), HOST, &mut host).unwrap().time[3], Quanta(19_532));
    let counters = proxy.counters(HOST);
    assert_eq!((counters.accepted, counters.redundant), (3, 1));
    assert_eq!(counters.granted, Duration::from_micros(120));
    assert!(!host.paused(us(120) + Quanta(1).at(RATE)).contains(P3));
    assert!(host.paused_time(us(200), P3) >= Duration::from_micros(120));
}

#[test]
fn a_time_of_zero_ends_the_pause_of_its_flow_as_a_frame_of_pfc_does() {
    let (mut proxy, mut host) = (proxy(), receiver(RATE));
    let none = message(Duration::ZERO);
    assert_eq!(proxy.on_message(us(0), &none), Outcome::Resumed(Instant::ZERO));
    assert_eq!(send(&mut proxy, us(0), HOST, &mut host), None, "nothing was paused");
    proxy.on_message(us(0), &message(Duration::from_micros(100)));
    send(&mut proxy, us(0), HOST, &mut host);
    // Two flows of the host ask for the same priority: the other one's pause goes on.
    let other = of_flow(message(Duration::from_micros(20)), ("10.0.1.1", "10.0.9.2"));
    proxy.on_message(us(10), &other);
    assert_eq!(proxy.on_message(us(15), &none), Outcome::Resumed(us(30)));
    let times = send(&mut proxy, us(15), HOST, &mut host).expect("the host learns of it");
    assert_eq!((times.enabled, times.time[3]), (PrioritySet::of(P3), Quanta(2_930)));
    assert_eq!(proxy.on_message(us(16), &none), Outcome::Resumed(us(30)), "it asked for no more");
    assert!(host.paused(us(29)).contains(P3) && !host.paused(us(31)).contains(P3));
    // Nobody else asks: the host sends at once.
    proxy.on_message(us(40), &message(Duration::from_micros(100)));
    send(&mut proxy, us(40), HOST, &mut host);
    proxy.on_message(us(50), &none);
    assert_eq!(send(&mut proxy, us(50), HOST, &mut host).unwrap().time[3], Quanta(0));
    assert!(!host.paused(us(50)).contains(P3));
    assert_eq!((proxy.due(us(51), HOST), proxy.next_deadline(HOST)), (None, Instant::NEVER));
    let counters = proxy.counters(HOST);
    assert_eq!((counters.accepted, counters.resumed, counters.redundant), (7, 2, 3));
    assert_eq!((counters.granted, counters.missed), (Duration::from_micros(40), 0));
}

#[test]
fn a_link_that_went_down_and_priorities_without_pfc_are_forgotten() {
    let mut proxy = proxy();
    let mut host = receiver(RATE);
    let long = message(Duration::from_micros(900));
    proxy.on_message(us(0), &long);
    send(&mut proxy, us(0), HOST, &mut host);
    proxy.on_link_down(HOST);
    assert_eq!((proxy.next_deadline(HOST), proxy.due(us(400), HOST)), (Instant::NEVER, None));
    proxy.on_message(us(500), &long);
    send(&mut proxy, us(500), HOST, &mut host);
    proxy.set_protected(HOST, PrioritySet::of(Priority::ALL[4]));
    assert_eq!(proxy.next_deadline(HOST), Instant::NEVER);
    assert_eq!(proxy.on_message(us(501), &long), Outcome::Refused(Refusal::NotProtected));
}

#[test]
fn a_faster_link_is_told_the_rest_in_its_own_quanta() {
    let mut proxy = Proxy::new(&plan(BitsPerSec::gbps(10)), 1);
    let mut host = receiver(BitsPerSec::gbps(10));
    proxy.on_message(us(0), &message(Duration::from_micros(900)));
    send(&mut proxy, us(0), HOST, &mut host);
    assert_eq!(proxy.next_deadline(HOST), Instant::NEVER);
    proxy.set_rate(us(100), HOST, RATE);
    host.set_rate(us(100), RATE);
    // The host's remaining 800 us are now 80.
    while proxy.next_deadline(HOST) < Instant::NEVER {
        let now = proxy.next_deadline(HOST).max(us(100));
        send(&mut proxy, now, HOST, &mut host);
    }
    assert_eq!(host.transitions(P3), 1);
    let over = host.paused_time(us(5_000), P3).as_picos() - 900_000_000;
    assert!(over < 5_120, "{over}");
}

#[test]
fn a_pause_that_no_frame_could_say_in_time_is_counted() {
    let mut proxy = proxy();
    proxy.on_message(us(0), &message(Duration::from_micros(10)));
    assert_eq!(proxy.due(us(10), HOST), None);
    assert_eq!((proxy.counters(HOST).missed, proxy.next_deadline(HOST)), (1, Instant::NEVER));
}
