//! V-X03: XON after congestion.

use super::congestion;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};

pub const TEST: Test = Test {
    id: "V-X03",
    aliases: &["PFCXonTest"],
    title: "XON is sent when congestion ends",
    purpose: "A port that has buffer again resumes its peers, instead of letting the pause expire.",
    clause: "802.1Q 36.1.3.1, 36.1.3.2",
    topology: Topology::T3,
    procedure: "Flows on one lossless priority from A and from B overload C, and end.",
    pass: "After its last pause each of A and B receives a time of zero before that pause is over. For a \
           device that is configured to let pauses expire (`expected.expiry_only`) the missing frames are \
           recorded, not judged.",
    uncertainty: "None: counts.",
    source: "SAI PFCXonTest; sonic-mgmt issues 7057, 7058",
    level: Level::Full,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    cx.lossless()?;
    for priority in cx.each_lossless() {
        let trial = congestion::to_one(cx, (&[a, b], c), &[priority], 1.0);
        let seen = cx.observe(&trial)?;
        congestion::arrives(cx, &seen, &trial)?;
        for port in [a, b] {
            let name = cx.port(port).name.clone();
            let pauses = congestion::pauses(&seen, port, priority);
            let mut stops = pauses.iter().filter(|pause| pause.stops(priority));
            let Some(last) = stops.next_back() else {
                let what = format!("pauses of priority {priority} at {name}");
                cx.count(what, 0, Limits::at_least(1.0));
                continue;
            };
            let time = last.frame.time(priority).unwrap_or_default().at(cx.setup.rate);
            let expiry = last.at + time;
            let resumes = pauses.iter().filter(|pause| pause.resumes(priority));
            let after = resumes.filter(|pause| pause.at > last.at && pause.at < expiry).count();
            let what = format!("XON of priority {priority} at {name} after the last pause");
            if cx.setup.expected.expiry_only {
                let clause = "802.1Q leaves it to the device to send XON or to let a pause expire";
                cx.policy(what, after as f64, "", clause);
            } else {
                cx.count(what, after as u64, Limits::at_least(1.0));
            }
        }
        congestion::lossless(cx, &seen, &trial, priority);
    }
    Ok(())
}
