use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::*;

const PORTS: usize = 4;

fn mac(n: u16) -> Mac {
    let [a, b] = n.to_be_bytes();
    Mac([2, 0, 0, 0, a, b])
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn k(n: u16) -> Key {
    Key::new(Vid::MIN, mac(n))
}

fn port(n: u16) -> PortId {
    PortId::new(n).unwrap()
}

fn plan(table_size: usize, ageing: Duration) -> BridgePlan {
    let port_limit = BridgePlan::NO_LIMIT;
    BridgePlan {
        table_size,
        port_limit,
        ageing,
        shortcuts: 1,
        statics: Vec::new(),
        spread: Vec::new(),
    }
}

fn table(size: usize, ageing: Duration) -> Fdb {
    Fdb::new(&plan(size, ageing), PORTS, 1).unwrap()
}

/// Creates a table with at most `limit` addresses per port.
fn limited(size: usize, limit: usize) -> Fdb {
    let plan = BridgePlan { port_limit: limit, ..plan(size, Duration::from_secs(300)) };
    Fdb::new(&plan, PORTS, 1).unwrap()
}

#[test]
fn addresses_are_learnt_move_and_age() {
    let mut fdb = table(64, Duration::from_secs(300));
    let (p0, p1) = (port(0), port(1));
    assert_eq!(fdb.lookup(at(0), k(1)), None);
    assert_eq!(fdb.learn(at(0), k(1), p0), Learnt::News);
    assert_eq!(fdb.learn(at(0), k(1), p0), Learnt::Known);
    assert_eq!(fdb.lookup(at(1), k(1)), Some(p0));
    assert_eq!(fdb.learn(at(2), k(1), p1), Learnt::News);
    assert_eq!(fdb.lookup(at(3), k(1)), Some(p1));
    assert_eq!((fdb.of_port(p0).held, fdb.of_port(p1).held), (0, 1));
    assert_eq!(fdb.lookup(at(299_000), k(1)), Some(p1));
    assert_eq!(fdb.lookup(at(301_000), k(1)), None);
    assert_eq!(fdb.lookup(at(3), Key::new(Vid::MAX, mac(1))), None, "VLANs learn apart");
}

#[test]
fn static_entries_neither_move_nor_age_nor_count_for_their_port() {
    let (p0, p1) = (port(0), port(1));
    let statics = vec![StaticEntry { vid: Vid::MIN, mac: mac(1), port: p0 }];
    let plan = BridgePlan { statics, port_limit: 1, ..plan(8, Duration::from_secs(1)) };
    let mut fdb = Fdb::new(&plan, PORTS, 1).unwrap();
    assert_eq!(fdb.learn(at(0), k(1), p1), Learnt::Refused);
    fdb.flush(None);
    assert_eq!(fdb.lookup(at(100_000), k(1)), Some(p0));
    assert_eq!((fdb.of_port(p0).held, fdb.of_port(p1)), (0, PortAddresses::default()));
    assert_eq!(fdb.learn(at(0), k(2), p0), Learnt::News);
}

#[test]
fn static_entries_up_to_the_size_of_the_table_always_fit() {
    for (size, seed) in [(8, 1), (16, 2), (64, 3), (1_024, 4), (65_536, 5)] {
        let entry = |n| StaticEntry { vid: Vid::MIN, mac: mac(n as u16), port: port(0) };
        let statics: Vec<_> = (0..size).map(entry).collect();
        let plan = BridgePlan { statics, ..plan(size, Duration::from_secs(300)) };
        let fdb = Fdb::new(&plan, PORTS, seed).unwrap();
        assert!((0..size).all(|n| fdb.lookup(at(0), k(n as u16)).is_some()), "{size}");
        let one_more = StaticEntry { vid: Vid::MAX, mac: mac(0), port: port(0) };
        let plan = BridgePlan { statics: [plan.statics, vec![one_more]].concat(), ..plan };
        assert!(Fdb::new(&plan, PORTS, seed).is_none(), "{size}");
    }
}

#[test]
fn a_full_table_refuses_and_counts() {
    let mut fdb = table(8, Duration::from_secs(300));
    for n in 0..20 {
        let _ = fdb.learn(at(0), k(n), port(0));
    }
    assert_eq!((fdb.len(), fdb.refused()), (8, 12));
    // Aged entries make room once the sweep has passed them.
    for n in 0..=SWEEPS {
        fdb.sweep(at(300_000 + n * 5_000));
    }
    assert_eq!((fdb.len(), fdb.of_port(port(0)).held), (0, 0));
    assert_eq!(fdb.learn(at(700_000), k(99), port(0)), Learnt::News);
}

/// Realistic addresses: consecutive, in steps, and with varying bits at either end.
#[test]
fn a_table_takes_as_many_addresses_as_it_says_whatever_they_have_in_common() {
    let patterns: [fn(u64) -> u64; 5] = [
        |n| n,
        |n| n << 8,
        |n| (n & 63) << 42 | n >> 6,
        |n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17,
        |n| n.wrapping_mul(0x1_0001),
    ];
    for (size, pattern) in [256, 4_096, 65_536].into_iter().zip(patterns.iter().cycle().skip(3)) {
        for (seed, pattern) in (0..).zip(patterns.iter().chain([pattern])) {
            let plan = plan(size, Duration::from_secs(300));
            let mut fdb = Fdb::new(&plan, PORTS, seed).unwrap();
            let key = |n| Key::from_parts(Vid::MIN, pattern(n) & 0xffff_ffff_ffff);
            let distinct: HashSet<u64> = (0..size as u64).map(|n| key(n).0).collect();
            for key in &distinct {
                assert_eq!(fdb.learn(at(0), Key(*key), port(0)), Learnt::News);
            }
            assert_eq!((fdb.len(), fdb.refused()), (distinct.len(), 0), "size {size}");
        }
    }
}

/// Addresses that one seed puts into one bucket are spread by another: a sender that does not know
/// the seed cannot choose colliding addresses.
#[test]
fn addresses_that_meet_under_one_seed_are_spread_under_another() {
    let plan = plan(1_024, Duration::from_secs(300));
    let [one, other] = [1, 2].map(|seed| Fdb::new(&plan, PORTS, seed).unwrap());
    let key = |n: u64| Key::from_parts(Vid::MIN, n).0;
    let together: Vec<u64> = (0..60_000).map(key).filter(|key| one.buckets(*key)[0] == 7).collect();
    assert!((150..330).contains(&together.len()), "{}", together.len());
    let spread: HashSet<usize> = together.iter().map(|key| other.buckets(*key)[0]).collect();
    assert!(spread.len() > 120, "{}", spread.len());
}

/// Even addresses chosen with knowledge of the seed do not displace others: they have two buckets,
/// and are refused beyond.
#[test]
fn addresses_aimed_at_two_buckets_fill_these_and_no_more() {
    let mut fdb = table(1_024, Duration::from_secs(300));
    let key = |n: u64| Key::from_parts(Vid::MIN, n);
    let target = fdb.buckets(key(0).0);
    let same = |key: &Key| {
        let buckets = fdb.buckets(key.0);
        buckets == target || buckets == [target[1], target[0]]
    };
    let aimed: Vec<Key> = (0..3_000_000).map(key).filter(same).collect();
    assert!(aimed.len() > 2 * 2 * WAYS, "{}", aimed.len());
    for key in &aimed {
        let _ = fdb.learn(at(0), *key, port(0));
    }
    assert_eq!(fdb.len(), 2 * WAYS);
    assert_eq!(fdb.refused(), (aimed.len() - 2 * WAYS) as u64);
    // Aged ones make room, without any sweep.
    assert_eq!(fdb.learn(at(300_000), aimed[2 * WAYS], port(0)), Learnt::News);
    assert_eq!(fdb.len(), 2 * WAYS);
}

#[test]
fn a_port_has_no_more_addresses_than_its_limit_and_the_others_theirs() {
    let mut fdb = limited(64, 10);
    for n in 0..60 {
        let _ = fdb.learn(at(0), k(n), port(0));
    }
    assert_eq!(fdb.of_port(port(0)), PortAddresses { held: 10, refused: 50 });
    assert_eq!((fdb.len(), fdb.refused()), (10, 0), "the table was not full");
    assert_eq!(fdb.learn(at(1), k(100), port(1)), Learnt::News);
    assert_eq!(fdb.lookup(at(1), k(100)), Some(port(1)));
    // Known addresses stay known.
    assert_eq!(fdb.learn(at(1), k(0), port(0)), Learnt::Known);
    fdb.flush(Some(port(0)));
    assert_eq!(fdb.of_port(port(0)), PortAddresses { held: 0, refused: 50 });
    assert_eq!(fdb.learn(at(2), k(30), port(0)), Learnt::News);
}

#[test]
fn an_address_that_moves_to_a_port_at_its_limit_is_known_nowhere() {
    let mut fdb = limited(64, 1);
    let _ = fdb.learn(at(0), k(1), port(0));
    let _ = fdb.learn(at(0), k(2), port(1));
    let version = fdb.version();
    // The other workers are told, and get the same result.
    assert_eq!(fdb.learn(at(0), k(1), port(1)), Learnt::News);
    assert_eq!(fdb.lookup(at(0), k(1)), None);
    assert_ne!(fdb.version(), version);
    assert_eq!(fdb.of_port(port(1)), PortAddresses { held: 1, refused: 1 });
    assert_eq!(fdb.learn(at(0), k(1), port(0)), Learnt::News);
}

proptest! {
    /// The table agrees with a map under any sequence of learning, flushing and sweeping.
    #[test]
    fn it_is_a_map_with_ages(ops in prop::collection::vec((0u8..8, 0u16..40, 0u16..4), 1..300)) {
        let ageing = Duration::from_millis(64);
        let mut fdb = table(16, ageing);
        let mut model: HashMap<u16, (u16, u64)> = HashMap::new();
        let mut ms = 0;
        for (op, n, p) in ops {
            ms += u64::from(op);
            let port = port(p);
            match op {
                0 => { fdb.flush(Some(port)); model.retain(|_, v| v.0 != p); }
                1 => fdb.sweep(at(ms)),
                _ => if fdb.learn(at(ms), k(n), port) != Learnt::Refused {
                    model.insert(n, (p, ms));
                },
            }
            for n in 0..40 {
                let known = model.get(&n).filter(|(_, seen)| ms - seen < 63).map(|v| v.0);
                let got = fdb.lookup(at(ms), k(n)).map(PortId::get);
                // Ages are stored in coarse units, so the last millisecond may be either.
                if model.get(&n).is_none_or(|(_, seen)| (ms - seen).abs_diff(64) > 1) {
                    prop_assert_eq!(got, known, "address {} at {} ms", n, ms);
                }
            }
            let held: u32 = fdb.ports.iter().map(|port| port.held).sum();
            prop_assert_eq!(held as usize, fdb.len());
        }
    }
}
