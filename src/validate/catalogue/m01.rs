//! V-M01: MAC control of unknown opcodes.

use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Control, Flow, FlowId, Limit, Rate, Trial, pfc_frame};
use ground::time::Duration;
use ground::units::Quanta;

pub const TEST: Test = Test {
    id: "V-M01",
    aliases: &["Y02"],
    title: "unknown opcodes pause nothing",
    purpose: "MAC control frames whose opcode is not PFC's are ignored where PFC is on, and are not \
              forwarded.",
    clause: "802.3 31.4.1.3",
    topology: Topology::T2,
    procedure: "A flow on each priority from A to B, together half of the line. B sends PFC frames whose \
                opcode is another one.",
    pass: "All flows keep their rates within 2 %, no frame is lost, and A receives none of the frames.",
    uncertainty: "None: counts.",
    source: "sonic-mgmt Y02",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Opcodes: reserved, one above PFC's, the highest, and PAUSE's with the body of PFC.
const OPCODES: [u16; 4] = [0x0000, 0x0102, 0xffff, 0x0001];

/// Offset of the opcode.
const OPCODE: usize = 14;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let times = cx.setup.times;
    let priorities: Vec<_> = cx.priorities().iter().collect();
    for opcode in OPCODES {
        let traffic = times.baseline + times.hold;
        let mut trial = Trial::new(format!("opcode {opcode:#06x}"), traffic + times.drain);
        for priority in &priorities {
            let share = Rate::Line(0.5 / priorities.len() as f64);
            trial.flow(Flow::new((a, b), *priority, Limit::Time(traffic)).rate(share));
        }
        let all: Vec<_> = priorities.iter().map(|p| (*p, Quanta::MAX)).collect();
        let mut octets = pfc_frame(cx.port(b).mac, &all);
        octets[OPCODE..OPCODE + 2].copy_from_slice(&opcode.to_be_bytes());
        let every = Duration::from_micros(100).min(times.hold.div(16));
        let frames = (times.hold.as_picos() / every.as_picos().max(1)).max(1) as u32;
        let sent = octets.clone();
        trial.control.push(Control { port: b, octets, start: times.baseline, every, frames });
        let seen = cx.observe(&trial)?;
        cx.at_rest(&seen, &trial, &(times.baseline.div(4)..times.baseline))?;
        let span = times.baseline..traffic;
        for (n, priority) in priorities.iter().enumerate() {
            cx.rate(&seen, &trial, FlowId(n), &span);
            let lost = seen.tally(FlowId(n)).lost();
            cx.count(format!("lost frames of priority {priority}"), lost, Limits::exactly(0.0));
        }
        let through = seen.control(a).filter(|(_, octets)| octets[..] == sent[..]).count() as u64;
        cx.count(
            format!("forwarded frames of opcode {opcode:#06x}"),
            through,
            Limits::exactly(0.0),
        );
    }
    Ok(())
}
