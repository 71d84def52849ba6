//! The order in which nodes are handled within a window of time changes nothing.

use super::*;
use crate::swarm::{draw, lab_seed};
use sim::Witness;

/// Labs of the swarm that are run both ways.
const LABS: u64 = 60;

#[test]
fn windows_of_time_give_the_same_results_as_the_order_of_time() {
    let mut windows = 0;
    for n in 0..LABS {
        let seed = lab_seed(23, n);
        let lab = draw(seed).unwrap();
        let mut plan = resolve_raw(&lab).unwrap().0;
        plan.duration = plan.duration.min(Duration::from_millis(2));
        let mut ordered = true;
        let options = Options::default();
        // A run that is drawn stops at other times.
        let drawn = Options { plots: true, ..options };
        let window = run_changed(
            &plan,
            options,
            &mut |network| ordered = network.witness_mut().is_ordered(),
            &mut |_| (),
        );
        let order =
            run_changed(&plan, options, &mut |n| n.witness_mut().1.keep_order(), &mut |_| ());
        let drawn = run_changed(&plan, drawn, &mut |_| (), &mut |_| ());
        let (window, order, drawn) = (window.unwrap(), order.unwrap(), drawn.unwrap());
        let json = |run: &Run| serde_json::to_value(&run.outcome).unwrap();
        assert_eq!(json(&window), json(&order), "lab of seed {seed}");
        assert_eq!(json(&window), json(&drawn), "lab of seed {seed}");
        assert_eq!(window.findings, order.findings, "lab of seed {seed}");
        assert_eq!(window.findings, drawn.findings, "lab of seed {seed}");
        windows += u64::from(!ordered);
    }
    assert!(windows > LABS / 6, "{windows} labs ran in windows");
}
