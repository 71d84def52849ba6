//! The part that tests of sent pauses have in common: flows that overload a port.

use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::{Observation, Pause};
use crate::test::Context;
use crate::trial::{Flow, FlowId, Limit, Port, Rate, Trial};
use ground::time::Duration;
use ground::units::{Priority, Quanta};

/// Returns a trial with a flow per sender and priority to one port, each at a share of the line.
pub(super) fn to_one(
    cx: &Context<'_>,
    from: &[Port],
    to: Port,
    priorities: &[Priority],
    share: f64,
) -> Trial {
    let times = cx.setup.times;
    let mut trial = Trial::new("overload", times.hold + times.drain);
    for from in from {
        for priority in priorities {
            let flow = Flow::new((*from, to), *priority, Limit::Time(times.hold));
            trial.flow(flow.rate(Rate::Line(share)));
        }
    }
    trial
}

/// Checks that each flow of a trial arrives at all.
///
/// # Errors
/// One does not, so the cabling or the DUT is not as the file says.
pub(super) fn arrives(
    cx: &Context<'_>,
    observed: &Observation,
    trial: &Trial,
) -> Result<(), TrialError> {
    for (n, flow) in trial.flows.iter().enumerate() {
        let tally = observed.tally(FlowId(n));
        if tally.received > 0 {
            continue;
        }
        // A sender that the DUT has paused all the time is no fault of the cables.
        let paused = cx.paused_before(observed, flow).filter(|_| tally.sent == 0);
        let what = paused.unwrap_or_else(|| {
            format!(
                "no frame of priority {} from port {} arrives at port {}; check the cables",
                flow.priority,
                cx.port(flow.from).name,
                cx.port(flow.to).name
            )
        });
        return Err(TrialError::Error(what));
    }
    Ok(())
}

/// Judges that no frame of a priority is lost.
pub(super) fn lossless(
    cx: &mut Context<'_>,
    observed: &Observation,
    trial: &Trial,
    priority: Priority,
) {
    for (n, flow) in trial.flows.iter().enumerate().filter(|(_, f)| f.priority == priority) {
        let name = cx.port(flow.from).name.clone();
        let what = format!("lost frames of priority {priority} from {name}");
        // Of the whole trial: a lossless frame may be held for long, but not lost.
        let lost = observed.lost(FlowId(n), &(Duration::ZERO..Duration::MAX));
        lost.iter().for_each(|record| cx.mark(record, "does not arrive"));
        cx.count(what, lost.len() as u64, Limits::exactly(0.0));
    }
}

/// Returns the pauses and resumptions of a priority that a port received.
pub(super) fn pauses(observed: &Observation, port: Port, priority: Priority) -> Vec<Pause> {
    observed.pauses(port).filter(|pause| pause.frame.enabled.contains(priority)).collect()
}

/// Returns the number of frames that pause a priority, which those that resume it are not.
pub(super) fn stops(observed: &Observation, port: Port, priority: Priority) -> u64 {
    observed.pauses(port).filter(|pause| pause.stops(priority)).count() as u64
}

/// Returns the number of pauses of a priority that are no refresh of one before.
pub(super) fn begins(pauses: &[Pause], priority: Priority) -> u64 {
    let mut paused = false;
    let begins = pauses.iter().filter(|pause| {
        // A refresh of a pause begins no new one.
        let was = core::mem::replace(&mut paused, pause.stops(priority));
        paused && !was
    });
    begins.count() as u64
}

/// Returns the largest gap between pauses of which each must renew the one before, from the first to
/// `until`.
pub(super) fn largest_gap(pauses: &[Pause], until: Duration) -> Option<Duration> {
    // The last gap ends with the span: a pause that is never renewed counts, too.
    let times: Vec<Duration> = pauses.iter().map(|p| p.at).filter(|at| *at < until).collect();
    let gaps = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let last = times.last().map(|last| until.saturating_sub(*last));
    gaps.chain(last).max()
}

/// Returns the time of the longest pause.
pub(super) fn window(cx: &Context<'_>) -> Duration {
    Quanta::MAX.at(cx.setup.rate)
}
