//! Congested destinations and the flows that begin later.

use super::*;

const P4: Priority = Priority::ALL[4];

fn proxy(cache: CachePlan) -> Proxy {
    Proxy::new(&ProxyPlan { cache: Some(cache), ..plan(RATE) }, 9)
}

#[test]
fn a_later_flow_to_a_congested_destination_pauses_for_the_rest() {
    let mut proxy = proxy(CachePlan::standard());
    let to = ip("10.0.9.1");
    assert!(!proxy.on_flow(us(0), OTHER, to, P3));
    proxy.on_message(us(0), &message(Duration::from_micros(100)));
    assert!(!proxy.on_flow(us(1), OTHER, ip("10.0.9.2"), P3), "another destination");
    assert!(!proxy.on_flow(us(1), OTHER, to, P4), "another priority");
    assert!(!proxy.on_flow(us(1), SMART, to, P3), "a host that hears of it by itself");
    assert!(!proxy.on_flow(us(1), HOST, to, P3), "paused that long already");
    assert!(proxy.on_flow(us(40), OTHER, to, P3));
    assert_eq!(proxy.until(OTHER, P3), us(100));
    assert_eq!(proxy.due(us(40), OTHER).unwrap().time[3], Quanta(11_719));
    assert!(!proxy.on_flow(us(100), OTHER, to, P3), "it has drained");
    assert_eq!(proxy.counters(OTHER).by_cache, 1);
    let counters = proxy.cache_counters();
    assert_eq!((counters.created, counters.hits), (1, 2));
}

#[test]
fn whole_pauses_begin_anew_while_the_entry_lives() {
    let cache = CachePlan {
        life: Duration::from_micros(500),
        remember: Remember::Whole,
        ..CachePlan::standard()
    };
    let mut proxy = proxy(cache);
    let to = ip("2001:db8::9");
    let good = message(Duration::from_micros(100));
    proxy.on_message(us(0), &of_flow(good, ("10.0.1.1", "2001:db8::9")));
    assert!(proxy.on_flow(us(499), OTHER, to, P3));
    assert_eq!(proxy.until(OTHER, P3), us(599));
    assert!(!proxy.on_flow(us(500), HOST, to, P3), "too old");
}

#[test]
fn entries_die_at_the_end_of_their_life_even_while_the_pause_lasts() {
    let life = Duration::from_micros(30);
    let mut proxy = proxy(CachePlan { life, ..CachePlan::standard() });
    proxy.on_message(us(0), &message(Duration::from_micros(100)));
    assert!(!proxy.on_flow(us(30), OTHER, ip("10.0.9.1"), P3));
    proxy.on_message(us(50), &message(Duration::from_micros(20)));
    assert!(proxy.on_flow(us(69), OTHER, ip("10.0.9.1"), P3));
    assert_eq!(proxy.until(OTHER, P3), us(70), "the one that died is no part of it");
}

#[test]
fn without_a_cache_or_a_destination_nothing_is_remembered() {
    let mut bare = Proxy::new(&plan(RATE), 1);
    bare.on_message(us(0), &message(Duration::from_micros(100)));
    assert!(!bare.on_flow(us(1), OTHER, ip("10.0.9.1"), P3));
    assert_eq!(bare.cache_counters(), CacheCounters::default());
}

#[test]
fn a_flood_of_destinations_fills_what_there_is_and_drives_nobody_out() {
    let cache = CachePlan { entries: 64, ..CachePlan::standard() };
    let policy = PausePolicy { burst: 10_000, ..PausePolicy::standard() };
    let mut proxy = Proxy::new(&ProxyPlan { cache: Some(cache), policy, ..plan(RATE) }, 9);
    proxy.on_message(us(0), &message(Duration::from_micros(900)));
    for n in 0..5_000_u32 {
        let made_up = core::net::Ipv4Addr::from(0x0b00_0000 + n).to_string();
        let m = of_flow(message(Duration::from_micros(800)), ("10.0.1.1", &made_up));
        proxy.on_message(us(1), &m);
    }
    let counters = proxy.cache_counters();
    assert!(counters.created <= 64 && counters.created > 50, "{counters:?}");
    assert_eq!(counters.created + counters.full, 5_001);
    assert!(proxy.on_flow(us(2), OTHER, ip("10.0.9.1"), P3), "it was there first");
    // Expired entries free their space.
    let m = of_flow(message(Duration::from_micros(100)), ("10.0.1.1", "10.0.9.7"));
    proxy.on_message(us(1_000), &m);
    assert!(proxy.on_flow(us(1_001), OTHER, ip("10.0.9.7"), P3));
}
