//! V-M06: MAC control never leaves by another port.

use super::mac_control::{self, Case};
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Control, Flow, Limit, Port, Rate, Trial, pfc_frame};
use ground::units::{Priority, Quanta};

pub const TEST: Test = Test {
    id: "V-M06",
    aliases: &[],
    title: "MAC control is never forwarded",
    purpose: "A bridge forwards no MAC control frame, valid or not.",
    clause: "802.3 31.4.1, 802.1Q 8.6.3",
    topology: Topology::T2,
    procedure: "A flow from A to B at a tenth of the line. All ports send PFC that pauses and \
                resumes, PAUSE, and the frames of V-M01 to V-M04. All ports record.",
    pass: "No port receives one of the frames, by its source address and its contents.",
    uncertainty: "None: counts.",
    source: "SAI issue 1262, Snabb issue 1365",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Number of times that each frame is sent by each port.
const TIMES: u32 = 3;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let times = cx.setup.times;
    let priority = cx.lossless()?;
    let traffic = times.baseline + times.hold;
    let mut trial = Trial::new("MAC control of all kinds", traffic + times.drain);
    trial.flow(Flow::new((a, b), priority, Limit::Time(traffic)).rate(Rate::Line(0.1)));
    let ports: Vec<Port> = (0..cx.setup.ports.len()).map(Port).collect();
    let last = ports.len() - 1;
    for (n, port) in ports.iter().enumerate() {
        let cases = cases(cx, (*port, ports[(n + 1) % ports.len()]), priority);
        let every = times.hold.div(cases.len() as u64 * u64::from(TIMES) + 1);
        let offset = every.div(ports.len() as u64).saturating_mul((last - n) as u64);
        for (n, case) in cases.into_iter().enumerate() {
            let start = times.baseline + offset + every.saturating_mul(n as u64 * u64::from(TIMES));
            let Case { octets, .. } = case;
            trial.control.push(Control { port: *port, octets, start, every, frames: TIMES });
        }
    }
    let seen = cx.observe(&trial)?;
    // A DUT that forwards nothing would pass.
    cx.at_rest(&seen, &trial, &(times.baseline.div(4)..times.baseline))?;
    mac_control::not_relayed(cx, &seen, "MAC control");
    Ok(())
}

/// Returns the frames that a port sends. The last one resumes all priorities.
fn cases(cx: &Context<'_>, (port, other): (Port, Port), priority: Priority) -> Vec<Case> {
    let mut cases = mac_control::unknown_opcodes(cx, port);
    cases.extend(mac_control::short(cx, port));
    cases.extend(mac_control::long(cx, port, priority));
    cases.push(mac_control::reserved_bits(cx, port, priority));
    cases.extend(mac_control::wrong_destinations(cx, port, other));
    cases.push(mac_control::pause(cx, port));
    for time in [Quanta::MAX, Quanta(0)] {
        let all = Priority::ALL.map(|p| (p, time));
        let octets = pfc_frame(cx.port(port).mac, &all);
        cases.push(Case { name: format!("PFC of {} quanta", time.0), octets });
    }
    cases
}
