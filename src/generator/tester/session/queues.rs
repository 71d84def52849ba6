//! The queues of a test's ports. Each has a station and a place at a thread of its own.
//!
//! - **Sending**: a flow is sent by one queue, so its frames stay in order. The flows of a port take
//!   its queues in turn.
//! - **Receiving**: the device chooses the queue by a frame's addresses and ports, so every queue
//!   expects every flow, and a flow's counters are the sum of all.
//! - **Pauses** arrive in any queue and hold all ([`host::SharedPauses`]).

use core::ops::Range;
use std::collections::BTreeMap;

use super::SessionError;
use crate::plan::{FlowKind, Place, TestPlan};
use crate::stations::queues_of_flows;
use host::plan::stream::Path;

/// Numbers of the queues of a test: those of the first port, then those of the next ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Queues {
    /// By port.
    of_port: Vec<Range<usize>>,
    /// By queue: its port.
    port: Vec<usize>,
    /// By flow: the queue that sends it.
    sender: Vec<usize>,
}

impl Queues {
    pub(super) fn of(plan: &TestPlan) -> Self {
        let numbers: Vec<u16> = plan.ports.iter().map(|port| port.location.queues).collect();
        let all = Self::of_ports(&numbers);
        let parts = plan.flows.iter().zip(queues_of_flows(plan));
        let sender = parts.map(|(flow, queue)| all.of_port[flow.tx].start + usize::from(queue));
        let sender = sender.collect();
        Self { sender, ..all }
    }

    /// Returns the queues of ports with these numbers of them, without flows.
    pub(super) fn of_ports(numbers: &[u16]) -> Self {
        let (mut of_port, mut port) = (Vec::new(), Vec::new());
        for (n, queues) in numbers.iter().enumerate() {
            let first = port.len();
            port.extend((0..*queues).map(|_| n));
            of_port.push(first..port.len());
        }
        Self { of_port, port, sender: Vec::new() }
    }

    /// Returns the number of all queues.
    pub(super) fn len(&self) -> usize {
        self.port.len()
    }

    /// Returns the port of a queue, and the queue's number at it.
    pub(super) fn at(&self, queue: usize) -> (usize, usize) {
        let port = self.port[queue];
        (port, queue - self.of_port[port].start)
    }

    /// Returns the queues of a port.
    pub(super) fn of_port(&self, port: usize) -> Range<usize> {
        self.of_port[port].clone()
    }

    /// Returns the first queue of a port.
    pub(super) fn first(&self, port: usize) -> usize {
        self.of_port[port].start
    }

    /// Returns the queue that sends a flow.
    pub(super) fn sender(&self, flow: usize) -> usize {
        self.sender[flow]
    }

    /// Returns a queue's name in messages.
    pub(super) fn name(&self, plan: &TestPlan, queue: usize) -> String {
        let (port, number) = self.at(queue);
        let name = &plan.ports[port].name;
        match self.of_port[port].len() {
            1 => name.clone(),
            _ => format!("{name} (queue {number})"),
        }
    }

    /// Returns values of queues by port, each port's merged by `merge`.
    pub(super) fn by_port<T>(&self, of_queue: Vec<T>, merge: impl Fn(Vec<T>) -> T) -> Vec<T> {
        // Queues are numbered port by port.
        let mut all = of_queue.into_iter();
        self.of_port.iter().map(|queues| merge(all.by_ref().take(queues.len()).collect())).collect()
    }
}

/// Refuses several queues where a part of the test needs one.
pub(super) fn check(plan: &TestPlan) -> Result<(), SessionError> {
    for (n, port) in plan.ports.iter().enumerate().filter(|(_, port)| port.location.queues > 1) {
        let connects = |flow: &crate::plan::FlowPlan| {
            matches!(flow.kind, FlowKind::Roce(_)) && (flow.tx == n || flow.rx.contains(&n))
        };
        let why = if port.secy.is_some() {
            "MACsec numbers all frames of a port in one sequence"
        } else if port.capture.is_some() {
            "a capture needs all frames of a port in one sequence"
        } else if plan.flows.iter().any(connects) {
            "the acknowledgements of a RoCEv2 connection may arrive in another queue than its \
             sender's"
        } else {
            continue;
        };
        return Err(refusal(plan, n, why));
    }
    let mut ends = BTreeMap::<&str, u16>::new();
    for (n, port) in plan.ports.iter().enumerate() {
        let Place::Ring { pair, .. } = &port.location.place else { continue };
        let queues = port.location.queues;
        // A queue of one end is the queue with the same number at the other.
        if *ends.entry(pair).or_insert(queues) != queues {
            let why = "both ends of a pair in memory have the same number of queues";
            // The end with several queues is named, as one has to give them up.
            let n = if queues > 1 { n } else { other(plan, n) };
            return Err(refusal(plan, n, why));
        }
    }
    Ok(())
}

/// Refuses several queues of ports at whose other ends is a device in this process.
pub(super) fn check_one(plan: &TestPlan) -> Result<(), SessionError> {
    match plan.ports.iter().position(|port| port.location.queues > 1) {
        Some(n) => Err(refusal(plan, n, "a device in this process has one queue for each port")),
        None => Ok(()),
    }
}

/// Returns the first port at the pair of port `n`.
fn other(plan: &TestPlan, n: usize) -> usize {
    let pair = |n: usize| match &plan.ports[n].location.place {
        Place::Ring { pair, .. } => Some(pair),
        Place::Interface(_) | Place::Device(_) => None,
    };
    (0..plan.ports.len()).find(|m| pair(*m) == pair(n)).unwrap_or(n)
}

fn refusal(plan: &TestPlan, port: usize, why: &'static str) -> SessionError {
    let location = &plan.ports[port].location;
    SessionError::Queues { location: location.text.clone(), queues: location.queues, why }
}

/// Returns the ports with several queues that send pauses: the peer's data arrives in all of them, and
/// its reaction is not measured.
pub(super) fn unmeasured(plan: &TestPlan) -> Vec<usize> {
    let pauses = |n: usize| {
        let is_control = |kind: &FlowKind| match kind {
            FlowKind::Stream(stream) => stream.path == Path::Control,
            FlowKind::Roce(_) => false,
        };
        plan.flows.iter().any(|flow| flow.tx == n && is_control(&flow.kind))
    };
    let several = |n: &usize| plan.ports[*n].location.queues > 1 && pauses(*n);
    (0..plan.ports.len()).filter(several).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn plan(locations: [&str; 2], more: &Value) -> TestPlan {
        let flow = |n: usize| {
            let (tx, rx) = if n == 2 { ("b", "a") } else { ("a", "b") };
            json!({"name": format!("f{n}"), "tx_rx": {"port": {"tx_name": tx, "rx_names": [rx]}},
                "packet": [{"ethernet": {}}]})
        };
        let mut config = json!({
            "ports": [{"name": "a", "location": locations[0]}, {"name": "b", "location": locations[1]}],
            "layer1": [{"name": "l", "port_names": ["a", "b"], "speed": "speed_10_gbps"}],
            "flows": (0..5).map(flow).collect::<Vec<_>>(),
        });
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        crate::resolve::resolve(&otg::model::parse(&config).unwrap()).unwrap().0
    }

    #[test]
    fn the_flows_of_a_port_take_its_queues_in_turn() {
        let plan = plan(["iface:a?queues=3", "iface:b?queues=2"], &json!({}));
        check(&plan).unwrap();
        let queues = Queues::of(&plan);
        assert_eq!((queues.len(), queues.of_port(1), queues.at(4)), (5, 3..5, (1, 1)));
        // Those of `a`, but the third, which `b` sends.
        assert_eq!((0..5).map(|flow| queues.sender(flow)).collect::<Vec<_>>(), [0, 1, 3, 2, 0]);
        let sums = queues.by_port(vec![1, 2, 4, 8, 16], |queues| queues.into_iter().sum());
        assert_eq!(sums, [7, 24]);
        assert_eq!(queues.name(&plan, 4), "b (queue 1)");
    }

    #[test]
    fn what_needs_one_queue_is_refused_with_several() {
        let refused = |locations, more| check(&plan(locations, &more)).unwrap_err().to_string();
        let capture = json!({"captures": [{"name": "c", "port_names": ["b"], "format": "pcap"}]});
        let both = refused(["iface:a?queues=2", "iface:b?queues=2"], capture.clone());
        assert!(both.contains("a capture needs") && both.contains("iface:b?queues=2"), "{both}");
        check(&plan(["iface:a?queues=2", "iface:b"], &capture)).unwrap();
        check_one(&plan(["ring:p.a", "ring:q.a"], &json!({}))).unwrap();
        let device = check_one(&plan(["ring:p.a", "ring:q.a?queues=2"], &json!({}))).unwrap_err();
        assert!(device.to_string().contains("ring:q.a?queues=2"), "{device}");
        for locations in [["ring:p.a?queues=2", "ring:p.b"], ["ring:p.a", "ring:p.b?queues=2"]] {
            let ends = refused(locations, json!({}));
            assert!(ends.contains("both ends") && ends.contains("`queues=2`"), "{ends}");
        }
        check(&plan(["ring:p.a?queues=2", "ring:p.b?queues=2"], &json!({}))).unwrap();
    }
}
