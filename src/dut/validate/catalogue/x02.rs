//! V-X02: pauses are well formed.

use super::congestion;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Observation, Record, Way, What};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::Port;
use ground::time::Duration;
use ground::units::{Mac, PRIORITIES, PrioritySet};

pub const TEST: Test = Test {
    id: "V-X02",
    aliases: &["valid_src_mac"],
    title: "sent pauses are well formed",
    purpose: "PFC frames have the address, the opcode and the length of the standard, a source address \
              of the sending port, and name only priorities with PFC.",
    clause: "802.1Q 36.1.3.1, 802.3 31.4, 31.4.1.3, 31D.3",
    topology: Topology::T3,
    procedure: "Flows on all lossless priorities from A and from B overload C; at level full then on one after the \
                other, until 15,000 frames are captured, or for a minute.",
    pass: "Each MAC control frame that A and B receive is PFC to 01-80-C2-00-00-01 of at least 64 bytes \
           from one unicast address of the device: that of its port (`dut_mac` of the tester's port), or if it is \
           not known, none of the tester. Its vector has an empty high octet and only lossless priorities; \
           times of priorities that are not enabled are zero. At least one at each pauses: a device that only \
           resumes is none. One unknown address for two ports is reported: the \
           standard asks for that of the sending station, and many devices have one for all.",
    uncertainty: "None: bytes.",
    source: "sonic-mgmt validate_pfc_frame, valid_src_mac",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Offsets in a PFC frame: destination, source, opcode, vector, times.
const DST: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 1];
const OPCODE: usize = 14;
const VECTOR: usize = 16;
const TIMES: usize = 18;

/// Frames to capture at level full, and the rounds and the time after which that ends.
const CAPTURED: u64 = 15_000;
const ROUNDS: u32 = 100;
const LONGEST: Duration = Duration::from_secs(60);

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    cx.lossless()?;
    let priorities: Vec<_> = cx.setup.lossless.iter().collect();
    let mut captures = [a, b].map(|port| Capture { port, ..Capture::default() });
    for round in 0..cx.by_level(1, ROUNDS) {
        // Alone a priority is paused and resumed all the time; beside others it may stay paused.
        let one = round.checked_sub(1).map(|n| [priorities[n as usize % priorities.len()]]);
        let named = one.as_ref().map_or(&priorities[..], |one| one);
        let mut trial = congestion::to_one(cx, (&[a, b], c), named, 1.0 / named.len() as f64);
        trial.round = round;
        let seen = cx.observe(&trial)?;
        congestion::arrives(cx, &seen, &trial)?;
        captures.iter_mut().for_each(|capture| capture.take(cx, &seen));
        let taken = cx.setup.times.hold.saturating_mul(u64::from(round) + 1);
        if all(&captures) >= CAPTURED || taken >= LONGEST {
            break;
        }
    }
    captures.iter().for_each(|capture| capture.judge(cx));
    if let [Some(one), Some(other)] = captures.each_ref().map(|capture| capture.source) {
        if one == other && [a, b].iter().all(|port| cx.port(*port).dut_mac.is_none()) {
            let what = format!("ports whose pauses come from {one}");
            let clause = "802.3 31.4.1.3: the address of the sending station; ports may share one";
            cx.policy(what, 2.0, "", clause);
        }
    }
    Ok(())
}

fn all(captures: &[Capture]) -> u64 {
    captures.iter().map(|capture| capture.frames).sum()
}

/// Errors of a PFC frame.
const WRONG: [&str; 7] = [
    "another destination",
    "no unicast source, or several",
    "the source of another port or station",
    "another opcode",
    "a vector with a high octet",
    "priorities without PFC",
    "a time of a priority that is not enabled",
];

/// Pauses that a port received.
#[derive(Clone, Debug)]
struct Capture {
    port: Port,
    frames: u64,
    /// Those that pause: a PFC frame of which no priority has a time only resumes.
    pausing: u64,
    /// Source address of the first one.
    source: Option<Mac>,
    short: u64,
    /// MAC control frames with a wrong FCS, where the tester sees them.
    damaged: u64,
    /// Number of frames with each of [`WRONG`].
    wrong: [u64; WRONG.len()],
}

impl Default for Capture {
    fn default() -> Self {
        let (frames, short, damaged, wrong) = (0, 0, 0, [0; WRONG.len()]);
        Self { port: Port(0), frames, pausing: 0, source: None, short, damaged, wrong }
    }
}

impl Capture {
    /// Takes the pauses of a trial.
    fn take(&mut self, cx: &mut Context<'_>, seen: &Observation) {
        let is_damaged = |record: &&Record| {
            let is_control = matches!(record.what, What::Control(_));
            record.port == self.port && record.way == Way::Received && is_control
        };
        self.damaged += seen.damaged.iter().filter(is_damaged).count() as u64;
        for (record, octets) in seen.control(self.port) {
            self.frames += 1;
            if record.len < 64 {
                self.short += 1;
                cx.mark(record, "is below 64 bytes");
            }
            if octets.len() >= TIMES + 2 * PRIORITIES {
                self.frame(cx, record, octets);
            }
        }
    }

    /// Takes a frame with all its fields.
    fn frame(&mut self, cx: &mut Context<'_>, record: &Record, octets: &[u8]) {
        let source = Mac(octets[6..12].try_into().unwrap_or_default());
        let first = *self.source.get_or_insert(source);
        let lossless = cx.setup.lossless;
        let enabled = PrioritySet(octets[VECTOR + 1]);
        let has_time = |n: usize, named: bool| {
            let at = TIMES + 2 * n;
            (enabled.0 >> n & 1 == 1) == named && octets[at..at + 2] != [0, 0]
        };
        let is_pfc = octets[OPCODE..VECTOR] == [0x01, 0x01];
        self.pausing += u64::from(!is_pfc || (0..PRIORITIES).any(|n| has_time(n, true)));
        let is_wrong = [
            octets[..6] != DST,
            source == Mac::default() || source.is_multicast() || source != first,
            is_foreign(cx, self.port, source),
            !is_pfc,
            octets[VECTOR] != 0,
            enabled.0 & !lossless.0 != 0,
            (0..PRIORITIES).any(|n| has_time(n, false)),
        ];
        for ((count, what), _) in
            self.wrong.iter_mut().zip(WRONG).zip(is_wrong).filter(|(_, is_wrong)| *is_wrong)
        {
            *count += 1;
            cx.mark(record, what);
        }
    }

    fn judge(&self, cx: &mut Context<'_>) {
        let name = cx.port(self.port).name.clone();
        // None arrives where each is damaged.
        if self.damaged > 0 {
            cx.cause(format!("pauses at {name} with a wrong FCS"), self.damaged);
        }
        cx.count(format!("pauses at {name}"), self.pausing, Limits::at_least(1.0));
        let what = format!("pauses at {name} below 64 bytes");
        cx.count(what, self.short, Limits::exactly(0.0));
        for (count, what) in self.wrong.iter().zip(WRONG) {
            let what = format!("pauses at {name} with {what}");
            cx.count(what, *count, Limits::exactly(0.0));
        }
    }
}

/// Returns true if a source address is not that of the device's port, or, if that is not known, is one of
/// the tester.
fn is_foreign(cx: &Context<'_>, port: Port, source: Mac) -> bool {
    match cx.port(port).dut_mac {
        Some(own) => source != own,
        None => cx.setup.ports.iter().any(|other| other.mac == source),
    }
}
