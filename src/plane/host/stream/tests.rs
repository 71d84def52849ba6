//! Tests of frames byte for byte, against sums of whole frames.

mod reference;

use proptest::prelude::*;

use super::*;
use crate::plan::stream::{
    Burst, Checksum, Covered, Edit, LengthField, Limit, Pace as PacePlan, Payload, Sizes,
    TemplatePlan, Values,
};
use crate::plan::{PlanError, Rate};
use crate::probe::{MODULUS, PROBE_LEN, Probe};
use contracts::frame::Frame;
use contracts::memory::ring_pair;
use ground::units::{BitsPerSec, Priority};
use schedule::LinePlan;
use wire::checksum::Sum;

const LINE: Line = Line::new(BitsPerSec::gbps(100), LinePlan::ETHERNET);

fn stream(template: TemplatePlan, sizes: Sizes) -> StreamPlan {
    StreamPlan {
        id: FlowId(0x0102),
        path: Path::Data(Priority::MIN),
        template,
        recording: None,
        sizes,
        pace: PacePlan { rate: Rate::LineShare(1_000_000), gap: 12, burst: None },
        limit: Limit::default(),
        delay: Duration::ZERO,
        seed: 1,
    }
}

/// Ethernet (and a tag), IP, and UDP or TCP, with zeros in all fields that are not required, the
/// lengths and checksums of both, and a probe behind them.
fn template(tag: bool, v6: bool, udp: bool) -> TemplatePlan {
    let l3: u16 = if tag { 18 } else { 14 };
    let (ip_len, protocol) = (if v6 { 40 } else { 20 }, if udp { 17 } else { 6 });
    let l4 = l3 + ip_len;
    let end = l4 + if udp { 8 } else { 20 };
    let mut headers = vec![0; end.into()];
    let ip = usize::from(l3);
    let mut lengths = Vec::new();
    let mut checksums = Vec::new();
    if v6 {
        (headers[ip], headers[ip + 6]) = (0x60, protocol);
        lengths.push(LengthField { at: l3 + 4, from: l4 });
    } else {
        (headers[ip], headers[ip + 9]) = (0x45, protocol);
        lengths.push(LengthField { at: l3 + 2, from: l3 });
        let over = Covered::Header(l3, l4);
        checksums.push(Checksum { at: l3 + 10, over, bad: false });
    }
    let at = l4 + if udp { 6 } else { 16 };
    let over = if v6 {
        Covered::Payload6 { ip: l3, from: l4, udp }
    } else {
        Covered::Payload4 { ip: l3, from: l4, udp }
    };
    checksums.push(Checksum { at, over, bad: false });
    if udp {
        lengths.push(LengthField { at: l4 + 4, from: l4 });
    } else {
        headers[usize::from(l4) + 12] = 0x50;
    }
    TemplatePlan {
        headers,
        payload: Payload::Zero,
        edits: Vec::new(),
        lengths,
        checksums,
        probe_at: Some(end),
        run: 0,
    }
}

/// Returns the whole next frame without FCS, and advances.
fn next(frames: &mut Frames, sequence: u64, sent: Instant) -> Vec<u8> {
    let len = (frames.size() - 4) as usize;
    let mut frame = frames.stamp(Numbers { sequence, sent }).to_vec();
    assert!(frame.len() <= len);
    frame.resize(len, 0);
    frames.advance();
    frame
}

/// Calculates the correct checksum from all bytes of the frame.
fn computed(frame: &[u8], sum: &Checksum) -> u16 {
    let mut frame = frame.to_vec();
    frame[sum.at.into()..usize::from(sum.at) + 2].fill(0);
    let pseudo = |addresses: &[u8], from: u16, udp: bool| {
        let upper = &frame[from.into()..];
        let sum = Sum::default().octets(addresses).word(if udp { 17 } else { 6 });
        let sum = sum.word(upper.len() as u16).octets(upper).finish();
        if udp && sum == 0 { 0xffff } else { sum }
    };
    match sum.over {
        Covered::Header(a, b) => Sum::default().octets(&frame[a.into()..b.into()]).finish(),
        Covered::Payload4 { ip, from, udp } => {
            let ip = usize::from(ip);
            pseudo(&frame[ip + 12..ip + 20], from, udp)
        }
        Covered::Payload6 { ip, from, udp } => {
            let ip = usize::from(ip);
            pseudo(&frame[ip + 8..ip + 40], from, udp)
        }
    }
}

fn word(frame: &[u8], at: u16) -> u16 {
    let at = usize::from(at);
    u16::from_be_bytes([frame[at], frame[at + 1]])
}

/// Reads a field bit by bit.
fn field(frame: &[u8], edit: &Edit) -> u128 {
    (0..usize::from(edit.bits)).fold(0, |value, n| {
        let bit = usize::from(edit.at) * 8 + usize::from(edit.skip) + n;
        value << 1 | u128::from(frame[bit / 8] >> (7 - bit % 8) & 1)
    })
}

/// Returns the `n`-th value of a field that is not random.
fn nth(values: &Values, n: u64) -> Option<u128> {
    match values {
        Values::List(list) => Some(list[(n % list.len() as u64) as usize]),
        Values::Increment { start, step, count } => {
            Some(start.wrapping_add(step.wrapping_mul((n % count).into())))
        }
        Values::Decrement { start, step, count } => {
            Some(start.wrapping_sub(step.wrapping_mul((n % count).into())))
        }
        Values::Random { .. } => None,
    }
}

fn values() -> impl Strategy<Value = Values> {
    let wide = || prop_oneof![any::<u128>(), (0_u128..300)];
    prop_oneof![
        prop::collection::vec(wide(), 1..5).prop_map(Values::List),
        (wide(), wide(), 1_u64..9).prop_map(|(start, step, count)| Values::Increment {
            start,
            step,
            count
        }),
        (wide(), wide(), 1_u64..9).prop_map(|(start, step, count)| Values::Decrement {
            start,
            step,
            count
        }),
        (wide(), wide(), 1_u64..9, any::<u64>()).prop_map(|(a, b, count, seed)| {
            Values::Random { min: a.min(b), max: a.max(b), count, seed }
        }),
    ]
}

fn payload() -> impl Strategy<Value = Payload> {
    let octets = prop::collection::vec(any::<u8>(), 1..40);
    prop_oneof![
        Just(Payload::Zero),
        (octets, any::<bool>()).prop_map(|(octets, repeat)| Payload::Fixed { octets, repeat }),
        Just(Payload::IncrementByte),
        Just(Payload::DecrementByte),
        Just(Payload::IncrementWord),
        Just(Payload::DecrementWord),
    ]
}

fn sizes() -> impl Strategy<Value = Sizes> {
    prop_oneof![
        (110_u32..1600).prop_map(Sizes::Fixed),
        (110_u32..200, 0_u32..300, 1_u32..50).prop_map(|(start, more, step)| Sizes::Increment {
            start,
            end: start + more,
            step
        }),
        (110_u32..200, 0_u32..300).prop_map(|(min, more)| Sizes::Random { min, max: min + more }),
        Just(Sizes::Weighted(vec![(111, 1.0), (570, 2.0), (1518, 0.5)])),
    ]
}

/// Returns byte `n` of a payload.
fn octet(payload: &Payload, n: usize) -> u8 {
    match payload {
        Payload::Zero => 0,
        Payload::Fixed { octets, repeat: true } => octets[n % octets.len()],
        Payload::Fixed { octets, repeat: false } => *octets.get(n).unwrap_or(&0),
        Payload::IncrementByte => (n % 256) as u8,
        Payload::DecrementByte => (255 - n % 256) as u8,
        Payload::IncrementWord => ((n / 2) >> (8 * (1 - n % 2))) as u8,
        Payload::DecrementWord => ((65_535 - n / 2) >> (8 * (1 - n % 2))) as u8,
    }
}

proptest! {
    #[test]
    fn every_frame_is_what_its_template_says_and_its_sums_are_those_of_all_its_octets(
        (tag, v6, udp) in any::<(bool, bool, bool)>(), sizes in sizes(), payload in payload(),
        edits in prop::collection::vec((0_usize..700, 1_u8..=128, values()), 0..6),
        noise in prop::collection::vec(any::<u8>(), 80), bad in any::<bool>(),
        probe_later in 0_u16..6,
    ) {
        let mut t = template(tag, v6, udp);
        t.payload = payload;
        t.checksums.iter_mut().for_each(|sum| sum.bad = bad);
        // Other fields of the Ethernet and TCP headers may have any value.
        t.headers[..12].copy_from_slice(&noise[..12]);
        t.probe_at = t.probe_at.map(|at| at + probe_later);
        for (bit, bits, values) in edits {
            let edit = Edit { at: (bit / 8) as u16, skip: (bit % 8) as u8, bits, values };
            t.edits.push(edit);
            let protocol = if v6 { 6 } else { 9 } + if tag { 18 } else { 14 };
            let last = t.edits.last().unwrap();
            let touched = (last.at..=last.at + u16::from(last.bits) / 8 + 1).contains(&protocol);
            if touched || stream(t.clone(), sizes.clone()).check(&LINE).is_err() {
                t.edits.pop();
            }
        }
        let plan = stream(t.clone(), sizes);
        prop_assert_eq!(plan.check(&LINE), Ok(()));
        let mut frames = Frames::new(&plan);
        for n in 0..30_u64 {
            let sent = Instant::from_picos(u128::from(n) * 0x1234_5678_9abc);
            let frame = next(&mut frames, 0xffff_0000 + n, sent);
            for sum in &t.checksums {
                let right = computed(&frame, sum);
                let udp = sum.at as usize + 2 == t.headers.len() && udp;
                let want = match right.wrapping_add(bad.into()) {
                    0 if udp => 1,
                    sum => sum,
                };
                prop_assert_eq!(word(&frame, sum.at), want, "frame {}, {:?}", n, sum);
            }
            for length in &t.lengths {
                prop_assert_eq!(usize::from(word(&frame, length.at)), frame.len() - usize::from(length.from));
            }
            for edit in &t.edits {
                let cut = u128::MAX >> (128 - u32::from(edit.bits));
                if let Some(want) = nth(&edit.values, n) {
                    prop_assert_eq!(field(&frame, edit), want & cut, "frame {}, {:?}", n, edit);
                }
            }
            let at = usize::from(t.probe_at.unwrap());
            let probe = Probe::new(plan.id, 0xffff_0000 + n, sent);
            prop_assert_eq!(Probe::parse(&frame[at..]), Some(probe));
            let first = t.headers.len();
            for i in (first..at).chain(at + PROBE_LEN..frame.len()) {
                prop_assert_eq!(frame[i], octet(&t.payload, i - first), "octet {}", i);
            }
        }
    }
}

proptest! {
    /// Frames of bursts, whose fields and numbers may grow by constant steps, are those made one by one.
    #[test]
    fn frames_of_a_burst_are_those_made_one_by_one(
        (tag, v6, udp, bad) in any::<(bool, bool, bool, bool)>(),
        (at, skip, bits) in (0_u16..42, 0_u8..8, 1_u8..=64),
        (start, step, count) in (any::<u64>(), 0_u64..70_000, 1_u64..200), down: bool,
        numbers in prop_oneof![Just(MODULUS - 100), Just(0), 0..MODULUS],
        bursts in prop::collection::vec(1_usize..=32, 1..20), zero: bool,
    ) {
        let mut t = template(tag, v6, udp);
        t.checksums.iter_mut().for_each(|sum| sum.bad = bad);
        let (start, step) = (u128::from(start), u128::from(step));
        // Mostly small values, which do not wrap around in the field.
        let start = if zero { start % 4 } else { start };
        let values = match down {
            false => Values::Increment { start, step, count },
            true => Values::Decrement { start, step, count },
        };
        t.edits.push(Edit { at, skip, bits, values });
        if stream(t.clone(), Sizes::Fixed(128)).check(&LINE).is_err() {
            t.edits.pop();
        }
        let plan = stream(t, Sizes::Fixed(128));
        prop_assert_eq!(plan.check(&LINE), Ok(()));
        let (mut one_by_one, mut frames) = (Frames::new(&plan), Frames::new(&plan));
        let (mut port, _peer) = ring_pair(64);
        let mut sequence = numbers;
        for n in bursts {
            let sent = Instant::from_picos(u128::from(sequence) * 0x1234_5678);
            let mut made = arrayvec::ArrayVec::new();
            frames.burst(n, Numbers { sequence, sent }, 128, &mut port, &mut made);
            prop_assert_eq!(made.len(), n);
            for frame in &made {
                let want = next(&mut one_by_one, sequence, sent);
                prop_assert_eq!(frame.head(), &want[..], "number {}", sequence);
                sequence += 1;
            }
        }
    }
}

/// Parses hexadecimal digits.
fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|d| (d[0] << 4 | d[1]) as u8).collect()
}

#[test]
fn a_frame_of_64_octets_over_ipv4_and_udp_is_this_one() {
    let mut t = template(false, false, true);
    t.headers = octets(
        "020000000002 020000000001 0800 4500 0000 0000 0000 4011 0000 0a000001 0a000002
         1388 12b7 0000 0000",
    );
    t.edits.push(Edit {
        at: 34,
        skip: 0,
        bits: 16,
        values: Values::Increment { start: 5000, step: 1, count: 2 },
    });
    let mut frames = Frames::new(&stream(t, Sizes::Fixed(64)));
    assert!(frames.is_even() && frames.quick.is_some(), "the usual frame is made quickly");
    // Sums by hand: 4500 + 002e + 4011 + 0a00 + 0001 + 0a00 + 0002 = 9942. UDP: 0a00 + 0001 + 0a00
    // + 0002 + 0011 + 001a = 142e, 1388 + 12b7 + 001a = 2659, the probe 534c + 5549 + 0102 + 0007 +
    // 0009 = a9a7, total e42e.
    let want = octets(
        "020000000002 020000000001 0800 4500 002e 0000 0000 4011 66bd 0a000001 0a000002
         1388 12b7 001a 1bd1 534c5549 0102 000000000007 000000000009",
    );
    assert_eq!(next(&mut frames, 7, Instant::from_picos(9)), want);
    let second = next(&mut frames, 8, Instant::from_picos(9));
    // Port and sequence number are one higher.
    assert_eq!((word(&second, 34), word(&second, 40)), (5001, 0x1bcf));
    assert_eq!(next(&mut frames, 7, Instant::from_picos(9)), want);
}

#[test]
fn a_sum_of_nothing_is_sent_as_udp_and_others_want_it() {
    // The sum of all words is 0xffff with this port, so that the checksum is 0.
    let mut t = template(false, true, true);
    t.probe_at = None;
    t.edits.push(Edit { at: 54, skip: 0, bits: 16, values: Values::List(vec![0xffff - 17 - 16]) });
    let plan = stream(t.clone(), Sizes::Fixed(66));
    assert_eq!(plan.check(&LINE), Ok(()));
    let frame = next(&mut Frames::new(&plan), 0, Instant::ZERO);
    assert_eq!(word(&frame, 60), 0xffff);
    t.checksums[0].bad = true;
    let frame = next(&mut Frames::new(&stream(t, Sizes::Fixed(66))), 0, Instant::ZERO);
    assert_eq!(word(&frame, 60), 1, "0 would say that there is none");
}

#[test]
fn an_inner_packets_sums_are_in_those_of_the_outer_one() {
    // IPv4 and UDP in UDP over IPv6, with a changing field in the inner packet.
    let (outer, mut t) = (template(false, true, true), template(false, false, true));
    let inner = t.headers.split_off(14);
    let moved = outer.headers.len() as u16 - 14;
    t.headers = [outer.headers, inner].concat();
    for length in &mut t.lengths {
        (length.at, length.from) = (length.at + moved, length.from + moved);
    }
    for sum in &mut t.checksums {
        sum.at += moved;
        sum.over = match sum.over {
            Covered::Header(a, b) => Covered::Header(a + moved, b + moved),
            Covered::Payload4 { ip, from, udp } => {
                Covered::Payload4 { ip: ip + moved, from: from + moved, udp }
            }
            other => other,
        };
    }
    t.lengths.extend(outer.lengths);
    t.checksums = [outer.checksums, t.checksums].concat();
    t.probe_at = t.probe_at.map(|at| at + moved);
    t.edits.push(Edit {
        at: 14 + moved + 12,
        skip: 0,
        bits: 32,
        values: Values::Increment { start: 0x0a00_0001, step: 0x0101, count: 100 },
    });
    let plan = stream(t.clone(), Sizes::Random { min: 130, max: 140 });
    assert_eq!(plan.check(&LINE), Ok(()));
    let mut frames = Frames::new(&plan);
    for n in 0..100_u64 {
        let frame = next(&mut frames, n, Instant::from_picos(n.into()));
        for sum in &t.checksums {
            assert_eq!(word(&frame, sum.at), computed(&frame, sum), "frame {n}, {sum:?}");
        }
    }
}

#[test]
fn what_contradicts_itself_is_refused_with_its_field() {
    let refused = |change: fn(&mut StreamPlan)| {
        let mut plan = stream(template(false, false, true), Sizes::Fixed(64));
        change(&mut plan);
        match plan.check(&LINE) {
            Err(PlanError::Stream { flow: 0x0102, field, why }) => format!("{field}: {why}"),
            other => panic!("{other:?}"),
        }
    };
    fn edit(at: u16, bits: u8) -> Edit {
        Edit { at, skip: 0, bits, values: Values::List(vec![1]) }
    }
    let lines = [
        refused(|s| s.sizes = Sizes::Fixed(63)),
        refused(|s| s.sizes = Sizes::Fixed(20_000)),
        refused(|s| (s.sizes, s.path) = (Sizes::Fixed(1_523), Path::Control)),
        refused(|s| s.sizes = Sizes::Random { min: 100, max: 99 }),
        refused(|s| s.sizes = Sizes::Weighted(vec![(64, 0.0)])),
        refused(|s| s.template.headers.truncate(13)),
        refused(|s| s.template.edits.push(edit(41, 16))),
        refused(|s| s.template.edits.push(edit(37, 9))),
        refused(|s| s.template.edits.extend([edit(34, 16), edit(35, 8)])),
        refused(|s| s.template.edits.push(edit(24, 8))),
        refused(|s| s.template.edits.push(Edit { values: Values::List(vec![]), ..edit(0, 8) })),
        refused(|s| s.template.probe_at = Some(40)),
        refused(|s| s.template.checksums[0].over = Covered::Header(14, 99)),
        refused(|s| {
            s.template.checksums[0].over = Covered::Header(14, 42);
            s.template.checksums[1].over = Covered::Header(14, 42);
        }),
        refused(|s| s.pace.rate = Rate::Frames(148_809_700)),
        refused(|s| s.pace.rate = Rate::LineShare(0)),
        refused(|s| s.pace.burst = Some(Burst { frames: 0, gap: Duration::ZERO })),
    ];
    let want = "sizes: 63 octets are too few, headers, probe and FCS take 64
        sizes: 20000 octets are more than the longest frame, 16384
        sizes: 1523 octets are more than the longest frame, 1522
        sizes: the shortest frame is longer than the longest
        sizes: each weight is above 0
        template.headers: 13 octets do not hold an Ethernet header, which takes 14
        template.edits: the field at octet 41 is not in the headers
        template.lengths: the field at octet 38 is in another (template.edits)
        template.edits: the field at octet 35 is in another (template.edits)
        template.checksums: the field at octet 24 is in another (template.edits)
        template.edits: a field has at least one value
        template.probe_at: the field at octet 40 is in another (template.checksums)
        template.checksums: what the one at octet 24 covers is not in the headers
        template.checksums: two of them cover each other
        pace.rate: 148809700 frames of 64 octets per second are above the line's 148809524
        pace.rate: a share of the line is above 0, up to all of it
        pace.burst: a burst has at least one frame";
    for (line, want) in lines.iter().zip(want.lines()) {
        assert_eq!(line, want.trim());
    }
}
